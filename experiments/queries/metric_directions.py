"""Which way is up for a score: as its key was configured, else as its evaluator says."""

from __future__ import annotations

from collections.abc import Collection

from evaluators import load_evaluator
from evaluators.llm.judging import Unasked
from evaluators.registry import kind as kind_named
from experiments.models import Evaluator, FeedbackConfig
from experiments.queries.evaluator_list import newest_evaluators
from tiebreak.accounts.models import Workspace


def lower_is_better(workspace: Workspace, keys: Collection[str]) -> frozenset[str]:
    """Those of these feedback keys whose lower scores are the better ones."""
    configs = FeedbackConfig.objects.filter(workspace=workspace, key__in=keys)
    said = dict(configs.values_list("key", "is_lower_score_better"))
    evaluators = newest_evaluators(workspace).filter(name__in=set(keys) - said.keys())
    said |= {row.name: _sinks(row) for row in evaluators}
    return frozenset(key for key, lower in said.items() if lower)


def _sinks(evaluator: Evaluator) -> bool:
    """Whether an evaluator's lower scores are better; one that cannot be built says nothing."""
    try:
        llm = Unasked() if kind_named(evaluator.kind).needs_model else None
        built = load_evaluator(evaluator.kind, llm=llm, **evaluator.settings)
    except (ValueError, TypeError, ImportError):
        return False
    return getattr(built, "higher_is_better", True) is False
