"""Bodies that stand as examples in the reference."""

UID = "01a22d2a-11ca-7e47-8b11-94f5710f7178"
OTHER = "01a22d2a-11cc-730e-9c3e-11efa7e4c2a0"
TIME = "2026-11-30T15:54:21.514077+00:00"

RUN = {
    "id": UID,
    "trace_id": UID,
    "dotted_order": f"20261130T155421514077Z{UID}",
    "name": "assistant",
    "run_type": "chain",
    "session_name": "assistant-v1",
    "reference_example_id": OTHER,
    "start_time": TIME,
    "end_time": "2026-11-30T15:54:22.014077+00:00",
    "inputs": {"question": "What is 1 + 1?"},
    "outputs": {"answer": "2"},
    "extra": {"metadata": {"model": "small"}},
    "tags": ["nightly"],
}
QUERY = {
    "session": [UID],
    "is_root": True,
    "filter": 'and(eq(run_type, "llm"), gt(latency, 2))',
    "select": ["name", "outputs", "feedback_stats"],
    "limit": 50,
}
FEEDBACK = {"run_id": UID, "key": "correct", "score": 1, "comment": "matches the reference"}
EXAMPLE = {
    "dataset_id": UID,
    "inputs": {"question": "What is 1 + 1?"},
    "outputs": {"answer": "2"},
    "metadata": {"source": "school"},
    "split": ["train"],
}
