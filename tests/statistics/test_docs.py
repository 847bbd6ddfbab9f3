import re
from pathlib import Path

from evaluators.statistics import OPS

PAGE = (Path(__file__).parents[2] / "docs" / "statistics.md").read_text()


def test_every_operation_has_its_row() -> None:
    rows = set(re.findall(r"\| `(\w+)` \|$", PAGE, flags=re.MULTILINE))
    assert rows == OPS.keys()


def test_every_operation_names_its_source() -> None:
    without = {name for name, op in OPS.items() if "Source: " not in (op.__doc__ or "")}
    assert without == set()
