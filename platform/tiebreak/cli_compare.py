"""`tiebreak compare`: launch a comparison on a server, follow it, and let its verdict pass a gate.

Nothing of the server is imported, so that it starts quickly and needs no settings.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from http.client import HTTPException
from typing import Any, NoReturn
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlencode, urlsplit
from urllib.request import Request, urlopen
from uuid import UUID, uuid4

BETTER, WORSE, NOT_SETTLED, FAILED = 0, 1, 2, 3
EXITS = {"a": BETTER, "equivalent": BETTER, "b": WORSE, "not_settled": NOT_SETTLED}
ENDED = ("complete", "failed", "cancelled")
TRIES = 6
BAR = 24


class GateError(Exception):
    """What kept the gate from a verdict, in words for people."""


class Parser(argparse.ArgumentParser):
    """A wrong command is a failure, and not "not settled", whose code argparse would use."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(FAILED, f"{self.prog}: {message}\n")


def parser() -> Parser:
    made = Parser(
        prog="tiebreak compare",
        description="Is experiment A better than B? Exit code 0: better or equivalent, 1: worse, "
        "2: not settled, 3: failed.",
    )
    made.add_argument("a", metavar="A", help="the candidate: an experiment's name or id")
    made.add_argument("b", metavar="B", help="what it is measured against")
    made.add_argument("--dataset", required=True, help="name or id")
    made.add_argument("--evaluator", required=True, help="a kind, such as llm_pairwise")
    made.add_argument("--provider", help="id of the model to ask, for evaluators that ask one")
    made.add_argument("--order", choices=("both", "random", "off"), default="both")
    made.add_argument("--max-concurrency", type=int, default=8, metavar="N")
    made.add_argument(
        "--margin",
        type=float,
        default=5,
        metavar="POINTS",
        help="the smallest difference that matters; within it the two can be equivalent",
    )
    made.add_argument("--max-calls", type=int, metavar="N", help="the most calls to a model")
    made.add_argument("--max-cost", type=float, metavar="DOLLARS", help="the most to pay")
    made.add_argument(
        "--stop-when-certain", action="store_true", help="ask no further once the verdict is sure"
    )
    made.add_argument("--name", help="of the comparison; else the names of the two")
    made.add_argument("--timeout", type=seconds, default=3600, metavar="SECONDS")
    made.add_argument("--json", action="store_true", help="print the API's answer")
    made.add_argument(
        "--endpoint", default=os.environ.get("TIEBREAK_ENDPOINT"), help="or TIEBREAK_ENDPOINT"
    )
    made.add_argument("--key", default=os.environ.get("TIEBREAK_API_KEY"), help="TIEBREAK_API_KEY")
    return made


def seconds(text: str) -> float:
    """A time to wait: 0 or more."""
    value = float(text)
    if not 0 <= value < math.inf:
        raise ValueError
    return value


class Server:
    """The API, with patience for a server that is away for a moment."""

    def __init__(self, endpoint: str, key: str) -> None:
        base = endpoint.strip().rstrip("/").removesuffix("/v1").removesuffix("/api")
        if not _is_address(base):
            raise GateError(f"The endpoint must be an http:// or https:// address, not {base!r}.")
        # Secrets of a CI often end with a line break.
        self.site, self.base, self.key = base, f"{base}/api/v1", key.strip()
        if not (self.key.isascii() and self.key.isprintable()):
            raise GateError("The key holds characters that no key has.")

    def get(self, path: str, **query: str) -> Any:
        return self._ask("GET", f"{path}?{urlencode(query)}" if query else path, None)

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        return self._ask("POST", path, json.dumps(body).encode())

    def _ask(self, method: str, path: str, body: bytes | None) -> Any:
        for attempt in range(TRIES):
            try:
                return self._once(method, path, body)
            except (URLError, TimeoutError, ConnectionError, HTTPException) as error:
                # A refusal with a reason is final; an absent server may come back.
                if isinstance(error, HTTPError) and error.code not in (429, 502, 503, 504):
                    raise GateError(_said(error)) from error
                if attempt == TRIES - 1:
                    raise GateError(f"{self.site} does not answer: {error}") from error
                time.sleep(min(10, 0.5 * 2**attempt))
            except ValueError as error:
                raise GateError(f"{self.site} does not answer like Tiebreak: no JSON.") from error
        raise AssertionError("unreachable")

    def _once(self, method: str, path: str, body: bytes | None) -> Any:
        headers = {"X-API-Key": self.key, "Content-Type": "application/json"}
        request = Request(self.base + path, body, headers, method=method)  # noqa: S310
        with urlopen(request, timeout=60) as answer:  # noqa: S310
            return json.load(answer)


def _is_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _said(error: HTTPError) -> str:
    """The server's own words."""
    try:
        detail = json.load(error).get("detail")
    except (ValueError, AttributeError):
        detail = None
    return f"{error.code}: {detail or error.reason}"


def run(words: Sequence[str]) -> int:
    """The command; returns its exit code."""
    options = parser().parse_args(words)
    try:
        return compare(options)
    except GateError as error:
        reason = str(error)
    except KeyboardInterrupt:
        reason = "stopped following; judging goes on."
    except Exception as error:
        # Left alone, Python would end with 1, and a gate would read "worse".
        reason = f"something unforeseen: {error!r}"
    print(f"tiebreak compare: {reason}", file=sys.stderr)
    return FAILED


def compare(options: argparse.Namespace) -> int:
    """Launch, follow, print; the verdict's exit code."""
    if not options.endpoint or not options.key:
        raise GateError("Say where and as whom: --endpoint and --key, or their variables.")
    server = Server(options.endpoint, options.key)
    found = follow(server, launch(server, options), options.timeout, _progress(sys.stderr))
    print(json.dumps(found, indent=2) if options.json else as_text(found, server.site), flush=True)
    return exit_code(found)


def launch(server: Server, options: argparse.Namespace) -> dict[str, Any]:
    """Start the comparison; asked twice, the server starts it once."""
    dataset = _one(server, "/datasets", "dataset", options.dataset)
    where = {"reference_dataset": dataset["id"]}
    pair = [_one(server, "/sessions", "experiment", name, where) for name in (options.a, options.b)]
    evaluator: dict[str, Any] = {"kind": options.evaluator}
    if options.provider:
        evaluator["provider_id"] = options.provider
    body = {
        "id": str(uuid4()),
        "experiment_ids": [row["id"] for row in pair],
        "evaluators": [evaluator],
        "order": options.order,
        "max_concurrency": options.max_concurrency,
        "margin": options.margin / 100,
        "max_calls": options.max_calls,
        "max_cost": options.max_cost,
        "stop_when_certain": options.stop_when_certain,
        "name": options.name or "",
    }
    found: dict[str, Any] = server.post("/comparisons", body)
    return found


def _one(
    server: Server, path: str, what: str, named: str, where: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """The row with this name or id."""
    try:
        return dict(server.get(f"{path}/{quote(str(UUID(named)))}"))
    except ValueError:
        rows = server.get(path, name=named, **(where or {}))
    if not rows:
        raise GateError(f"There is no {what} called {named!r}.")
    return dict(rows[0])


def follow(
    server: Server,
    started: dict[str, Any],
    timeout: float,
    tell: Callable[[Mapping[str, Any]], None],
) -> dict[str, Any]:
    """Wait until judging ends, telling how far it is."""
    found, ends = started, time.monotonic() + timeout
    while found["job"]["state"] not in ENDED:
        tell(found["job"])
        if found["job"]["state"] == "paused" and found["job"]["stopped_by"]:
            raise GateError(
                f"Judging stopped: {found['job']['error'] or found['job']['stopped_by']}"
            )
        if time.monotonic() > ends:
            raise GateError(f"Not done after {timeout:g} seconds; judging goes on.")
        time.sleep(min(2.0, max(0.0, ends - time.monotonic()) + 0.05))
        found = server.get(f"/comparisons/{started['id']}")
    tell(found["job"])
    if found["job"]["state"] != "complete":
        reason = found["job"]["error"] or f"the job was {found['job']['state']}"
        raise GateError(f"Judging did not end: {reason}")
    return found


def _progress(stream: Any) -> Callable[[Mapping[str, Any]], None]:
    """A bar that redraws itself on a terminal, a line per change elsewhere."""
    last: list[Any] = []

    def tell(job: Mapping[str, Any]) -> None:
        done, total = job["done"], job["total"]
        filled = BAR * done // total if total else 0
        left = f", {waits}" if (waits := _waits(job)) else ""
        text = f"[{'#' * filled}{'.' * (BAR - filled)}] {done:,} of {total:,} done{left}"
        if stream.isatty():
            over = job["state"] in ENDED
            print(f"\r{text:<72}", end="\n" if over else "", file=stream, flush=True)
        elif last != (now := [done, job["state"], job["has_worker"]]):
            print(text, file=stream, flush=True)
            last[:] = now

    return tell


def _waits(job: Mapping[str, Any]) -> str:
    """How long it takes, or what it waits for."""
    if not job["has_worker"]:
        return "no worker is running"
    if job["state"] == "paused":
        return "paused"
    return f"about {job['seconds_left']:.0f} s left" if job["seconds_left"] else ""


def as_text(found: Mapping[str, Any], site: str) -> str:
    """The verdict with its numbers and where they come from."""
    (evaluator,) = found["evaluators"]
    verdict, counts = evaluator["verdict"], evaluator["counts"]
    # Of the verdict, since it counts a repeated example once.
    rows = verdict["counts"]
    lines = [verdict["sentence"], verdict["planning"]]
    lines.append(f"A {rows['wins_a']:,} · ties {rows['ties']:,} · B {rows['wins_b']:,}")
    lines += [
        f"{figure['label']}: {figure['text']} (n = {figure['how']['n']}, {figure['how']['op']})"
        for figure in verdict["figures"]
    ]
    lines += [f"{counts[key]:,} pairs {label}" for key, label in LEFT_OUT.items() if counts[key]]
    lines += [f"{one['count']:,} × {one['message']}" for one in evaluator["failures"]]
    return "\n".join([*filter(None, lines), f"{site}/comparisons/{found['id']}"])


LEFT_OUT = {"failed": "could not be judged", "missing": "lack a partner or an output"}


def exit_code(found: Mapping[str, Any]) -> int:
    """What the verdict means for a gate; without a judged pair there is none."""
    return EXITS.get(found["evaluators"][0]["verdict"]["outcome"], FAILED)
