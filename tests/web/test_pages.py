"""Lists and pages of datasets, experiments and runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.http import FileResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from experiments.models import Dataset, Experiment, Feedback, Run
from experiments.services.examples import ExampleChange, update_examples
from experiments.services.ingest import ingest
from experiments.services.run_pieces import IncomingFile, RunPiece
from tests.factories import example_ids, make_dataset, make_experiment
from tiebreak.accounts.models import Role, User, Workspace

pytestmark = pytest.mark.django_db


@pytest.fixture
def alice_client(client: Client, alice: User) -> Client:
    client.force_login(alice)
    return client


@pytest.fixture
def dataset(workspace: Workspace) -> Dataset:
    return make_dataset(workspace, ["4", "Paris", "blue"], name="capitals & <b>colours</b>")


@pytest.fixture
def experiment(dataset: Dataset) -> Experiment:
    row = make_experiment(dataset, ["4", "London", RuntimeError("boom")], name="first try")
    run = Run.objects.filter(experiment=row).order_by("pk")[0]
    for key, score in (("exact", 1.0), ("length", 3.0)):
        Feedback.objects.create(
            workspace=row.workspace, run_uid=run.uid, experiment=row, key=key, score=score,
            score_text=str(score),
        )  # fmt: skip
    return row


def pages_of(experiment: Experiment) -> list[str]:
    dataset = experiment.dataset
    assert dataset is not None
    run = Run.objects.filter(experiment=experiment).order_by("pk")[0]
    return [
        reverse("dataset_detail", args=[dataset.uid]),
        reverse("dataset_experiments", args=[dataset.uid]),
        reverse("dataset_comparisons", args=[dataset.uid]),
        reverse("dataset_versions", args=[dataset.uid]),
        reverse("dataset_delete", args=[dataset.uid]),
        reverse("experiment_detail", args=[experiment.uid]),
        reverse("experiment_delete", args=[experiment.uid]),
        reverse("run_detail", args=[run.uid]),
    ]


def test_every_page_opens_for_members_and_is_404_for_strangers(
    alice_client: Client, experiment: Experiment, mallory: User
) -> None:
    stranger = Client()
    stranger.force_login(mallory)
    for address in pages_of(experiment):
        assert alice_client.get(address).status_code == 200, address
        assert stranger.get(address).status_code == 404, address
        assert Client().get(address).status_code == 302, address


def test_lists_show_names_as_text_and_what_hangs_on_them(
    alice_client: Client, experiment: Experiment
) -> None:
    page = alice_client.get(reverse("dataset_list")).content.decode()
    assert "capitals &amp; &lt;b&gt;colours&lt;/b&gt;" in page
    assert "<b>colours</b>" not in page
    rows = alice_client.get(reverse("dataset_list")).context["datasets"]
    assert [(row.experiments_count, row.comparisons_count) for row in rows] == [(1, None)]


def test_search_finds_datasets_examples_and_runs(
    alice_client: Client, workspace: Workspace, experiment: Experiment
) -> None:
    make_dataset(workspace, name="other")
    assert experiment.dataset is not None
    names = [row.name for row in alice_client.get("/datasets?q=OTHER").context["datasets"]]
    assert names == ["other"]
    detail = reverse("dataset_detail", args=[experiment.dataset.uid])
    assert [r.reference for r in alice_client.get(detail + "?q=paris").context["rows"]] == ["Paris"]
    runs = reverse("experiment_detail", args=[experiment.uid])
    assert [r.output for r in alice_client.get(runs + "?q=london").context["rows"]] == ["London"]
    failed = alice_client.get(runs + "?status=error")
    assert [row.run.status for row in failed.context["rows"]] == ["error"]
    assert "boom" in failed.content.decode()


def test_an_experiment_shows_its_means_and_scores(
    alice_client: Client, experiment: Experiment
) -> None:
    page = alice_client.get(reverse("experiment_detail", args=[experiment.uid]))
    metrics = page.context["summed"].summary.metrics
    assert {key: (metric.mean, metric.n) for key, metric in metrics.items()} == {
        "exact": (1.0, 1),
        "length": (3.0, 1),
    }
    assert page.context["summed"].summary.statistics.error_count == 1


def test_an_old_version_shows_what_stood_then(alice_client: Client, dataset: Dataset) -> None:
    before = dataset.modified_at
    change = ExampleChange(uid=example_ids(dataset)[0], outputs='{"answer":"four"}')
    update_examples(dataset=dataset, changes=[change])
    address = reverse("dataset_detail", args=[dataset.uid])
    now = alice_client.get(address).context["rows"]
    then = alice_client.get(address, {"ver": before.isoformat()})
    assert now[0].reference == "four"
    assert then.context["rows"][0].reference == "4"
    assert "As it stood at" in then.content.decode()
    assert alice_client.get(address, {"ver": "nonsense"}).context["as_of"] is None


@pytest.mark.parametrize("name", ["dataset_detail", "dataset_experiments", "experiment_detail"])
def test_pages_ask_the_database_as_often_for_many_rows_as_for_few(
    alice_client: Client, workspace: Workspace, name: str
) -> None:
    counts = []
    for size in (2, 20):
        dataset = make_dataset(workspace, [f"r{n}" for n in range(size)])
        experiments = [
            make_experiment(dataset, [f"x{n}" for n in range(size)]) for _ in range(size // 2)
        ]
        target = experiments[0].uid if name == "experiment_detail" else dataset.uid
        with CaptureQueriesContext(connection) as queries:
            alice_client.get(reverse(name, args=[target]))
        counts.append(len(queries))
    assert counts[0] == counts[1]


def walk(client: Client, address: str, rows: Callable[[object], list[object]]) -> list[object]:
    seen: list[object] = []
    query = "?size=25"
    while query:
        context = client.get(address + query).context
        seen += rows(context)
        query = context["older"]
    return seen


def test_lists_page_through_everything_once(alice_client: Client, workspace: Workspace) -> None:
    dataset = make_dataset(workspace, [f"r{n}" for n in range(60)])
    experiment = make_experiment(dataset, [f"x{n}" for n in range(60)])
    for number in range(30):
        make_dataset(workspace, [], name=f"empty {number}")
    examples = walk(
        alice_client,
        reverse("dataset_detail", args=[dataset.uid]),
        lambda context: [row.reference for row in context["rows"]],  # type: ignore[index]
    )
    assert examples == [f"r{n}" for n in range(60)]
    runs = walk(
        alice_client,
        reverse("experiment_detail", args=[experiment.uid]),
        lambda context: [row.output for row in context["rows"]],  # type: ignore[index]
    )
    assert runs == [f"x{n}" for n in reversed(range(60))]
    datasets = walk(
        alice_client,
        reverse("dataset_list"),
        lambda context: [row.name for row in context["datasets"]],  # type: ignore[index]
    )
    assert len(datasets) == len(set(datasets)) == 31


def test_a_new_dataset_is_created_and_a_taken_name_is_an_error_at_the_field(
    alice_client: Client, workspace: Workspace
) -> None:
    for status in (302, 422):
        answer = alice_client.post(reverse("dataset_create"), {"name": "twice"})
        assert answer.status_code == status
    assert "already exists" in answer.content.decode()
    assert Dataset.objects.count() == 1


def test_deleting_a_dataset_says_what_goes_and_takes_it(
    alice_client: Client, experiment: Experiment
) -> None:
    assert experiment.dataset is not None
    address = reverse("dataset_delete", args=[experiment.dataset.uid])
    page = alice_client.get(address).content.decode()
    for line in ("<b>3</b> examples", "<b>1</b> experiments", "<b>3</b> runs"):
        assert line in page
    for typed in ("", "capitals"):
        refused = alice_client.post(address, {"sure": typed})
        assert refused.status_code == 422
        assert "That is not its name; nothing was deleted." in refused.content.decode()
    assert Run.objects.count() == 3
    alice_client.post(address, {"sure": f" {experiment.dataset.name} "})
    assert not Dataset.objects.exists()
    assert not Run.objects.exists()
    assert not Feedback.objects.exists()


def test_viewers_cannot_delete_or_create(
    alice_client: Client, alice: User, experiment: Experiment
) -> None:
    alice.memberships.update(role=Role.VIEWER)
    assert experiment.dataset is not None
    for name, uid in (
        ("dataset_delete", experiment.dataset.uid),
        ("experiment_delete", experiment.uid),
    ):
        assert alice_client.post(reverse(name, args=[uid])).status_code == 403
    assert alice_client.post(reverse("dataset_create"), {"name": "x"}).status_code == 403
    assert Dataset.objects.count() == 1


def test_the_links_that_the_sdk_prints_lead_to_our_pages(
    alice_client: Client, workspace: Workspace, experiment: Experiment, mallory: User
) -> None:
    assert experiment.dataset is not None
    run = Run.objects.filter(experiment=experiment)[0]
    base, uid = f"/o/{workspace.uid}", experiment.dataset.uid
    for link, name, target in (
        (f"{base}/datasets/{uid}", "dataset_detail", uid),
        (f"{base}/projects/p/{experiment.uid}", "experiment_detail", experiment.uid),
        (f"{base}/projects/p/{experiment.uid}/r/{run.uid}?poll=true", "run_detail", run.uid),
        (
            f"{base}/datasets/{uid}/compare?selectedSessions={experiment.uid}",
            "experiment_detail",
            experiment.uid,
        ),
    ):
        assert alice_client.get(link).headers["Location"] == reverse(name, args=[target])
    stranger = Client()
    stranger.force_login(mallory)
    assert stranger.get(f"{base}/datasets/{uid}").status_code == 404


def test_a_file_of_a_run_is_a_download_for_its_workspace_alone(
    alice_client: Client, experiment: Experiment, other_workspace: Workspace, settings: Any,
    tmp_path: Path,
) -> None:  # fmt: skip
    settings.FILES_PATH = tmp_path
    run = experiment.runs.earliest("pk")
    evil = IncomingFile("<b>x</b>.html", "text/html", b"<script>alert(1)</script>")
    ingest(
        workspace=run.workspace,
        pieces=[RunPiece(run.uid, opening=False, files={evil.name: evil})],
    )
    page = alice_client.get(reverse("run_detail", args=[run.uid])).content.decode()
    assert "&lt;b&gt;x&lt;/b&gt;.html" in page
    (row,) = run.attachments.all()
    address = reverse("run_file", args=[run.uid, row.pk])
    assert address in page
    sent = alice_client.get(address)
    assert isinstance(sent, FileResponse)
    assert sent["Content-Disposition"].startswith("attachment")
    assert "sandbox" in sent["Content-Security-Policy"]
    assert b"".join(sent.streaming_content) == evil.data
    other = experiment.runs.latest("pk")
    assert alice_client.get(reverse("run_file", args=[other.uid, row.pk])).status_code == 404
    stranger = Client()
    stranger.force_login(other_workspace.memberships.get().user)
    assert stranger.get(address).status_code == 404
