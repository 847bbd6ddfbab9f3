from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    # The table of judgments may be large: nobody waits for this index.
    atomic = False

    dependencies = [
        ("experiments", "0009_budgets_and_races"),
    ]

    operations = [
        AddIndexConcurrently(
            model_name="judgment",
            index=models.Index(fields=["evaluator", "rank"], name="judgment_rank"),
        ),
    ]
