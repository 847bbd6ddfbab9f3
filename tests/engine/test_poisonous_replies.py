"""Whatever a judge's server sends: each call is booked once, and nothing is wedged."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

from experiments.models import Game, Job, JudgeReply, QueueItem
from experiments.queries.progress import usage_of_job
from tests.engine.launching import job_of, launched, wait_for
from tests.engine.processes import StubJudge, Worker
from tests.factories import make_provider
from tiebreak.accounts.models import Workspace

pytestmark = pytest.mark.django_db(transaction=True)
PRICES: dict[str, Any] = {"input_price": Decimal(50), "output_price": Decimal(500)}
MESSAGE = {"role": "assistant", "content": "So.\n[[A]]"}
USAGE = {"prompt_tokens": 100, "completion_tokens": 10}


def completion(message: Any = MESSAGE, **changes: Any) -> str:
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    body = {"id": "x", "object": "chat.completion", "created": 0, "model": "stub"}
    return json.dumps({**body, "choices": [choice], "usage": USAGE, **changes})


def said(content: Any) -> str:
    return completion({"role": "assistant", "content": content})


def used(count: Any) -> str:
    return completion(usage={"prompt_tokens": count, "completion_tokens": 10})


# A readable verdict is taken, however odd the rest is.
READABLE = [
    used("abc"),
    used(10**20),
    used(-50),
    used(10.5),
    used(float("nan")),
    completion(usage="many"),
    completion(usage=[1, 2]),
    completion(model=7),
    said([{"type": "text", "text": "So.\n[[A]]"}]),
]
# A call for nothing: one recorded failure, not asked again.
UNREADABLE = [said(5), said({"verdict": 1}), said(["x", 1]), said(True)]
BROKEN = [completion(None), completion("text"), completion(choices={"0": MESSAGE})]


def scripted(replies: list[str]) -> list[dict[str, Any]]:
    return [{"has": f"plain answer {n}.", "raw": raw} for n, raw in enumerate(replies)]


def test_a_readable_verdict_is_taken_whatever_stands_beside_it(
    worker: Worker, workspace: Workspace
) -> None:
    with StubJudge(script=scripted(READABLE)) as stub:
        provider = make_provider(workspace, stub.base_url, **PRICES)
        comparison = launched(workspace, provider, len(READABLE), max_concurrency=4)
        counts = wait_for(comparison, Job.State.COMPLETE)
        assert (counts.failed, counts.pending) == (0, 0)
        assert stub.stats()["calls"] == len(READABLE)
    usage = usage_of_job(job_of(comparison))
    assert usage.calls == len(READABLE)
    # None is dearer than what its texts can hold, and none brings money back.
    costs = JudgeReply.objects.exclude(cost=None).values_list("cost", flat=True)
    assert all(cost is not None and 0 <= cost < 1 for cost in costs)


def test_a_malformed_reply_is_one_booked_call_and_one_recorded_failure(
    worker: Worker, workspace: Workspace
) -> None:
    poison = [*UNREADABLE, *BROKEN]
    with StubJudge(script=scripted(poison)) as stub:
        provider = make_provider(workspace, stub.base_url, **PRICES)
        comparison = launched(workspace, provider, len(poison) + 3, max_concurrency=4)
        counts = wait_for(comparison, Job.State.COMPLETE)
        assert (counts.a, counts.failed, counts.pending) == (3, len(poison), 0)
        assert stub.stats()["calls"] == len(poison) + 3
    assert usage_of_job(job_of(comparison)).calls == len(poison) + 3
    kinds = list(Game.objects.exclude(error_kind="").values_list("error_kind", flat=True))
    assert sorted(kinds) == ["provider"] * 3 + ["unreadable"] * len(UNREADABLE)
    assert not QueueItem.objects.exists()
