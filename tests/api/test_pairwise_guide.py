"""The script of the public pairwise guide: a judge that is asked with both answers, by a prompt.

The prompt stands in the script, and a judge on this machine answers in place of a hosted model.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from experiments.models import Comparison, Game, Judgment
from tests.engine.processes import StubJudge
from tests.factories import make_dataset, make_experiment
from tiebreak.accounts.models import Workspace

SCRIPT = '''
import os
from langsmith import evaluate
from openai import OpenAI

PROMPT = """You compare two answers of an assistant to the question of a user.
Say [[A]] if A is better, [[B]] if B is better, [[C]] for a tie.

[Question] {question}
[Answer A] {answer_a}
<prediction_b-
[Answer B] {answer_b}"""

model = OpenAI(base_url=os.environ["JUDGE_URL"], api_key="local")


def ranked_preference(inputs: dict, outputs: list[dict]) -> list:
    prompt = PROMPT.format(
        question=inputs["question"],
        answer_a=outputs[0].get("answer", "N/A"),
        answer_b=outputs[1].get("answer", "N/A"),
    )
    reply = model.chat.completions.create(
        model="stub", messages=[{"role": "user", "content": prompt}]
    )
    text = reply.choices[0].message.content
    if "[[A]]" in text:
        scores = [1, 0]
    elif "[[B]]" in text:
        scores = [0, 1]
    else:
        scores = [0, 0]
    return scores


evaluate(
    ("one", "two"),
    evaluators=[ranked_preference],
    randomize_order=True,
    max_concurrency=4,
)
'''


def test_it_runs_as_written(
    endpoint: str, transactional_db: None, api_key: str, workspace: Workspace, tmp_path: Path
) -> None:
    dataset = make_dataset(workspace, ["x"] * 12)
    good = [f"GOOD-ANSWER {n}" if n % 3 else f"plain {n}" for n in range(12)]
    make_experiment(dataset, good, name="one")
    make_experiment(dataset, [f"plain as well {n}" for n in range(12)], name="two")
    script = tmp_path / "compare.py"
    script.write_text(SCRIPT)
    with StubJudge() as judge:
        variables = {
            "LANGSMITH_ENDPOINT": endpoint,
            "LANGSMITH_API_KEY": api_key,
            "LANGSMITH_TRACING": "true",
            "JUDGE_URL": judge.base_url,
        }
        done = subprocess.run(
            [sys.executable, str(script)],
            env=os.environ | variables,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert judge.stats()["calls"] == 12
    comparison = Comparison.objects.get(workspace=workspace)
    rows = Judgment.objects.filter(comparison=comparison).order_by("position")
    expected = ["a" if n % 3 else "both_bad" for n in range(12)]
    assert list(rows.values_list("outcome", flat=True)) == expected
    games = Game.objects.filter(judgment__comparison=comparison)
    assert all(len(game.order_shown) == 2 for game in games)
