import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

import experiments.ids


class Migration(migrations.Migration):
    dependencies = [("experiments", "0012_search_later"), ("accounts", "0001_initial")]

    operations = [
        migrations.CreateModel(
            name="SavedMapping",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("uid", models.UUIDField(default=experiments.ids.uuid7)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "signature",
                    models.CharField(
                        help_text="SHA-256 of the names of the columns", max_length=64
                    ),
                ),
                ("mapping", models.JSONField(default=dict)),
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
                    models.UniqueConstraint(fields=("workspace", "signature"), name="mapping_once")
                ],
            },
        ),
    ]
