"""Folders and processes of servers that tests start."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.embedded.serving import Serving


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that other users can reach, as a checkout usually is."""
    path = Path(tempfile.mkdtemp(prefix="tiebreak-serve-"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def started() -> Iterator[list[Serving]]:
    running: list[Serving] = []
    yield running
    for one in running:
        if one.process.poll() is None:
            one.stop()
