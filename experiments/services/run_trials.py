"""Trying an evaluator of single outputs on a few runs before all of them are scored."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from experiments.models import Evaluator, ExamplePayload, Experiment, Run
from experiments.services.subjects import Answer, examples_of, questions_for
from experiments.services.trial_asking import Drawn, Put, asked, prompt_text, tool_of
from experiments.services.trials import TRIAL_ROWS
from experiments.texts import text_of


@dataclass(frozen=True)
class ScoredRow:
    """One output tried by an evaluator of single outputs, with all that was asked and read."""

    example_uid: UUID | None
    input: str | None
    reference: str | None
    output: str | None
    score: float | bool | None
    value: str | None
    reason: str
    error: str
    prompt: str
    reply: str
    from_cache: bool


def try_out_runs(
    *, experiment: Experiment, evaluator: Evaluator, rows: int = TRIAL_ROWS
) -> list[ScoredRow]:
    """Score a few outputs of an experiment now; replies are kept."""
    tool = tool_of(evaluator)
    runs = list(
        experiment.runs.filter(is_root=True, payload__outputs__isnull=False)
        .exclude(status=Run.Status.ERROR)
        .select_related("payload")
        .order_by("-start_time", "-pk")[:rows]
    )
    examples = examples_of(experiment, runs)
    drawn = [_run_drawn(run, examples.get(run.example_uid)) for run in runs]
    texts = [
        questions_for(
            tool.kind,
            tool.evaluator,
            prediction=one.outputs[0],
            input=one.input,
            reference=one.reference,
        )
        for one in drawn
    ]
    if tool.judge is None:
        answers = [Answer(result) for result in tool.evaluator.evaluate_batch(texts)]
        put = [Put(one, (0, 0), None, answer) for one, answer in zip(drawn, answers, strict=True)]
    else:
        questions = [(one, (0, 0), text) for one, text in zip(drawn, texts, strict=True)]
        put = asked(experiment.workspace_id, tool.judge, questions)
    return [_scored(one) for one in put]


def _run_drawn(run: Run, payload: ExamplePayload | None) -> Drawn:
    return Drawn(
        example_uid=run.example_uid or run.uid,
        runs=(run.uid, run.uid),
        outputs=(text_of(run.payload.outputs), None),
        input=text_of(payload.inputs if payload else run.payload.inputs),
        reference=text_of(payload.outputs) if payload else None,
    )


def _scored(one: Put) -> ScoredRow:
    result = one.answer.result
    value = result.get("value")
    return ScoredRow(
        example_uid=one.row.example_uid,
        input=one.row.input,
        reference=one.row.reference,
        output=one.row.outputs[0],
        score=result.get("score"),
        value=None if value is None else str(value),
        reason=str(result.get("reasoning") or ""),
        error=one.answer.error,
        prompt=prompt_text(one.question),
        reply=one.reply,
        from_cache=one.answer.from_cache,
    )
