"""Reading while others write, and deleting what others stand on."""

from __future__ import annotations

from typing import Any

from langsmith import Client

from experiments.models import Experiment
from tests.api.conftest import Call
from tests.api.test_evaluate import judges, make_dataset, prefer_right, run_both
from tests.factories import make_key, make_person
from tiebreak.accounts.models import Role, User, Workspace


def test_the_client_reads_every_example_once_while_others_come_and_go(client: Client) -> None:
    dataset = client.create_dataset("busy")
    rows: list[Any] = [{"inputs": {"n": number}} for number in range(250)]
    client.create_examples(dataset_id=dataset.id, examples=rows)
    ids = [example.id for example in client.list_examples(dataset_id=dataset.id)]
    assert len(ids) == 250
    seen = []
    for example in client.list_examples(dataset_id=dataset.id):
        seen.append(example.id)
        if len(seen) in (100, 200):
            more: list[Any] = [{"inputs": {"new": number}} for number in range(15)]
            client.create_examples(dataset_id=dataset.id, examples=more)
        if len(seen) == 100:
            client.delete_examples(ids[10:13] + ids[220:222])
    stayed = [uid for uid in ids if uid not in ids[220:222]]
    assert [uid for uid in seen if uid in set(ids)] == stayed
    assert len(set(seen)) == len(seen)


def test_a_deleted_dataset_takes_all_that_hangs_on_it_along(client: Client, call: Call) -> None:
    from langsmith.evaluation import evaluate_comparative

    dataset = make_dataset(client)
    first, second = run_both(client)
    names = (first.experiment_name, second.experiment_name)
    evaluate_comparative(names, evaluators=judges(prefer_right), client=client)
    client.flush()
    [compared] = call("GET", "/datasets/comparative").json()
    example = next(iter(client.list_examples(dataset_id=dataset.id))).id
    project = client.read_project(project_name=first.experiment_name).id

    client.delete_dataset(dataset_id=dataset.id)

    for path in (
        f"/datasets/{dataset.id}",
        f"/examples/{example}",
        f"/sessions/{project}",
        f"/datasets/comparative/{compared['id']}",
        f"/comparisons/{compared['id']}",
    ):
        answer = call("GET", path)
        assert (answer.status_code, "detail" in answer.json()) == (404, True), path
    assert call("GET", "/datasets/comparative").json() == []
    assert sorted(Experiment.objects.values_list("name", flat=True)) == ["evaluators"]
    assert make_dataset(client).id != dataset.id


def test_what_somebody_made_outlives_them_but_their_keys_do_not(
    call: Call, endpoint: str, workspace: Workspace
) -> None:
    from tests.api.conftest import caller
    from tiebreak.accounts.services import create_api_key

    leaver = make_person("leaver", "Leaver's own")[0]
    _, secret = create_api_key(
        workspace=workspace, name="theirs", role=Role.EDITOR, created_by=leaver
    )
    theirs = caller(endpoint, secret)
    dataset = theirs("POST", "/datasets", json={"name": "made by one who left"}).json()
    User.objects.filter(pk=leaver.pk).update(is_active=False)
    assert theirs("GET", "/datasets").status_code == 401
    User.objects.filter(pk=leaver.pk).update(is_active=True)
    assert theirs("GET", "/datasets").status_code == 200
    leaver.delete()
    assert theirs("GET", "/datasets").status_code == 401
    assert call("GET", f"/datasets/{dataset['id']}").json()["name"] == "made by one who left"
    assert caller(endpoint, make_key(workspace))("GET", "/datasets").status_code == 200
