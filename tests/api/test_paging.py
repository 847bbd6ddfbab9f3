"""Lists by offset stay whole while others write."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from django.core.cache import cache
from redis.exceptions import RedisError

from tests.api.conftest import Call


def walk(call: Call, path: str, between: Callable[[int], None], **query: Any) -> list[str]:
    """As the SDK does it: on by the number of rows, until a page is short."""
    seen: list[str] = []
    while True:
        params = query | {"limit": 10, "offset": len(seen)}
        page = call("GET", path, params=params).json()
        seen += [row["id"] for row in page]
        if len(page) < 10:
            return seen
        between(len(seen))


def test_examples_are_read_once_each_while_others_come_and_go(call: Call) -> None:
    dataset = call("POST", "/datasets", json={"name": "d"}).json()["id"]
    ids = [str(uuid4()) for _ in range(45)]
    rows = [{"id": uid, "dataset_id": dataset, "inputs": {"n": uid}} for uid in ids]
    call("POST", "/examples/bulk", json=rows)

    def disturb(done: int) -> None:
        call("POST", "/examples", json={"dataset_id": dataset, "inputs": {}})
        if done == 20:
            for uid in ids[:5]:
                call("DELETE", f"/examples/{uid}")

    seen = walk(call, "/examples", disturb, dataset=dataset)
    assert seen[:45] == ids
    assert len(set(seen)) == len(seen)


@pytest.mark.parametrize("path", ["/datasets", "/sessions"])
def test_other_lists_do_not_repeat_or_skip(call: Call, path: str) -> None:
    ids = [call("POST", path, json={"name": f"n{n}"}).json()["id"] for n in range(35)]
    extra = iter(range(100))

    def disturb(done: int) -> None:
        for _ in range(3):
            call("POST", path, json={"name": f"new{next(extra)}"})
        if done == 20:
            call("DELETE", f"{path}/{ids[-1]}")

    seen = walk(call, path, disturb, name_contains="n")
    assert len(set(seen)) == len(seen)
    assert set(ids) <= set(seen)


def test_feedback_does_not_repeat_or_skip(call: Call) -> None:
    run = str(uuid4())

    given: list[str] = []

    def give(_: int) -> None:
        given.append(call("POST", "/feedback", json={"run_id": run, "key": "k"}).json()["id"])

    for number in range(25):
        give(number)
    ids = given[::-1]
    assert walk(call, "/feedback", give, run=run) == ids


def test_walks_with_other_questions_do_not_mix(call: Call) -> None:
    for number in range(30):
        call("POST", "/datasets", json={"name": f"{'even' if number % 2 == 0 else 'odd'} {number}"})

    def names(kind: str, offset: int) -> list[str]:
        query = {"name_contains": kind, "limit": 5, "offset": offset}
        return [row["name"] for row in call("GET", "/datasets", params=query).json()]

    names("even", 0)
    assert names("odd", 5) == ["odd 19", "odd 17", "odd 15", "odd 13", "odd 11"]
    assert names("even", 5) == ["even 18", "even 16", "even 14", "even 12", "even 10"]


def test_a_list_is_read_without_the_cache(
    call: Call, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    """The broker is away; reading goes on."""
    for number in range(12):
        call("POST", "/datasets", json={"name": f"d{number}"})

    def away(*_: Any, **__: Any) -> None:
        raise RedisError("connection refused")

    monkeypatch.setattr(cache, "get", away)
    monkeypatch.setattr(cache, "set", away)
    assert len(set(walk(call, "/datasets", lambda _: None))) == 12
