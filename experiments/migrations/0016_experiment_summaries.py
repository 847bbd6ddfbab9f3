"""What experiments come to, added up once and kept."""

import django.db.models.deletion
from django.db import migrations, models

import experiments.rawjson


class Migration(migrations.Migration):
    dependencies = [
        ("experiments", "0015_open_questions"),
    ]

    operations = [
        migrations.CreateModel(
            name="ExperimentSummary",
            fields=[
                (
                    "experiment",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="summary",
                        serialize=False,
                        to="experiments.experiment",
                    ),
                ),
                ("body", experiments.rawjson.RawJsonField(default="{}")),
                ("stale", models.BooleanField(default=True, help_text="runs or scores came since")),
                (
                    "begun_at",
                    models.DateTimeField(help_text="when the last counting began", null=True),
                ),
                (
                    "added_up_at",
                    models.DateTimeField(help_text="when the one kept here began", null=True),
                ),
            ],
        ),
    ]
