"""The main job from end to end: upload, two experiments by the SDK, launch, progress, thumbs."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from experiments.models import Comparison, Dataset, Experiment
from experiments.services.sample import sample_lines
from tests.engine.processes import StubJudge, Worker
from tests.factories import make_provider
from tiebreak.accounts.models import Workspace

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

SCRIPT = """
import json, sys
from langsmith import Client, evaluate

answers = json.load(open(sys.argv[1]))
client = Client()

def same(run, example):
    return {"key": "same", "score": run.outputs["answer"] == example.outputs["answer"]}

def mean_length(runs, examples):
    lengths = [len(run.outputs["answer"]) for run in runs]
    return {"key": "mean_length", "score": sum(lengths) / len(lengths)}

for name in ("older", "newer"):
    evaluate(
        lambda inputs: {"answer": answers[name][inputs["question"]]},
        data="questions", evaluators=[same], summary_evaluators=[mean_length],
        experiment_prefix=name, max_concurrency=4, client=client,
    )
client.flush()
"""
ROWS = 30


@pytest.fixture
def questions() -> list[dict[str, str]]:
    return [
        {"question": line["inputs"]["question"], "answer": line["outputs"]["answer"]}
        for line in sample_lines("questions")[:ROWS]
    ]


def upload(page: Page, folder: Path, questions: list[dict[str, str]]) -> None:
    path = folder / "questions.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, ["question", "answer"])
        writer.writeheader()
        writer.writerows(questions)
    page.click("text=Upload a file")
    page.set_input_files("#id_file", path)
    page.click("#upload-button")
    page.wait_for_url("**step=map")
    page.click("text=Check the whole file")
    page.click(f"text=Store {ROWS} examples")
    expect(page.locator("#done-title")).to_have_text(f"{ROWS} examples stored", timeout=30_000)


def run_script(server: LiveServer, key: str, folder: Path, questions: list[dict[str, str]]) -> str:
    """The newer system is better in the first twenty, the older in the next six, both in four."""
    answers = {
        name: {
            row["question"]: ("GOOD-ANSWER " if good(number) else "plain ") + str(number)
            for number, row in enumerate(questions)
        }
        for name, good in (
            ("older", lambda number: number >= 20),
            ("newer", lambda number: number < 20 or number >= 26),
        )
    }
    (folder / "answers.json").write_text(json.dumps(answers))
    (folder / "script.py").write_text(SCRIPT)
    env = {
        **{key: value for key, value in os.environ.items() if "LANG" not in key},
        "LANGSMITH_ENDPOINT": f"{server.url.replace('://', '://tiebreak@')}/api",
        "LANGSMITH_API_KEY": key,
        "LANGSMITH_TRACING": "true",
    }
    done = subprocess.run(
        [sys.executable, str(folder / "script.py"), str(folder / "answers.json")],
        env=env, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_main_job(
    alice_page: Page,
    live_server: LiveServer,
    workspace: Workspace,
    api_key: str,
    worker: Worker,
    tmp_path: Path,
    questions: list[dict[str, str]],
) -> None:
    page = alice_page
    upload(page, tmp_path, questions)
    printed = run_script(live_server, api_key, tmp_path, questions)
    link = next(word for word in printed.split() if "/compare?" in word)
    page.goto(link.replace("tiebreak@", ""))
    expect(page.locator("h1")).to_contain_text("older")
    expect(page.locator(".tiles")).to_contain_text("mean_length")
    with StubJudge(delay=0.1) as stub:
        provider = make_provider(workspace, stub.base_url)
        dataset = Dataset.objects.get(name="questions")
        page.goto(f"/datasets/{dataset.uid}/pairwise")
        newer, older = (
            Experiment.objects.get(dataset=dataset, name__startswith=name)
            for name in ("newer", "older")
        )
        page.select_option("#id_experiment_a", str(newer.uid))
        page.select_option("#id_experiment_b", str(older.uid))
        page.select_option("#id_evaluator", "labeled_pairwise_string")
        page.select_option("#id_provider", str(provider.uid))
        expect(page.locator("#forecast")).to_contain_text(f"{ROWS} pairs, {2 * ROWS} calls")
        page.fill("#id_max_concurrency", "4")
        page.fill("#id_name", "newer or older")
        page.click("text=Compare >> nth=-1")
        page.wait_for_url("**/comparisons/*")
        expect(page.locator(".progress")).to_be_visible()
        expect(page.locator("#verdict-card .chip")).to_have_text("complete", timeout=40_000)
        assert stub.stats()["max_in_flight"] <= 4
        # Four answers are the same: in either order they are one question.
        assert stub.stats()["calls"] == 2 * ROWS - 4
    sentence = page.locator("#verdict-sentence")
    expect(sentence).to_contain_text(f"{newer.name} wins")
    expect(sentence).to_contain_text("20 of the 26")
    comparison = Comparison.objects.get()
    assert comparison.name == "newer or older"
    for side, way, count, outcome in (
        ("a", "up", 20, "a"),
        ("a", "down", 6, "b"),
        ("b", "up", 6, "b"),
        ("b", "down", 20, "a"),
    ):
        page.goto(f"/comparisons/{comparison.uid}")
        button = page.locator(f"#thumb-{side}-{way}")
        expect(button).to_contain_text(str(count))
        button.click()
        rows = page.locator("tr[data-outcome]")
        expect(rows).to_have_count(count)
        assert {rows.nth(n).get_attribute("data-outcome") for n in range(count)} == {outcome}
    page.goto(f"/comparisons/{comparison.uid}?a=up")
    for n in range(20):
        cells = page.locator("tr[data-outcome]").nth(n).locator("td")
        expect(cells.nth(3)).to_contain_text("GOOD-ANSWER")
        expect(cells.nth(4)).not_to_contain_text("GOOD-ANSWER")
        expect(cells.nth(1)).to_contain_text(questions[n]["question"][:30])
