"""Everything else that scripts do with experiments, through the real client."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from langsmith import Client, aevaluate, evaluate, traceable
from langsmith.evaluation import evaluate_comparative, evaluate_existing

from experiments.models import (
    Attachment,
    Comparison,
    Experiment,
    Feedback,
    Judgment,
    JudgmentScore,
    Run,
)
from tests.api.test_evaluate import exact, half_right, judges, make_dataset, prefer_right, right
from tiebreak.accounts.models import Workspace


def marks(workspace: Workspace, name: str, key: str = "exact") -> list[float | None]:
    rows = Feedback.objects.filter(workspace=workspace, experiment__name=name, key=key)
    return sorted((row.score for row in rows), key=lambda score: (score is None, score))


async def test_aevaluate_stores_the_same(client: Client, workspace: Workspace) -> None:
    make_dataset(client)

    async def target(inputs: dict[str, Any]) -> dict[str, Any]:
        return half_right(inputs)

    done = await aevaluate(target, data="sums", evaluators=judges(exact), client=client)
    client.flush()
    import asyncio

    found = await asyncio.to_thread(marks, workspace, done.experiment_name)
    assert found == [0.0] * 4 + [1.0] * 4


def test_repetitions_are_runs_of_their_own(client: Client, workspace: Workspace) -> None:
    make_dataset(client)
    done = evaluate(right, data="sums", num_repetitions=3, max_concurrency=4, client=client)
    client.flush()
    experiment = Experiment.objects.get(workspace=workspace, name=done.experiment_name)
    assert (experiment.num_examples, experiment.num_repetitions) == (8, 3)
    runs = Run.objects.filter(experiment=experiment, is_root=True)
    assert runs.count() == 24
    assert runs.values("example_uid").distinct().count() == 8


def test_a_split_is_evaluated_alone(client: Client, workspace: Workspace) -> None:
    dataset = client.create_dataset("d")
    client.create_examples(
        dataset_id=dataset.id,
        examples=[{"inputs": {"q": n}, "split": "test" if n < 2 else "train"} for n in range(5)],
    )
    data = client.list_examples(dataset_id=dataset.id, splits=["test"])
    done = evaluate(right, data=data, client=client, metadata={"model": "m"})
    client.flush()
    experiment = Experiment.objects.get(workspace=workspace, name=done.experiment_name)
    assert Run.objects.filter(experiment=experiment, is_root=True).count() == 2
    assert experiment.metadata["dataset_splits"] == ["test"]
    assert experiment.metadata["model"] == "m"
    assert experiment.dataset_version is not None


@pytest.mark.parametrize(("handling", "with_example"), [("log", 8), ("ignore", 4)])
def test_failures_are_logged_or_ignored(
    client: Client, workspace: Workspace, handling: Any, with_example: int
) -> None:
    make_dataset(client)

    def fragile(inputs: dict[str, Any]) -> dict[str, Any]:
        if inputs["q"] >= 4:
            raise ValueError("too hard")
        return right(inputs)

    done = evaluate(fragile, data="sums", error_handling=handling, client=client)
    client.flush()
    runs = Run.objects.filter(experiment__name=done.experiment_name, is_root=True)
    assert runs.filter(status="error").count() == 4
    assert runs.exclude(example_uid=None).count() == with_example
    project = client.read_project(project_name=done.experiment_name, include_stats=True)
    assert project.error_rate == 0.5


def test_a_failed_evaluator_is_counted_as_an_error(client: Client) -> None:
    make_dataset(client)

    def broken(outputs: dict[str, Any]) -> bool:
        if outputs["a"] == 0:
            raise RuntimeError("no")
        return True

    done = evaluate(right, data="sums", evaluators=judges(broken), client=client)
    client.flush()
    project = client.read_project(project_name=done.experiment_name, include_stats=True)
    assert project.feedback_stats is not None
    stats = project.feedback_stats["broken"]
    assert (stats["n"], stats["avg"], stats["errors"]) == (7, 1.0, 1)


def test_one_evaluator_may_give_several_marks(client: Client, workspace: Workspace) -> None:
    make_dataset(client)

    def several(outputs: dict[str, Any]) -> Any:
        return {"results": [{"key": "size", "score": outputs["a"]}, {"key": "kind", "value": "n"}]}

    done = evaluate(right, data="sums", evaluators=[several], client=client)
    client.flush()
    assert marks(workspace, done.experiment_name, "size") == [0, 2, 4, 6, 8, 10, 12, 14]
    assert len(marks(workspace, done.experiment_name, "kind")) == 8


def test_an_experiment_that_exists_already_takes_more_runs(
    client: Client, workspace: Workspace
) -> None:
    dataset = make_dataset(client)
    project = client.create_project("prepared", reference_dataset_id=dataset.id)
    done = evaluate(right, data="sums", evaluators=judges(exact), experiment=project, client=client)
    client.flush()
    assert done.experiment_name == "prepared"
    assert marks(workspace, "prepared") == [1.0] * 8
    assert list(Experiment.objects.filter(name__startswith="prepared")) == [
        Experiment.objects.get(uid=project.id)
    ]


def test_nothing_is_written_without_upload(client: Client, workspace: Workspace) -> None:
    make_dataset(client)
    done = evaluate(
        right, data="sums", evaluators=judges(exact), upload_results=False, client=client
    )
    client.flush()
    assert len(list(done)) == 8
    assert not Run.objects.filter(workspace=workspace).exists()
    assert not Feedback.objects.filter(workspace=workspace).exists()
    assert set(Experiment.objects.values_list("name", flat=True)) <= {"default"}


def test_an_experiment_is_evaluated_again(client: Client, workspace: Workspace) -> None:
    make_dataset(client)
    done = evaluate(half_right, data="sums", client=client)
    client.flush()
    for again in (
        lambda: evaluate_existing(done.experiment_name, evaluators=judges(exact), client=client),
        lambda: evaluate(done.experiment_name, evaluators=judges(exact), client=client),
    ):
        again()
        client.flush()
    assert marks(workspace, done.experiment_name) == [0.0] * 8 + [1.0] * 8
    assert Run.objects.filter(experiment__name=done.experiment_name, is_root=True).count() == 8


def test_results_come_as_a_table(client: Client) -> None:
    make_dataset(client)
    done = evaluate(half_right, data="sums", evaluators=judges(exact), client=client)
    client.flush()
    table = client.get_test_results(project_name=done.experiment_name)
    assert len(table) == 8
    assert sorted(table["feedback.exact"]) == [0.0] * 4 + [1.0] * 4
    assert sorted(table["input.q"]) == list(range(8))


def test_targets_and_evaluators_get_attachments(client: Client) -> None:
    dataset = client.create_dataset("d")
    client.create_example(
        {"q": 1}, dataset_id=dataset.id, attachments={"f": ("text/plain", b"content")}
    )

    def target(inputs: dict[str, Any], attachments: dict[str, Any]) -> dict[str, Any]:
        return {"a": attachments["f"]["reader"].read().decode()}

    def same(outputs: dict[str, Any], attachments: dict[str, Any]) -> bool:
        return bool(outputs["a"] == attachments["f"]["reader"].read().decode())

    done = evaluate(target, data="d", evaluators=judges(same), client=client)
    [row] = done
    assert row["evaluation_results"]["results"][0].score is True
    assert row["run"].outputs == {"a": "content"}


def compare(client: Client, *experiments: Any, **options: Any) -> None:
    names: Any = tuple(done.experiment_name for done in experiments)
    evaluate_comparative(names, evaluators=judges(prefer_right), client=client, **options)
    client.flush()


def test_three_experiments_are_compared(client: Client, workspace: Workspace) -> None:
    make_dataset(client)

    def wrong(inputs: dict[str, Any]) -> dict[str, Any]:
        return {"a": -2}

    done = [evaluate(target, data="sums", client=client) for target in (half_right, right, wrong)]
    compare(client, *done, randomize_order=True, max_concurrency=4)
    comparison = Comparison.objects.get(workspace=workspace)
    assert comparison.sides.count() == 3
    judgments = Judgment.objects.filter(comparison=comparison)
    assert judgments.count() == 8
    scores = JudgmentScore.objects.filter(judgment__in=judgments)
    by_side = {
        side: sum(scores.filter(position=side).values_list("score", flat=True)) for side in range(3)
    }
    assert by_side == {0: 4, 1: 8, 2: 0}


def test_nested_runs_are_shown_to_the_judge_on_request(client: Client) -> None:
    make_dataset(client)

    @traceable
    def inner(q: int) -> int:
        return q * 2

    def nested(inputs: dict[str, Any]) -> dict[str, Any]:
        return {"a": inner(inputs["q"])}

    first = evaluate(nested, data="sums", client=client)
    second = evaluate(nested, data="sums", client=client)
    client.flush()
    children: list[int] = []

    def count(runs: Any, example: Any) -> Any:
        children.extend(len(run.child_runs or []) for run in runs)
        return {"key": "k", "scores": {run.id: 1 for run in runs}}

    names: Any = (first.experiment_name, second.experiment_name)
    evaluate_comparative(names, evaluators=judges(count), load_nested=True, client=client)
    assert children == [1] * 16


def test_a_judgment_shows_0_0_and_1_1_apart(client: Client, workspace: Workspace) -> None:
    make_dataset(client)
    first, second = (evaluate(half_right, data="sums", client=client) for _ in range(2))
    compare(client, first, second)
    outcomes = Judgment.objects.filter(comparison__workspace=workspace)
    assert (
        sorted(outcomes.values_list("outcome", flat=True)) == ["both_bad"] * 4 + ["both_good"] * 4
    )


def test_traced_functions_make_a_tree(client: Client, workspace: Workspace) -> None:
    @traceable(run_type="tool", tags=["t"], metadata={"m": 1})
    def step(x: int) -> int:
        return x + 1

    @traceable(project_name="traced", client=client)
    def top(x: int) -> int:
        return step(x) + step(x + 1)

    assert top(1) == 5
    client.flush()
    root = Run.objects.get(workspace=workspace, is_root=True)
    assert (root.name, root.experiment.name) == ("top", "traced")
    steps = Run.objects.filter(parent_uid=root.uid)
    assert [(run.name, run.run_type, run.tags) for run in steps] == [("step", "tool", ["t"])] * 2
    assert all(run.metadata["m"] == 1 and run.trace_uid == root.uid for run in steps)


@pytest.mark.parametrize(
    "settings",
    [
        {"LANGSMITH_DISABLE_RUN_COMPRESSION": "true"},
        {},
    ],
)
def test_uploads_arrive_packed_or_not(
    environment: None, workspace: Workspace, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    client = Client()
    for number in range(150):
        client.create_run(
            f"r{number}",
            {"n": number},
            "chain",
            project_name="p",
            attachments={"f": ("text/plain", str(number).encode())},
        )
    client.flush()
    client.cleanup()
    assert Run.objects.filter(workspace=workspace).count() == 150
    assert Attachment.objects.filter(run__workspace=workspace).count() <= 150


SUITE = """
import pytest
from langsmith import testing as t

@pytest.mark.langsmith
@pytest.mark.parametrize("q, a", [(1, 2), (2, 4), (3, 7)])
def test_sum(q, a):
    t.log_inputs({"q": q})
    t.log_reference_outputs({"a": a})
    t.log_outputs({"a": q * 2})
    t.log_feedback(key="size", score=q)
    assert q * 2 == a
"""


def test_the_pytest_plugin_keeps_its_suite(
    client: Client, endpoint: str, api_key: str, tmp_path: Path
) -> None:
    """Twice, so that the second run finds the dataset and its examples again."""
    (tmp_path / "test_suite.py").write_text(SUITE)
    variables = {
        "LANGSMITH_ENDPOINT": endpoint,
        "LANGSMITH_API_KEY": api_key,
        "LANGSMITH_TRACING": "true",
        "LANGSMITH_TEST_SUITE": "suite",
        "LANGSMITH_EXPERIMENT": "trial",
    }
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)],
            cwd=tmp_path,
            env={k: v for k, v in os.environ.items() if not k.startswith("PYTEST")} | variables,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert "2 passed" in done.stdout, done.stdout + done.stderr
        assert "1 failed" in done.stdout
    rows = client.list_examples(dataset_name="suite")
    assert sorted((row.inputs or {})["q"] for row in rows) == [1, 2, 3]
    projects = list(client.list_projects(reference_dataset_name="suite", include_stats=True))
    assert len(projects) == 2
    for project in projects:
        assert (project.name or "").startswith("trial:")
        assert project.run_count == 3
        assert project.feedback_stats is not None
        assert project.feedback_stats["pass"]["avg"] == pytest.approx(2 / 3)
        assert project.feedback_stats["size"]["avg"] == 2
    dataset = client.read_dataset(dataset_name="suite")
    assert len(list(client.list_dataset_versions(dataset_id=dataset.id))) == 3
