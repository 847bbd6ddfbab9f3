"""Many clients that write and read what they wrote: nothing may be lost, nothing may fail.

    .venv/bin/python -m benchmarks.clients [--clients 16] [--seconds 60]

Each writes a batch of runs, ends one of them by an update, marks it, and at once reads run, list
and mark back. In the end everything is counted in the database.
"""

from __future__ import annotations

import argparse
import http.client
import json
import threading
import time
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from benchmarks.ingest import count_runs, percentile, run_of
from benchmarks.serving import Server, serving

BATCH = 5


@dataclass
class Tally:
    """What all clients together have seen."""

    runs: int = 0
    marks: int = 0
    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    problems: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)


class Talker:
    """One client with a connection of its own."""

    def __init__(self, server: Server, number: int, tally: Tally) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        self.headers = {"x-api-key": server.key, "Content-Type": "application/json"}
        self.project, self.tally = f"client {number}", tally

    def ask(self, kind: str, method: str, path: str, body: Any = None) -> Any:
        began = time.monotonic()
        data = None if body is None else json.dumps(body, default=str)
        self.connection.request(method, f"/api{path}", data, self.headers)
        answer = self.connection.getresponse()
        text = answer.read()
        with self.tally.lock:
            self.tally.seconds[kind].append(time.monotonic() - began)
            if answer.status >= 300:
                self.tally.problems.append(f"{method} {path}: {answer.status} {text[:200]!r}")
        return json.loads(text)

    def turn(self, number: int) -> None:
        runs = [run_of(number * BATCH + n, self.project) for n in range(BATCH)]
        for run in runs:
            run["session_name"] = run.pop("project_name")
        first, mark = str(runs[0]["id"]), str(uuid4())
        ending = {name: runs[0].pop(name) for name in ("outputs", "end_time")}
        self.ask("write", "POST", "/runs/batch", {"post": runs})
        self.ask("update", "PATCH", f"/runs/{first}", ending)
        self.ask("mark", "POST", "/feedback", {"id": mark, "run_id": first, "key": "k", "score": 1})
        read = self.ask("read", "GET", f"/runs/{first}")
        found = self.ask("query", "POST", "/runs/query", {"id": [str(run["id"]) for run in runs]})
        listed = self.ask("marks", "GET", f"/feedback?run={first}")
        with self.tally.lock:
            self.tally.runs += BATCH
            self.tally.marks += 1
            if read.get("outputs") != ending["outputs"]:
                self.tally.problems.append(f"run {first} came back without its end")
            if len(found.get("runs", [])) != BATCH:
                self.tally.problems.append(f"the batch of {first} was not found whole")
            if [one["id"] for one in listed] != [mark]:
                self.tally.problems.append(f"the mark on {first} was not found")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--web-processes", type=int, default=2)
    options = parser.parse_args()
    tally = Tally()
    with serving(options.web_processes) as server:
        _talk(server, tally, options.clients, options.seconds)
        from experiments.models import Feedback

        stored = count_runs(), Feedback.objects.count()
    requests = sum(map(len, tally.seconds.values()))
    print(f"{requests} requests, {tally.runs} runs, {tally.marks} marks, stored {stored}")
    for kind, seconds in tally.seconds.items():
        middle, late = (1000 * percentile(seconds, p) for p in (50, 95))
        print(f"  {kind:8} {len(seconds):6}  p50 {middle:5.0f} ms  p95 {late:5.0f} ms")
    if tally.problems or stored != (tally.runs, tally.marks):
        raise SystemExit("\n".join(["something failed or was lost", *tally.problems[:10]]))


def _talk(server: Server, tally: Tally, clients: int, seconds: float) -> None:
    end = time.monotonic() + seconds

    def talk(number: int) -> None:
        talker, turn = Talker(server, number, tally), 0
        while time.monotonic() < end:
            talker.turn(turn)
            turn += 1

    threads = [threading.Thread(target=talk, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
