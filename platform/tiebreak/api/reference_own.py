"""The part of the reference that is about what the SDK does not know: our own, and version 2."""

from tiebreak.api.operations import Group, Operation
from tiebreak.api.reference_examples import OTHER, TIME, UID

SELECTS = {"project_ids": [UID], "min_start_time": TIME, "selects": ["ID", "NAME", "OUTPUTS"]}

OWN = [
    Group(
        "Comparisons judged here",
        {
            "GET comparisons": Operation(
                "List the comparisons of a dataset", ("dataset_id", "limit", "cursor")
            ),
            "POST comparisons": Operation(
                "Launch a pairwise experiment; with an `id`, it is launched once",
                body={
                    "id": UID,
                    "name": "v1 against v2",
                    "description": "the new prompt",
                    "experiment_ids": [UID, OTHER],
                    "evaluators": [
                        "nearer_by_string_distance",
                        {"kind": "pairwise_string", "name": "quality", "provider_id": UID},
                    ],
                    "order": "both",
                    "max_concurrency": 8,
                    "max_calls": 1000,
                    "stop_when_certain": True,
                    "margin": 0.05,
                    "metadata": {"ticket": "17"},
                },
                status=201,
                also=(200,),
            ),
            "GET comparisons/{uid}": Operation(
                "State, progress, counts and verdict of each evaluator"
            ),
            "DELETE comparisons/{uid}": Operation(
                "Delete a comparison; its experiments stay", status=204
            ),
            "POST comparisons/{uid}/{step}": Operation(
                "pause, resume, cancel, retry, rejudge or extend the judging"
            ),
            "POST comparisons/{uid}/budget": Operation(
                "Set what judging may cost", body={"max_calls": 5000, "max_cost": 2.5}
            ),
            "GET comparisons/{uid}/rows": Operation(
                "The judged pairs with both outputs, page by page",
                ("evaluator", "out", "split", "q", "limit", "cursor"),
            ),
            "POST comparisons/{uid}/rows/{key}/verdict": Operation(
                "Set a verdict by hand", body={"outcome": "a", "reason": "B invents a source"}
            ),
            "GET comparisons/{uid}/report": Operation(
                "Every statistic: order, length, splits, cost, the course of the verdicts",
                ("evaluator",),
            ),
            "GET comparisons/{uid}/export": Operation(
                "All rows as CSV or JSON Lines", ("format", "what", "evaluator"), file=True
            ),
        },
    ),
    Group(
        "Evaluators",
        {
            "GET evaluators": Operation("Every kind of evaluator with its settings"),
            "POST experiments/{uid}/evaluations": Operation(
                "Score an experiment; the scores become feedback on its runs",
                body={
                    "kind": "exact_match",
                    "name": "exact",
                    "settings": {"ignore_case": True},
                    "max_concurrency": 8,
                },
                status=201,
            ),
            "GET evaluations/{uid}": Operation("How far an evaluation has come"),
            "POST evaluations/{uid}/{step}": Operation(
                "pause, resume, cancel or retry an evaluation"
            ),
            "GET experiments/{uid}/export": Operation(
                "All runs as CSV or JSON Lines", ("format", "what"), file=True
            ),
            "GET datasets/{uid}/scores": Operation(
                "Scores of experiments compared on the examples they share",
                ("experiment", "key", "group"),
            ),
            "GET datasets/{uid}/leaderboard": Operation(
                "Experiments in order of strength, from all their comparisons",
                ("model", "source", "evaluator"),
            ),
            "GET datasets/{uid}/versions/changes": Operation(
                "Rows that differ between two versions, before and after",
                ("from_version", "to_version", "limit", "cursor"),
            ),
            "POST datasets/{uid}/versions/restore": Operation(
                "Let an earlier version stand again, as a new one",
                body={"as_of": TIME},
                status=201,
            ),
            "POST datasets/{uid}/schemas/infer": Operation(
                "JSON schemas read off the examples, enforced from now on if adopted",
                body={"adopt": True},
            ),
            "POST datasets/{uid}/splits/random": Operation(
                "Put every example into one of some splits at random",
                body={"ratios": {"train": 80, "test": 20}, "seed": 7},
            ),
            "POST uploads": Operation(
                "Take in a file of examples, or of what a system answered to a dataset",
                status=202,
                multipart=True,
            ),
            "GET uploads/{uid}": Operation("How far an upload is and what it came to"),
            "DELETE uploads/{uid}": Operation("Stop an upload and forget its file", status=204),
            "GET datasets/{uid}/export": Operation(
                "All examples as CSV or JSON Lines", ("format", "as_of"), file=True
            ),
        },
    ),
    Group(
        "Version 2 of reading",
        {
            "GET v2/sessions": Operation(
                "List experiments and projects",
                (
                    "cursor",
                    "page_size",
                    "type",
                    "id",
                    "name",
                    "name_contains",
                    "reference_dataset_id",
                    "metadata",
                    "dataset_version",
                    "include_stats",
                    "sort_by",
                    "sort_order",
                ),
            ),
            "POST v2/sessions": Operation(
                "Create an experiment or a project",
                ("upsert",),
                body={"type": "EXPERIMENT", "name": "assistant-v1", "reference_dataset_id": UID},
                status=201,
                also=(200,),
            ),
            "GET v2/sessions/{uid}": Operation("Read an experiment", ("include_stats",)),
            "PATCH v2/sessions/{uid}": Operation(
                "Change an experiment", body={"description": "second try"}
            ),
            "DELETE v2/sessions/{uid}": Operation("Delete an experiment with its runs"),
            "GET v2/datasets": Operation(
                "List datasets",
                ("cursor", "page_size", "id", "name", "name_contains", "data_type", "metadata"),
            ),
            "POST v2/runs/query": Operation("Find runs; only selected fields", body=SELECTS),
            "GET v2/runs/{uid}": Operation("Read a run", ("project_id", "selects")),
            "GET v2/runs/{uid}/url": Operation(
                "The page of a run", ("project_id", "trace_id", "start_time")
            ),
            "POST v2/runs/{uid}/share": Operation("Share a run's trace"),
            "DELETE v2/runs/{uid}/share": Operation("End the link"),
            "POST v2/traces/query": Operation("Find root runs", body=SELECTS),
            "GET v2/traces/{trace}/runs": Operation(
                "The runs of a trace", ("project_id", "selects", "min_start_time", "filter")
            ),
            "POST v2/threads/query": Operation(
                "The threads of a project", body={"project_id": UID, "page_size": 20}
            ),
            "GET v2/threads/{thread}/traces": Operation(
                "The turns of a thread", ("project_id", "selects", "page_size", "cursor")
            ),
            "GET v2/threads/{thread}/stats": Operation(
                "What the turns of a thread come to", ("session_id", "selects")
            ),
            "POST v2/datasets/{uid}/experiment-runs": Operation(
                "Examples beside the runs of experiments",
                body={
                    "experiment_ids": [UID],
                    "selects": ["ID", "OUTPUTS", "FEEDBACK_STATS"],
                    "sort": {"by": "feedback.correct", "order": "DESC"},
                    "page_size": 20,
                },
            ),
            "POST v2/public/{token}/runs/query": Operation(
                "The runs of a shared trace", body={"selects": ["ID", "NAME"]}, open=True
            ),
            "GET v2/public/{token}/run/{uid}": Operation(
                "A run of a shared trace", ("selects",), open=True
            ),
        },
    ),
    Group(
        "Items of annotation queues",
        {
            "GET platform/annotation-queues/{uid}/items": Operation(
                "List the runs in a queue", ("status", "item_type", "page_size", "cursor")
            ),
            "POST platform/annotation-queues/{uid}/items": Operation(
                "Put runs into a queue",
                body={"items": [{"item_type": "RUN", "run_id": UID}]},
                status=201,
            ),
            "GET platform/annotation-queues/{uid}/items/count": Operation(
                "How many stand in a queue", ("status",)
            ),
            "POST platform/annotation-queues/{uid}/items/delete": Operation(
                "Take items out", body={"item_ids": [UID]}
            ),
            "PATCH platform/annotation-queues/{uid}/items/{item_uid}": Operation(
                "Note a review", body={"last_reviewed_time": TIME}
            ),
            "POST platform/annotation-queues/items/{item_uid}/status": Operation(
                "Say that an item is done", body={"status": "completed"}
            ),
        },
    ),
    Group(
        "Shared links",
        {
            "GET public/{token}/datasets": Operation("A shared dataset", open=True),
            "GET public/{token}/examples": Operation(
                "Its examples", ("limit", "offset", "id"), open=True
            ),
            "GET public/{token}/datasets/sessions": Operation(
                "Its experiments", ("limit", "offset", "id", "name", "name_contains"), open=True
            ),
            "GET public/{token}/run": Operation("A shared run", open=True),
            "GET public/{token}/run/{uid}": Operation("A run of its trace", open=True),
            "POST public/{token}/runs/query": Operation(
                "The runs of its trace", body={"id": [UID]}, open=True
            ),
        },
    ),
]
