"""An evaluator that a user's own package registers: in the form, in the API, judged by a worker."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse

from evaluators import registry
from evaluators.define import REGISTERED
from experiments.models import Comparison, Job
from experiments.queries.outcome_counts import outcome_counts
from tests.engine.processes import ROOT, Worker, eventually
from tests.factories import make_dataset, make_experiment
from tiebreak.accounts.models import User, Workspace

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The package, installed where this process and its workers find it."""
    install = [sys.executable, "-m", "uv", "pip", "install", "-q", "--no-deps"]
    source = str(ROOT / "tests" / "packages" / "fewer_words")
    subprocess.run(
        [*install, "--no-build-isolation", "--target", str(tmp_path), source], check=True
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    registry._load_third_parties.cache_clear()
    yield tmp_path
    REGISTERED.pop("fewer_words", None)
    registry._load_third_parties.cache_clear()


def test_it_is_offered_launched_and_judged(
    package: Path,
    client: Client,
    alice: User,
    workspace: Workspace,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    dataset = make_dataset(workspace, ["r1", "r2", "r3"])
    a = make_experiment(dataset, ["one", "one two", "x y"])
    b = make_experiment(dataset, ["one two three", "one", "y x"])
    client.force_login(alice)
    page = client.get(reverse("dataset_comparisons", args=[dataset.uid])).content.decode()
    assert "fewer_words" in page
    assert "The answer with fewer words is better." in page
    client.post(
        reverse("comparison_launch", args=[dataset.uid]),
        {
            "experiment_a": str(a.uid),
            "experiment_b": str(b.uid),
            "evaluator": "fewer_words",
            "order": "off",
            "max_concurrency": 4,
        },
    )
    comparison = Comparison.objects.get()
    paths = [str(ROOT), str(ROOT / "platform"), str(package)]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
    log = tmp_path_factory.mktemp("own") / "worker.log"
    with Worker(name="own", log=log, keep_python_path=True):
        eventually(
            lambda: Job.objects.get(pk=comparison.job_id or 0).state == Job.State.COMPLETE,
            60,
            "it is judged",
        )
    counts = outcome_counts(comparison.evaluators.get())
    assert (counts.a, counts.b, counts.ties) == (1, 1, 1)
    detail = client.get(reverse("comparison_detail", args=[comparison.uid])).content.decode()
    assert "1 words against 3" in detail
