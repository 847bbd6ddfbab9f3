"""Background judging: the job, its lanes, and the queue of what is still to be asked."""

from django.conf import settings
from django.db import models
from django.utils import timezone

from experiments.models.base import WorkspaceRow
from experiments.models.evaluators import Evaluator, Provider
from experiments.models.runs import Experiment


class Job(WorkspaceRow):
    """One launch of judging: its state, its limit, and who started it."""

    class State(models.TextChoices):
        QUEUED = "queued", "Queued"
        RUNNING = "running", "Running"
        PAUSED = "paused", "Paused"
        CANCELLED = "cancelled", "Cancelled"
        COMPLETE = "complete", "Complete"
        FAILED = "failed", "Failed"

    class Cause(models.TextChoices):
        NONE = "", "Nothing"
        FAILURES = "failures", "Calls that all failed"
        BUDGET = "budget", "The budget is used up"
        CERTAIN = "certain", "The verdict is certain"

    state = models.CharField(max_length=9, choices=State.choices, default=State.QUEUED)
    max_concurrency = models.PositiveIntegerField(default=8)
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    error = models.TextField(default="")
    cause = models.CharField(
        max_length=8, choices=Cause.choices, default=Cause.NONE, help_text="what stopped it"
    )
    budget_calls = models.PositiveBigIntegerField(null=True, help_text="empty: no limit")
    budget_money = models.DecimalField(
        null=True, max_digits=20, decimal_places=10, help_text="US dollars; empty: no limit"
    )
    planned = models.BooleanField(default=False)
    total = models.BigIntegerField(default=0, help_text="items to do when it was planned")
    paced_from = models.DateTimeField(null=True, help_text="since when its rate is measured")
    paced_left = models.BigIntegerField(default=0, help_text="items left at that moment")
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    touched_at = models.DateTimeField(default=timezone.now, help_text="last sign of work")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "uid"], name="job_uid"),
            models.CheckConstraint(
                condition=models.Q(
                    state__in=["queued", "running", "paused", "cancelled", "complete", "failed"]
                ),
                name="job_state",
            ),
        ]
        indexes = [
            models.Index(
                fields=["state"],
                condition=models.Q(state__in=["queued", "running"]),
                name="job_open",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.uid} {self.state}"

    @property
    def is_open(self) -> bool:
        return self.state in (Job.State.QUEUED, Job.State.RUNNING, Job.State.PAUSED)


class Lane(models.Model):
    """A share of a job's concurrency. Whoever holds the token may claim and write; nobody else.

    What its calls took is added up here; `held` is reserved of the job's budget, and not used yet.
    """

    class State(models.TextChoices):
        QUEUED = "queued", "A message is on its way"
        RUNNING = "running", "A worker has it"
        IDLE = "idle", "Nothing left to claim"

    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="lanes")
    number = models.PositiveIntegerField()
    width = models.PositiveIntegerField(help_text="calls in flight at once")
    token = models.UUIDField()
    state = models.CharField(max_length=7, choices=State.choices, default=State.QUEUED)
    owner = models.TextField(default="", help_text="machine, process namespace, process, its start")
    changed_at = models.DateTimeField(default=timezone.now)
    lease_until = models.DateTimeField(null=True)
    calls = models.BigIntegerField(default=0)
    calls_held = models.BigIntegerField(default=0)
    money = models.DecimalField(max_digits=20, decimal_places=10, default=0)
    money_held = models.DecimalField(max_digits=20, decimal_places=10, default=0)
    unpriced = models.BigIntegerField(default=0, help_text="calls whose price is not known")
    prompt_tokens = models.BigIntegerField(default=0)
    completion_tokens = models.BigIntegerField(default=0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["job", "number"], name="lane_number")]

    def __str__(self) -> str:
        return f"lane {self.number} of {self.job_id}"


class QueueItem(models.Model):
    """One thing still to be judged; the row goes when it is. `target` is a judgment or a run."""

    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="items", db_index=False)
    evaluator = models.ForeignKey(
        Evaluator, on_delete=models.CASCADE, related_name="+", db_index=False
    )
    target = models.BigIntegerField()
    rank = models.BigIntegerField()
    lane_token = models.UUIDField(null=True)
    attempts = models.PositiveSmallIntegerField(default=0)
    not_before = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["job", "evaluator", "target"], name="queue_item_once"),
        ]
        indexes = [
            models.Index(
                fields=["job", "rank"],
                condition=models.Q(lane_token=None),
                name="queue_free",
            ),
            models.Index(
                fields=["lane_token"],
                condition=models.Q(lane_token__isnull=False),
                name="queue_claimed",
            ),
        ]

    def __str__(self) -> str:
        return f"item {self.rank} of {self.job_id}"


class WorkerSign(models.Model):
    """A worker process, and when it gave its last sign of life."""

    name = models.TextField(unique=True, help_text="machine, process namespace, process, its start")
    seen_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return self.name


class Evaluation(WorkspaceRow):
    """A launch of one single-run evaluator over one experiment; its results are feedback."""

    experiment = models.ForeignKey(Experiment, on_delete=models.CASCADE, related_name="evaluations")
    evaluator = models.ForeignKey(Evaluator, on_delete=models.PROTECT, related_name="evaluations")
    job = models.OneToOneField(Job, on_delete=models.CASCADE, related_name="evaluation")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "uid"], name="evaluation_uid"),
        ]

    def __str__(self) -> str:
        return f"{self.evaluator_id} over {self.experiment_id}"


class OpenQuestion(models.Model):
    """A question that a lane is asking right now; nobody else asks it meanwhile."""

    workspace = models.ForeignKey(
        "accounts.Workspace", on_delete=models.CASCADE, related_name="+", db_index=False
    )
    digest = models.BinaryField(max_length=32)
    sample = models.PositiveIntegerField(default=0)
    lane_token = models.UUIDField(db_index=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "digest", "sample"], name="open_question_once"
            ),
        ]

    def __str__(self) -> str:
        return f"question of {self.lane_token}"


class JudgeReply(models.Model):
    """The raw text a model answered: the cache, the bill and the audit in one."""

    workspace = models.ForeignKey(
        "accounts.Workspace", on_delete=models.CASCADE, related_name="+", db_index=False
    )
    digest = models.BinaryField(max_length=32, help_text="SHA-256 of what was asked, and of whom")
    sample = models.PositiveIntegerField(default=0)
    model = models.TextField(default="")
    provider = models.ForeignKey(
        Provider, null=True, on_delete=models.SET_NULL, related_name="+", db_index=False
    )
    text = models.TextField(help_text="JSON: text as answered, finish_reason")
    prompt = models.TextField(help_text="the messages as JSON")
    prompt_tokens = models.BigIntegerField(null=True)
    completion_tokens = models.BigIntegerField(null=True)
    cost = models.DecimalField(null=True, max_digits=20, decimal_places=10)
    latency = models.FloatField(null=True, help_text="seconds")
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "digest", "sample"], name="judge_reply_once"
            ),
        ]

    def __str__(self) -> str:
        return f"reply of {self.model}"
