"""`tiebreak compare` against a live server and a real worker: numbers and exit codes."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Sequence
from html import unescape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
from django.test import Client as Browser
from pytest_django.live_server_helper import LiveServer

from experiments.models import Comparison, Dataset, Job
from tests.engine.processes import StubJudge, Worker
from tests.factories import make_dataset, make_experiment, make_provider
from tiebreak import cli, cli_compare
from tiebreak.accounts.models import User, Workspace

pytestmark = pytest.mark.django_db(transaction=True)
GOOD, BAD = ["word"] * 12, ["ward!"] * 12


@pytest.fixture
def dataset(workspace: Workspace) -> Dataset:
    made = make_dataset(workspace, GOOD, name="words")
    make_experiment(made, GOOD, name="good")
    make_experiment(made, BAD, name="bad")
    make_experiment(made, [*GOOD[:7], *BAD[7:]], name="half")
    make_experiment(made, [*BAD[:6], *GOOD[6:]], name="other half")
    return made


def gate(live_server: LiveServer, key: str, *words: str) -> int:
    where = ["--endpoint", live_server.url, "--key", key, "--timeout", "60"]
    kind = ["--dataset", "words", "--evaluator", "nearer_by_string_distance"]
    with pytest.raises(SystemExit) as ended:
        cli.main(["compare", *words, *kind, *where])
    assert isinstance(ended.value.code, int)
    return ended.value.code


@pytest.mark.parametrize(
    ("pair", "code"),
    [(("good", "bad"), 0), (("bad", "good"), 1), (("half", "other half"), 2)],
)
def test_the_verdict_is_the_exit_code(
    worker: Worker, live_server: LiveServer, dataset: Dataset, api_key: str,
    pair: Sequence[str], code: int,
) -> None:  # fmt: skip
    assert gate(live_server, api_key, *pair) == code


def test_page_api_and_command_line_show_the_same_numbers(
    worker: Worker, live_server: LiveServer, dataset: Dataset, api_key: str, alice: User,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    assert gate(live_server, api_key, "good", "half", "--json") in (0, 2)
    printed = capsys.readouterr()
    told = json.loads(printed.out)
    browser = Browser()
    browser.force_login(alice)
    page = unescape(browser.get(f"/comparisons/{told['id']}").content.decode())
    path = f"/api/v1/comparisons/{told['id']}"
    answer = browser.get(path, headers={"x-api-key": api_key}).json()
    assert answer["evaluators"] == told["evaluators"]
    text = cli_compare.as_text(told, live_server.url)
    verdict, counts = told["evaluators"][0]["verdict"], told["evaluators"][0]["counts"]
    assert (counts["a"], counts["tie"], counts["b"]) == (5, 7, 0)
    assert verdict["sentence"].partition(" ")[2] in page
    assert verdict["sentence"] in text
    for figure in verdict["figures"]:
        assert f"{figure['label']}: {figure['text']}" in text
        if figure["key"] != "equivalence":
            assert f"<dt>{figure['label']}</dt>\n      <dd>{figure['text']}" in page
    assert "12 of 12 done" in printed.err


def test_margin_and_budget_are_those_that_were_asked_for(
    worker: Worker, live_server: LiveServer, dataset: Dataset, api_key: str, workspace: Workspace,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    assert gate(live_server, api_key, "good", "half", "--margin", "60") == 3
    assert "margin" in capsys.readouterr().err
    with StubJudge() as stub:
        provider = make_provider(workspace, stub.base_url)
        words = ["--margin", "8", "--max-calls", "3", "--provider", str(provider.uid)]
        own = ["--dataset", "words", "--evaluator", "labeled_pairwise_string", "--endpoint"]
        with pytest.raises(SystemExit) as ended:
            cli.main(["compare", "good", "bad", *own, live_server.url, "--key", api_key, *words])
        assert ended.value.code == 3
        assert stub.stats()["calls"] <= 3
    assert "budget" in capsys.readouterr().err
    comparison = Comparison.objects.get()
    assert comparison.margin == 0.08


def test_what_cannot_be_judged_fails(
    live_server: LiveServer, dataset: Dataset, api_key: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert gate(live_server, api_key, "good", "nobody") == 3
    assert "There is no experiment called 'nobody'." in capsys.readouterr().err
    assert gate(live_server, "tb_wrong", "good", "bad") == 3
    assert "401" in capsys.readouterr().err
    assert not Comparison.objects.exists()


def test_a_wrong_command_is_a_failure_and_not_unsettled() -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["compare", "only-one"])
    assert ended.value.code == 3


def test_a_cancelled_job_and_no_verdict_fail() -> None:
    job = {"state": "cancelled", "error": None}
    server = cli_compare.Server("http://127.0.0.1:9", "key")
    with pytest.raises(cli_compare.GateError, match="cancelled"):
        cli_compare.follow(server, {"id": "x", "job": job}, 1, lambda _: None)
    nothing = {"evaluators": [{"verdict": {"outcome": "nothing"}}]}
    assert cli_compare.exit_code(nothing) == 3


def test_it_stops_following_in_time(
    live_server: LiveServer, dataset: Dataset, api_key: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["good", "bad", "--dataset", "words", "--evaluator", "nearer_by_string_distance"]
    where = ["--endpoint", f"{live_server.url}/api/v1", "--key", api_key, "--timeout", "0"]
    assert cli_compare.run([*words, *where]) == 3
    assert "judging goes on" in capsys.readouterr().err
    assert Job.objects.count() == 1


@pytest.mark.parametrize(
    ("option", "value", "says"),
    [
        ("--key", "tb_\nsplit", "characters that no key has"),
        ("--key", "ключ", "characters that no key has"),
        ("--endpoint", "http://[bad", "must be an http"),
        ("--endpoint", "http://host:port", "must be an http"),
        ("--endpoint", "ftp://127.0.0.1", "must be an http"),
        ("--timeout", "nan", "--timeout"),
        ("--timeout", "-1", "--timeout"),
        ("--timeout", "inf", "--timeout"),
    ],
)
def test_what_python_would_stumble_over_is_a_failure_and_not_worse(
    option: str, value: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["compare", "a", "b", "--dataset", "d", "--evaluator", "e"]
    where = {"--endpoint": "http://127.0.0.1:9", "--key": "tb_key"} | {option: value}
    with pytest.raises(SystemExit) as ended:
        cli.main([*words, *(f"{name}={one}" for name, one in where.items())])
    assert ended.value.code == 3
    assert says in capsys.readouterr().err


class Strange(BaseHTTPRequestHandler):
    """A server that is no Tiebreak: a page of a proxy, JSON of another shape, half an answer."""

    def do_GET(self) -> None:
        answers = {"page": b"<html>sign in</html>", "shape": b'[["a"]]', "half": b"[]"}
        body = answers[self.path.split("/")[1]]
        self.send_response(200)
        self.send_header("Content-Length", str(len(body) + 9 * self.path.startswith("/half")))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words: object) -> None:
        pass


@pytest.fixture
def strange() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Strange) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize(
    ("answer", "says"),
    [("page", "no JSON"), ("shape", "unforeseen"), ("half", "does not answer: Incomplete")],
)
def test_a_server_that_answers_otherwise_is_a_failure_and_not_worse(
    strange: str, answer: str, says: str,
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr("tiebreak.cli_compare.time.sleep", lambda _: None)
    words = ["a", "b", "--dataset", "d", "--evaluator", "e", "--key", "tb_key"]
    assert cli_compare.run([*words, "--endpoint", f"{strange}/{answer}"]) == 3
    assert says in capsys.readouterr().err


def test_a_key_may_end_with_a_line_break(
    live_server: LiveServer, dataset: Dataset, api_key: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert gate(live_server, f"{api_key}\n", "good", "nobody") == 3
    assert "There is no experiment" in capsys.readouterr().err


def test_a_reader_that_went_away_is_a_failure_and_not_worse(
    worker: Worker, live_server: LiveServer, dataset: Dataset, api_key: str,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    def gone(*_: object) -> int:
        raise BrokenPipeError

    monkeypatch.setattr(sys.stdout, "write", gone)
    assert gate(live_server, api_key, "good", "bad") == 3


def test_a_judge_that_only_fails_ends_the_gate_at_once(
    worker: Worker, live_server: LiveServer, dataset: Dataset, api_key: str, workspace: Workspace,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    many = make_dataset(workspace, [f"r{n}" for n in range(60)], name="many")
    make_experiment(many, [f"x{n}" for n in range(60)], name="x")
    make_experiment(many, [f"y{n}" for n in range(60)], name="y")
    where = ["--evaluator", "pairwise_string", "--endpoint", live_server.url, "--key", api_key]
    with StubJudge(script=[{"status": 401}]) as stub:
        judge = ["--provider", str(make_provider(workspace, stub.base_url).uid)]
        began = time.monotonic()
        assert cli_compare.run(["x", "y", "--dataset", "many", *where, *judge]) == 3
        assert time.monotonic() - began < 40
        assert "calls all failed" in capsys.readouterr().err
        assert cli_compare.run(["good", "bad", "--dataset", "words", *where, *judge]) == 3
    assert "12 × " in capsys.readouterr().out


def test_it_says_that_no_worker_is_running(
    live_server: LiveServer, dataset: Dataset, api_key: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["good", "bad", "--dataset", "words", "--evaluator", "nearer_by_string_distance"]
    where = ["--endpoint", live_server.url, "--key", api_key, "--timeout", "0"]
    assert cli_compare.run([*words, *where]) == 3
    assert "0 of 0 done, no worker is running" in capsys.readouterr().err
