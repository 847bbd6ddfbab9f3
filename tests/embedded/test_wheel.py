"""The wheel in an empty environment: it runs as `tiebreak`, as do the compose file's commands."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from experiments.models import Comparison, Job
from tests.engine.processes import ROOT, database_url, eventually, free_port
from tests.factories import make_comparison, make_dataset, make_experiment
from tiebreak.accounts.models import Workspace

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("wheel")]


@pytest.fixture(scope="module")
def installed() -> Iterator[Path]:
    """The folder of programs of an environment that holds the wheel and the locked packages."""
    with tempfile.TemporaryDirectory(prefix="tiebreak-wheel-") as folder:
        home = Path(folder)
        build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder]
        subprocess.run([*build, str(ROOT)], check=True, capture_output=True)
        subprocess.run(
            [sys.executable, "-m", "venv", "--without-pip", str(home / "env")], check=True
        )
        uv = [sys.executable, "-m", "uv", "pip", "install", "-q", "--python", str(home / "env")]
        lock = str(ROOT / "requirements.lock")
        subprocess.run([*uv, "--require-hashes", "-r", lock], check=True)
        wheel = next(home.glob("tiebreak-*.whl"))
        subprocess.run([*uv, "--no-deps", str(wheel)], check=True)
        yield home / "env" / "bin"


@pytest.fixture
def environment(installed: Path, db: None, tmp_path: Path) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith("TIEBREAK")}
    kept.pop("PYTHONPATH", None)
    return {
        **kept,
        "PATH": f"{installed}:{os.environ['PATH']}",
        "TIEBREAK_DATABASE_URL": database_url(),
        "TIEBREAK_BROKER_URL": os.environ["TIEBREAK_BROKER_URL"],
        "TIEBREAK_SECRET_KEY": "only for tests",
        "TIEBREAK_PUBLIC_URL": "http://tiebreak.test",
        "TIEBREAK_DATA_DIR": str(tmp_path),
    }


def command_of(service: str, port: int) -> list[str]:
    """The very command of the compose file, on a free port."""
    compose = yaml.safe_load((ROOT / "docker" / "compose.yml").read_text())
    text = compose["services"][service]["command"].replace("$$", "$")
    return shlex.split(text.replace("0.0.0.0", "127.0.0.1").replace("8400", str(port)))


def test_it_brings_what_it_needs_and_nothing_of_the_tests(installed: Path, tmp_path: Path) -> None:
    check = (
        "import tiebreak, experiments, evaluators, pathlib; "
        "home = pathlib.Path(tiebreak.__file__).parent; "
        "print((home / 'templates' / 'base.html').exists(), (home / 'static').is_dir(), "
        "(pathlib.Path(experiments.__file__).parent / 'sample' / 'questions.jsonl').exists())"
    )
    found = subprocess.run(
        [str(installed / "python"), "-c", check],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert found.stdout.split() == ["True", "True", "True"]
    gone = subprocess.run([str(installed / "python"), "-c", "import tests"], cwd=tmp_path)
    assert gone.returncode != 0


@pytest.mark.django_db(transaction=True)
def test_the_compose_commands_run_the_product(
    installed: Path, environment: dict[str, str], tmp_path: Path, workspace: Workspace
) -> None:
    port = free_port()
    prepared = subprocess.run(
        command_of("prepare", port),
        env=environment, cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    assert prepared.returncode == 0, prepared.stderr
    children = [
        subprocess.Popen(command_of(service, port), env=environment, cwd=tmp_path)
        for service in ("web", "worker")
    ]
    try:
        eventually(lambda: answers(port), 40, "the web server answers")
        comparison = launched(workspace)
        eventually(lambda: ended(comparison), 40, "the worker judges")
    finally:
        for child in children:
            child.terminate()
        for child in children:
            child.wait(40)


def answers(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/sign-in", timeout=5) as page:
            return b"Sign in" in page.read()
    except OSError:
        return False


def launched(workspace: Workspace) -> Comparison:
    dataset = make_dataset(workspace)
    a = make_experiment(dataset, ["4", "Paris", "green"])
    b = make_experiment(dataset, ["5", "London", "blue"])
    return make_comparison(a, b)


def ended(comparison: Comparison) -> bool:
    return Job.objects.get(pk=comparison.job_id or 0).state == Job.State.COMPLETE
