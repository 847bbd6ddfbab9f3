"""Any evaluator of one answer, chosen by its name, for two answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from evaluators.base import StringEvaluator
from evaluators.define import evaluator
from evaluators.kinds import About
from evaluators.nearer import TOLERANCE, BetterScoreWins


@evaluator("better_score", title="Better score by another evaluator")
@dataclass(kw_only=True)
class BetterScore(BetterScoreWins):
    """Scores each answer by an evaluator of one answer; the better score wins by its direction."""

    scored_by: Annotated[
        str, About("The evaluator of one answer, such as numeric_match; one that asks no model.")
    ] = "exact_match"
    settings: Annotated[
        Mapping[str, Any] | None, About("The settings of that evaluator.", type="json")
    ] = None
    tolerance: Annotated[float, About(TOLERANCE)] = 0.0
    single: StringEvaluator = field(init=False)

    def __post_init__(self) -> None:
        from evaluators.registry import available, load_evaluator

        names = [
            one.name
            for one in available()
            if one.family == "string" and not one.needs_model and not one.needs_embeddings
        ]
        if self.scored_by not in names:
            raise ValueError(f"scored_by must be one of {', '.join(names)}.")
        if not isinstance(self.settings or {}, Mapping):
            raise ValueError("settings must be an object of the evaluator's settings.")
        single = load_evaluator(self.scored_by, **(self.settings or {}))
        super().__init__(single, self.tolerance)
