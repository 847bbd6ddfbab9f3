"""The pages about evaluators: their examples run, and they name everything there is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evaluators import available
from evaluators.define import REGISTERED

PAGES = sorted((Path(__file__).parents[2] / "docs" / "evaluators").glob("*.md"))
ALL = "\n".join(page.read_text() for page in PAGES)


@pytest.fixture
def clean_registry() -> Iterator[None]:
    available()
    before = dict(REGISTERED)
    yield
    REGISTERED.clear()
    REGISTERED.update(before)


@pytest.mark.usefixtures("clean_registry")
@pytest.mark.parametrize("source", PAGES, ids=lambda source: source.stem)
def test_it_runs_the_examples_of_a_page(source: Path) -> None:
    namespace: dict[str, Any] = {"__name__": __name__}
    for number, example in enumerate(re.findall(r"```python\n(.*?)```", source.read_text(), re.S)):
        code = compile(example, f"{source.name}, example {number + 1}", "exec")
        exec(code, namespace)


def test_it_has_pages_with_examples() -> None:
    assert len(PAGES) >= 11
    assert ALL.count("```python") >= 25


@pytest.mark.parametrize("name", [one.name for one in available() if one.source == "tiebreak"])
def test_it_describes_every_kind(name: str) -> None:
    assert re.search(rf"`{name}`|^## .*\b{name}\b", ALL, re.M)


def test_it_names_every_setting() -> None:
    told_by_all = {"llm", "embeddings", "return_reasoning", "precision"}
    settings = {
        setting.name for one in available() if one.source == "tiebreak" for setting in one.settings
    }
    missing = {name for name in settings - told_by_all if not re.search(rf"`?\b{name}\b", ALL)}
    assert missing == set()


def test_it_links_only_to_pages_that_exist() -> None:
    links = set(re.findall(r"\]\(([\w.]+\.md)\)", ALL))
    assert links <= {page.name for page in PAGES}
