"""One experiment of a dataset that the others are compared with."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("experiments", "0016_experiment_summaries"),
    ]

    operations = [
        migrations.AddField(
            model_name="experiment",
            name="is_baseline",
            field=models.BooleanField(default=False),
        ),
        migrations.AddConstraint(
            model_name="experiment",
            constraint=models.UniqueConstraint(
                condition=models.Q(("is_baseline", True)),
                fields=("dataset",),
                name="experiment_baseline",
            ),
        ),
    ]
