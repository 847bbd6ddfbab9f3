"""Stopping early: the race of A and B as far as it can be followed without a gap."""

from django.db import models

from experiments.models.comparisons import ComparisonEvaluator


class Race(models.Model):
    """Follows the verdicts of one evaluator in their random order; it exists where judging stops
    as soon as the verdict is certain.
    """

    evaluator = models.OneToOneField(
        ComparisonEvaluator, on_delete=models.CASCADE, related_name="race", primary_key=True
    )
    rank = models.BigIntegerField(default=0, help_text="the last place that was followed")
    wins = models.BigIntegerField(default=0, help_text="examples won by A")
    losses = models.BigIntegerField(default=0, help_text="examples won by B")
    examples = models.BigIntegerField(default=0, help_text="examples followed, ties included")
    is_halted = models.BooleanField(default=False, help_text="what is left is not asked")
    stopped_at = models.BigIntegerField(null=True, help_text="after so many examples")

    def __str__(self) -> str:
        return f"{self.wins} : {self.losses}"
