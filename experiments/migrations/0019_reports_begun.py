"""When the counting of a report began, so that one that broke off is known."""

from typing import Any

import django.utils.timezone
from django.db import migrations, models


def begin_with_what_is_kept(apps: Any, schema_editor: Any) -> None:
    apps.get_model("experiments", "JudgingReport").objects.update(begun_at=models.F("added_up_at"))


class Migration(migrations.Migration):
    dependencies = [
        ("experiments", "0018_scores_of_experiments"),
    ]

    operations = [
        migrations.AddField(
            model_name="judgingreport",
            name="begun_at",
            field=models.DateTimeField(help_text="when the last counting began", null=True),
        ),
        migrations.AlterField(
            model_name="judgingreport",
            name="added_up_at",
            field=models.DateTimeField(
                default=django.utils.timezone.now, help_text="when the one kept here began"
            ),
        ),
        migrations.RunPython(begin_with_what_is_kept, migrations.RunPython.noop, elidable=True),
    ]
