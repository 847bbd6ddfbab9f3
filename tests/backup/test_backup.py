"""A workspace goes into an archive and comes back as it was."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from django.apps import apps
from django.core.management import CommandError, call_command
from django.urls import reverse

from experiments.backup.restoring import import_workspace
from experiments.backup.tables import LEFT_OUT, TABLES
from experiments.backup.writing import export_workspace
from experiments.errors import ConflictError, InvalidError
from experiments.exports.comparisons import rows_export
from experiments.exports.datasets import dataset_export
from experiments.exports.experiments import experiment_export
from experiments.exports.judgments import games_export, judgments_export
from experiments.exports.writing import json_lines
from experiments.models import Attachment, Comparison, Dataset, Experiment, Feedback, Job, Run
from experiments.queries.comparison_table import judgments_of
from experiments.rawjson import dumps
from experiments.services.attachments import attach_to_revisions, store_file
from experiments.services.examples import ExampleChange, NewExample, add_examples, update_examples
from experiments.services.run_pieces import IncomingFile
from experiments.services.versions import set_tag
from tests.factories import example_ids, judge, make_dataset, make_key, make_person
from tests.web.uploading import signed_in
from tiebreak import cli
from tiebreak.accounts.models import ApiKey, Role, User, Workspace

pytestmark = pytest.mark.django_db(transaction=True)
ODD = '{ "b":"\\u0000\\ud83d", "a" : 12345678901234567890.10 }'


@pytest.fixture(autouse=True)
def own_files(settings: Any, tmp_path: Path) -> None:
    settings.FILES_PATH = tmp_path / "files"


@pytest.fixture
def full(comparison: Comparison) -> Workspace:
    """A workspace with something of everything that pages show."""
    workspace, dataset = comparison.workspace, comparison.dataset
    judge(comparison, ["a", "tie", "b"], reason="said so")
    first = dataset.modified_at
    change = ExampleChange(example_ids(dataset)[0], inputs=ODD, metadata='{"n": 1.50}')
    update_examples(dataset=dataset, changes=[change])
    set_tag(dataset=dataset, tag="before", as_of=first)
    file = store_file(workspace, IncomingFile("a.txt", "text/plain", b"attached"))
    revision = dataset.revisions.filter(valid_to=None).earliest("pk")
    attach_to_revisions(workspace.pk, {revision.pk: [file]})
    run = Run.objects.filter(workspace=workspace).earliest("pk")
    Feedback.objects.create(
        workspace=workspace,
        experiment=run.experiment,
        run_uid=run.uid,
        key="k",
        score=0.1,
        score_text="0.10",
        comment=dumps("tab\t\\N newline\n"),
    )
    return workspace


def archive_of(workspace: Workspace) -> io.BytesIO:
    target = io.BytesIO()
    export_workspace(workspace, target)
    return target


def seen(workspace: Workspace) -> dict[str, Any]:
    """What users see: every export, every page's numbers, people, versions, files."""
    found: dict[str, Any] = {"name": workspace.name, "uid": workspace.uid}
    members = workspace.memberships.order_by("user__username")
    found["people"] = list(members.values_list("user__username", "role"))
    for dataset in Dataset.objects.filter(workspace=workspace):
        versions = dataset.versions.order_by("as_of")
        found[f"versions {dataset.name}"] = list(
            versions.values_list("as_of", "note", "added", "changed", "removed")
        )
        found[f"tags {dataset.name}"] = list(dataset.tags.values_list("tag", "as_of"))
        for version in versions:
            found[f"dataset {dataset.name} {version.as_of}"] = list(
                json_lines(dataset_export(dataset, as_of=version.as_of))
            )
    for experiment in Experiment.objects.filter(workspace=workspace):
        found[experiment.name] = list(json_lines(experiment_export(experiment)))
    for comparison in Comparison.objects.filter(workspace=workspace):
        evaluator = comparison.evaluators.get()
        rows = judgments_of(evaluator)
        for export in (
            rows_export(comparison, evaluator, rows),
            judgments_export(comparison),
            games_export(comparison),
        ):
            found[export.name + export.columns[-1]] = list(json_lines(export))
        page = signed_in(workspace.memberships.earliest("pk").user).get(
            reverse("comparison_detail", args=[comparison.uid])
        )
        found["page"] = (page.context["everything"], page.context["verdict"])
    found["files"] = list(Attachment.objects.values_list("name", "path", "size"))
    return found


def test_a_restored_workspace_is_what_it_was(full: Workspace, alice: User) -> None:
    key = make_key(full, Role.VIEWER)
    before, archive = seen(full), archive_of(full)
    file = Path(archive_root(), Attachment.objects.get().path)
    file.unlink()
    call_command("flush", interactive=False, verbosity=0)
    make_person("somebody", "Somebody's workspace")
    Dataset.objects.create(workspace=Workspace.objects.get(), name="in the way")
    restored = import_workspace(archive)
    assert seen(restored) == before
    assert len(before["people"]) == 1
    assert file.read_bytes() == b"attached"
    assert ApiKey.objects.get(workspace=restored).digest == ApiKey.digest_of(key)
    assert User.objects.get(username="alice").check_password("correct horse battery")


def archive_root() -> str:
    from django.conf import settings

    return str(settings.FILES_PATH)


def test_a_restored_workspace_can_be_worked_in(full: Workspace) -> None:
    archive = archive_of(full)
    call_command("flush", interactive=False, verbosity=0)
    restored = import_workspace(archive)
    dataset = Dataset.objects.get(workspace=restored)
    add_examples(dataset=dataset, examples=[NewExample("{}")])
    assert dataset.example_count == 4
    make_dataset(restored, ["new"])


def test_nobody_goes_on_with_a_job_that_was_open(comparison: Comparison) -> None:
    archive = archive_of(comparison.workspace)
    call_command("flush", interactive=False, verbosity=0)
    import_workspace(archive)
    assert Job.objects.get().state == Job.State.CANCELLED


def test_what_is_here_already_stays(full: Workspace) -> None:
    before, archive = seen(full), archive_of(full)
    with pytest.raises(ConflictError):
        import_workspace(archive)
    assert seen(full) == before
    assert Workspace.objects.count() == 1


def test_a_broken_archive_leaves_nothing_behind(full: Workspace) -> None:
    source, broken = ZipFile(archive_of(full)), io.BytesIO()
    with ZipFile(broken, "w") as target:
        for name in source.namelist():
            data = source.read(name)
            target.writestr(name, data.rsplit(b"\n", 2)[0] + b"\n" if "Game" in name else data)
    call_command("flush", interactive=False, verbosity=0)
    with pytest.raises(InvalidError, match="lacks rows of Game"):
        import_workspace(broken)
    assert not Workspace.objects.exists()
    with pytest.raises(InvalidError):
        import_workspace(io.BytesIO(b"no archive"))


def test_the_commands_do_it(full: Workspace, tmp_path: Path) -> None:
    path = tmp_path / "out.zip"
    cli.main(["export-workspace", full.name, str(path)])
    assert path.stat().st_mode & 0o077 == 0
    call_command("flush", interactive=False, verbosity=0)
    cli.main(["import-workspace", str(path), "--name", "Another"])
    assert Workspace.objects.get().name == "Another"
    with pytest.raises(CommandError, match="no workspace named"):
        call_command("export_workspace", "Nowhere", str(path))


def test_every_table_is_in_the_archive_or_left_out_on_purpose(db: None) -> None:
    known = {table.model for table in TABLES} | set(LEFT_OUT) | {Workspace, User}
    ours = {*apps.get_app_config("experiments").get_models()}
    ours |= {*apps.get_app_config("accounts").get_models()}
    assert ours - known == set()
