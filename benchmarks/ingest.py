"""How many runs a second the server takes: uploads of the official client, recorded and replayed.

    .venv/bin/python -m benchmarks.ingest [--runs 20000] [--senders 8] [--halves] [--single]

The client's own threads pack the bodies beforehand (multipart, zstd, runs of about 1 KB), so that
only the server works while time is taken. `--halves` sends each run as an opening and an update,
`--single` one `POST /runs` per run instead. Each run is sent once; in the end all are counted.
"""

from __future__ import annotations

import argparse
import http.client
import itertools
import json
import os
import random
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from statistics import quantiles
from typing import Any

from benchmarks.serving import Server, serving

SYLLABLES = (
    "ba",
    "de",
    "fi",
    "go",
    "hu",
    "ka",
    "le",
    "mi",
    "no",
    "pu",
    "ra",
    "se",
    "ti",
    "ast",
    "ing",
)


@dataclass
class Recorded:
    """One request as the client sent it."""

    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Recorder:
    """Answers like the server and keeps what it gets."""

    requests: list[Recorded] = field(default_factory=list)
    info: bytes = b"{}"

    @contextmanager
    def listening(self) -> Iterator[str]:
        recorder = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self._answer(recorder.info)

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                recorder.requests.append(Recorded(self.path, dict(self.headers), body))
                self._answer(b"{}")

            def _answer(self, body: bytes) -> None:
                self.send_response(202)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/api"
        finally:
            server.shutdown()


def record(server: Server, runs: int, *, halves: bool) -> list[Recorded]:
    """Uploads of the real client, as its threads pack them."""
    from langsmith import Client

    recorder = Recorder(info=_get(server, "/api/info"))
    with recorder.listening() as address:
        client = Client(api_url=address, api_key=server.key)
        for number in range(runs):
            _trace(client, number, halves=halves)
        client.flush()
        client.cleanup()
    return [one for one in recorder.requests if one.path.endswith("/runs/multipart")]


def run_of(number: int, project: str = "replayed") -> dict[str, Any]:
    """A finished root run of about 1 KB."""
    from experiments.ids import uuid7

    uid, start = uuid7(), datetime.now(UTC)
    return {
        "id": uid,
        "trace_id": uid,
        "dotted_order": f"{start:%Y%m%dT%H%M%S%fZ}{uid}",
        "name": "assistant",
        "run_type": "chain",
        "project_name": project,
        "start_time": start,
        "inputs": {
            "question": f"Question {number}: is an index worth it?",
            "context": prose(number, 60),
        },
        "outputs": {"answer": prose(-number - 1, 60)},
        "end_time": start + timedelta(milliseconds=700),
        "extra": {"metadata": {"model": "small", "revision": "a1b2c3"}},
    }


def prose(seed: int, words: int) -> str:
    """Text that neither a packer nor an index of trigrams gets for nothing."""
    chance = random.Random(seed)
    return " ".join(
        "".join(chance.choices(SYLLABLES, k=chance.randint(1, 4))) for _ in range(words)
    )


def _trace(client: Any, number: int, *, halves: bool) -> None:
    run = run_of(number)
    if not halves:
        client.create_run(**run)
        return
    ending = {name: run.pop(name) for name in ("outputs", "end_time")}
    client.create_run(**run)
    place = {name: run[name] for name in ("trace_id", "dotted_order")}
    client.update_run(run["id"], **place, **ending)


def single_requests(server: Server, runs: int) -> list[Recorded]:
    """One `POST /runs` per run."""
    headers = {"Content-Type": "application/json", "x-api-key": server.key}
    made = []
    for number in range(runs):
        run = run_of(number)
        run["session_name"] = run.pop("project_name")
        body = json.dumps(run, default=_plain).encode()
        made.append(Recorded("/api/runs", headers, body))
    return made


def _plain(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)


def _get(server: Server, path: str) -> bytes:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    connection.request("GET", path, headers={"x-api-key": server.key})
    return connection.getresponse().read()


def replay(server: Server, requests: list[Recorded], senders: int) -> list[float]:
    """Send every request once, as fast as the answers come; gives the seconds of each."""
    waiting, taken, problems = itertools.count(), [0.0] * len(requests), list[str]()

    def send() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        while (number := next(waiting)) < len(requests):
            one, began = requests[number], time.monotonic()
            connection.request("POST", one.path, one.body, one.headers)
            answer = connection.getresponse()
            text = answer.read()
            taken[number] = time.monotonic() - began
            if answer.status != 202:
                problems.append(f"{answer.status} {text[:200]!r}")

    threads = [threading.Thread(target=send) for _ in range(senders)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if problems:
        raise SystemExit(f"{len(problems)} requests failed, the first with {problems[0]}")
    return taken


def percentile(values: list[float], percent: int) -> float:
    return quantiles(values, n=100)[percent - 1]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=20_000)
    parser.add_argument("--senders", type=int, default=8)
    parser.add_argument("--halves", action="store_true")
    parser.add_argument("--single", action="store_true")
    parser.add_argument("--web-processes", type=int, default=2)
    options = parser.parse_args()
    with serving(options.web_processes) as server:
        requests = (
            single_requests(server, options.runs)
            if options.single
            else record(server, options.runs, halves=options.halves)
        )
        replay(server, requests[: len(requests) // 10], options.senders)
        rest = requests[len(requests) // 10 :]
        before, own, stored = server.seconds_used(), time.process_time(), count_runs()
        print(f"measuring with {len(rest)} requests …", file=sys.stderr)
        began = time.monotonic()
        taken = replay(server, rest, options.senders)
        seconds = time.monotonic() - began
        after, own = server.seconds_used(), time.process_time() - own
        if count_runs() != options.runs:
            raise SystemExit(f"sent {options.runs} runs, stored {count_runs()}")
    runs = options.runs - stored
    used = {name: after[name] - before[name] for name in after}
    total = sum(used.values())
    print(f"requests            {len(rest)}, {sum(len(r.body) for r in rest) / 1e6:.1f} MB packed")
    print(f"runs a second       {runs / seconds:8.0f}")
    print(f"server CPU per run  {1000 * total / runs:8.3f} ms")
    print(f"  in PostgreSQL     {100 * used['postgres'] / total:8.0f} %")
    print(f"processors busy     server {total / seconds:.2f}, sender {own / seconds:.2f}")
    print(f"of                  {os.cpu_count()}, load average {os.getloadavg()[0]:.1f}")
    print(f"answer p50, p95     {1000 * percentile(taken, 50):.0f} ms, ", end="")
    print(f"{1000 * percentile(taken, 95):.0f} ms")


def count_runs() -> int:
    from experiments.models import Run

    return Run.objects.count()


if __name__ == "__main__":
    main()
