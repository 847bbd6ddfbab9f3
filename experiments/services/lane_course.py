"""Whether a lane goes on: until its job is paused, or every call of it fails."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.models import Job
from experiments.services.jobs import failures_so_far, stop_asking
from experiments.services.lane_database import LaneDatabase
from experiments.services.lane_gates import Closing
from experiments.services.lane_ledger import Ledger
from experiments.services.subjects import Answer

HOPELESS_AFTER = 20


class Course:
    """A lane starts nothing new once `may_ask` is false."""

    def __init__(
        self, job: Job, ledger: Ledger, database: LaneDatabase, closing: Closing, failures: int
    ) -> None:
        self.job = job
        self.ledger = ledger
        self.database = database
        self.closing = closing
        self.failures = failures
        self.may_ask = True

    def end(self) -> None:
        """Start no more calls; those in flight may end."""
        self.may_ask = False
        self.closing.begin()

    async def stop(self, reason: str, cause: Job.Cause) -> None:
        """Pause the job, and say why."""
        if self.may_ask:
            self.end()
            await self.database.run(stop_asking, self.job, reason, cause)

    async def notice(self, answers: Sequence[Answer]) -> None:
        """Stop a job whose every call fails: a wrong key must not be tried ten thousand times."""
        failed = any(answer.error for answer in answers)
        self.failures = self.failures + 1 if failed else 0
        if self.failures < HOPELESS_AFTER or not self.may_ask:
            return
        await self.ledger.flush()
        if await self.database.run(failures_so_far, self.job):
            reason = f"Paused: the first {self.failures} calls all failed. {answers[-1].error}"
            await self.stop(reason, Job.Cause.FAILURES)
