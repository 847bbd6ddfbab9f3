"""Runs coming in: every envelope, every order, every number of times."""

from __future__ import annotations

import gzip
import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID, uuid4

import pytest
import zstandard
from langsmith import Client

from experiments.models import Run
from tests.api.bodies import (
    END,
    HEADERS,
    START,
    case,
    json_part,
    multipart,
    run_body,
)
from tests.api.conftest import Call
from tiebreak.accounts.models import Workspace

SESSION = "11111111-0000-4000-8000-000000005e55"
FIXED = "11111111-0000-4000-8000-0000000000aa"


def send(call: Call, body: bytes, encoding: str = "") -> Any:
    headers = HEADERS | ({"Content-Encoding": encoding} if encoding else {})
    return call("POST", "/runs/multipart", data=body, headers=headers)


def stream_zstd(body: bytes) -> bytes:
    """A frame that does not say how long its content is."""
    packer = zstandard.ZstdCompressor().compressobj()
    packed = packer.compress(body) + packer.flush()
    assert zstandard.frame_content_size(packed) == -1
    return packed


ENCODINGS: dict[str, Any] = {"": lambda body: body, "gzip": gzip.compress, "zstd": stream_zstd}


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_it_takes_runs_and_feedback_in_one_body(call: Call, encoding: str) -> None:
    run, feedback = str(uuid4()), str(uuid4())
    body = multipart(
        json_part(f"post.{run}", run_body(run, inputs="left out", outputs="left out")),
        json_part(f"post.{run}.inputs", {"question": "q"}),
        json_part(f"post.{run}.outputs", {"answer": "a"}),
        json_part(f"post.{run}.extra", {"metadata": {"k": "v"}}),
        json_part(f"feedback.{feedback}", {"id": feedback, "run_id": run, "key": "ok", "score": 1}),
    )
    answer = send(call, ENCODINGS[encoding](body), encoding)
    assert answer.status_code == 202, answer.text
    stored = call("GET", f"/runs/{run}").json()
    assert stored["inputs"] == {"question": "q"}
    assert stored["outputs"] == {"answer": "a"}
    assert stored["extra"] == {"metadata": {"k": "v"}}
    assert stored["feedback_stats"]["ok"]["avg"] == 1
    assert call("GET", f"/feedback/{feedback}").json()["trace_id"] == run


def test_it_takes_a_thousand_parts(call: Call, workspace: Workspace) -> None:
    parts = []
    for number in range(500):
        uid = str(uuid4())
        parts += [
            json_part(f"post.{uid}", run_body(uid, inputs="left out")),
            json_part(f"post.{uid}.inputs", {"n": number}),
        ]
    assert send(call, stream_zstd(multipart(*parts)), "zstd").status_code == 202
    assert Run.objects.filter(workspace=workspace).count() == 500


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_it_refuses_cut_off_data(call: Call, encoding: str) -> None:
    uid = str(uuid4())
    packed = ENCODINGS[encoding](multipart(json_part(f"post.{uid}", run_body(uid))))
    answer = send(call, packed[:-12], encoding)
    assert (answer.status_code, "detail" in answer.json()) == (400, True)
    assert call("GET", f"/runs/{uid}").status_code == 404


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"no boundary at all",
        multipart(json_part(f"post.{FIXED}", {}))[:-10],
        multipart(json_part("something.else", {})),
        multipart(("", "application/json", b"{}")),
    ],
)
def test_it_refuses_a_broken_envelope(call: Call, body: bytes) -> None:
    answer = send(call, body)
    assert answer.status_code in (400, 422)
    assert "detail" in answer.json()


def test_it_names_an_unknown_encoding(call: Call) -> None:
    answer = send(call, multipart(), "br")
    assert answer.status_code == 415
    assert "zstd" in answer.json()["detail"]


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_body_above_the_limit_is_refused_by_name(
    call: Call, encoding: str, settings: Any
) -> None:
    settings.MAX_BODY_BYTES = 1_000_000
    bomb = b"--x\r\n" + b" " * 5_000_000
    answer = send(call, ENCODINGS[encoding](bomb), encoding)
    assert answer.status_code == 413
    limit = call("GET", "/info").json()["batch_ingest_config"]["size_limit_bytes"]
    assert str(limit) in answer.json()["detail"]
    assert "Retry-After" not in answer.headers
    single = json.dumps({"post": [run_body(outputs={"a": "word " * 300_000})]}).encode()
    assert call("POST", "/runs/batch", data=single).status_code == 413
    assert call("POST", "/runs/batch", json={"post": [run_body()]}).status_code == 202


def test_one_bad_run_does_not_cost_the_good_ones(call: Call, workspace: Workspace) -> None:
    answer = call("POST", "/runs/batch", json=case("batch_one_bad"))
    assert answer.status_code == 422
    refused = [(e["index"], e["id"], e["field"]) for e in answer.json()["errors"]]
    assert refused == [
        (1, "11111111-0000-4000-8000-000000000002", "start_time"),
        (3, "not-a-uuid", "id"),
        (4, "11111111-0000-4000-8000-000000000005", "inputs"),
    ]
    assert Run.objects.filter(workspace=workspace).count() == 3
    big = call("GET", "/runs/11111111-0000-4000-8000-000000000006").text
    assert '"big":10000000000000000000000000000000000000000' in big


def test_the_same_bad_runs_are_refused_one_by_one(call: Call) -> None:
    statuses = [
        call("POST", "/runs", json=run).status_code for run in case("batch_one_bad")["post"]
    ]
    assert statuses == [202, 422, 202, 422, 422, 202]


@pytest.mark.parametrize("backwards", [False, True])
def test_pieces_of_a_trace_come_in_any_order(call: Call, backwards: bool) -> None:
    requests = case("out_of_order")
    for request in reversed(requests) if backwards else requests:
        answer = call(request["method"], request["path"], json=request["body"])
        if "two parts" in request["why"]:
            assert answer.status_code == 422
            assert answer.json()["errors"][0]["id"].endswith("14")
        else:
            assert answer.status_code == 202

    def run(end: str) -> Any:
        return call("GET", f"/runs/11111111-0000-4000-8000-0000000000{end}").json()

    root, step, tool = run("10"), run("11"), run("12")
    assert (root["name"], root["outputs"], root["status"]) == (
        "target",
        {"answer": "final"},
        "success",
    )
    assert root["inputs"] == {"question": "q"}
    assert (step["name"], step["outputs"], step["inputs"]) == (
        "step",
        {"step": "child done"},
        {"q": "?"},
    )
    assert {root["session_id"], step["session_id"], tool["session_id"]} == {SESSION}
    assert step["start_time"] == "2026-03-02T09:00:01.000000+00:00"
    assert tool["parent_run_ids"] == [root["id"], step["id"]]
    trace = call("POST", "/runs/query", json={"trace": root["id"]}).json()["runs"]
    assert len(trace) == 3
    assert run("13")["name"] == "orphan"
    assert run("15")["outputs"] == {"answer": "a21"}
    assert call("GET", "/runs/11111111-0000-4000-8000-000000000014").status_code == 404


def test_odd_times_are_stored_or_refused_by_id(call: Call) -> None:
    answer = call("POST", "/runs/batch", json=case("odd_times"))
    assert answer.status_code == 422
    assert [(e["id"][-2:], e["field"]) for e in answer.json()["errors"]] == [("1b", "start_time")]

    def times(end: str) -> tuple[str, str]:
        run = call("GET", f"/runs/11111111-0000-4000-8000-0000000000{end}").json()
        return run["start_time"], run["end_time"]

    assert times("15")[1] is None
    assert times("18")[0] == "2026-03-02T09:00:24.000000+00:00"
    assert times("19")[0] == "2026-03-02T09:00:25.000000+00:00"
    assert times("1a")[1] == "2026-03-02T09:00:27.000000+00:00"
    session = call("GET", f"/sessions/{SESSION}", params={"include_stats": "True"}).json()
    # 1 s, 2 s, 1 s and 0.4 s; not the one without an end, the backward and the future one.
    assert session["latency_run_count"] == 4
    assert session["latency_p50"] == pytest.approx(1.0)
    assert session["run_count"] == 7


def test_a_run_that_ends_a_moment_before_it_starts_took_no_time(call: Call) -> None:
    """The TypeScript SDK counts microseconds of the start, and sends the end in milliseconds."""
    run = run_body(start_time="2026-03-02T09:00:00.000700+00:00", end_time=1772442000000)
    assert call("POST", "/runs/batch", json={"post": [run]}).status_code == 202
    [session] = call("GET", "/sessions?name=project&include_stats=true").json()
    assert session["latency_p50"] == 0


def test_what_is_sent_again_is_stored_once(call: Call, workspace: Workspace) -> None:
    run = run_body()
    body = multipart(json_part(f"post.{run['id']}", run))
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: send(call, body), range(12)))
    assert {answer.status_code for answer in answers} == {202}
    [stored] = Run.objects.filter(workspace=workspace).select_related("payload")
    assert stored.payload.search == "q\na"


def test_two_requests_may_hold_the_halves_of_the_same_runs(
    call: Call, workspace: Workspace
) -> None:
    """In both orders at once, and no request waits for another in a ring."""
    uids = sorted(str(uuid4()) for _ in range(40))
    posts = [run_body(uid, end_time="left out", outputs={}) for uid in uids]
    patches = [{"id": uid, "trace_id": uid, "end_time": END, "outputs": {"n": uid}} for uid in uids]
    bodies = [
        {"post": posts[:20], "patch": patches[20:]},
        {"post": posts[:19:-1], "patch": patches[19::-1]},
    ] * 3
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda body: call("POST", "/runs/batch", json=body), bodies))
    assert {answer.status_code for answer in answers} == {202}
    for uid in uids:
        run = call("GET", f"/runs/{uid}").json()
        assert (run["outputs"], run["inputs"], run["status"]) == (
            {"n": uid},
            {"question": "q"},
            "success",
        )
        assert run["start_time"] == START


def test_null_means_unchanged(call: Call) -> None:
    run = run_body(tags=["t"], extra={"metadata": {"k": 1}}, reference_example_id=str(uuid4()))
    call("POST", "/runs", json=run)
    nothing = dict.fromkeys(
        [
            "name",
            "run_type",
            "trace_id",
            "parent_run_id",
            "dotted_order",
            "session_id",
            "session_name",
            "start_time",
            "end_time",
            "inputs",
            "outputs",
            "error",
            "extra",
            "reference_example_id",
            "serialized",
        ]
    )
    answer = call("PATCH", f"/runs/{run['id']}", json=nothing | {"tags": [], "events": []})
    assert answer.status_code == 202
    stored = call("GET", f"/runs/{run['id']}").json()
    for field in ("name", "tags", "inputs", "outputs", "reference_example_id", "end_time"):
        assert stored[field] == run[field], field
    assert stored["extra"] == {"metadata": {"k": 1}}


def test_an_update_overrules_the_opening(call: Call) -> None:
    run = run_body(outputs={"answer": "draft"})
    call("POST", "/runs", json=run)
    changes = {"outputs": {"answer": "final"}, "error": "Boom", "tags": ["late"], "name": "new"}
    call("PATCH", f"/runs/{run['id']}", json=changes)
    stored = call("GET", f"/runs/{run['id']}").json()
    assert stored["outputs"] == {"answer": "final"}
    assert (stored["error"], stored["status"]) == ("Boom", "error")
    assert (stored["tags"], stored["name"]) == (["late"], "new")


def test_every_text_comes_back_as_it_was_sent(call: Call) -> None:
    uid = str(uuid4())
    outputs = rb'{"z":1,"a":"\u0000 \ud83d half","e":"\ud83d\ude00","n":1234567890123456789.10}'
    body = multipart(
        json_part(f"post.{uid}", run_body(uid, outputs="left out")),
        json_part(f"post.{uid}.outputs", outputs),
    )
    assert send(call, body).status_code == 202
    assert outputs in call("GET", f"/runs/{uid}").content
    listed = call("POST", "/runs/query", json={"id": [uid], "select": ["outputs"]})
    assert outputs in listed.content


def test_names_that_a_database_cannot_hold_are_mended(call: Call) -> None:
    run = run_body(name="a\x00b\ud83d", tags=["t\x00"])
    assert call("POST", "/runs", json=run).status_code == 202
    stored = call("GET", f"/runs/{run['id']}").json()
    assert (stored["name"], stored["tags"]) == ("a\ufffdb\ufffd", ["t\ufffd"])


def test_a_run_without_a_place_gets_one(call: Call) -> None:
    parent, child = str(uuid4()), str(uuid4())
    bare = {"trace_id": "left out", "dotted_order": "left out"}
    call("POST", "/runs", json=run_body(parent, **bare))
    call("POST", "/runs", json=run_body(child, parent_run_id=parent, **bare))
    top, below = (call("GET", f"/runs/{uid}").json() for uid in (parent, child))
    assert top["trace_id"] == parent
    assert below["trace_id"] == parent
    assert below["parent_run_ids"] == [parent]
    assert below["dotted_order"] == f"{top['dotted_order']}.20260302T090000000000Z{child}"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("run_type", "banana"),
        ("outputs", ["a"]),
        ("error", {"no": "text"}),
        ("events", {}),
        ("tags", "t"),
        ("session_name", "x" * 401),
        ("trace_id", FIXED),
        ("dotted_order", "yesterday"),
        ("name", 7),
    ],
)
def test_it_names_the_field_that_is_wrong(call: Call, field: str, value: Any) -> None:
    answer = call("POST", "/runs", json=run_body(**{field: value}))
    assert (answer.status_code, answer.json()["field"]) == (422, field)


@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_runs_without_a_place_find_it_in_any_order(
    call: Call, client: Client, order: tuple[int, ...], at_once: bool
) -> None:
    bare = {"trace_id": "left out", "dotted_order": "left out"}
    ids = [str(uuid4()) for _ in range(3)]
    runs = [
        run_body(uid, **bare, **({"parent_run_id": ids[n - 1]} if n else {}))
        for n, uid in enumerate(ids)
    ]
    sent = [runs[n] for n in order]
    for post in [sent] if at_once else [[run] for run in sent]:
        assert call("POST", "/runs/batch", json={"post": post}).status_code == 202
    stored = [call("GET", f"/runs/{uid}").json() for uid in ids]
    assert [run["trace_id"] for run in stored] == [ids[0]] * 3
    assert [run["parent_run_ids"] for run in stored] == [[], ids[:1], ids[:2]]
    [child] = client.read_run(ids[0], load_child_runs=True).child_runs or []
    assert [str(run.id) for run in child.child_runs or []] == [ids[2]]


def test_runs_without_a_place_find_it_when_many_come_at_once(call: Call) -> None:
    bare = {"trace_id": "left out", "dotted_order": "left out"}
    ids = [str(uuid4()) for _ in range(40)]
    runs = [
        run_body(uid, **bare, **({"parent_run_id": ids[(n - 1) // 3]} if n else {}))
        for n, uid in enumerate(ids)
    ]

    def send(first: int) -> int:
        return call("POST", "/runs/batch", json={"post": runs[first::8][::-1] * 2}).status_code

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(send, [*range(8), *range(8)])) == {202}
    assert not Run.objects.filter(dotted_order="").exists()
    assert set(Run.objects.values_list("trace_uid", flat=True)) == {UUID(ids[0])}


def test_a_run_is_not_its_own_parent(call: Call) -> None:
    bare = {"trace_id": "left out", "dotted_order": "left out"}
    uid, other = str(uuid4()), str(uuid4())
    runs = [run_body(uid, parent_run_id=uid, **bare), run_body(other)]
    answer = call("POST", "/runs/batch", json={"post": runs})
    assert answer.status_code == 422
    [error] = answer.json()["errors"]
    assert (error["id"], error["field"]) == (uid, "parent_run_id")
    assert call("GET", f"/runs/{uid}").status_code == 404
    assert call("GET", f"/runs/{other}").status_code == 200


def test_attachments_come_back_by_a_link_without_a_key(call: Call) -> None:
    import requests

    uid = str(uuid4())
    picture = bytes(range(256)) * 5000
    body = multipart(
        json_part(f"post.{uid}", run_body(uid)),
        (f"attachment.{uid}.picture", "image/png; length=1280000", picture),
        (f"attachment.{uid}.note.v2", "text/plain", b""),
    )
    assert send(call, stream_zstd(body), "zstd").status_code == 202
    files = call("GET", f"/runs/{uid}").json()["s3_urls"]
    assert set(files) == {"attachment.picture", "attachment.note.v2"}
    assert files["attachment.picture"]["mime_type"] == "image/png"
    link = files["attachment.picture"]["presigned_url"]
    answer = requests.get(link, timeout=10)
    assert answer.content == picture
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert requests.get(link[:-2] + "xx", timeout=10).status_code == 404
    selected = {"id": [uid], "select": ["name"]}
    assert "s3_urls" not in call("POST", "/runs/query", json=selected).json()["runs"][0]


def test_a_chunked_body_is_asked_for_again(call: Call) -> None:
    """The TypeScript SDK then sends the same body with its length."""
    uid = str(uuid4())
    body = multipart(json_part(f"post.{uid}", run_body(uid)))
    answer = call("POST", "/runs/multipart", data=iter([body]), headers=HEADERS)
    assert answer.status_code in (202, 422)
    if answer.status_code == 202:
        assert call("GET", f"/runs/{uid}").status_code == 200


@pytest.mark.parametrize(
    "value",
    [
        b'{"x":1e400,"k":"v"}',
        b'{"x":' + b"[" * 700 + b"1" + b"]" * 700 + b',"k":"v"}',
        b'{"k":"v","usage_metadata":{"total_cost":1e999999999,"input_tokens":1e99}}',
    ],
    ids=["number", "nested", "cost"],
)
def test_odd_metadata_costs_nobody_a_run(call: Call, value: bytes) -> None:
    """A number that no database column holds, and lists inside lists inside lists."""
    uid, other = str(uuid4()), str(uuid4())
    body = multipart(
        json_part(f"post.{uid}", run_body(uid)),
        json_part(f"post.{uid}.extra", b'{"metadata":' + value + b"}"),
        json_part(f"post.{uid}.inputs", value),
        json_part(f"post.{other}", run_body(other)),
    )
    assert send(call, body).status_code == 202
    assert value in call("GET", f"/runs/{uid}").content
    found = call("POST", "/runs/query", json={"filter": 'has(metadata, \'{"k": "v"}\')'})
    assert [run["id"] for run in found.json()["runs"]] == [uid]


@pytest.mark.parametrize("time", ["1e999999999", "-1", "true", '""', "1e20"])
def test_odd_times_do_not_keep_the_server_busy(call: Call, time: str) -> None:
    body = json.dumps(run_body(start_time=0)).replace('"start_time": 0', f'"start_time": {time}')
    answer = call("POST", "/runs", data=body)
    assert (answer.status_code, answer.json()["field"]) == (422, "start_time")
