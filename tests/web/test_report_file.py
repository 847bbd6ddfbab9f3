"""The report of a comparison as one file."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.urls import reverse

from experiments.models import Comparison
from tests.factories import judge, make_comparison, make_dataset, make_experiment
from tests.web.uploading import signed_in
from tiebreak.accounts.models import User, Workspace

HOSTILE = '<script src="https://evil.test/x.js"></script><img src=x onerror=alert(1)>'


@pytest.fixture
def hostile(workspace: Workspace) -> Comparison:
    dataset = make_dataset(workspace, ["4", HOSTILE])
    a = make_experiment(dataset, ["4", HOSTILE], name="<b>first</b>")
    b = make_experiment(dataset, ["5", "nothing\0"], name="second")
    comparison = make_comparison(a, b)
    judge(comparison, ["a", "tie"], reason=HOSTILE)
    return comparison


def report(user: User, comparison: Comparison, **query: str) -> Any:
    return signed_in(user).get(reverse("comparison_report_file", args=[comparison.uid]), query)


def text_of(answer: Any) -> str:
    assert answer.status_code == 200
    return b"".join(answer.streaming_content).decode()


def test_it_says_the_verdict_and_all_rows(alice: User, hostile: Comparison) -> None:
    answer = report(alice, hostile)
    assert answer["Content-Disposition"].startswith("attachment")
    text = text_of(answer)
    assert text.startswith("<!doctype html>")
    assert text.rstrip().endswith("</html>")
    assert text.count("<tr>") == 3
    assert 'class="won">4<' in text
    assert re.search(r'class="sentence">[^<]{10,}', text)


def test_nothing_in_it_runs_or_is_fetched(alice: User, hostile: Comparison) -> None:
    text = text_of(report(alice, hostile))
    assert "&lt;script src=" in text
    assert not re.search(r"<(script|img|link|iframe|object|b)\b", text)
    assert not re.search(
        r"\s(src|href|on\w+)=[\"']?\w", text.replace("&lt;", "").split("<tbody>")[0]
    )
    assert "\0" not in text


def test_it_keeps_the_filters_of_the_page(alice: User, hostile: Comparison) -> None:
    text = text_of(report(alice, hostile, out="tie"))
    assert text.count("<tr>") == 2
    assert "The rows that the filters left" in text


def test_strangers_find_nothing(mallory: User, hostile: Comparison) -> None:
    assert report(mallory, hostile).status_code == 404
