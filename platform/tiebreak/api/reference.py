"""What each endpoint is for, with examples; the OpenAPI description is made from it."""

from tiebreak.api.operations import Group, Operation
from tiebreak.api.reference_examples import EXAMPLE, FEEDBACK, OTHER, QUERY, RUN, TIME, UID
from tiebreak.api.reference_own import OWN

PAGE = ("limit", "offset")
GROUPS = [
    Group(
        "Server",
        {
            "GET info": Operation("What this server can do, and its limits", open=True),
            "GET settings": Operation("The workspace of the key"),
        },
    ),
    Group(
        "Datasets",
        {
            "GET datasets": Operation(
                "List datasets",
                (*PAGE, "id", "name", "name_contains", "data_type", "metadata"),
            ),
            "POST datasets": Operation(
                "Create a dataset",
                body={"name": "sums", "data_type": "kv", "description": "adding small numbers"},
                status=201,
            ),
            "GET datasets/{uid}": Operation("Read a dataset"),
            "PATCH datasets/{uid}": Operation("Change the named fields", body={"name": "sums 2"}),
            "DELETE datasets/{uid}": Operation("Delete a dataset with all that hangs on it"),
            "POST datasets/upload": Operation(
                "Make a dataset of a CSV file", status=201, multipart=True
            ),
            "GET datasets/{uid}/versions": Operation("List versions", (*PAGE, "search")),
            "GET datasets/{uid}/version": Operation("Find a version", ("as_of", "tag")),
            "GET datasets/{uid}/versions/diff": Operation(
                "What changed between two versions", ("from_version", "to_version")
            ),
            "PUT datasets/{uid}/tags": Operation(
                "Put a tag on a version", body={"as_of": TIME, "tag": "prod"}
            ),
            "GET datasets/{uid}/splits": Operation("List splits", ("as_of",)),
            "PUT datasets/{uid}/splits": Operation(
                "Move examples into a split or out of it",
                body={"split_name": "train", "examples": [UID], "remove": False},
            ),
            "GET datasets/{uid}/share": Operation("The link of a shared dataset"),
            "PUT datasets/{uid}/share": Operation("Share a dataset", body={"dataset_id": UID}),
            "DELETE datasets/{uid}/share": Operation("End the link"),
            "POST datasets/{uid}/runs": Operation(
                "Examples beside the runs of experiments",
                body={"session_ids": [UID], "offset": 0, "limit": 20},
            ),
            "GET datasets/{uid}/openai_ft": Operation("Chat examples as lines for fine-tuning"),
        },
    ),
    Group(
        "Examples",
        {
            "GET examples": Operation(
                "List examples as they stand or stood",
                (*PAGE, "dataset", "id", "as_of", "splits", "metadata", "filter", "select"),
            ),
            "POST examples": Operation("Add an example", body=EXAMPLE, status=201),
            "DELETE examples": Operation("Delete examples", ("example_ids",)),
            "POST examples/bulk": Operation("Add examples", body=[EXAMPLE], status=201),
            "PATCH examples/bulk": Operation(
                "Change examples", body=[{"id": UID, "outputs": {"answer": "two"}}]
            ),
            "GET examples/{uid}": Operation("Read an example", ("as_of",)),
            "PATCH examples/{uid}": Operation(
                "Change an example", body={"outputs": {"answer": "two"}}
            ),
            "DELETE examples/{uid}": Operation("Delete an example"),
            "POST platform/datasets/{uid}/examples": Operation(
                "Add examples with attachments", status=201, multipart=True
            ),
            "PATCH platform/datasets/{uid}/examples": Operation(
                "Change examples and their attachments", multipart=True
            ),
            "PATCH platform/datasets/{uid}/examples/metadata": Operation(
                "Move many examples between splits",
                body={
                    "example_ids": [UID],
                    "operations": [
                        {"key": "dataset_split", "operation": "array_add", "values": ["train"]}
                    ],
                },
            ),
            "POST platform/examples/multipart": Operation(
                "Add or change examples", status=201, multipart=True
            ),
            "POST platform/datasets/examples/delete": Operation(
                "Delete examples, with their history if asked",
                body={"example_ids": [UID], "hard_delete": True},
            ),
        },
    ),
    Group(
        "Experiments (sessions)",
        {
            "GET sessions": Operation(
                "List experiments and tracing projects",
                (
                    *PAGE,
                    "id",
                    "name",
                    "name_contains",
                    "reference_dataset",
                    "reference_free",
                    "metadata",
                    "include_stats",
                ),
            ),
            "POST sessions": Operation(
                "Create an experiment",
                ("upsert",),
                body={
                    "name": "assistant-v1",
                    "reference_dataset_id": UID,
                    "num_examples": 120,
                    "num_repetitions": 1,
                    "extra": {"metadata": {"model": "small"}},
                },
                status=201,
            ),
            "GET sessions/{uid}": Operation("Read an experiment", ("include_stats",)),
            "PATCH sessions/{uid}": Operation(
                "Change an experiment; null means unchanged", body={"description": "second try"}
            ),
            "DELETE sessions/{uid}": Operation("Delete an experiment with its runs"),
        },
    ),
    Group(
        "Runs",
        {
            "POST runs": Operation("Store a run", body=RUN, status=202),
            "POST runs/batch": Operation(
                "Store openings and updates of runs",
                body={"post": [RUN], "patch": []},
                status=202,
            ),
            "POST runs/multipart": Operation(
                "Store runs, attachments and feedback", status=202, multipart=True
            ),
            "PATCH runs/{uid}": Operation(
                "Update a run", body={"end_time": TIME, "outputs": {"answer": "2"}}, status=202
            ),
            "GET runs/{uid}": Operation("Read a run"),
            "POST runs/query": Operation("Find runs", body=QUERY),
            "POST runs/stats": Operation("What the found runs come to", body={"session": [UID]}),
            "GET runs/{uid}/share": Operation("The link of a shared run, or null"),
            "PUT runs/{uid}/share": Operation("Share a run's trace", body={"run_id": UID}),
            "DELETE runs/{uid}/share": Operation("End the link"),
        },
    ),
    Group(
        "Feedback",
        {
            "GET feedback": Operation(
                "List feedback",
                (*PAGE, "run", "key", "source", "session", "comparative_experiment_id"),
            ),
            "POST feedback": Operation("Give feedback on a run or session", body=FEEDBACK),
            "GET feedback/{uid}": Operation("Read feedback"),
            "PATCH feedback/{uid}": Operation("Change feedback", body={"score": 0.5}),
            "DELETE feedback/{uid}": Operation("Delete feedback"),
            "GET feedback/tokens": Operation("List tokens", (*PAGE, "run_id")),
            "POST feedback/tokens": Operation(
                "Make an address that takes feedback without a key",
                body={"run_id": UID, "feedback_key": "thumb", "expires_in": {"hours": 3}},
            ),
            "GET feedback/tokens/{uid}": Operation(
                "Give feedback by following a link", ("score", "value", "comment"), open=True
            ),
            "POST feedback/tokens/{uid}": Operation(
                "Give feedback by a token", body={"score": 1}, open=True
            ),
            "GET feedback-configs": Operation(
                "List what keys mean", (*PAGE, "key", "name_contains")
            ),
            "POST feedback-configs": Operation(
                "Say what a key means",
                body={
                    "feedback_key": "correct",
                    "feedback_config": {"type": "continuous", "min": 0, "max": 1},
                },
            ),
            "PATCH feedback-configs": Operation(
                "Change what a key means",
                body={"feedback_key": "correct", "is_lower_score_better": False},
            ),
            "DELETE feedback-configs": Operation(
                "Forget what a key means", ("feedback_key", "id"), status=204
            ),
        },
    ),
    Group(
        "Annotation queues",
        {
            "GET annotation-queues": Operation(
                "List queues", (*PAGE, "ids", "name", "name_contains")
            ),
            "POST annotation-queues": Operation(
                "Create a queue", body={"name": "doubtful answers"}, status=201
            ),
            "GET annotation-queues/{uid}": Operation("Read a queue"),
            "PATCH annotation-queues/{uid}": Operation("Change a queue", body={"name": "odd ones"}),
            "DELETE annotation-queues/{uid}": Operation("Delete a queue; its runs stay"),
            "GET annotation-queues/{uid}/runs": Operation(
                "List the runs in a queue", (*PAGE, "status")
            ),
            "POST annotation-queues/{uid}/runs": Operation("Add runs", body=[UID]),
            "POST annotation-queues/{uid}/runs/by-key": Operation(
                "Add runs", body=[{"run_id": UID, "session_id": OTHER, "start_time": TIME}]
            ),
            "GET annotation-queues/{uid}/run/{index}": Operation("The run at a place"),
            "PATCH annotation-queues/{uid}/runs/{run_uid}": Operation(
                "Note a review", body={"last_reviewed_time": TIME}
            ),
            "DELETE annotation-queues/{uid}/runs/{run_uid}": Operation("Take a run out"),
        },
    ),
    Group(
        "Comparative experiments of scripts",
        {
            "GET datasets/comparative": Operation(
                "List comparative experiments",
                (*PAGE, "id", "name", "name_contains", "reference_dataset_id"),
            ),
            "POST datasets/comparative": Operation(
                "Note a comparison that a script judges itself",
                body={
                    "name": "v1 vs. v2",
                    "experiment_ids": [UID, OTHER],
                    "reference_dataset_id": UID,
                },
                status=201,
            ),
            "GET datasets/comparative/{uid}": Operation("Read a comparative experiment"),
        },
    ),
    *OWN,
]


def operation(path: str, method: str) -> tuple[str, Operation] | None:
    """The chapter and the entry of a path such as `datasets/{uid}`."""
    wanted = f"{method.upper()} {path}"
    for group in GROUPS:
        if wanted in group.operations:
            return group.title, group.operations[wanted]
    return None
