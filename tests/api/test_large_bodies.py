"""Bodies up to the limit that /info names, packed or not, and what unpacks to more than it says."""

from __future__ import annotations

import gzip
import io
import json
import time
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from experiments.models import Run
from tests.api.bodies import HEADERS, json_part, multipart, run_body
from tests.api.conftest import Call

pytestmark = pytest.mark.slow
MB = 1_000_000


@contextmanager
def most_memory(megabytes: int) -> Iterator[None]:
    """The server runs in a thread of this process, so its memory counts here."""
    tracemalloc.start()
    yield
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < megabytes * MB, f"{peak / MB:.0f} MB at the most"


def batch(runs: int, size: int) -> bytes:
    return json.dumps({"post": [run_body(outputs={"a": "x" * size}) for _ in range(runs)]}).encode()


@pytest.mark.parametrize(("runs", "size"), [(30, 100_000), (190, 100_000), (1, 30 * MB)])
def test_what_fits_is_stored(call: Call, runs: int, size: int) -> None:
    body = batch(runs, size)
    with most_memory(30 + 16 * len(body) // MB):
        assert call("POST", "/runs/batch", data=body).status_code == 202
    assert Run.objects.count() == runs


def test_what_does_not_fit_is_refused_by_the_limit_that_info_names(call: Call) -> None:
    limit = call("GET", "/info").json()["batch_ingest_config"]["size_limit_bytes"]
    body = b" " * (limit + 1)
    with most_memory(20 + len(body) // MB):
        answer = call("POST", "/runs/batch", data=body)
    assert answer.status_code == 413
    assert str(limit) in answer.json()["detail"]
    assert call("POST", "/runs/batch", data=batch(1, 10)).status_code == 202


def test_a_small_body_that_unpacks_to_a_gigabyte_is_refused_at_once(call: Call) -> None:
    packed = io.BytesIO()
    with gzip.open(packed, "wb", 9) as bomb:
        bomb.write(multipart(json_part(f"post.{run_body()['id']}.inputs", {}))[:-41])
        for _ in range(1024):
            bomb.write(b" " * 1024 * 1024)
    limit = call("GET", "/info").json()["batch_ingest_config"]["size_limit_bytes"]
    began = time.monotonic()
    headers: dict[str, Any] = HEADERS | {"Content-Encoding": "gzip"}
    with most_memory(50 + 3 * limit // MB):
        answer = call("POST", "/runs/multipart", data=packed.getvalue(), headers=headers)
    assert answer.status_code == 413
    assert time.monotonic() - began < 10
    assert not Run.objects.exists()
