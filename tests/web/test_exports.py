"""Downloads: whole or filtered, for members only, the same on pages and API."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest
from django.http import QueryDict
from django.test import Client
from django.urls import reverse

from experiments.models import Comparison, Dataset, Feedback
from experiments.rawjson import dumps
from experiments.services.examples import ExampleChange, NewExample, add_examples, update_examples
from tests.api.conftest import Call, call, call_as_stranger, call_as_viewer, endpoint
from tests.factories import example_ids, judge, make_comparison, make_dataset, make_experiment
from tests.web.uploading import signed_in
from tiebreak.accounts.models import Role, User, Workspace
from tiebreak.downloads import RowChoice
from tiebreak.row_filters import RowFilters
from tiebreak.web.comparison_filters import Choices

__all__ = ["call", "call_as_stranger", "call_as_viewer", "endpoint"]


def content(answer: Any) -> str:
    assert answer.status_code == 200
    return b"".join(answer.streaming_content).decode()


def lines(answer: Any) -> list[dict[str, Any]]:
    return [json.loads(line) for line in content(answer).splitlines()]


def table(answer: Any) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(content(answer), newline="")))


def rows_of(client: Client, comparison: Comparison, what: str = "rows", **query: str) -> Any:
    return client.get(reverse("comparison_export", args=[comparison.uid, what]), query)


@pytest.fixture
def judged(comparison: Comparison) -> Comparison:
    judge(comparison, ["a", "tie", "b"], reason="=planted")
    return comparison


def test_a_dataset_goes_out_with_payloads_as_they_were_sent(
    alice: User, workspace: Workspace
) -> None:
    dataset = make_dataset(workspace, [])
    inputs = '{ "z":1,"a" : 12345678901234567890, "t":"\\u0000\\ud83d" }'
    add_examples(dataset=dataset, examples=[NewExample(inputs, '{"x":1.0}', splits=["hard"])])
    text = content(signed_in(alice).get(reverse("dataset_export", args=[dataset.uid])))
    uid = example_ids(dataset)[0]
    assert text == f'{{"id":"{uid}","inputs":{inputs},"outputs":{{"x":1.0}},"splits":["hard"]}}\n'


def test_a_dataset_goes_out_as_it_stood(alice: User, workspace: Workspace) -> None:
    dataset = make_dataset(workspace, ["4", "Paris"])
    before = dataset.modified_at.isoformat()
    change = ExampleChange(example_ids(dataset)[1], outputs=dumps({"answer": "Lyon"}))
    update_examples(dataset=dataset, changes=[change])
    url = reverse("dataset_export", args=[dataset.uid])
    client = signed_in(alice)
    then = [row["outputs"]["answer"] for row in lines(client.get(url, {"ver": before}))]
    now = [row["outputs"]["answer"] for row in lines(client.get(url))]
    assert (then, now) == (["4", "Paris"], ["4", "Lyon"])


def test_a_table_has_a_column_per_key_and_no_formulas(alice: User, workspace: Workspace) -> None:
    dataset = make_dataset(workspace, ["=1+1", "-2", "'@x", "plain"])
    rows = table(
        signed_in(alice).get(f"{reverse('dataset_export', args=[dataset.uid])}?format=csv")
    )
    assert list(rows[0]) == ["id", "inputs.question", "outputs.answer", "splits"]
    assert [row["outputs.answer"] for row in rows] == ["'=1+1", "'-2", "''@x", "plain"]


def test_odd_objects_make_a_table_too(alice: User, workspace: Workspace) -> None:
    dataset = make_dataset(workspace, ["4", "5", "6"])
    experiment = make_experiment(dataset, ["x", "y", None])
    first, second = experiment.runs.order_by("pk")
    first.payload.outputs, second.payload.outputs = '{"a":1,"a":2}', "null"
    first.payload.save()
    second.payload.save()
    url = reverse("experiment_export", args=[experiment.uid])
    rows = table(signed_in(alice).get(url, {"format": "csv"}))
    assert [row["outputs.a"] for row in rows] == ["2", ""]
    second.payload.outputs = "[" * 300 + "]" * 300
    second.payload.save()
    rows = table(signed_in(alice).get(url, {"format": "csv"}))
    assert [row["outputs"][:3] for row in rows] == ['{"a', "[[["]


def test_runs_go_out_with_example_and_feedback(alice: User, workspace: Workspace) -> None:
    dataset = make_dataset(workspace, ["4", "Paris"])
    experiment = make_experiment(dataset, ["five", ValueError("broken")])
    run = experiment.runs.earliest("pk")
    Feedback.objects.create(
        workspace=workspace,
        experiment=experiment,
        run_uid=run.uid,
        key="correct",
        score=1.0,
        score_text="true",
        comment='"why\\u0000"',
    )
    url = reverse("experiment_export", args=[experiment.uid])
    first, second = lines(signed_in(alice).get(url))
    assert first["inputs"] == {"question": "Question 0?"}
    assert first["reference_outputs"] == {"answer": "4"}
    assert first["scores"] == {"correct": True}
    assert first["feedback"][0]["comment"] == "why\0"
    assert (second["status"], "outputs" in second) == ("error", False)
    assert "broken" in second["error"]
    row = table(signed_in(alice).get(url, {"format": "csv"}))[0]
    assert (row["scores.correct"], row["outputs.answer"]) == ("true", "five")


def test_rows_carry_verdict_scores_and_reason(alice: User, judged: Comparison) -> None:
    rows = lines(rows_of(signed_in(alice), judged))
    assert [row["outcome"] for row in rows] == ["a", "tie", "b"]
    assert rows[0]["winner"] == "system a"
    assert (rows[0]["a_score"], rows[0]["b_score"]) == (1.0, 0.0)
    assert rows[0]["a_outputs"] == {"answer": "4"}
    assert rows[0]["reason"] == "=planted"
    assert table(rows_of(signed_in(alice), judged, format="csv"))[0]["reason"] == "'=planted"


@pytest.mark.parametrize(
    "address",
    ["a=up", "b=up", "a=down", "out=tie", "out=tie&out=b", "q=Paris", "split=base", "meta.n=1", ""],
)
def test_the_filters_are_those_of_the_page(judged: Comparison, address: str) -> None:
    query = QueryDict(address)
    evaluator = judged.evaluators.get()
    evaluator.comparison = judged
    mine, pages = RowChoice.of(judged, query), Choices.of(query)
    assert list(mine.rows) == list(pages.rows(evaluator))
    assert mine.filters == RowFilters(pages.q, pages.split, pages.meta, pages.outcomes)


def test_only_the_filtered_rows_go_out(alice: User, judged: Comparison) -> None:
    client = signed_in(alice)
    assert [row["outcome"] for row in lines(rows_of(client, judged, b="up"))] == ["b"]
    assert [row["outcome"] for row in lines(rows_of(client, judged, q="London"))] == ["tie"]
    assert [row["number"] for row in lines(rows_of(client, judged, "games", a="up"))] == [0]
    assert len(lines(rows_of(client, judged, "judgments", out="tie"))) == 1


def test_preference_pairs_leave_ties_out(alice: User, judged: Comparison) -> None:
    assert lines(rows_of(signed_in(alice), judged, "preferences")) == [
        {"prompt": "Question 0?", "chosen": "4", "rejected": "5"},
        {"prompt": "Question 2?", "chosen": "blue", "rejected": "green"},
    ]


def test_preference_pairs_of_a_chat_are_messages(alice: User, workspace: Workspace) -> None:
    dataset = make_dataset(workspace, [])
    messages = [{"role": "user", "content": "Hi"}]
    add_examples(dataset=dataset, examples=[NewExample(dumps({"messages": messages}))])
    a, b = make_experiment(dataset, ["Hello"]), make_experiment(dataset, ["Go away"])
    comparison = make_comparison(a, b)
    judge(comparison, ["a"])
    assert lines(rows_of(signed_in(alice), comparison, "preferences")) == [
        {
            "prompt": messages,
            "chosen": [{"role": "assistant", "content": "Hello"}],
            "rejected": [{"role": "assistant", "content": "Go away"}],
        }
    ]


def test_games_and_judgments_go_out(alice: User, judged: Comparison) -> None:
    client = signed_in(alice)
    games = lines(rows_of(client, judged, "games"))
    assert [game["verdict"] for game in games] == ["first", "tie", "second"]
    judgments = lines(rows_of(client, judged, "judgments"))
    assert [row["outcome"] for row in judgments] == ["a", "tie", "b"]
    assert games[0]["winner"] == judgments[0]["a_run_id"]


def addresses(comparison: Comparison) -> list[str]:
    dataset: Dataset = comparison.dataset
    side = comparison.sides.first()
    assert side is not None
    assert side.experiment is not None
    return [
        reverse("dataset_export", args=[dataset.uid]),
        reverse("experiment_export", args=[side.experiment.uid]),
        *(
            reverse("comparison_export", args=[comparison.uid, what])
            for what in ("rows", "preferences", "judgments", "games")
        ),
    ]


def test_strangers_find_nothing(mallory: User, judged: Comparison) -> None:
    client = signed_in(mallory)
    assert {client.get(address).status_code for address in addresses(judged)} == {404}


def test_viewers_may_export(alice: User, judged: Comparison) -> None:
    alice.memberships.update(role=Role.VIEWER)
    client = signed_in(alice)
    assert {client.get(address).status_code for address in addresses(judged)} == {200}


def test_what_is_unknown_is_not_there(alice: User, judged: Comparison) -> None:
    client = signed_in(alice)
    assert rows_of(client, judged, "secrets").status_code == 404
    assert rows_of(client, judged, format="exe").status_code == 404


def test_the_pages_offer_whole_and_filtered(alice: User, judged: Comparison) -> None:
    client = signed_in(alice)
    page = client.get(reverse("comparison_detail", args=[judged.uid]), {"a": "up"})
    assert "These 1 filtered rows" in page.content.decode()
    assert "All 3 rows" in page.content.decode()
    url = reverse("comparison_export", args=[judged.uid, "rows"])
    assert f'href="{url}?format=csv&amp;a=up"' in page.content.decode()
    for name, uid in (("dataset", judged.dataset.uid), ("experiment", judged.sides.all()[0])):
        uid = getattr(getattr(uid, "experiment", uid), "uid", uid)
        shown = client.get(reverse(f"{name}_detail", args=[uid]), {"q": "x"}).content.decode()
        assert f"{reverse(f'{name}_export', args=[uid])}?format=jsonl&amp;q=x" in shown


@pytest.mark.django_db(transaction=True)
def test_the_api_streams_the_same(
    call: Call, call_as_viewer: Call, call_as_stranger: Call, judged: Comparison
) -> None:
    path = f"/v1/comparisons/{judged.uid}/export"
    answer = call("GET", path, params={"what": "rows", "format": "jsonl", "out": "a"})
    assert [json.loads(line)["outcome"] for line in answer.text.splitlines()] == ["a"]
    dataset = f"/v1/datasets/{judged.dataset.uid}/export"
    assert call_as_viewer("GET", dataset, params={"format": "csv"}).text.count("\n") == 4
    assert call_as_stranger("GET", dataset).status_code == 404
    assert call_as_stranger("GET", path).status_code == 404
    assert call("GET", dataset, params={"format": "exe"}).status_code == 422
    assert call("GET", path, params={"what": "secrets"}).status_code == 422
