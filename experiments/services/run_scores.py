"""What an evaluator says of a run, as feedback: the score, one per criterion, a mark if torn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID, uuid5

from django.utils import timezone

from experiments.models import Evaluation, Feedback
from experiments.rawjson import dumps, storable
from experiments.services.judgment_rows import FEEDBACK_SPACE
from experiments.services.subjects import Answer, Work
from experiments.services.summaries import outdate
from experiments.texts import CONTRADICTS, reason_of

INCONSISTENT = "inconsistent"
_WRITTEN = ["score", "score_text", "value", "comment", "is_error", "source", "modified_at"]


def record_runs(evaluation: Evaluation, finished: Sequence[tuple[Work, Sequence[Answer]]]) -> None:
    """Store scores as feedback on the runs; run again, they replace the earlier ones.

    Several criteria in one call give a score each, under the evaluator's name, a dot and theirs.
    """
    moment = timezone.now()
    rows = [
        row
        for work, answers in finished
        for row in _rows(evaluation, work.runs[0], answers[0].result, moment)
    ]
    _forget_parts(evaluation, [work.runs[0] for work, _ in finished], rows)
    Feedback.objects.bulk_create(
        rows,
        update_conflicts=True,
        unique_fields=["workspace", "uid"],
        update_fields=_WRITTEN,
    )
    outdate([evaluation.experiment_id])


def _rows(
    evaluation: Evaluation, run: UUID, result: Mapping[str, Any], moment: datetime
) -> Iterator[Feedback]:
    key = evaluation.evaluator.name
    yield _feedback(evaluation, key, run, moment, _score(result))
    for name, score in (result.get("scores") or {}).items():
        yield _feedback(evaluation, f"{key}.{name}", run, moment, _score({"score": score}))
    if result.get(INCONSISTENT):
        mark = _score({"score": 1, "reasoning": CONTRADICTS})
        yield _feedback(evaluation, f"{key}.{INCONSISTENT}", run, moment, mark)


def _feedback(
    evaluation: Evaluation, key: str, run: UUID, moment: datetime, score: Mapping[str, Any]
) -> Feedback:
    return Feedback(
        workspace_id=evaluation.workspace_id,
        uid=_uid(key, run),
        run_uid=run,
        trace_uid=run,
        experiment_id=evaluation.experiment_id,
        key=storable(key)[:400],
        source_type="model",
        source=dumps({"type": "model", "metadata": {"evaluator": str(evaluation.uid)}}),
        created_at=moment,
        modified_at=moment,
        **score,
    )


def _uid(key: str, run: UUID) -> UUID:
    return uuid5(FEEDBACK_SPACE, f"{key}:{run}")


def _forget_parts(evaluation: Evaluation, runs: Sequence[UUID], rows: Sequence[Feedback]) -> None:
    """Take back what an earlier time gave beside the score, and this time does not."""
    criteria = evaluation.evaluator.settings.get("criteria")
    several = list(criteria) if isinstance(criteria, dict) and len(criteria) > 1 else []
    parts = [f"{evaluation.evaluator.name}.{name}" for name in [*several, INCONSISTENT]]
    stale = {_uid(key, run) for key in parts for run in runs} - {row.uid for row in rows}
    Feedback.objects.filter(workspace=evaluation.workspace_id, uid__in=stale).delete()


def _score(result: Mapping[str, Any]) -> dict[str, Any]:
    score, value, error = (result.get(name) for name in ("score", "value", "error"))
    remark = error or reason_of(result)
    return {
        "score": None if score is None else float(score),
        "score_text": None if score is None else dumps(score),
        "value": None if value is None else dumps(value),
        "comment": dumps(storable(str(remark))) if remark else None,
        "is_error": bool(error),
    }
