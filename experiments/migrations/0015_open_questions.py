"""Questions that are being asked, so that two jobs at once pay for each of them once."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0001_initial"),
        ("experiments", "0014_shared_comparisons"),
    ]

    operations = [
        migrations.CreateModel(
            name="OpenQuestion",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("digest", models.BinaryField(max_length=32)),
                ("sample", models.PositiveIntegerField(default=0)),
                ("lane_token", models.UUIDField(db_index=True)),
                (
                    "workspace",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="accounts.workspace",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("workspace", "digest", "sample"), name="open_question_once"
                    )
                ],
            },
        ),
    ]
