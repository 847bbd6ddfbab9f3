"""Readers of files are plain Python: they can be used, and fuzzed, without a database."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_formats_need_no_django() -> None:
    code = (
        "import sys, experiments.formats.surveys, experiments.formats.recognition;"
        "sys.exit(sum(name.split('.')[0] == 'django' for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0
