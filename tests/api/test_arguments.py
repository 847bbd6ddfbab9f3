"""Arguments of the client, each with data in which ignoring it would change the answer."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import requests
from langsmith import Client, evaluate
from langsmith.evaluation import evaluate_comparative

from experiments.models import Experiment
from tests.api.conftest import Call
from tests.api.test_evaluate import exact, half_right, judges, make_dataset, prefer_right, run_both
from tiebreak.accounts.models import Workspace


def test_projects_are_found_by_the_version_they_saw(client: Client) -> None:
    dataset = make_dataset(client)
    evaluate(half_right, data="sums", experiment_prefix="before", client=client)
    client.create_example({"q": 100}, dataset_id=dataset.id, outputs={"a": 200})
    evaluate(half_right, data="sums", experiment_prefix="after", client=client)
    client.flush()
    versions = {
        (row.name or "").partition("-")[0]: row.metadata["dataset_version"]
        for row in client.list_projects(reference_dataset_id=dataset.id)
    }
    assert versions["before"] < versions["after"]
    for name, version in versions.items():
        [found] = client.list_projects(dataset_version=version)
        assert (found.name or "").startswith(name)
    [plain] = client.list_projects(name_contains="before", include_stats=False)
    [counted] = client.list_projects(name_contains="before", include_stats=True)
    assert (plain.run_count, counted.run_count) == (None, 8)


def test_an_evaluation_keeps_what_it_is_told_about_itself(
    client: Client, workspace: Workspace
) -> None:
    make_dataset(client)
    evaluate(
        half_right,
        data="sums",
        evaluators=judges(exact),
        experiment_prefix="told",
        description="what it is for",
        metadata={"model": "small", "temperature": 0.5},
        num_repetitions=2,
        max_concurrency=3,
        client=client,
    )
    client.flush()
    row = Experiment.objects.get(workspace=workspace, name__startswith="told-")
    assert row.description == "what it is for"
    assert (row.metadata["model"], row.metadata["temperature"]) == ("small", 0.5)
    assert (row.num_examples, row.num_repetitions) == (8, 2)
    assert row.evaluator_keys == ["exact"]
    assert row.runs.filter(is_root=True).count() == 16


def test_results_come_with_one_comparison_page_by_page(client: Client, call: Call) -> None:
    make_dataset(client)
    first, second = run_both(client)
    names = (first.experiment_name, second.experiment_name)
    for prefix in ("one", "two"):
        evaluate_comparative(
            names, evaluators=judges(prefer_right), experiment_prefix=prefix, client=client
        )
    client.flush()
    compared = {row["name"][:3]: row["id"] for row in call("GET", "/datasets/comparative").json()}
    project = client.read_project(project_name=names[1])

    def examples(**question: Any) -> list[Any]:
        found = client.get_experiment_results(project_id=project.id, **question)
        return list(found["examples_with_runs"])

    assert len(examples()) == 8
    assert len(examples(limit=3)) == 3
    [row] = examples(limit=1, comparative_experiment_id=compared["one"])
    assert row.runs[0].feedback_stats["prefer_right"]["n"] == 1
    wrong = {str(project.id): ['and(eq(feedback_key, "exact"), eq(feedback_score, 0))']}
    assert sum(len(row.runs) for row in examples(filters=wrong)) == 4


def test_statistics_obey_every_argument(client: Client) -> None:
    make_dataset(client)
    first, second = run_both(client)
    client.flush()
    project = client.read_project(project_name=first.experiment_name)
    root = next(iter(client.list_runs(project_id=project.id, is_root=True)))
    later = datetime.now(UTC) + timedelta(hours=1)

    def count(**question: Any) -> int:
        return int(client.get_run_stats(**question)["run_count"])

    mine = {"project_ids": [str(project.id)]}
    assert count(**mine, is_root=True) == 8
    assert count(project_names=[first.experiment_name, second.experiment_name], is_root=True) == 16
    assert count(**mine, id=[str(root.id)]) == 1
    assert count(**mine, reference_example_ids=[str(root.reference_example_id)]) == 1
    assert count(**mine, run_type="llm") == 0
    assert count(**mine, error=True) == 0
    assert count(**mine, start_time=later.isoformat()) == 0
    assert count(**mine, filter=f'eq(id, "{root.id}")') == 1
    assert count(**mine, trace=str(root.trace_id)) == 1
    assert count(**mine, query="no such words") == 0


def test_versions_are_searched_by_tag(client: Client) -> None:
    dataset = make_dataset(client)
    client.create_example({"q": 9}, dataset_id=dataset.id)
    newest = next(iter(client.list_dataset_versions(dataset_id=dataset.id)))
    client.update_dataset_tag(dataset_id=dataset.id, as_of=newest.as_of, tag="release")
    found = list(client.list_dataset_versions(dataset_id=dataset.id, search="rel"))
    assert [row.as_of for row in found] == [newest.as_of]
    assert len(list(client.list_dataset_versions(dataset_id=dataset.id, limit=1))) == 1


@pytest.mark.parametrize("spelling", ["True", "true", "1"])
def test_booleans_and_times_come_in_several_spellings(
    call: Call, client: Client, spelling: str
) -> None:
    dataset = make_dataset(client)
    call("POST", "/sessions", json={"name": "free"})
    free = call("GET", "/sessions", params={"reference_free": spelling}).json()
    assert [row["name"] for row in free] == ["free"]
    newest = next(iter(client.list_dataset_versions(dataset_id=dataset.id)))
    with_space = str(newest.as_of)
    found = call("GET", f"/datasets/{dataset.id}/version", params={"as_of": with_space}).json()
    assert datetime.fromisoformat(found["as_of"]) == newest.as_of


def test_a_list_of_many_rows_takes_few_requests(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a session in the first answer the client would ask again for each row."""
    for number in range(12):
        client.create_dataset(f"d{number}")
    sent: list[str] = []
    send = requests.Session.send

    def counted(self: Any, request: Any, **arguments: Any) -> Any:
        sent.append(request.path_url)
        return send(self, request, **arguments)

    monkeypatch.setattr(requests.Session, "send", counted)
    fresh = Client()
    assert len([row.url for row in fresh.list_datasets()]) == 12
    assert len([path for path in sent if "/sessions" in path]) <= 1
    fresh.cleanup()
