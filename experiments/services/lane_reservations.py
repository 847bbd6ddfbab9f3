"""The questions that a lane has to itself while it asks them."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from experiments.models import Lane
from experiments.services.asking import Question, Stored, reserved_replies
from experiments.services.lane_database import LaneDatabase
from experiments.services.lane_gates import Closing, Later
from experiments.services.reserved import Key, release_questions

ASKED_ELSEWHERE_SECONDS = (0.5, 1.5)
PATIENCE_SECONDS = (5.0, 20.0)


class Reservations:
    """What this lane may ask; others wait, and find the replies stored."""

    def __init__(self, lane: Lane, database: LaneDatabase, closing: Closing) -> None:
        self.lane = lane
        self.database = database
        self.closing = closing
        self.released: set[Key] = set()

    async def take(self, questions: Sequence[Question]) -> tuple[set[Key], dict[Key, Stored]]:
        """The keys that are ours now, and the replies that are stored already."""
        workspace = self.lane.job.workspace_id
        return await self.database.run(reserved_replies, workspace, self.lane.token, questions)

    async def take_fallback(self, question: Question, place: int) -> Stored | None:
        """Take the question to a further model of the chain; its reply if it is stored already.

        Waits while somebody else asks that model the same, who may have come to it on another way;
        not for ever, since that somebody may wait for what we hold ourselves: raises Later then.
        """
        question = replace(question, digests=[question.digests[place]])
        patience = time.monotonic() + random.uniform(*PATIENCE_SECONDS)  # noqa: S311
        while time.monotonic() < patience:
            ours, known = await self.take([question])
            stored = known.get(question.key)
            if ours or stored is not None:
                return stored
            await self.closing.sleep(_a_while())
        raise asked_elsewhere()

    def let_go(self, keys: set[Key]) -> None:
        """Others may ask these from the next `release` on."""
        self.released |= keys

    async def release(self) -> None:
        released, self.released = self.released, set()
        if released:
            free = partial(release_questions, self.lane.job.workspace_id, self.lane.token)
            await self.database.run(free, released)


def asked_elsewhere() -> Later:
    """Another asks it at this moment, and will have stored the reply."""
    return Later(_a_while())


def _a_while() -> float:
    return random.uniform(*ASKED_ELSEWHERE_SECONDS)  # noqa: S311
