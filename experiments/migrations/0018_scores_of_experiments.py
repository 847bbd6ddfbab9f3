"""Scores of an experiment as a whole are found without its runs' scores."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("experiments", "0017_baselines"),
    ]

    operations = [
        AddIndexConcurrently(
            model_name="feedback",
            index=models.Index(
                condition=models.Q(("run_uid__isnull", True)),
                fields=["experiment", "key"],
                name="feedback_of_whole_experiment",
            ),
        ),
    ]
