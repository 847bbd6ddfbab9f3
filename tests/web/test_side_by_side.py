"""Two to ten experiments of one dataset side by side."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from playwright.sync_api import Page, expect

from experiments.models import Dataset, Experiment, Feedback, FeedbackConfig
from experiments.rawjson import dumps, loads
from experiments.services.evaluators import configure_evaluator
from tests.factories import add_scores, example_ids, make_dataset, make_experiment, make_run
from tiebreak.accounts.models import User, Workspace
from tiebreak.rendering import Change, json_changes

pytestmark = pytest.mark.django_db


@pytest.fixture
def dataset(workspace: Workspace) -> Dataset:
    return make_dataset(workspace, ["4", "Paris", "blue", "cat"])


@pytest.fixture
def systems(dataset: Dataset) -> list[Experiment]:
    """The second is better on the first example and worse on the last; it lacks none."""
    base = make_experiment(dataset, ["4", "Paris", "blue sky", "cat"], name="base")
    new = make_experiment(dataset, ["5", "Paris", "blue sea", "dog"], name="new")
    add_scores(base, [0, 1, 1, 1], key="correct")
    add_scores(new, [1, 1, 1, 0], key="correct")
    return [base, new]


def show(client: Client, dataset: Dataset, systems: Sequence[Experiment], **more: Any) -> str:
    query = {"exp": [str(one.uid) for one in systems], **more}
    answer = client.get(reverse("side_by_side", args=[dataset.uid], query=query))
    assert answer.status_code == 200
    return answer.content.decode()


def numbers(page: str) -> list[str]:
    """The inputs of the rows shown."""
    return re.findall(r'data-label="Input"><div[^>]*>Question (\d+)\?', page)


def count(page: str, name: str) -> int:
    found = re.search(rf'id="{re.escape(name)}"[^>]*aria-label="Show (\d+) ', page)
    assert found, name
    return int(found[1])


def test_each_example_is_a_row_with_every_output(
    client: Client, alice: User, dataset: Dataset, systems: list[Experiment]
) -> None:
    client.force_login(alice)
    page = show(client, dataset, systems)
    assert numbers(page) == ["0", "1", "2", "3"]
    for text in ("blue sky", "blue sea", "is the baseline", "4 of 4 examples in all 2"):
        assert text in page


@pytest.mark.parametrize(
    ("way", "rows"), [("better", ["0"]), ("worse", ["3"]), ("same", ["1", "2"])]
)
def test_the_counts_in_the_head_are_filters(
    client: Client,
    alice: User,
    dataset: Dataset,
    systems: list[Experiment],
    way: str,
    rows: list[str],
) -> None:
    client.force_login(alice)
    assert count(show(client, dataset, systems), f"{way}-2-correct") == len(rows)
    page = show(client, dataset, systems, won=f"{way}.2.correct")
    assert numbers(page) == rows
    pressed = re.search(rf'id="{way}-2-correct" href="([^"]+)"[^>]*aria-pressed="true"', page)
    assert pressed
    assert "won" not in pressed[1]


@pytest.mark.parametrize("source", ["config", "evaluator"])
def test_a_score_of_which_less_is_better_is_counted_that_way(
    client: Client, alice: User, dataset: Dataset, systems: list[Experiment], source: str
) -> None:
    key = "correct" if source == "config" else "distance"
    if source == "config":
        FeedbackConfig.objects.create(
            workspace=dataset.workspace, key=key, config="{}", is_lower_score_better=True
        )
    else:
        configure_evaluator(workspace=dataset.workspace, kind="string_distance", name=key)
        Feedback.objects.update(key=key)
    client.force_login(alice)
    page = show(client, dataset, systems, won=f"better.2.{key}")
    assert numbers(page) == ["3"]
    assert "lower is better" in page
    scores = client.get(
        reverse("dataset_scores", args=[dataset.uid]), {"exp": [str(one.uid) for one in systems]}
    ).content.decode()
    assert "lower is better" in scores


def test_counts_and_rows_agree_for_repetitions(
    client: Client, alice: User, dataset: Dataset, systems: list[Experiment]
) -> None:
    again = make_run(systems[1], example_ids(dataset)[3], "cat, I think")
    Feedback.objects.create(
        workspace=dataset.workspace,
        experiment=systems[1],
        run_uid=again.uid,
        key="correct",
        score=2,
    )
    client.force_login(alice)
    page = show(client, dataset, systems)
    assert count(page, "same-2-correct") == 3
    assert numbers(page) == ["0", "1", "2", "3"]
    assert "cat, I think" in page
    assert 'rowspan="2"' in page
    assert "repeated differently: A 1×, B 2×" in page
    assert numbers(show(client, dataset, systems, won="same.2.correct")) == ["1", "2", "3"]


def test_only_rows_that_differ(
    client: Client, alice: User, dataset: Dataset, systems: list[Experiment]
) -> None:
    client.force_login(alice)
    page = show(client, dataset, systems, only="differing")
    assert numbers(page) == ["0", "2", "3"]
    assert "1–3 of 3" in page


def test_it_says_which_examples_are_missing(
    client: Client, alice: User, dataset: Dataset, systems: list[Experiment]
) -> None:
    third = make_experiment(dataset, ["4", None, ValueError("x"), None], name="third")
    client.force_login(alice)
    page = show(client, dataset, [*systems, third])
    assert "2 of 4 examples in all 3" in page
    assert "C lacks 2" in page
    assert "C: 1 failed" in page
    assert "No run" in page
    assert numbers(show(client, dataset, [*systems, third], lacks="3")) == ["1", "3"]
    assert numbers(show(client, dataset, [*systems, third], **{"in": "all"})) == ["0", "2"]


def test_words_that_differ_are_marked_on_a_switch(
    client: Client, alice: User, dataset: Dataset, systems: list[Experiment]
) -> None:
    client.force_login(alice)
    assert "<mark>" not in show(client, dataset, systems)
    page = show(client, dataset, systems, diff="base")
    assert "blue <mark>sky</mark>" in page
    assert "blue <mark>sea</mark>" in page
    against = show(client, dataset, systems, diff="ref")
    assert "blue<mark> sky</mark>" in against


def test_json_differs_by_key_whatever_the_order(
    client: Client, alice: User, dataset: Dataset, systems: list[Experiment]
) -> None:
    for one, value in zip(
        systems, ({"a": 1, "b": {"c": [1, 2]}}, {"b": {"c": [1, 3]}, "a": 1}), strict=True
    ):
        run = one.runs.select_related("payload").order_by("pk")[0]
        run.payload.outputs = dumps(value)
        run.payload.save()
    client.force_login(alice)
    page = show(client, dataset, systems, diff="base")
    assert "<dt>b.c[1]</dt><dd><del>2</del> <ins>3</ins></dd>" in page
    assert "2 places the same" in page


def test_changes_of_json() -> None:
    changes, same = json_changes({"a": 1, "b": None, "c": {}}, {"a": 2, "c": {}, "d": "x"})
    assert changes == [Change("a", "1", "2"), Change("b", "null", None), Change("d", None, "x")]
    assert same == 1


def test_metadata_that_differs_is_shown(
    client: Client, alice: User, dataset: Dataset, systems: list[Experiment]
) -> None:
    for one, prompt in zip(systems, ("v6", "v7"), strict=True):
        Experiment.objects.filter(pk=one.pk).update(
            metadata={"prompt": prompt, "model": "small", "seed": 7} if prompt == "v7"
            else {"prompt": prompt, "model": "small"}
        )  # fmt: skip
    client.force_login(alice)
    page = show(client, dataset, systems)
    keys = re.findall(r'<th scope="row">([^<]+)</th>', page)
    assert keys == ["prompt", "seed"]
    everything = show(client, dataset, systems, meta="all")
    assert re.findall(r'<th scope="row">([^<]+)</th>', everything)[1:] == [
        "model", "prompt", "seed",
    ]  # fmt: skip


def test_pages_follow_each_other_in_a_constant_number_of_queries(
    client: Client, alice: User, workspace: Workspace
) -> None:
    dataset = make_dataset(workspace, ["x"] * 23)
    systems = [make_experiment(dataset, ["x"] * 23) for _ in range(4)]
    for one in systems:
        add_scores(one, [1.0] * 23, key="f1")
    client.force_login(alice)
    show(client, dataset, systems[:2], size="10")
    asked = []
    for chosen in (systems[:2], systems):
        with CaptureQueriesContext(connection) as context:
            page = show(client, dataset, chosen, size="10")
        asked.append(len(context))
        assert numbers(page) == [str(n) for n in range(10)]
    assert asked[0] == asked[1]
    seen = []
    for _ in range(3):
        seen += numbers(page)
        older = re.search(r'id="page-older" href="([^"]+)"', page)
        if older:
            page = client.get(older[1].replace("&amp;", "&")).content.decode()
    assert seen == [str(n) for n in range(23)]
    newer = re.search(r'id="page-newer" href="([^"]+)"', page)
    assert newer
    back = client.get(newer[1].replace("&amp;", "&")).content.decode()
    assert numbers(back) == [str(n) for n in range(10, 20)]
    assert "11–20 of 23" in back


def test_search_and_split_narrow_the_rows(
    client: Client, alice: User, workspace: Workspace
) -> None:
    dataset = make_dataset(workspace, ["x"] * 3, splits=[["easy"], ["hard"], ["easy"]])
    systems = [
        make_experiment(dataset, ["one fox", "two", "three"]),
        make_experiment(dataset, ["a", "b", "100% fox"]),
    ]
    client.force_login(alice)
    assert numbers(show(client, dataset, systems, q="FOX")) == ["0", "2"]
    assert numbers(show(client, dataset, systems, q="0% f")) == ["2"]
    assert numbers(show(client, dataset, systems, q="question 1")) == ["1"]
    assert numbers(show(client, dataset, systems, split="easy", q="fox")) == ["0", "2"]
    assert numbers(show(client, dataset, systems, split="hard")) == ["1"]
    nothing = show(client, dataset, systems, q="nothing of this")
    assert "The filters exclude all of them." in nothing


def test_too_many_are_refused_and_told(
    client: Client, alice: User, dataset: Dataset, systems: list[Experiment]
) -> None:
    more = [make_experiment(dataset, ["x"] * 4) for _ in range(9)]
    client.force_login(alice)
    page = show(client, dataset, [*systems, *more])
    assert "These are 11 experiments" in page
    assert "room for 10" in page
    assert "Choose at least two" in show(client, dataset, systems[:1])


def test_experiments_of_elsewhere_are_left_out_and_told(
    client: Client, alice: User, dataset: Dataset, systems: list[Experiment]
) -> None:
    other = make_experiment(make_dataset(dataset.workspace, ["x"]), ["x"], name="elsewhere")
    client.force_login(alice)
    page = show(client, dataset, [*systems, other])
    assert "1 experiment of the address is left out" in page
    assert "elsewhere" not in page
    alone = show(client, dataset, [systems[0], other])
    assert "Only experiments of one dataset can be compared." in alone


@pytest.mark.parametrize(
    "query",
    [
        {"won": "better.9.correct"}, {"won": "x"}, {"won": "better.2."},
        {"won": "better.١.correct"},
        {"after": "x"}, {"after": "9" * 30}, {"row": "x"}, {"lacks": "0"}, {"q": "\x00"},
        {"size": "-1"}, {"diff": "x"}, {"view": "x"}, {"split": "\x00"}, {"key": "nothing"},
    ],
)  # fmt: skip
def test_what_makes_no_sense_falls_back(
    client: Client, alice: User, dataset: Dataset, systems: list[Experiment], query: dict[str, str]
) -> None:
    client.force_login(alice)
    assert numbers(show(client, dataset, systems, **query)) == ["0", "1", "2", "3"]


def test_the_filtered_examples_come_as_a_file(
    client: Client, alice: User, mallory: User, dataset: Dataset, systems: list[Experiment]
) -> None:
    make_run(systems[1], example_ids(dataset)[0], "again")
    client.force_login(alice)
    page = show(client, dataset, systems, won="better.2.correct")
    found = re.search(r'href="([^"]+format=jsonl[^"]*)"', page)
    assert found
    assert "These 1 filtered examples" in page
    address = found[1].replace("&amp;", "&")
    lines = [loads(line) for line in client.get(address).getvalue().splitlines()]
    assert [(line["repetition"], line["b_outputs"]) for line in lines] == [
        (0, {"answer": "5"}),
        (1, {"answer": "again"}),
    ]
    assert lines[0]["inputs"] == {"question": "Question 0?"}
    assert (lines[0]["a_name"], lines[1]["a_error"]) == ("base", "No run")
    whole = client.get(address.replace("won=better.2.correct", "").replace("jsonl", "csv"))
    assert len(whole.getvalue().decode().strip().splitlines()) == 6
    for query in ("?format=jsonl", address.partition("/export")[2].replace("jsonl", "x")):
        answer = client.get(reverse("side_by_side_file", args=[dataset.uid]) + query)
        assert answer.status_code == 404
    client.force_login(mallory)
    assert client.get(address).status_code == 404


def test_the_link_of_scripts_to_several_experiments_leads_here(
    client: Client, alice: User, dataset: Dataset, systems: list[Experiment]
) -> None:
    client.force_login(alice)
    chosen = ",".join(str(one.uid) for one in systems)
    link = f"/o/{dataset.workspace.uid}/datasets/{dataset.uid}/compare?selectedSessions={chosen}"
    answer = client.get(link)
    query = {"exp": [str(one.uid) for one in systems]}
    assert answer.headers["Location"] == reverse("side_by_side", args=[dataset.uid], query=query)


def test_strangers_see_nothing(
    client: Client, mallory: User, dataset: Dataset, systems: list[Experiment]
) -> None:
    client.force_login(mallory)
    address = reverse("side_by_side", args=[dataset.uid])
    assert client.get(address, {"exp": str(systems[0].uid)}).status_code == 404


@pytest.mark.django_db(transaction=True)
@pytest.mark.browser
def test_filters_drawer_and_back_in_the_browser(
    alice_page: Page, dataset: Dataset, systems: list[Experiment]
) -> None:
    query = {"exp": [str(one.uid) for one in systems]}
    alice_page.goto(reverse("side_by_side", args=[dataset.uid], query=query))
    rows = alice_page.locator(".beside tbody")
    expect(rows).to_have_count(4)
    better = alice_page.locator("[id='better-2-correct']")
    better.click()
    expect(rows).to_have_count(1)
    expect(better).to_have_attribute("aria-pressed", "true")
    alice_page.keyboard.press("Escape")
    alice_page.locator(".row-link").first.click()
    expect(alice_page.locator("#drawer-title")).to_be_focused()
    assert "row=" in alice_page.url
    alice_page.keyboard.press("Escape")
    expect(alice_page.locator("#drawer-title")).to_have_count(0)
    expect(alice_page.locator(".row-link").first).to_be_focused()
    alice_page.go_back()
    expect(alice_page.locator("#drawer-title")).to_have_count(1)
    alice_page.wait_for_load_state("networkidle")
    alice_page.go_back()
    expect(alice_page.locator("#drawer-title")).to_have_count(0)
    alice_page.wait_for_load_state("networkidle")
    alice_page.go_back()
    expect(rows).to_have_count(4)
    alice_page.locator("#statistics summary").click()
    expect(alice_page.locator("#differences")).to_contain_text("Not settled.")
    alice_page.locator("#menu-B summary").click()
    alice_page.get_by_text("Compare with this one").click()
    expect(alice_page.locator("#beside .sub b")).to_have_text("new")
