"""What judges really say, and how it is to be read."""

from __future__ import annotations

import contextlib
import json
import time
from pathlib import Path
from typing import Any

import pytest

from evaluators import Unasked, UnreadableReply, load_evaluator

REPLIES = json.loads((Path(__file__).parent / "judge_replies.json").read_text())
VERDICTS: dict[str, dict[float, str]] = {
    "pairwise_string": {1: "A", 0: "B", 0.5: "C"},
    "criteria": {1: "Y", 0: "N"},
    "qa": {1: "CORRECT", 0: "INCORRECT"},
}


@pytest.mark.parametrize("case", REPLIES, ids=lambda case: case["reply"][:40] or "empty")
def test_it_reads_the_last_explicit_verdict_and_guesses_nothing(case: dict[str, Any]) -> None:
    judge = load_evaluator(case["evaluator"], llm=Unasked())
    if case["verdict"] is None:
        with pytest.raises(UnreadableReply) as caught:
            judge.read_reply(case["reply"])
        assert caught.value.reply == case["reply"]
        return
    result = judge.read_reply(case["reply"])
    verdicts = VERDICTS.get(case["evaluator"])
    assert (verdicts[result["score"]] if verdicts else result["score"]) == case["verdict"]


def test_it_takes_the_reasoning_out_of_a_json_reply() -> None:
    reply = '{"reasoning": "Too long.", "verdict": "N"}'
    assert load_evaluator("criteria", llm=Unasked()).read_reply(reply)["reasoning"] == "Too long."


def test_it_takes_the_box_around_a_verdict_out_of_the_reasoning() -> None:
    result = load_evaluator("criteria", llm=Unasked()).read_reply(
        "Short.\n\n$\\boxed{\\textbf{Y}}$"
    )
    assert result["reasoning"] == "Short."


HOSTILE = [
    "[",
    " ",
    "Score:",
    "*",
    "{",
    '{"a":',
    "y ",
    "<think>",
    "\\boxed{",
    "\\textbf{\\boxed{",
    "verdict (",
    "<verdict>",
    "A: ",
    "not ",
    "A",
    "7/",
    "\n",
    "é",
]


@pytest.mark.parametrize("part", HOSTILE)
@pytest.mark.parametrize("end", ["", "\nScore: 4", "x"])
@pytest.mark.parametrize(
    "name", ["pairwise_string", "criteria", "score_string", "qa", "trajectory"]
)
def test_it_reads_long_replies_made_to_be_slow(name: str, part: str, end: str) -> None:
    judge = load_evaluator(name, llm=Unasked())
    start = time.process_time()
    with contextlib.suppress(UnreadableReply):
        judge.read_reply(part * (60_000 // len(part)) + end)
    assert time.process_time() - start < 1.5
