"""Moving in over the wire: a live server of ours is read by the real SDK into another workspace."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command
from pytest_django.live_server_helper import LiveServer

from experiments.exports.comparisons import rows_export
from experiments.exports.datasets import dataset_export
from experiments.exports.experiments import experiment_export
from experiments.exports.writing import json_lines
from experiments.models import Attachment, Comparison, Dataset, Experiment, Feedback, Run
from experiments.moving import Mover
from experiments.queries.comparison_table import judgments_of
from experiments.rawjson import dumps, loads
from experiments.services.attachments import attach_to_revisions, store_file
from experiments.services.examples import ExampleChange, delete_examples, update_examples
from experiments.services.feedback import FeedbackEntry, store_feedback
from experiments.services.run_pieces import IncomingFile
from experiments.services.versions import set_tag
from tests.factories import example_ids, judge, make_dataset
from tiebreak.accounts.models import User, Workspace

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


@pytest.fixture(autouse=True)
def own_files(settings: Any, tmp_path: Path) -> None:
    settings.FILES_PATH = tmp_path / "files"


@pytest.fixture
def source(comparison: Comparison, alice: User) -> Dataset:
    """A judged comparison over a dataset with three versions, a tag, splits and a file."""
    dataset = comparison.dataset
    file = store_file(dataset.workspace, IncomingFile("a.txt", "text/plain", b"attached"))
    revision = dataset.revisions.filter(valid_to=None).earliest("pk")
    attach_to_revisions(dataset.workspace_id, {revision.pk: [file]})
    judge(comparison, ["a", "tie", "b"], reason="said so")
    first, uids = dataset.modified_at, example_ids(dataset)
    Experiment.objects.filter(dataset=dataset).update(
        extra=dumps({"metadata": {"dataset_version": first.isoformat()}})
    )
    odd = {"question": "Zürich \x00 😀", "n": 12345678901234567890, "half": "\ud83d"}
    update_examples(
        dataset=dataset,
        changes=[ExampleChange(uids[0], inputs=dumps(odd), metadata='{"b":1,"a":2}', splits=["x"])],
    )
    delete_examples(dataset=dataset, uids=uids[2:])
    set_tag(dataset=dataset, tag="before", as_of=first)
    return dataset


def move(live_server: LiveServer, key: str, into: Workspace, *words: str) -> str:
    told = io.StringIO()
    address = f"{live_server.url}/api"
    arguments = ["--endpoint", address, "--api-key", key, "--workspace", into.name, *words]
    call_command("move_in", *arguments, stdout=told)
    return told.getvalue()


def held(workspace: Workspace) -> dict[str, Any]:
    """Everything that moves, in a form that can be compared."""
    found: dict[str, Any] = {}
    for dataset in Dataset.objects.filter(workspace=workspace):
        for version in dataset.versions.order_by("as_of"):
            lines = json_lines(dataset_export(dataset, as_of=version.as_of))
            found[f"{dataset.name} {version.as_of}"] = [loads(line) for line in lines]
        found["tags"] = list(dataset.tags.values_list("tag", "as_of"))
        found["files"] = list(
            Attachment.objects.filter(revision__dataset=dataset, revision__valid_to=None)
            .values_list("name", "mime_type", "size")
            .distinct()
        )
    for experiment in Experiment.objects.filter(workspace=workspace, dataset__isnull=False):
        lines = json_lines(experiment_export(experiment))
        found[experiment.name] = [_timeless(loads(line)) for line in lines]
    for comparison in Comparison.objects.filter(workspace=workspace):
        evaluator = comparison.evaluators.get()
        rows = rows_export(comparison, evaluator, judgments_of(evaluator)).read()
        found[comparison.name] = sorted((row["example_id"], row["winner"]) for row in rows)
    return found


def _timeless(row: dict[str, Any]) -> dict[str, Any]:
    marks = [{k: v for k, v in mark.items() if k != "created_at"} for mark in row["feedback"]]
    return row | {"feedback": marks}


def test_everything_comes_over(
    source: Dataset, live_server: LiveServer, api_key: str, other_workspace: Workspace
) -> None:
    told = move(live_server, api_key, other_workspace)
    assert "1 datasets" in told
    assert held(other_workspace) == held(source.workspace)
    copied = Dataset.objects.get(workspace=other_workspace)
    assert copied.uid == source.uid
    assert copied.modified_at == source.modified_at
    assert copied.example_count == source.example_count == 2


def test_feedback_on_a_whole_experiment_comes_over_once(
    source: Dataset, live_server: LiveServer, api_key: str, other_workspace: Workspace
) -> None:
    experiment = source.experiments.earliest("pk")
    entry = FeedbackEntry(
        uid=uuid4(), key="overall", experiment_uid=experiment.uid, score=0.5, score_text="0.5"
    )
    store_feedback(workspace=source.workspace, entries=[entry])
    for _ in range(2):
        move(live_server, api_key, other_workspace)
    copied = Feedback.objects.get(workspace=other_workspace, key="overall")
    assert (copied.uid, copied.score, copied.run_uid) == (entry.uid, 0.5, None)
    assert copied.experiment is not None
    assert copied.experiment.uid == experiment.uid


def test_a_second_time_changes_nothing_and_later_changes_follow(
    source: Dataset, live_server: LiveServer, api_key: str, other_workspace: Workspace
) -> None:
    move(live_server, api_key, other_workspace)
    first = held(other_workspace)
    counts = [model.objects.count() for model in (Run, Feedback, Experiment, Comparison)]
    move(live_server, api_key, other_workspace)
    assert held(other_workspace) == first
    assert [model.objects.count() for model in (Run, Feedback, Experiment, Comparison)] == counts
    changes = [ExampleChange(example_ids(source)[1], outputs=dumps({"answer": "later"}))]
    update_examples(dataset=source, changes=changes)
    move(live_server, api_key, other_workspace)
    assert held(other_workspace) == held(source.workspace)


def test_a_copy_that_broke_off_goes_on(
    source: Dataset,
    live_server: LiveServer,
    api_key: str,
    other_workspace: Workspace,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(*_: Any) -> None:
        raise ConnectionError("the line went dead")

    with monkeypatch.context() as patch:
        patch.setattr(Mover, "_runs", broken)
        with pytest.raises(ConnectionError):
            move(live_server, api_key, other_workspace)
    assert not Run.objects.filter(workspace=other_workspace).exists()
    move(live_server, api_key, other_workspace)
    assert held(other_workspace) == held(source.workspace)


def test_one_dataset_or_the_latest_version_alone(
    source: Dataset, live_server: LiveServer, api_key: str, other_workspace: Workspace
) -> None:
    assert "nothing" in move(live_server, api_key, other_workspace, "--dataset", "no such")
    move(live_server, api_key, other_workspace, "--latest-only")
    assert Dataset.objects.get(workspace=other_workspace).versions.count() == 1


def test_a_dataset_whose_name_is_taken_is_left_out_alone(
    source: Dataset, live_server: LiveServer, api_key: str, other_workspace: Workspace
) -> None:
    second = make_dataset(source.workspace, ["4"], name="zebra")
    mine = make_dataset(other_workspace, ["mine"], name=source.name)
    told = move(live_server, api_key, other_workspace)
    assert f"{source.name}: left out." in told
    assert "1 datasets left out" in told
    assert Dataset.objects.get(workspace=other_workspace, uid=second.uid).example_count == 1
    mine.refresh_from_db()
    assert mine.example_count == 1


def test_the_workspace_must_be_clear(workspace: Workspace, other_workspace: Workspace) -> None:
    with pytest.raises(CommandError, match="Name the workspace"):
        call_command("move_in", "--endpoint", "http://127.0.0.1:1", "--api-key", "x")
