"""A package of somebody else's, really installed: its kinds appear in forms and in the API."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse

from evaluators import available, kind, load_evaluator, registry
from evaluators.define import REGISTERED
from experiments.models import Comparison
from tests.factories import make_dataset, make_experiment
from tiebreak.accounts.models import User, Workspace

PROJECT = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "shouting-evaluators"
version = "1.0"

[project.entry-points."tiebreak.evaluators"]
shouting = "shouting:Shouting"
quieter = "shouting:quieter"
gone = "shouting:NotThere"

[tool.hatch.build.targets.wheel]
only-include = ["shouting.py"]
"""
SOURCE = '''
from dataclasses import dataclass
from typing import Annotated

from evaluators import About, evaluator


@evaluator("shouting", title="Shouting", higher_is_better=False)
@dataclass
class Shouting:
    """How much a text shouts."""

    mark: Annotated[str, About("What shouts.")] = "!"

    def evaluate(self, prediction: str) -> float:
        return prediction.count(self.mark)


def quieter(prediction, prediction_b):
    """The quieter of two texts."""
    loud, loud_b = prediction.count("!"), prediction_b.count("!")
    return {"score": 0.5 if loud == loud_b else float(loud < loud_b)}
'''


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    project, target = (tmp_path_factory.mktemp(name) for name in ("project", "site"))
    (project / "pyproject.toml").write_text(PROJECT)
    (project / "shouting.py").write_text(SOURCE)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps"]
    where = ["--no-build-isolation", "--target", str(target), str(project)]
    subprocess.run([*pip, *where], check=True, capture_output=True, text=True)
    return target


@pytest.fixture(autouse=True)
def found(installed: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    available()
    before = dict(REGISTERED)
    monkeypatch.syspath_prepend(str(installed))
    registry._load_third_parties.cache_clear()
    yield
    REGISTERED.clear()
    REGISTERED.update(before)
    registry._load_third_parties.cache_clear()


def test_it_is_loaded_by_name() -> None:
    assert load_evaluator("shouting", mark="?").evaluate_strings(prediction="a??") == {"score": 2}
    assert (
        load_evaluator("quieter").evaluate_string_pairs(prediction="a!", prediction_b="b")["score"]
        == 0
    )
    assert kind("shouting").source == kind("quieter").source == "shouting-evaluators"
    assert "NotThere" in kind("gone").problem


@pytest.mark.django_db
def test_it_appears_in_the_api(client: Client, api_key: str) -> None:
    answer = client.get("/api/v1/evaluators", headers={"x-api-key": api_key})
    kinds = {one["kind"]: one for one in answer.json()}
    assert kinds["shouting"]["settings"][0]["help"] == "What shouts."
    assert kinds["quieter"]["problem"] is None
    assert "NotThere" in kinds["gone"]["problem"]


@pytest.mark.django_db
def test_it_is_offered_by_the_forms_and_can_be_launched(
    client: Client, alice: User, workspace: Workspace
) -> None:
    client.force_login(alice)
    dataset = make_dataset(workspace, ["1", "2"])
    one, other = (make_experiment(dataset, ["1!", "2"], name=name) for name in ("one", "other"))
    page = client.get(reverse("dataset_comparisons", args=[dataset.uid])).content.decode()
    assert 'value="quieter"' in page
    assert 'value="gone"' not in page
    answer = client.post(
        reverse("comparison_launch", args=[dataset.uid]),
        {
            "experiment_a": str(one.uid),
            "experiment_b": str(other.uid),
            "evaluator": "quieter",
            "order": "both",
            "max_concurrency": "4",
        },
    )
    assert answer.status_code == 302
    launched = Comparison.objects.get().evaluators.get().evaluator
    assert launched is not None
    assert launched.kind == "quieter"
    page = client.get(reverse("experiment_detail", args=[one.uid])).content.decode()
    assert 'value="shouting"' in page
