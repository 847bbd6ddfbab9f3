"""The evaluators of a job, made ready for use in a lane."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.models import Comparison, Evaluation, Evaluator, Job, Race
from experiments.services.asking import Judge
from experiments.services.evaluators import build, kind_of
from experiments.services.jobs import evaluators_of, stop_asking
from experiments.services.lanes import Claimed
from experiments.services.sealing import Unsealable
from experiments.services.subjects import Work, pair_work, run_work


class Tool:
    """An evaluator ready for use: with its model when it has one."""

    def __init__(self, row: Evaluator) -> None:
        self.row = row
        self.kind = kind_of(row)
        self.evaluator = build(row)
        self.judge = Judge(row.provider, self.evaluator) if row.provider else None

    async def close(self) -> None:
        if self.judge:
            await self.judge.close()


class Subject:
    """What a job judges: the pairs of a comparison, or the runs of an experiment."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.comparison = Comparison.objects.filter(job=job).first()
        self.evaluation = (
            None
            if self.comparison
            else Evaluation.objects.select_related("experiment", "evaluator").get(job=job)
        )

        self.stops_when_certain = Race.objects.filter(
            evaluator__comparison=self.comparison or 0
        ).exists()

    def open_tools(self) -> dict[int, Tool] | None:
        """Each evaluator ready for use; when one cannot be, the job pauses and says why."""
        tools: dict[int, Tool] = {}
        for row in evaluators_of(self.job):
            try:
                tools[row.pk] = Tool(row)
            except (ValueError, TypeError, ImportError, Unsealable) as error:
                reason = f"Paused: {row.name} cannot be used. {error}"
                stop_asking(self.job, reason, Job.Cause.FAILURES)
                return None
        return tools

    def load(self, tool: Tool, items: Sequence[Claimed]) -> list[Work]:
        """What the evaluator is shown for claimed items; what was deleted meanwhile is left out."""
        if self.comparison:
            return pair_work(self.comparison, tool.kind, tool.evaluator, items)
        assert self.evaluation is not None
        return run_work(self.evaluation, tool.kind, tool.evaluator, items)
