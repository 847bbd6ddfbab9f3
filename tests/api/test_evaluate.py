"""evaluate() and evaluate_comparative(), as a user's script calls them."""

from __future__ import annotations

from typing import Any

from langsmith import Client, evaluate
from langsmith.evaluation import evaluate_comparative

from experiments.models import Comparison, Experiment, Feedback, Game, Judgment, Run
from tiebreak.accounts.models import Workspace

QUESTIONS = [{"q": n} for n in range(8)]


def make_dataset(client: Client, name: str = "sums") -> Any:
    dataset = client.create_dataset(name)
    client.create_examples(
        dataset_id=dataset.id,
        examples=[{"inputs": row, "reference_outputs": {"a": row["q"] * 2}} for row in QUESTIONS],
    )
    return dataset


def right(inputs: dict[str, Any]) -> dict[str, Any]:
    return {"a": inputs["q"] * 2}


def half_right(inputs: dict[str, Any]) -> dict[str, Any]:
    return {"a": inputs["q"] * 2 if inputs["q"] < 4 else -1}


def exact(outputs: dict[str, Any], reference_outputs: dict[str, Any]) -> bool:
    return outputs == reference_outputs


def share_right(outputs: list[Any], reference_outputs: list[Any]) -> dict[str, Any]:
    hits = sum(a == b for a, b in zip(outputs, reference_outputs, strict=True))
    return {"key": "share_right", "score": hits / len(outputs)}


# The annotation of the client wants runs and examples, its documentation plain dictionaries.
def prefer_right(inputs: Any, outputs: Any, reference_outputs: Any) -> Any:
    return [float(output == reference_outputs) for output in outputs]


def judges(*functions: Any) -> list[Any]:
    return list(functions)


def run_both(client: Client) -> tuple[Any, Any]:
    arguments: dict[str, Any] = {
        "data": "sums",
        "evaluators": [exact],
        "summary_evaluators": [share_right],
        "client": client,
    }
    first = evaluate(right, experiment_prefix="right", **arguments)
    return first, evaluate(half_right, experiment_prefix="half", **arguments)


def test_it_compares_every_example_right_after_two_evaluations(
    client: Client, workspace: Workspace
) -> None:
    make_dataset(client)
    first, second = run_both(client)
    evaluate_comparative(
        (first.experiment_name, second.experiment_name),
        evaluators=judges(prefer_right),
        randomize_order=True,
        experiment_prefix="duel",
        description="who adds better",
        metadata={"judge": "arithmetic"},
        client=client,
    )
    client.flush()

    comparison = Comparison.objects.get(workspace=workspace)
    assert comparison.name.startswith("duel-")
    assert comparison.description == "who adds better"
    assert comparison.metadata == {"judge": "arithmetic"}
    outcomes = list(
        Judgment.objects.filter(comparison=comparison).values_list("outcome", flat=True)
    )
    assert sorted(outcomes) == ["a"] * 4 + ["both_good"] * 4


def test_it_keeps_the_order_in_which_the_judge_saw_the_answers(
    client: Client, workspace: Workspace
) -> None:
    make_dataset(client)
    first, second = run_both(client)
    seen: list[list[Any]] = []

    def remember(outputs: Any) -> Any:
        seen.append([output["a"] for output in outputs])
        return [1.0, 0.0]

    evaluate_comparative(
        (first.experiment_name, second.experiment_name),
        evaluators=judges(remember),
        randomize_order=True,
        client=client,
    )
    client.flush()

    answers = {
        run.uid: run.payload.outputs
        for run in Run.objects.filter(workspace=workspace).select_related("payload")
    }
    shown = sorted(
        [answers[uid] for uid in game.order_shown]
        for game in Game.objects.filter(judgment__comparison__workspace=workspace)
    )
    assert shown == sorted([f'{{"a":{a}}}', f'{{"a":{b}}}'] for a, b in seen)
    assert len(shown) == len(QUESTIONS)


def test_it_stores_what_function_and_summary_evaluators_say(
    client: Client, workspace: Workspace
) -> None:
    make_dataset(client)
    _, second = run_both(client)
    client.flush()

    experiment = Experiment.objects.get(workspace=workspace, name=second.experiment_name)
    marks = Feedback.objects.filter(experiment=experiment, key="exact")
    assert sorted(mark.score or 0.0 for mark in marks) == [0.0] * 4 + [1.0] * 4
    assert all(mark.run_uid for mark in marks)
    summary = Feedback.objects.get(experiment=experiment, key="share_right")
    assert (summary.score, summary.run_uid) == (0.5, None)
    project = client.read_project(project_name=second.experiment_name, include_stats=True)
    assert project.run_count == 8
    assert project.feedback_stats["exact"]["avg"] == 0.5
    assert "share_right" not in project.feedback_stats
    assert project.session_feedback_stats["share_right"]["avg"] == 0.5
