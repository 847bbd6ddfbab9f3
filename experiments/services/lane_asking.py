"""How a lane comes to an answer: from a stored reply, else from the first model that gives one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from evaluators.base import row_error
from evaluators.errors import ModelError, RateLimited
from evaluators.llm.retries import may_be_answered_elsewhere, may_pass
from experiments.services.asking import (
    LONGEST_WAIT_SECONDS,
    Asked,
    Judge,
    Known,
    Question,
    delay_before_repeating,
)
from experiments.services.budgets import Spent
from experiments.services.lane_database import LaneDatabase
from experiments.services.lane_gates import Gates, Later, Pacer, Promise
from experiments.services.lane_ledger import Ledger
from experiments.services.lane_reservations import Reservations
from experiments.services.pacing import block
from experiments.services.reserved import Key
from experiments.services.subjects import Answer, Work

MAX_ATTEMPTS = 5
# A limit is no fault of the question: it is met more often before that counts as a failure.
MAX_LIMITED_ATTEMPTS = 8


class Interview:
    """Puts a lane's questions to models, through the lane's gates."""

    def __init__(
        self, gates: Gates, ledger: Ledger, database: LaneDatabase, reservations: Reservations
    ) -> None:
        self.gates = gates
        self.ledger = ledger
        self.database = database
        self.reservations = reservations
        # Evaluators whose verdict is certain: they are not asked on.
        self.halted: set[int] = set()

    async def answers(
        self, judge: Judge, work: Work, questions: Sequence[Question | Answer], known: Known
    ) -> list[Answer]:
        """What comes of an item's questions; Later or BudgetUsedUp when one cannot be asked now.

        They are asked one after the other in one slot: what was begun is ended first. Where both
        outputs are the same, both orders are one question.
        """
        asked = {one.key: one for one in questions if isinstance(one, Question)}
        said = {key: judge.answer_from(one, known) for key, one in asked.items()}
        promise = Promise(sum(answer is None for answer in said.values()))
        if promise.calls:
            async with self.gates.slots:
                try:
                    for key, one in asked.items():
                        said[key] = said[key] or await self._ask_now(
                            judge, work, one, known, promise
                        )
                finally:
                    self.gates.purse.break_off(promise)
        return _in_order(questions, said)

    async def _ask_now(
        self, judge: Judge, work: Work, question: Question, known: Known, promise: Promise
    ) -> Answer:
        self.gates.closing.check()
        if work.item.evaluator_id in self.halted:
            raise Later
        return await self._ask(judge, work, question, known, promise)

    async def _ask(
        self, judge: Judge, work: Work, question: Question, known: Known, promise: Promise
    ) -> Answer:
        """Ask one model after the other until one gives a readable answer."""
        errors: list[ModelError] = []
        unread: Answer | None = None
        for place in range(len(judge.callers)):
            is_last = place == len(judge.callers) - 1
            stored = known.get((question.digests[place], question.sample.number))
            if stored is not None:
                unread = judge.read_stored(stored)
                continue
            if self._pacer(judge, place).blocked_for > 0 and not is_last:
                continue
            try:
                answer = await self._ask_at(judge, place, question, promise)
            except ModelError as error:
                errors.append(error)
                if not may_be_answered_elsewhere(error):
                    break
                continue
            if not answer.error:
                return answer
            unread = answer
        self._repeat_later(work, errors)
        return unread or Answer(row_error(errors[-1]))

    async def _ask_at(
        self, judge: Judge, place: int, question: Question, promise: Promise
    ) -> Answer:
        """Ask one model of the chain; the first is reserved with the item, the others here."""
        if place == 0:
            return await self._call(judge, place, question, promise)
        stored = await self.reservations.take_fallback(question, place)
        if stored is not None:
            return judge.read_stored(stored)
        try:
            return await self._call(judge, place, question, promise)
        finally:
            self.reservations.let_go({(question.digests[place], question.sample.number)})

    def _repeat_later(self, work: Work, errors: Sequence[ModelError]) -> None:
        for error in errors:
            limit = MAX_LIMITED_ATTEMPTS if isinstance(error, RateLimited) else MAX_ATTEMPTS
            if may_pass(error) and work.item.attempts + 1 < limit:
                delay = delay_before_repeating(error, work.item.attempts)
                raise Later(delay, failed=True) from error

    async def _call(self, judge: Judge, place: int, question: Question, promise: Promise) -> Answer:
        """One call, paid for and stored; its slot is kept until the commit, so that a kill loses
        at most what is in flight.
        """
        caller, purse = judge.callers[place], self.gates.purse
        tokens, money = caller.expected(question.messages)
        held = await purse.take(money, promise, is_guess=not caller.knows)
        try:
            await self._pacer(judge, place).wait(tokens)
            self.gates.closing.check()
        except Later:
            purse.give_back()
            raise
        spent = Spent(calls=1)
        try:
            reply = await caller.call(question.messages)
            spent = caller.spent_on(question.messages, reply)
        except ModelError as error:
            await self._heed(judge, place, error)
            raise
        finally:
            # Whatever became of it, the call was made.
            purse.book(spent, held)
        cost = None if spent.unpriced or not spent.prompt_tokens else spent.money
        asked = Asked(question, place, caller.provider.pk, reply, cost)
        reply_id = await self.ledger.save(asked)
        return judge.read(reply.text, reply.finish_reason, reply_id, from_cache=False)

    def _pacer(self, judge: Judge, place: int) -> Pacer:
        return self.gates.pacers[judge.callers[place].provider.pk]

    async def _heed(self, judge: Judge, place: int, error: ModelError) -> None:
        """A provider that says how long to wait is left alone by every lane."""
        if not isinstance(error, RateLimited) or not error.retry_after:
            return
        pacer, seconds = self._pacer(judge, place), min(error.retry_after, LONGEST_WAIT_SECONDS)
        if seconds > pacer.blocked_for + 0.5:
            pacer.block(seconds)
            await self.database.run(block, pacer.provider.pk, seconds)


def _in_order(
    questions: Sequence[Question | Answer], said: Mapping[Key, Answer | None]
) -> list[Answer]:
    """An answer for each question; what answers a second one was not paid for again."""
    found: list[Answer] = []
    used: set[Key] = set()
    for one in questions:
        if isinstance(one, Answer):
            found.append(one)
        elif answer := said[one.key]:
            found.append(replace(answer, from_cache=True) if one.key in used else answer)
            used.add(one.key)
    return found
