"""What a lane writes: replies as they come, verdicts in bulk; always by its own database thread."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from decimal import Decimal

from django.db import Error, transaction

from evaluators.base import row_error
from evaluators.errors import ProviderError
from experiments.models import Lane
from experiments.services import lanes
from experiments.services.asking import Asked, store_replies
from experiments.services.budgets import NOTHING, Spent, settle
from experiments.services.lane_database import LaneDatabase, is_refusal
from experiments.services.lane_gates import Purse
from experiments.services.lane_tools import Subject
from experiments.services.run_scores import record_runs
from experiments.services.stopping import follow_races
from experiments.services.subjects import Answer, Work, record_pairs

log = logging.getLogger(__name__)
GATHER_SECONDS = 0.003
FLUSH_SECONDS = 0.5
TROUBLE_SECONDS = 1.0
Arrived = tuple[Asked, asyncio.Future[int]]


class Ledger:
    """Collects what comes in and commits it, checking the lane's token on every verdict."""

    def __init__(self, lane: Lane, subject: Subject, purse: Purse) -> None:
        self.lane = lane
        self.subject = subject
        self.purse = purse
        self.database = purse.database
        # Of its own, so that a reply, whose slot waits for it, never queues behind verdicts.
        self.replies = LaneDatabase()
        self.finished: list[tuple[Work, list[Answer]]] = []
        self.arrived: list[Arrived] = []
        self.arrival = asyncio.Event()

    async def save(self, asked: Asked) -> int:
        """Wait until a reply is committed; its key."""
        stored: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self.arrived.append((asked, stored))
        self.arrival.set()
        return await stored

    def add(self, work: Work, answers: list[Answer]) -> None:
        """Take in what has come to a verdict; it is committed with the next flush."""
        self.finished.append((work, answers))

    async def store_for_ever(self) -> None:
        """Commit replies as they come; while the database is away, keep them and try again."""
        while True:
            await self.arrival.wait()
            self.arrival.clear()
            # Others that come at the same time are committed together.
            await asyncio.sleep(GATHER_SECONDS)
            while self.arrived:
                await self._store_arrived()

    async def settle_for_ever(self, wake: asyncio.Event) -> None:
        """Commit verdicts in bulk, and wake who waits for room."""
        while True:
            await asyncio.sleep(FLUSH_SECONDS)
            if self.finished:
                await self._flush_patiently()
                wake.set()

    def close(self) -> None:
        self.replies.close()

    async def _flush_patiently(self) -> None:
        try:
            await self.flush()
        except Error as error:
            log.warning("Verdicts wait for the database: %s", error)
            await asyncio.sleep(TROUBLE_SECONDS)

    async def _store_arrived(self) -> None:
        batch, self.arrived = self.arrived, []
        booked = self.purse.booked()
        try:
            keys = await self.replies.run(self._store, [item for item, _ in batch], *booked)
        except Exception as error:
            self.purse.book(*booked)
            if is_refusal(error):
                await self._store_each(batch)
            else:
                await self._keep(batch, error)
            return
        for (_, waiting), key in zip(batch, keys, strict=True):
            if not waiting.done():
                waiting.set_result(key)

    async def _keep(self, batch: Sequence[Arrived], error: Exception) -> None:
        """Let replies wait for a database that is away."""
        log.warning("Replies wait for the database: %s", error)
        self.arrived = [*batch, *self.arrived]
        await asyncio.sleep(TROUBLE_SECONDS)

    async def _store_each(self, batch: Sequence[Arrived]) -> None:
        """Commit replies one by one: one that PostgreSQL refuses is its own question's failure."""
        for place, (item, waiting) in enumerate(batch):
            try:
                (key,) = await self.replies.run(self._store, [item], Spent(), NOTHING)
            except Exception as error:
                if not is_refusal(error):
                    await self._keep(batch[place:], error)
                    return
                if not waiting.done():
                    waiting.set_exception(error)
            else:
                if not waiting.done():
                    waiting.set_result(key)

    @transaction.atomic
    def _store(self, asked: Sequence[Asked], spent: Spent, held: Decimal) -> list[int]:
        """Commit replies together with what they took."""
        settle(self.lane.pk, self.lane.token, spent, held)
        return store_replies(self.subject.job.workspace_id, asked)

    async def settle_calls(self) -> None:
        """Commit what calls took that brought no reply."""
        booked = self.purse.booked()
        if not booked[0].calls:
            return
        try:
            await self.replies.run(settle, self.lane.pk, self.lane.token, *booked)
        except Exception as error:
            if is_refusal(error):
                log.error("Calls are booked without their price", exc_info=error)
                calls = booked[0].calls
                booked = Spent(calls=calls, unpriced=calls), booked[1]
            self.purse.book(*booked)
            raise

    async def flush(self) -> None:
        """Commit the verdicts that are in; kept for the next time when the database refuses."""
        finished, self.finished = self.finished, []
        if not finished:
            return
        try:
            await self.database.run(self._settle, finished)
        except Exception as error:
            if not is_refusal(error):
                self.finished = finished + self.finished
                raise
            for place, one in enumerate(finished):
                try:
                    await self._settle_alone(*one)
                except Error:
                    self.finished = finished[place:] + self.finished
                    raise
        if self.subject.comparison and self.subject.stops_when_certain:
            await self.database.run(follow_races, self.subject.comparison)

    async def _settle_alone(self, work: Work, answers: list[Answer]) -> None:
        """Record one verdict; where PostgreSQL refuses it, that it could not be recorded."""
        try:
            await self.database.run(self._settle, [(work, answers)])
        except Exception as error:
            if not is_refusal(error):
                raise
            log.error("A verdict is refused", exc_info=error)
            told = f"The verdict could not be recorded ({type(error).__name__})."
            failed = [Answer(row_error(ProviderError(told)))] * len(answers)
            await self.database.run(self._settle_or_drop, work, failed)

    def _settle_or_drop(self, work: Work, answers: list[Answer]) -> None:
        try:
            self._settle([(work, answers)])
        except Exception as error:
            if not is_refusal(error):
                raise
            log.error("A failure is refused", exc_info=error)
            lanes.drop_items([work.item.item_id])

    @transaction.atomic
    def _settle(self, finished: Sequence[tuple[Work, list[Answer]]]) -> None:
        """Record what the token still holds; what another lane took over is its own affair."""
        held = lanes.still_ours(self.lane, [work.item for work, _ in finished])
        ours = [(work, answers) for work, answers in finished if work.item.item_id in held]
        if self.subject.comparison:
            record_pairs(self.subject.comparison, ours)
        elif self.subject.evaluation:
            record_runs(self.subject.evaluation, ours)
        lanes.drop_items([work.item.item_id for work, _ in ours])
