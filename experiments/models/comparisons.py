"""Pairwise experiments: what was compared, pair by pair, and who won."""

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.utils import timezone

from experiments.models.base import WorkspaceRow
from experiments.models.datasets import MAX_NAME, Dataset, ExampleRevision
from experiments.models.evaluators import Evaluator
from experiments.models.jobs import Job, JudgeReply
from experiments.models.runs import Experiment
from experiments.rawjson import RawJsonField


class Order(models.TextChoices):
    OFF = "off", "A first, always"
    RANDOM = "random", "Random order"
    BOTH = "both", "Both orders"


class Comparison(WorkspaceRow):
    """Two or more experiments over one dataset, judged pair by pair.

    Without a job, a script judges and sends its verdicts as feedback.
    """

    class Source(models.TextChoices):
        LAUNCHED = "launched", "Launched here"
        SDK = "sdk", "SDK"

    dataset = models.ForeignKey(
        Dataset, on_delete=models.CASCADE, related_name="comparisons", db_index=False
    )
    name = models.CharField(max_length=MAX_NAME)
    description = models.TextField(null=True)
    metadata = models.JSONField(default=dict)
    extra = RawJsonField(default="{}")
    source = models.CharField(max_length=8, choices=Source.choices)
    job = models.OneToOneField(Job, null=True, on_delete=models.SET_NULL, related_name="comparison")
    order = models.CharField(max_length=6, choices=Order.choices, default=Order.OFF)
    seed = models.BigIntegerField(default=0)
    margin = models.FloatField(
        default=0.05, help_text="the smallest difference from even that matters, set beforehand"
    )
    dataset_version = models.DateTimeField(null=True)
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    modified_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "uid"], name="comparison_uid"),
            models.CheckConstraint(
                condition=models.Q(order__in=Order.values), name="comparison_order"
            ),
            models.CheckConstraint(
                condition=models.Q(margin__gt=0, margin__lt=0.5), name="comparison_margin"
            ),
        ]
        indexes = [
            models.Index(fields=["dataset", "-created_at", "-id"], name="comparison_of_dataset"),
        ]

    def __str__(self) -> str:
        return self.name


class ComparisonSide(models.Model):
    """An experiment in a comparison: position 0 is A, 1 is B."""

    comparison = models.ForeignKey(Comparison, on_delete=models.CASCADE, related_name="sides")
    position = models.PositiveSmallIntegerField()
    experiment = models.ForeignKey(
        Experiment, null=True, on_delete=models.SET_NULL, related_name="comparison_sides"
    )
    name = models.CharField(max_length=MAX_NAME, help_text="stays when the experiment goes")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["comparison", "position"], name="side_position"),
        ]
        ordering = ["position"]

    def __str__(self) -> str:
        return self.name


class ComparisonEvaluator(models.Model):
    """An evaluator in a comparison; one that a script brought has a key only."""

    comparison = models.ForeignKey(Comparison, on_delete=models.CASCADE, related_name="evaluators")
    key = models.CharField(max_length=MAX_NAME)
    evaluator = models.ForeignKey(
        Evaluator, null=True, on_delete=models.PROTECT, related_name="comparison_evaluators"
    )
    report_stale = models.BooleanField(
        default=True, help_text="verdicts came after the stored report was added up"
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["comparison", "key"], name="comparison_key"),
        ]
        ordering = ["key"]

    def __str__(self) -> str:
        return self.key


class JudgingReport(models.Model):
    """The report of one evaluator's verdicts as it was added up last, ready to be shown.

    It holds while no verdict came since, and the counting that began last has ended.
    """

    evaluator = models.OneToOneField(
        ComparisonEvaluator, on_delete=models.CASCADE, related_name="report", primary_key=True
    )
    body = RawJsonField()
    begun_at = models.DateTimeField(null=True, help_text="when the last counting began")
    added_up_at = models.DateTimeField(
        default=timezone.now, help_text="when the one kept here began"
    )

    def __str__(self) -> str:
        return f"report of {self.evaluator_id}"


class Pair(models.Model):
    """One example (and repetition) in one comparison, with one run per side."""

    comparison = models.ForeignKey(
        Comparison, on_delete=models.CASCADE, related_name="pairs", db_index=False
    )
    example_uid = models.UUIDField()
    repetition = models.PositiveIntegerField(default=0)
    revision = models.ForeignKey(
        ExampleRevision,
        null=True,
        on_delete=models.SET_NULL,
        related_name="+",
        db_constraint=False,
    )
    position = models.BigIntegerField(help_text="place in the dataset's own order")
    run_uids = ArrayField(
        models.UUIDField(null=True), help_text="one per side in order; null where it is missing"
    )
    splits = ArrayField(models.TextField(), default=list)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["comparison", "example_uid", "repetition"], name="pair_once"
            ),
        ]
        indexes = [
            GinIndex(fields=["run_uids"], name="pair_runs"),
            models.Index(
                fields=["comparison"],
                condition=models.Q(repetition__gt=0),
                name="pair_repeated",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.example_uid} in {self.comparison_id}"


class Outcome(models.TextChoices):
    PENDING = "pending", "Not judged yet"
    A = "a", "A better"
    B = "b", "B better"
    TIE = "tie", "Tie"
    BOTH_GOOD = "both_good", "Both good"
    BOTH_BAD = "both_bad", "Both bad"
    FAILED = "failed", "Failed"
    MISSING = "missing", "Missing"


class Judgment(models.Model):
    """The verdict on a pair by one evaluator: what its games come to."""

    pair = models.ForeignKey(Pair, on_delete=models.CASCADE, related_name="judgments")
    comparison = models.ForeignKey(
        Comparison, on_delete=models.CASCADE, related_name="judgments", db_index=False
    )
    evaluator = models.ForeignKey(
        ComparisonEvaluator, on_delete=models.CASCADE, related_name="judgments", db_index=False
    )
    judge = models.TextField(default="", help_text="empty: the evaluator itself; else a person")
    position = models.BigIntegerField(help_text="the pair's, so that filters page on one index")
    rank = models.BigIntegerField(default=0, help_text="place in the random order of judging")
    outcome = models.CharField(max_length=9, choices=Outcome.choices, default=Outcome.PENDING)
    order_changed = models.BooleanField(default=False)
    reason = models.TextField(default="")
    error = models.TextField(default="")
    judged_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["pair", "evaluator", "judge"], name="judgment_once"),
            models.CheckConstraint(
                condition=models.Q(outcome__in=Outcome.values), name="judgment_outcome"
            ),
        ]
        indexes = [
            models.Index(fields=["evaluator", "position", "id"], name="judgment_order"),
            models.Index(fields=["evaluator", "rank"], name="judgment_rank"),
            models.Index(fields=["evaluator", "outcome", "position", "id"], name="judgment_filter"),
            models.Index(
                fields=["evaluator", "position", "id"],
                condition=models.Q(order_changed=True),
                name="judgment_order_changed",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.pair_id}: {self.outcome}"


class JudgmentScore(models.Model):
    """What one side's run scored; scores belong to runs, never to positions."""

    judgment = models.ForeignKey(Judgment, on_delete=models.CASCADE, related_name="scores")
    position = models.PositiveSmallIntegerField()
    run_uid = models.UUIDField()
    score = models.FloatField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["judgment", "position"], name="score_once"),
        ]

    def __str__(self) -> str:
        return f"{self.run_uid}: {self.score}"


class Game(models.Model):
    """One question put to one judge about one pair, in one order."""

    judgment = models.ForeignKey(Judgment, on_delete=models.CASCADE, related_name="games")
    round = models.PositiveIntegerField(default=0, help_text="grows when a pair is judged again")
    number = models.PositiveSmallIntegerField(help_text="0, and 1 for the swapped order")
    order_shown = ArrayField(
        models.UUIDField(), help_text="run ids as the judge saw them; empty: not recorded"
    )
    winner = models.UUIDField(null=True, help_text="run id; empty for a tie or a failure")
    verdict = models.CharField(max_length=9, help_text="first, second, tie, both_good, …, failed")
    reason = models.TextField(default="")
    error = models.TextField(default="")
    error_kind = models.CharField(max_length=20, default="")
    reply = models.ForeignKey(JudgeReply, null=True, on_delete=models.SET_NULL, related_name="+")
    from_cache = models.BooleanField(default=False)
    evaluator_run_uid = models.UUIDField(null=True, help_text="the script's traced call")
    attempts = models.PositiveSmallIntegerField(default=1)
    by_hand = models.BooleanField(default=False, help_text="a person set the verdict of the pair")
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        on_delete=models.SET_NULL,
        related_name="+",
        db_index=False,
    )
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["judgment", "round", "number"], name="game_once"),
        ]
        indexes = [
            models.Index(
                fields=["author"],
                condition=models.Q(author__isnull=False),
                name="game_of_author",
            ),
            models.Index(
                fields=["evaluator_run_uid"],
                condition=models.Q(evaluator_run_uid__isnull=False),
                name="game_of_evaluator_run",
            ),
        ]

    def __str__(self) -> str:
        return f"game {self.number} of {self.judgment_id}"


class OutcomeDelta(models.Model):
    """A change of the counts beside the filters; summed on reading, rolled up by the sweep.

    `split` is empty for the whole comparison, so that a pair in two splits counts once there.
    """

    evaluator = models.ForeignKey(
        ComparisonEvaluator, on_delete=models.CASCADE, related_name="deltas"
    )
    judge = models.TextField(default="")
    split = models.TextField(default="")
    outcome = models.CharField(max_length=9, choices=Outcome.choices)
    order_changed = models.BooleanField(default=False)
    amount = models.BigIntegerField()

    def __str__(self) -> str:
        return f"{self.outcome} {self.amount:+}"
