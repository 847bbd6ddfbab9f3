import subprocess
import sys

CHECK = """
import sys
import evaluators.statistics.verdict
heavy = {"scipy.stats", "pandas", "evalica", "django"} & sys.modules.keys()
sys.exit(", ".join(sorted(heavy)))
"""


def test_heavy_libraries_are_imported_on_first_use_only() -> None:
    run = subprocess.run([sys.executable, "-c", CHECK], capture_output=True, text=True, check=False)
    assert run.stderr.strip() == ""
