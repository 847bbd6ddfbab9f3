"""`tiebreak serve`: everything on one machine, from one process, until Ctrl-C."""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import TextIO

import redis
from pydantic import ValidationError

from tiebreak.embedded.postgres import database_url, start_postgres
from tiebreak.embedded.processes import Child, StartupError, start, wait_until
from tiebreak.embedded.valkey import broker_url, start_valkey
from tiebreak.environment import Environment, kept_secret

MOST_DEATHS_A_MINUTE = 5
RESTARTS = 20
PATIENCE = {"web": 5.0, "worker": 12.0, "Valkey": 5.0, "PostgreSQL": 20.0}


class Stopped(Exception):
    """Ctrl-C or SIGTERM."""


def run(words: Sequence[str]) -> int:
    """Start everything and keep serving; 0 after Ctrl-C, 1 with a message when it cannot start."""
    options = parse(words)
    if options.port is not None:
        os.environ["TIEBREAK_PORT"] = str(options.port)
    if options.host is not None:
        os.environ["TIEBREAK_HOST"] = options.host
    if options.data is not None:
        os.environ["TIEBREAK_DATA_DIR"] = options.data
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _stop)
    try:
        supervisor = Supervisor(Environment())
    except ValidationError as error:
        for one in error.errors():
            name = f"TIEBREAK_{str(one['loc'][0]).upper()}"
            print(f"tiebreak: {name}: {one['msg']}", file=sys.stderr)
        return 1
    try:
        supervisor.start(with_sample=options.command == "demo")
        supervisor.watch()
    except Stopped:
        print("\nStopping …", flush=True)
        return 0
    except StartupError as error:
        print(f"tiebreak: {error}", file=sys.stderr, flush=True)
        return 1
    finally:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        supervisor.stop()
    return 0


def parse(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tiebreak")
    commands = parser.add_subparsers(dest="command", required=True)
    for name, text in (
        ("serve", "start the database, the broker, a worker and the web server"),
        ("demo", "the same, with a sample dataset and a comparison of its two experiments"),
    ):
        command = commands.add_parser(name, help=text, description=text)
        command.add_argument("--port", type=int, help="TIEBREAK_PORT, 8400 unless set")
        command.add_argument("--host", help="TIEBREAK_HOST, 127.0.0.1 unless set")
        command.add_argument("--data", help="TIEBREAK_DATA_DIR, ./tiebreak-data unless set")
    return parser.parse_args(words)


def _stop(number: int, frame: FrameType | None) -> None:
    raise Stopped


@dataclass
class Supervisor:
    """Starts the servers in order, watches them, and stops them in reverse order."""

    env: Environment
    children: list[Child] = field(default_factory=list)
    sockets: Path | None = None
    lock: TextIO | None = None
    began: float = field(default_factory=time.monotonic)
    deaths: list[float] = field(default_factory=list)

    def start(self, *, with_sample: bool) -> None:
        self._prepare_folder()
        self._check_port()
        self._start_services()
        self._manage("prepare")
        self._start_worker()
        self._start_web()
        self._say_ready()
        following = "demo_comparison" if with_sample else "first_steps"
        self._manage(following, f"--address={self.address}")
        print("Press Ctrl-C to stop.", flush=True)

    @property
    def address(self) -> str:
        host = "127.0.0.1" if self.env.host in ("0.0.0.0", "") else self.env.host  # noqa: S104
        return f"http://{host}:{self.env.port}"

    @property
    def sdk_endpoint(self) -> str:
        """On this machine the SDK keeps the port in the links it prints only after a user name."""
        return f"{self.address.replace('://', '://tiebreak@', 1)}/api"

    @property
    def data(self) -> Path:
        return self.env.data_path

    def _prepare_folder(self) -> None:
        try:
            self.data.mkdir(parents=True, exist_ok=True)
            (self.data / "logs").mkdir(exist_ok=True)
            self.lock = (self.data / "lock").open("a+")
        except OSError as error:
            raise StartupError(
                f"The data folder {self.data} cannot be written ({error.strerror}). "
                "Choose another with --data or TIEBREAK_DATA_DIR."
            ) from error
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self.lock.seek(0)
            raise StartupError(
                f"Tiebreak is already running on {self.data} ({self.lock.read().strip()})."
            ) from error
        self.lock.truncate(0)
        self.lock.write(f"process {os.getpid()}, {self.address}")
        self.lock.flush()
        kept_secret(self.data)

    def _check_port(self) -> None:
        if not 0 < self.env.port < 65536:
            raise StartupError(f"The port must be between 1 and 65535, not {self.env.port}.")
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((self.env.host, self.env.port))
            except OSError as error:
                raise StartupError(
                    f"Port {self.env.port} on {self.env.host} cannot be used ({error.strerror}). "
                    "Choose another with --port or TIEBREAK_PORT."
                ) from error

    def _start_services(self) -> None:
        services = self.data / "services.json"
        services.unlink(missing_ok=True)
        self.sockets = Path(tempfile.mkdtemp(prefix="tiebreak-"))
        self.sockets.chmod(0o711)
        found: dict[str, str] = {}
        if not self.env.database_url:
            self._start_postgres()
            found["database_url"] = database_url(self._sockets("pg"))
        if not self.env.broker_url:
            self._start_valkey()
            found["broker_url"] = broker_url(self._sockets("vk"))
        self._check_given_services()
        services.write_text(json.dumps(found))
        services.chmod(0o600)

    def _sockets(self, name: str) -> Path:
        assert self.sockets is not None
        return self.sockets / name

    def _start_postgres(self) -> None:
        place, log = self._sockets("pg"), self._log("postgres")
        self.children.append(start_postgres(self.data / "postgres", place, log))

    def _start_postgres_again(self) -> None:
        """Its processes may still be ending, and until then a new one refuses to start."""
        for attempt in range(RESTARTS):
            try:
                return self._start_postgres()
            except StartupError:
                if attempt == RESTARTS - 1:
                    raise
                time.sleep(1)

    def _start_valkey(self) -> None:
        place = self._sockets("vk")
        self.children.append(start_valkey(self.data / "valkey", place, self._log("valkey")))

    def _check_given_services(self) -> None:
        """Servers of one's own must answer before anything is said to be ready."""
        if self.env.broker_url.startswith(("redis", "unix")):
            address = self.env.broker_url.replace("redis+socket://", "unix://", 1)
            try:
                redis.Redis.from_url(
                    address.replace("virtual_host=", "db="), socket_timeout=5
                ).ping()
            except (redis.RedisError, ValueError) as error:
                raise StartupError(f"TIEBREAK_BROKER_URL does not answer: {error}") from error

    def _log(self, name: str) -> Path:
        return self.data / "logs" / f"{name}.log"

    def _environment(self) -> dict[str, str]:
        return {**os.environ, "TIEBREAK_DATA_DIR": str(self.data)}

    def _manage(self, *words: str) -> None:
        """Run a management command in a process of its own; its output is ours."""
        command = [sys.executable, "-m", "tiebreak.cli", *words]
        if subprocess.run(command, env=self._environment()).returncode != 0:
            raise StartupError(f"'tiebreak {words[0]}' failed; the reason stands above.")

    def _start_worker(self) -> None:
        command = [sys.executable, "-m", "celery", "-A", "tiebreak", "worker", "-P", "threads"]
        command += ["-c", str(self.env.worker_threads), "--without-gossip", "--without-mingle"]
        command += ["--loglevel", "WARNING", "-n", "tiebreak@%h"]
        log = self._log("worker")
        self.children.append(start("worker", command, log=log, env=self._environment()))

    def _start_web(self) -> None:
        command = [sys.executable, "-m", "granian", "--interface", "wsgi", "--no-ws"]
        command += ["--host", self.env.host, "--port", str(self.env.port)]
        command += ["--workers", str(self.env.web_processes)]
        command += ["--blocking-threads", str(self.env.web_threads), "--log-level", "warning"]
        command += ["--backpressure", "512", "tiebreak.wsgi:application"]
        web = start("web", command, log=self._log("web"), env=self._environment())
        self.children.append(web)
        wait_until(self._web_answers, web, 60)

    def _web_answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.address}/healthz", timeout=2) as answer:  # noqa: S310
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False

    def _say_ready(self) -> None:
        seconds = time.monotonic() - self.began
        print(f"Tiebreak is ready at {self.address} (after {seconds:.1f} s)", flush=True)
        print(f"  data in     {self.data}", flush=True)
        print(f"  SDK scripts LANGSMITH_ENDPOINT={self.sdk_endpoint}", flush=True)

    def watch(self) -> None:
        """Wait for a signal; whatever dies is started again."""
        while True:
            for child in [one for one in self.children if not one.is_alive()]:
                self._replace(child)
            time.sleep(0.5)

    def _replace(self, child: Child) -> None:
        """Start a child again, unless it keeps dying; the others wait for it meanwhile."""
        again = {
            "worker": self._start_worker,
            "web": self._start_web,
            "PostgreSQL": self._start_postgres_again,
            "Valkey": self._start_valkey,
        }[child.name]
        now = time.monotonic()
        self.deaths = [moment for moment in self.deaths if now - moment < 60] + [now]
        if len(self.deaths) > MOST_DEATHS_A_MINUTE:
            raise StartupError(
                f"{child.name} has ended unexpectedly; see {child.log}\n{child.last_words()}"
            )
        print(f"{child.name} has ended unexpectedly and is started again", flush=True)
        self.children.remove(child)
        again()

    def stop(self) -> None:
        """Stop the servers, those that need others first, each with a deadline."""
        order = list(PATIENCE)
        for child in sorted(self.children, key=lambda one: order.index(one.name)):
            child.stop(PATIENCE[child.name])
        if self.sockets:
            shutil.rmtree(self.sockets, ignore_errors=True)
            (self.data / "services.json").unlink(missing_ok=True)
        if self.lock:
            self.lock.truncate(0)
            self.lock.close()
