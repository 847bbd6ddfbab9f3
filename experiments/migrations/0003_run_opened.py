from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("experiments", "0002_game_evaluator_run"),
    ]

    operations = [
        migrations.AddField(
            model_name="run",
            name="opened",
            field=models.BooleanField(
                default=True,
                help_text="its opening has come; false after an update that came alone",
            ),
        ),
    ]
