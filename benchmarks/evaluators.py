"""CPU time per row of our batch form against langchain-classic, both in this one run.

Needs langchain-classic and langchain-community beside our own dependencies:

    python benchmarks/evaluators.py
"""

from __future__ import annotations

import gc
import json
import random
import string
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from evaluators import load_evaluator

# Quick ones take more rounds: so long at least, in seconds.
ROUNDS, LEAST = 5, 2.0
CHANCE = random.Random(20260101)


@dataclass(frozen=True)
class Race:
    """One kind with its settings and rows, and how many times faster ours has to be."""

    title: str
    kind: str
    settings: dict[str, Any]
    rows: list[dict[str, Any]]
    wanted: float
    theirs_at_most: int = 2000


def text(length: int) -> str:
    """Words of random letters."""
    return "".join(CHANCE.choices(string.ascii_lowercase + "   ", k=length))


def edited(original: str) -> str:
    """A text with a tenth of its characters changed."""
    characters = list(original)
    for place in CHANCE.sample(range(len(characters)), max(1, len(characters) // 10)):
        characters[place] = CHANCE.choice(string.ascii_lowercase)
    return "".join(characters)


def text_rows(length: int, count: int) -> list[dict[str, Any]]:
    """Pairs of a text and an edited one."""
    texts = [text(length) for _ in range(count)]
    return [{"prediction": edited(one), "reference": one} for one in texts]


def record(number: int) -> dict[str, Any]:
    """A small record as models return it."""
    return {
        "id": number,
        "name": text(12),
        "tags": [text(5), text(7)],
        "score": CHANCE.random(),
        "address": {"street": text(15), "zip": str(CHANCE.randrange(10_000, 99_999))},
    }


def json_rows(count: int, with_reference: bool = True) -> list[dict[str, Any]]:
    """Records as JSON texts, every other one equal to its reference."""
    rows = []
    for number in range(count):
        one = record(number)
        other = {**one, "name": "changed"} if number % 2 else dict(reversed(one.items()))
        reference = {"reference": json.dumps(one)} if with_reference else {}
        rows.append({"prediction": json.dumps(other), **reference})
    return rows


SCHEMA = {
    "type": "object",
    "required": ["id", "name", "tags", "score", "address"],
    "properties": {
        "id": {"type": "integer", "minimum": 0},
        "name": {"type": "string", "minLength": 1},
        "tags": {"type": "array", "items": {"type": "string"}},
        "score": {"type": "number", "minimum": 0, "maximum": 1},
        "address": {
            "type": "object",
            "properties": {"street": {"type": "string"}, "zip": {"type": "string"}},
        },
    },
}


def races() -> list[Race]:
    """What is measured, and the least ratio that is wanted."""
    exact = text_rows(60, 1000)
    for row in exact[::2]:
        row["prediction"] = "".join(row["reference"])
    levenshtein = {"distance": "levenshtein"}
    schema_rows = [{**row, "reference": SCHEMA} for row in json_rows(2000, with_reference=False)]
    return [
        Race(
            "levenshtein, 20 characters", "string_distance", levenshtein, text_rows(20, 5000), 100
        ),
        Race(
            "levenshtein, 200 characters", "string_distance", levenshtein, text_rows(200, 3000), 10
        ),
        Race(
            "levenshtein, 2,000 characters",
            "string_distance",
            levenshtein,
            text_rows(2000, 400),
            1.2,
        ),
        Race(
            "jaro_winkler, 200 characters",
            "string_distance",
            {"distance": "jaro_winkler"},
            text_rows(200, 3000),
            8,
        ),
        Race("exact_match", "exact_match", {}, exact, 8),
        Race("json_equality", "json_equality", {}, json_rows(3000), 4),
        Race("json_validity", "json_validity", {}, json_rows(3000, with_reference=False), 4),
        Race("json_schema_validation", "json_schema_validation", {}, schema_rows, 30, 300),
    ]


def best(*runs: tuple[Callable[[], Any], int]) -> list[float]:
    """Seconds of CPU per row, the best of several rounds; the runs take turns."""
    times: list[list[float]] = [[] for _ in runs]
    start = time.perf_counter()
    while len(times[0]) < ROUNDS or time.perf_counter() - start < LEAST:
        for found, (run, rows) in zip(times, runs, strict=True):
            found.append(per_row(run, rows))
    return [min(found) for found in times]


def per_row(run: Callable[[], Any], rows: int) -> float:
    """Seconds of CPU per row in one round."""
    repeats = max(1, 5000 // rows)
    gc.collect()
    start = time.process_time()
    for _ in range(repeats):
        run()
    return (time.process_time() - start) / rows / repeats


def one_by_one(evaluator: Any, rows: list[dict[str, Any]]) -> list[Any]:
    """LangChain's string evaluators have no batch form: a loop over calls."""
    return [evaluator.evaluate_strings(**row) for row in rows]


def main() -> int:
    """Print a table of ratios; 1 if one is lower than wanted."""
    load_theirs = import_module("langchain_classic.evaluation").load_evaluator
    failed = 0
    print(f"{'':32}{'ours':>12}{'LangChain':>12}{'ratio':>9}{'wanted':>9}")
    for race in races():
        ours = load_evaluator(race.kind, **race.settings)
        theirs = load_theirs(race.kind, **race.settings)
        few = race.rows[: race.theirs_at_most]
        our_time, their_time = best(
            (partial(ours.evaluate_batch, race.rows), len(race.rows)),
            (partial(one_by_one, theirs, few), len(few)),
        )
        ratio = their_time / our_time
        failed += ratio < race.wanted
        print(
            f"{race.title:32}{our_time * 1e6:>9.2f} µs{their_time * 1e6:>9.2f} µs"
            f"{ratio:>9.1f}{race.wanted:>9g}{'' if ratio >= race.wanted else '  too slow'}"
        )
    return int(failed > 0)


if __name__ == "__main__":
    raise SystemExit(main())
