"""The TypeScript SDK, where Node.js is present."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from experiments.models import Comparison, Dataset, Feedback, Judgment
from tests.api.conftest import Call
from tiebreak.accounts.models import Workspace

SCRIPT = Path(__file__).parent / "typescript"


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("npm") is None, reason="needs Node.js with npm")
def test_it_evaluates_and_compares(
    endpoint: str, call: Call, api_key: str, workspace: Workspace, tmp_path: Path
) -> None:
    shutil.copytree(SCRIPT, tmp_path, dirs_exist_ok=True)
    quiet = ["--no-audit", "--no-fund", "--no-package-lock"]
    subprocess.run(["npm", "install", *quiet], cwd=tmp_path, check=True, timeout=300)
    variables = {
        "LANGSMITH_ENDPOINT": endpoint,
        "LANGSMITH_API_KEY": api_key,
        "LANGSMITH_TRACING": "true",
    }
    done = subprocess.run(
        ["node", "compare.mjs"],
        cwd=tmp_path,
        env=os.environ | variables,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert '{"results":3}' in done.stdout, done.stdout + done.stderr
    assert Dataset.objects.get(workspace=workspace).description == "changed"
    marks = Feedback.objects.filter(workspace=workspace, key="exact")
    assert sorted(mark.score or 0.0 for mark in marks) == [0.0] * 3 + [1.0] * 3
    comparisons = Comparison.objects.filter(workspace=workspace)
    assert comparisons.count() == 2
    for comparison in comparisons:
        outcomes = Judgment.objects.filter(comparison=comparison)
        assert list(outcomes.values_list("outcome", flat=True)) == ["a", "a", "a"]
