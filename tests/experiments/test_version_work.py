"""Versions restored and told apart row by row; splits drawn by a seed."""

from __future__ import annotations

from datetime import datetime

import pytest
from django.urls import reverse

from experiments.errors import ConflictError, InvalidError
from experiments.models import Comparison, Dataset, ExampleRevision
from experiments.queries.changes import changes_between, count_changes, version_note
from experiments.queries.examples import revisions_at
from experiments.rawjson import dumps
from experiments.services import splits
from experiments.services.attachments import KeptFile
from experiments.services.examples import (
    ExampleChange,
    NewExample,
    add_examples,
    delete_examples,
    update_examples,
)
from experiments.services.reinstating import restore_version
from experiments.services.splits import assign_splits, split_ratios
from tests.api.conftest import caller
from tests.factories import example_ids, make_comparison, make_dataset, make_experiment
from tests.web.uploading import payloads, signed_in
from tiebreak.accounts.models import User, Workspace

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def dataset(workspace: Workspace) -> Dataset:
    """Three examples, then: the first changed, the second deleted, a fourth added."""
    made = make_dataset(workspace)
    uids = example_ids(made)
    update_examples(
        dataset=made, changes=[ExampleChange(uids[0], outputs=dumps({"answer": "new"}))]
    )
    delete_examples(dataset=made, uids=uids[1:2])
    add_examples(dataset=made, examples=[NewExample(dumps({"question": "more?"}))])
    return made


def first_version(dataset: Dataset):
    return dataset.versions.order_by("as_of")[0].as_of


def test_restoring_gives_exactly_what_stood(dataset: Dataset) -> None:
    before = payloads(dataset)
    then = first_version(dataset)
    version = restore_version(dataset, as_of=then)
    assert [outputs for _, outputs, _ in payloads(dataset)] == [
        '{"answer":"4"}',
        '{"answer":"Paris"}',
        '{"answer":"blue"}',
    ]
    assert (version.added, version.changed, version.removed) == (1, 1, 1)
    dataset.refresh_from_db()
    assert dataset.example_count == 3
    assert count_changes(dataset, then, None).total == 0
    with pytest.raises(ConflictError, match="nothing to restore"):
        restore_version(dataset, as_of=then)
    restore_version(dataset, as_of=dataset.versions.order_by("-as_of")[1].as_of)
    assert payloads(dataset) == before


def test_restoring_keeps_one_standing_revision_each(dataset: Dataset) -> None:
    restore_version(dataset, as_of=first_version(dataset))
    standing = ExampleRevision.objects.filter(dataset=dataset, valid_to=None)
    assert standing.values("example").distinct().count() == standing.count() == 3


def test_changes_are_told_row_by_row_and_paged(dataset: Dataset) -> None:
    then = first_version(dataset)
    counts = count_changes(dataset, then, None)
    assert (counts.added, counts.changed, counts.removed) == (1, 1, 1)
    first = changes_between(dataset, then, None, size=2)
    rest = changes_between(dataset, then, None, size=2, cursor=first.older)
    assert [row.kind for row in [*first.rows, *rest.rows]] == ["changed", "removed", "added"]
    assert rest.older == ""
    row = first.rows[0]
    assert row.before is not None
    assert row.after is not None
    assert (row.before.payload.outputs, row.after.payload.outputs) == (
        '{"answer":"4"}',
        '{"answer":"new"}',
    )


def test_comparing_across_versions_is_told(
    dataset: Dataset, workspace: Workspace, alice: User, live_server, api_key: str
) -> None:
    a = make_experiment(dataset, ["4", "Paris", "blue", "x"], name="early")
    a.dataset_version = first_version(dataset)
    a.save()
    b = make_experiment(dataset, ["4", "Paris", "blue", "x"], name="late")
    comparison = make_comparison(a, b)
    note = version_note(comparison)
    assert note is not None
    assert (note.counts.changed, len(note.changed)) == (1, 3)
    shown = signed_in(alice).get(reverse("comparison_detail", args=[comparison.uid]))
    assert "ran on different versions" in shown.content.decode()
    call = caller(f"{live_server.url}/api", api_key)
    told = call("GET", f"/comparisons/{comparison.uid}").json()["version_note"]
    assert (told["added"], told["changed"], told["removed"]) == (1, 1, 1)
    same = Comparison.objects.get(pk=make_comparison(b, b_again(dataset)).pk)
    assert version_note(same) is None


def b_again(dataset: Dataset):
    return make_experiment(dataset, ["4", "Paris", "blue", "x"], name="late again")


def test_pages_show_changes_and_restore(dataset: Dataset, alice: User, mallory: User) -> None:
    browser, then = signed_in(alice), first_version(dataset).isoformat()
    shown = browser.get(reverse("dataset_changes", args=[dataset.uid]), {"from": then})
    assert "1 added, 1 changed, 1 taken out" in shown.content.decode()
    assert browser.get(reverse("dataset_versions", args=[dataset.uid])).status_code == 200
    answer = browser.post(
        reverse("dataset_restore", args=[dataset.uid]), {"as_of": then}, follow=True
    )
    assert "Restored as a new version" in answer.content.decode()
    stranger = signed_in(mallory)
    assert stranger.get(reverse("dataset_changes", args=[dataset.uid])).status_code == 404
    assert stranger.post(reverse("dataset_restore", args=[dataset.uid])).status_code == 404


def test_the_api_shows_changes_restores_and_splits(
    dataset: Dataset, live_server, api_key: str
) -> None:
    call = caller(f"{live_server.url}/api", api_key)
    path, then = f"/datasets/{dataset.uid}", first_version(dataset).isoformat()
    found = call("GET", f"{path}/versions/changes", params={"from_version": then, "limit": 1})
    assert found.json()["changes"][0]["after"]["outputs"] == {"answer": "new"}
    assert found.json()["cursor"]
    assert call("POST", f"{path}/versions/restore", json={"as_of": then}).status_code == 201
    assert call("POST", f"{path}/versions/restore", json={"as_of": then}).status_code == 409
    too_early = call("POST", f"{path}/versions/restore", json={"as_of": "1990-01-01T00:00:00Z"})
    assert (too_early.status_code, too_early.json()["field"]) == (422, "as_of")
    given = {"ratios": {"train": 2, "test": 1}, "seed": 7}
    done = call("POST", f"{path}/splits/random", json=given)
    assert done.json()["counts"] == {"train": 2, "test": 1}, done.text
    shares = {"ratios": {"train": 0.67, "test": 0.33}, "seed": 7}
    assert (
        call("POST", f"{path}/splits/random", json=shares).json()["counts"] == done.json()["counts"]
    )
    refused: list[dict[str, object]] = [
        {"ratios": {"half \ud83d": 1}},
        {"ratios": {"a": 1e-300}},
        {"ratios": []},
        {"ratios": {"a": -1}},
        {"ratios": {"a": 1}, "seed": "x"},
    ]
    for bad in refused:
        assert call("POST", f"{path}/splits/random", json=bad).status_code == 422


def test_the_same_seed_gives_the_same_splits(workspace: Workspace) -> None:
    dataset = make_dataset(workspace, [str(n) for n in range(100)])
    ratios = split_ratios("train 70, dev 10%, test 20")

    def drawn(seed: int | None) -> tuple[int, list[list[str]]]:
        done = assign_splits(dataset=dataset, ratios=ratios, seed=seed)
        assert done.counts == {"train": 70, "dev": 10, "test": 20}
        rows = ExampleRevision.objects.filter(dataset=dataset, valid_to=None)
        return done.seed, list(rows.order_by("example_id").values_list("splits", flat=True))

    seed, first = drawn(None)
    assert drawn(seed)[1] == first
    assert drawn(seed + 1)[1] != first
    assert {len([one for one in splits if one in ratios]) for splits in first} == {1}


def test_examples_that_are_split_say_the_same_and_keep_their_files(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(splits, "CHUNK", 2)
    dataset = make_dataset(workspace, [])
    file = KeptFile("picture", "image/png", "files/x", 3)
    new = [
        NewExample(
            inputs=f'{{"q": {n}}}',
            outputs=f'{{"a": {n}}}',
            metadata='{"k": 12345678901234567890}',
            splits=["kept", "train", "last"],
            files=[file] if n == 3 else [],
        )
        for n in range(5)
    ]
    before = add_examples(dataset=dataset, examples=new).as_of
    done = assign_splits(dataset=dataset, ratios={"train": 1, "test": 1}, seed=1)

    def said(moment: datetime) -> list[tuple[object, ...]]:
        rows = revisions_at(ExampleRevision.objects.filter(dataset=dataset), moment)
        fields = ("inputs", "outputs", "metadata")
        texts = [f"payload__{name}" for name in fields]
        rows = rows.order_by("example_id")
        return list(rows.values_list("example__uid", "attachments__path", *texts))

    assert said(before) == said(done.as_of)
    assert [row[1] for row in said(done.as_of)] == [None, None, None, "files/x", None]
    standing = ExampleRevision.objects.filter(dataset=dataset, valid_to=None)
    assert {tuple(row.splits) for row in standing} == {
        ("kept", "last", "train"),
        ("kept", "last", "test"),
    }
    assert dataset.versions.get(as_of=done.as_of).changed == 5


@pytest.mark.parametrize("text", ["", "train", "train x", "train 0", "train 1, test -1"])
def test_ratios_that_make_no_sense_are_refused(text: str) -> None:
    with pytest.raises(InvalidError):
        split_ratios(text)
