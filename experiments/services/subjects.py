"""What an evaluator is shown for each claimed item, and what becomes of its answers."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.utils import timezone

from evaluators.errors import (
    BadKey,
    ContextOverflow,
    ModelTimeout,
    ProviderError,
    RateLimited,
    UnreadableReply,
)
from evaluators.kinds import Kind
from experiments.columns import array, fetch
from experiments.models import (
    Comparison,
    Evaluation,
    ExampleRevision,
    Experiment,
    Order,
    Run,
)
from experiments.services.judgment_rows import Decided
from experiments.services.judgments import record_judgments
from experiments.services.lanes import Claimed
from experiments.services.samples import Sample, next_sample, repetitions_of, spent_samples
from experiments.texts import reason_of, text_of
from experiments.verdicts import FAILED, GameResult, reduce_games

ERROR_KINDS: dict[str, str] = {
    RateLimited.__name__: "rate_limit",
    ModelTimeout.__name__: "timeout",
    ContextOverflow.__name__: "too_long",
    BadKey.__name__: "key",
    ProviderError.__name__: "provider",
    UnreadableReply.__name__: "unreadable",
}


@dataclass(frozen=True)
class Answer:
    """What came of one question: the evaluator's result, or why there is none."""

    result: Mapping[str, Any]
    reply_id: int | None = None
    from_cache: bool = False

    @property
    def error(self) -> str:
        return str(self.result.get("error") or "")

    @property
    def error_kind(self) -> str:
        return ERROR_KINDS.get(str(self.result.get("error_type")), "error") if self.error else ""


@dataclass(frozen=True)
class Work:
    """One claimed item: the questions it asks, as keyword arguments of the evaluator's call."""

    item: Claimed
    questions: list[dict[str, Any]]
    samples: list[Sample]
    orders: list[tuple[int, int]] = field(default_factory=list)
    runs: Sequence[UUID] = ()


def questions_for(kind: Kind, evaluator: Any, **texts: Any) -> dict[str, Any]:
    """The texts this evaluator takes; others' own evaluators are handed all there is."""
    ours = kind.source == "tiebreak"
    if ours and not evaluator.requires_input:
        texts.pop("input", None)
    if ours and not evaluator.uses_reference:
        texts.pop("reference", None)
    return texts


def pair_work(
    comparison: Comparison, kind: Kind, evaluator: Any, items: Sequence[Claimed]
) -> list[Work]:
    """Load the pairs behind claimed judgments and decide the order they are shown in."""
    shown = _shown(comparison, [item.target for item in items])
    spent = spent_samples(shown)
    return [
        _pair_work(comparison, kind, evaluator, item, shown[item.target], spent)
        for item in items
        if item.target in shown
    ]


@dataclass(frozen=True)
class Shown:
    """A pair as a judge may see it: two runs with their outputs, input and reference as text."""

    example_uid: UUID
    repetition: int
    runs: list[UUID]
    outputs: list[str | None]
    input: str | None
    reference: str | None


_SHOWN = """
SELECT judgment.id, pair.example_uid, pair.repetition, pair.run_uids[:2],
       (SELECT array_agg(payload.outputs::text ORDER BY side.place)
        FROM unnest(pair.run_uids[:2]) WITH ORDINALITY AS side(uid, place)
        LEFT JOIN experiments_run run ON run.workspace_id = $1 AND run.uid = side.uid
        LEFT JOIN experiments_runpayload payload ON payload.run_id = run.id),
       example.inputs::text, example.outputs::text
FROM experiments_judgment judgment
JOIN experiments_pair pair ON pair.id = judgment.pair_id
LEFT JOIN experiments_examplepayload example ON example.revision_id = pair.revision_id
WHERE judgment.id = ANY($2::bigint[]) AND judgment.comparison_id = $3
"""


def _shown(comparison: Comparison, judgment_ids: Sequence[int]) -> dict[int, Shown]:
    """What claimed judgments are about, by their keys; what was deleted meanwhile is absent."""
    given = [comparison.workspace_id, array(judgment_ids), comparison.pk]
    return {
        pk: Shown(example, repetition, runs, [*map(text_of, outputs)], text_of(i), text_of(ref))
        for pk, example, repetition, runs, outputs, i, ref in fetch(_SHOWN, given)
    }


def _pair_work(
    comparison: Comparison,
    kind: Kind,
    evaluator: Any,
    item: Claimed,
    pair: Shown,
    spent: Mapping[tuple[int, int], Sequence[bool]],
) -> Work:
    orders = orders_of(comparison, kind, f"{pair.example_uid}{pair.repetition}")
    return Work(
        item=item,
        orders=orders,
        runs=pair.runs,
        samples=[
            next_sample(pair.repetition, spent.get((item.target, number), ()))
            for number in range(len(orders))
        ],
        questions=[
            questions_for(
                kind,
                evaluator,
                prediction=pair.outputs[first],
                prediction_b=pair.outputs[second],
                input=pair.input,
                reference=pair.reference,
            )
            for first, second in orders
        ],
    )


def orders_of(comparison: Comparison, kind: Kind, name: str) -> list[tuple[int, int]]:
    """Which side is shown first, for each question; functions that see no order are asked once."""
    if comparison.order == Order.OFF or not kind.order_matters:
        return [(0, 1)]
    if comparison.order == Order.BOTH:
        return [(0, 1), (1, 0)]
    coin = hashlib.sha256(f"{comparison.seed}:{name}".encode()).digest()[0] & 1
    return [(coin, 1 - coin)]


def record_pairs(comparison: Comparison, finished: Sequence[tuple[Work, Sequence[Answer]]]) -> None:
    """Turn answers into verdicts by run, and store them through the one door."""
    record_judgments(comparison, [_decided(work, answers) for work, answers in finished])


def _decided(work: Work, answers: Sequence[Answer]) -> Decided:
    games = [
        game_of(work.runs, order, answer, attempts=work.item.attempts + 1)
        for order, answer in zip(work.orders, answers, strict=False)
    ]
    return Decided(work.item.target, reduce_games(games, work.runs), games)


def game_of(
    runs: Sequence[UUID], order: tuple[int, int], answer: Answer, *, attempts: int = 1
) -> GameResult:
    """The game that an answer makes, with the runs in the order shown."""
    shown = (runs[order[0]], runs[order[1]])
    place = None if answer.error else _winning_place(answer.result)
    return GameResult(
        order_shown=shown,
        verdict=FAILED
        if answer.error
        else ("tie" if place is None else ("first", "second")[place]),
        winner=None if place is None else shown[place],
        reason=reason_of(answer.result),
        error=answer.error,
        error_kind=answer.error_kind,
        reply_id=answer.reply_id,
        from_cache=answer.from_cache,
        attempts=attempts,
    )


def _winning_place(result: Mapping[str, Any]) -> int | None:
    """0 when the first shown won, 1 for the second, None for a tie: by the score alone."""
    score = float(result["score"])
    return None if score == 0.5 else int(score < 0.5)


def run_work(
    evaluation: Evaluation, kind: Kind, evaluator: Any, items: Sequence[Claimed]
) -> list[Work]:
    """Load the runs behind claimed items, with their examples as the experiment saw them."""
    runs = {
        row.pk: row
        for row in Run.objects.filter(
            experiment=evaluation.experiment, pk__in=[item.target for item in items]
        ).select_related("payload")
    }
    examples = examples_of(evaluation.experiment, runs.values())
    repetitions = repetitions_of(evaluation, runs.values())
    return [
        Work(
            item=item,
            runs=[run.uid],
            samples=[Sample(repetitions.get(run.pk, 0))],
            questions=[
                questions_for(
                    kind,
                    evaluator,
                    prediction=text_of(run.payload.outputs),
                    input=text_of(example.inputs if example else run.payload.inputs),
                    reference=text_of(example.outputs) if example else None,
                )
            ],
        )
        for item in items
        for run in [runs.get(item.target)]
        if run is not None
        for example in [examples.get(run.example_uid)]
    ]


def examples_of(experiment: Experiment, runs: Iterable[Run]) -> dict[UUID | None, Any]:
    """The examples of some runs as the experiment saw them, by their id."""
    moment = experiment.dataset_version or timezone.now()
    rows = ExampleRevision.objects.filter(
        example__workspace=experiment.workspace_id,
        example__uid__in={run.example_uid for run in runs if run.example_uid},
        valid_from__lte=moment,
    )
    rows = rows.select_related("payload", "example").order_by("valid_from")
    return {row.example.uid: row.payload for row in rows}
