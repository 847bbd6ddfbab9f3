"""Moving from one server of ours into another one, each with a database of its own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import requests
from langsmith import Client

from tests.embedded.conftest import folder, started
from tests.embedded.serving import Serving
from tests.engine.processes import ROOT, free_port

__all__ = ["folder", "started"]
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("serve")]
PASSWORD = "only-for-this-test"


class Reader:
    """A person who is signed in to one of the servers."""

    def __init__(self, port: int, password: str) -> None:
        self.address = f"http://127.0.0.1:{port}"
        self.session = requests.Session()
        page = self.session.get(f"{self.address}/sign-in", timeout=60)
        found = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page.text)
        assert found
        given = {"csrfmiddlewaretoken": found[1], "username": "admin", "password": password}
        headers = {"Referer": page.url}
        self.session.post(page.url, data=given, headers=headers, timeout=60).raise_for_status()

    def lines(self, path: str) -> list[Any]:
        """What a JSON Lines export says; how its letters are escaped may differ."""
        return [json.loads(line) for line in self.get(path).splitlines()]

    def get(self, path: str) -> str:
        answer = self.session.get(self.address + path, timeout=60)
        assert answer.status_code == 200, (path, answer.status_code)
        return answer.text


def traced(port: int, key: str) -> str:
    """A call of a project without a dataset, with a file."""
    client = Client(api_url=f"http://127.0.0.1:{port}/api", api_key=key)
    uid, moment = uuid4(), datetime.now(UTC)
    client.create_run(
        id=uid,
        trace_id=uid,
        dotted_order=f"{moment:%Y%m%dT%H%M%S%fZ}{uid}",
        project_name="a project of its own",
        name="assistant",
        run_type="chain",
        inputs={"question": "Where is it?"},
        outputs={"answer": "Below."},
        start_time=moment,
        end_time=moment,
        attachments={"note": ("text/plain", b"written by hand")},
    )
    client.flush()
    client.cleanup()
    return str(uid)


def move(data: Path, port: int, key: str) -> str:
    clean = {name: value for name, value in os.environ.items() if "TIEBREAK" not in name}
    clean |= {"PYTHONPATH": f"{ROOT}:{ROOT / 'platform'}", "TIEBREAK_DATA_DIR": str(data)}
    words = ["move-in", "--endpoint", f"http://127.0.0.1:{port}/api", "--api-key", key]
    ended = subprocess.run(
        [sys.executable, "-m", "tiebreak.cli", *words],
        env=clean, cwd=data.parent, capture_output=True, text=True, timeout=200, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def test_one_server_moves_into_another(started: list[Serving], folder: Path) -> None:
    old_port, new_port = free_port(), free_port()
    old = Serving("demo", folder / "old", old_port)
    started.append(old)
    text = old.wait_for("Press Ctrl-C to stop.")
    key, password = (
        re.search(rf"{what}\s+(\S+)", text)[1]  # type: ignore[index]
        for what in ("API key", "password")
    )
    run = traced(old_port, key)
    new = Serving("serve", folder / "new", new_port, TIEBREAK_ADMIN_PASSWORD=PASSWORD)
    started.append(new)
    new.wait_for("is ready")

    told = move(folder / "new", old_port, key)
    assert "1 datasets" in told
    assert "1 projects" in told
    there, here = Reader(old_port, password), Reader(new_port, PASSWORD)
    comparison = re.search(r"/comparisons/[0-9a-f-]{36}", text)
    assert comparison
    dataset = re.search(r"/datasets/[0-9a-f-]{36}", there.get(comparison[0]))
    assert dataset
    export = f"{dataset[0]}/export?format=jsonl"
    assert here.lines(export) == there.lines(export)
    for page in (there.get(comparison[0]), here.get(comparison[0])):
        assert "assistant-v2" in page
        assert re.search(r">\s*63\s*<", page), "the verdicts came along"
    moved = here.get(f"/runs/{run}")
    assert "Below." in moved
    file = re.search(rf'href="(/runs/{run}/files/\d+)"[^>]*>note<', moved)
    assert file
    assert here.get(file[1]) == "written by hand"
    again = move(folder / "new", old_port, key)
    assert "1 datasets" in again
    assert here.lines(export) == there.lines(export)
