import uuid

import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

import experiments.ids
import experiments.rawjson


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0001_initial"),
        ("experiments", "0004_judge_reply_text"),
    ]

    operations = [
        migrations.CreateModel(
            name="AnnotationQueue",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("uid", models.UUIDField(default=experiments.ids.uuid7)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("name", models.CharField(max_length=400)),
                ("description", models.TextField(null=True)),
                ("rubric_instructions", models.TextField(null=True)),
                ("rubric_items", experiments.rawjson.RawJsonField(null=True)),
                ("modified_at", models.DateTimeField(default=django.utils.timezone.now)),
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
        ),
        migrations.CreateModel(
            name="FeedbackConfig",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("uid", models.UUIDField(default=experiments.ids.uuid7)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("key", models.CharField(max_length=400)),
                ("config", experiments.rawjson.RawJsonField()),
                ("is_lower_score_better", models.BooleanField(default=False)),
                ("is_enforced", models.BooleanField(default=False)),
                ("modified_at", models.DateTimeField(default=django.utils.timezone.now)),
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
        ),
        migrations.CreateModel(
            name="FeedbackToken",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("uid", models.UUIDField(default=experiments.ids.uuid7)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("run_uid", models.UUIDField()),
                ("key", models.CharField(max_length=400)),
                ("expires_at", models.DateTimeField()),
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
        ),
        migrations.CreateModel(
            name="QueuedRun",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("uid", models.UUIDField()),
                ("run_uid", models.UUIDField()),
                ("added_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("reviewed_at", models.DateTimeField(null=True)),
                (
                    "queue",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="runs",
                        to="experiments.annotationqueue",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="SharedLink",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("token", models.UUIDField(default=uuid.uuid4, unique=True)),
                (
                    "kind",
                    models.CharField(
                        choices=[("dataset", "Dataset"), ("run", "Run")], max_length=8
                    ),
                ),
                (
                    "target_uid",
                    models.UUIDField(
                        help_text="of the dataset or run; no key, for those come and go"
                    ),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
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
        ),
        migrations.AddIndex(
            model_name="annotationqueue",
            index=models.Index(fields=["workspace", "-id"], name="annotation_queue_recent"),
        ),
        migrations.AddConstraint(
            model_name="annotationqueue",
            constraint=models.UniqueConstraint(
                fields=("workspace", "uid"), name="annotation_queue_uid"
            ),
        ),
        migrations.AddConstraint(
            model_name="feedbackconfig",
            constraint=models.UniqueConstraint(
                fields=("workspace", "uid"), name="feedback_config_uid"
            ),
        ),
        migrations.AddConstraint(
            model_name="feedbackconfig",
            constraint=models.UniqueConstraint(
                fields=("workspace", "key"), name="feedback_config_key"
            ),
        ),
        migrations.AddIndex(
            model_name="feedbacktoken",
            index=models.Index(fields=["workspace", "run_uid"], name="feedback_token_run"),
        ),
        migrations.AddConstraint(
            model_name="feedbacktoken",
            constraint=models.UniqueConstraint(fields=("uid",), name="feedback_token_uid"),
        ),
        migrations.AddConstraint(
            model_name="queuedrun",
            constraint=models.UniqueConstraint(fields=("queue", "run_uid"), name="queued_run_once"),
        ),
        migrations.AddConstraint(
            model_name="sharedlink",
            constraint=models.UniqueConstraint(
                fields=("workspace", "kind", "target_uid"), name="shared_link_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="sharedlink",
            constraint=models.CheckConstraint(
                condition=models.Q(("kind__in", ["dataset", "run"])), name="shared_link_kind"
            ),
        ),
    ]
