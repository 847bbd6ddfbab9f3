"""What the house promises: where things lie, and that the docs know every setting."""

import platform
import re
import subprocess
import sys
from pathlib import Path

from tiebreak.environment import Environment

ROOT = Path(__file__).resolve().parent.parent
NAMED = [
    "manage.py", "pyproject.toml", "platform", "experiments", "evaluators", "templates", "static",
    "tests", "docker",
]  # fmt: skip


def test_it_has_the_agreed_top_level() -> None:
    assert [name for name in NAMED if not (ROOT / name).exists()] == []


def test_it_leaves_pythons_own_platform_module_alone() -> None:
    assert not (ROOT / "platform" / "__init__.py").exists()
    assert platform.python_version()
    found = subprocess.run(
        [sys.executable, "-c", "import platform; print(platform.machine())"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.strip()


def test_it_documents_every_setting_and_no_other() -> None:
    table = (ROOT / "docs" / "settings.md").read_text()
    documented = set(re.findall(r"^\| `TIEBREAK_(\w+)`", table, flags=re.MULTILINE))
    assert documented == {name.upper() for name in Environment.model_fields}


def test_importing_the_evaluators_needs_no_django_and_no_model_sdk() -> None:
    check = (
        "import sys, evaluators; "
        "heavy = {'django', 'openai', 'anthropic', 'pandas', 'scipy.stats', 'celery'}; "
        "print(sorted(heavy & set(sys.modules)))"
    )
    found = subprocess.run(
        [sys.executable, "-c", check], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == "[]"


def test_its_files_name_no_package_registry_and_no_path_of_a_machine() -> None:
    registries = ["py" + "pi.org", "python" + "hosted", "npm" + "js."]
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    for name in listed.stdout.splitlines():
        text = (ROOT / name).read_bytes().decode("utf-8", "replace")
        assert not any(registry in text for registry in registries), name
