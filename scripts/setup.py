#!/usr/bin/env python3
"""Make the virtual environment and keep it as the lock files say. Standard library only.

python3 scripts/setup.py run     what `make demo` needs
python3 scripts/setup.py dev     and the tools of `make test` and `make check`
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENT = ROOT / ".venv"
PYTHON = ENVIRONMENT / "bin" / "python"
LOCKS = {"run": ROOT / "requirements.lock", "dev": ROOT / "requirements-dev.lock"}
QUIETLY = ["-q", "--disable-pip-version-check"]
UV = ["-r", str(ROOT / "requirements-uv.lock")]


def main() -> None:
    if sys.version_info < (3, 11):  # noqa: UP036  (it runs before anything is installed)
        sys.exit("Tiebreak needs Python 3.11 or newer.")
    wanted = sys.argv[1] if len(sys.argv) > 1 else "dev"
    if not _is_current(wanted):
        _install(wanted)
    if wanted == "dev":
        _need_chromium()


def _stamp(kind: str) -> Path:
    return ENVIRONMENT / f".installed-{kind}"


def _is_current(wanted: str) -> bool:
    """An environment with the tools will do for running, too."""
    kinds = [wanted] if wanted == "dev" else ["dev", "run"]
    return any(
        _stamp(kind).exists() and _stamp(kind).read_text() == _fingerprint(kind) for kind in kinds
    )


def _fingerprint(kind: str) -> str:
    lock, project = LOCKS[kind].read_bytes(), (ROOT / "pyproject.toml").read_bytes()
    return hashlib.sha256(lock + project + sys.version.encode()).hexdigest()


def _install(wanted: str) -> None:
    print(f"Setting up .venv from {LOCKS[wanted].name} …", flush=True)
    if not PYTHON.exists():
        venv.create(ENVIRONMENT, with_pip=True)
    env = {
        **os.environ,
        "UV_PYTHON_DOWNLOADS": "never",
        "UV_SYSTEM_CERTS": "true",
        "VIRTUAL_ENV": str(ENVIRONMENT),
    }
    _run([str(PYTHON), "-m", "pip", "install", *QUIETLY, "--require-hashes", *UV], env)
    uv = [str(PYTHON), "-m", "uv", "pip"]
    _run([*uv, "install", "-q", "--require-hashes", "-r", str(LOCKS[wanted])], env)
    # Building needs hatchling, which the lock pins for development; elsewhere uv fetches it.
    isolation = ["--no-build-isolation"] if wanted == "dev" else []
    _run([*uv, "install", "-q", "--no-deps", *isolation, "-e", str(ROOT)], env)
    for kind in LOCKS:
        _stamp(kind).unlink(missing_ok=True)
    _stamp(wanted).write_text(_fingerprint(wanted))


def _run(command: list[str], env: dict[str, str]) -> None:
    if subprocess.run(command, env=env, cwd=ROOT).returncode != 0:
        sys.exit(f"This failed: {' '.join(command)}")


def _need_chromium() -> None:
    """The tests drive a real browser; where we are root on Debian it is installed."""
    if shutil.which("chromium") or shutil.which("chromium-browser"):
        return
    if os.geteuid() == 0 and shutil.which("apt-get"):
        print("Installing Chromium for the browser tests …", flush=True)
        quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        subprocess.run(["apt-get", "update", "-q"], env=quiet, stdout=subprocess.DEVNULL)
        _run(["apt-get", "install", "-y", "-q", "--no-install-recommends", "chromium"], quiet)
        return
    sys.exit(
        "The tests need Chromium. Install it (Debian: apt-get install chromium) and try again."
    )


if __name__ == "__main__":
    main()
