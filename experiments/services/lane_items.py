"""What becomes of the items that a lane has claimed: asked, run in a batch, put off or dropped."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Coroutine, Sequence
from functools import partial

from evaluators.base import row_error
from evaluators.errors import ProviderError
from experiments.models import Job, Lane
from experiments.services import lanes
from experiments.services.asking import Judge, Known, Question
from experiments.services.budgets import used_up
from experiments.services.lane_asking import MAX_ATTEMPTS, Interview
from experiments.services.lane_course import Course
from experiments.services.lane_database import LaneDatabase, is_refusal
from experiments.services.lane_gates import BudgetUsedUp, Later
from experiments.services.lane_ledger import Ledger
from experiments.services.lane_reservations import Reservations, asked_elsewhere
from experiments.services.lane_tools import Subject, Tool
from experiments.services.lanes import Claimed
from experiments.services.reserved import Key
from experiments.services.subjects import Answer, Work

log = logging.getLogger(__name__)


class Items:
    """The lane's work under way: a task for each item that asks a model, or for a batch."""

    def __init__(
        self,
        lane: Lane,
        subject: Subject,
        database: LaneDatabase,
        ledger: Ledger,
        interview: Interview,
        reservations: Reservations,
        course: Course,
        wake: asyncio.Event,
    ) -> None:
        self.lane = lane
        self.subject = subject
        self.database = database
        self.ledger = ledger
        self.interview = interview
        self.reservations = reservations
        self.course = course
        self.wake = wake
        self.tasks: set[asyncio.Task[None]] = set()
        self.batch = 16

    async def begin(self, claimed: Sequence[Claimed], tools: Sequence[Tool]) -> None:
        """Start on items; what was deleted meanwhile, or is certain already, needs no verdict."""
        for tool in tools:
            items = [item for item in claimed if item.evaluator_id == tool.row.pk]
            if not items:
                continue
            if tool.row.pk in self.interview.halted:
                await self._drop(items)
                continue
            works = await self.database.run(self.subject.load, tool, items)
            known = {work.item.item_id for work in works}
            await self._drop([item for item in items if item.item_id not in known])
            if tool.judge:
                await self._begin_asking(tool.judge, works)
            elif works:
                self._spawn(self._guarded(works, self._run_batch(tool, works)))

    async def wind_down(self, patience: float | None) -> None:
        """Let what is in flight end, for so many seconds at most."""
        if self.tasks:
            _, late = await asyncio.wait(self.tasks, timeout=patience)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    def cancel(self) -> None:
        """Break off all that is in flight; the items go back on the queue."""
        for task in self.tasks:
            task.cancel()

    async def _drop(self, items: Sequence[Claimed]) -> None:
        if items:
            await self.database.run(lanes.drop_items, [item.item_id for item in items])

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self.tasks.discard(task)
        self.wake.set()
        if not task.cancelled() and task.exception():
            log.error("An item went back on the queue", exc_info=task.exception())

    async def _guarded(self, works: Sequence[Work], work_on: Coroutine[None, None, None]) -> None:
        """Whatever goes wrong with items is counted: an attempt each, and at last a failure."""
        try:
            await work_on
        except Exception as error:
            if not is_refusal(error):
                raise
            log.error("Items could not be judged", exc_info=error)
            for work in works:
                await self._fail(work, error)

    async def _fail(self, work: Work, error: Exception) -> None:
        attempts = work.item.attempts
        if attempts + 1 < MAX_ATTEMPTS:
            await self._put_off(work, Later(2.0**attempts, failed=True))
            return
        told = f"It could not be judged ({type(error).__name__})."
        answers = [Answer(row_error(ProviderError(told))) for _ in work.questions]
        self.ledger.add(work, answers)
        await self.course.notice(answers)

    async def _run_batch(self, tool: Tool, works: Sequence[Work]) -> None:
        rows = [texts for work in works for texts in work.questions]
        started = time.monotonic()
        results = iter(await asyncio.to_thread(tool.evaluator.evaluate_batch, rows))
        spent = time.monotonic() - started
        self.batch = min(2000, self.batch * 2) if spent < 1 else max(1, self.batch // 2)
        for work in works:
            self.ledger.add(work, [Answer(next(results)) for _ in work.questions])

    async def _begin_asking(self, judge: Judge, works: Sequence[Work]) -> None:
        prepared = [(work, judge.questions(work)) for work in works]
        asked = [q for _, questions in prepared for q in questions if isinstance(q, Question)]
        reserved, known = await self.reservations.take(asked)
        for work, questions in prepared:
            own = [one for one in questions if isinstance(one, Question)]
            wanted = {one.key for one in own}
            ours = wanted & reserved
            reserved -= wanted
            if {one.key for one in own if not one.is_stored(known)} <= ours:
                asking = self._ask_all(judge, work, questions, known)
                self._spawn(self._guarded([work], self._letting_go(ours, asking)))
            else:
                self._spawn(self._letting_go(ours, self._put_off(work, asked_elsewhere())))

    async def _letting_go(self, keys: set[Key], work_on: Coroutine[None, None, None]) -> None:
        """Whatever becomes of the work, others may ask its questions afterwards."""
        try:
            await work_on
        finally:
            self.reservations.let_go(keys)

    async def _ask_all(
        self, judge: Judge, work: Work, questions: Sequence[Question | Answer], known: Known
    ) -> None:
        try:
            answers = await self.interview.answers(judge, work, questions, known)
        except Later as later:
            await self._put_off(work, later)
            return
        except BudgetUsedUp:
            await self._put_off(work, Later())
            reason = await self.database.run(used_up, self.lane.job)
            await self.course.stop(reason, Job.Cause.BUDGET)
            return
        self.ledger.add(work, answers)
        await self.course.notice(answers)

    async def _put_off(self, work: Work, later: Later) -> None:
        if work.item.evaluator_id in self.interview.halted:
            await self._drop([work.item])
            return
        put_back = partial(lanes.put_back, delay=later.delay, failed=later.failed)
        await self.database.run(put_back, self.lane, [work.item.item_id])
