"""What a browser loads comes compressed where it says that it can read that."""

from __future__ import annotations

import gzip

import pytest
from django.test import Client
from django.urls import reverse

from experiments.models import Comparison
from tiebreak.accounts.models import User

pytestmark = pytest.mark.django_db
TAKES_IT = {"accept-encoding": "gzip, br"}


@pytest.fixture
def page(comparison: Comparison) -> str:
    return reverse("dataset_detail", args=[comparison.dataset.uid])


def test_pages_and_scripts_are_compressed(client: Client, alice: User, page: str) -> None:
    client.force_login(alice)
    for path in (page, "/static/css/base.css", "/static/js/page.js"):
        sent = client.get(path, headers=TAKES_IT)
        body = sent.getvalue()
        assert sent["Content-Encoding"] == "gzip", path
        plain = client.get(path).getvalue()
        assert len(body) < len(plain)
        assert len(gzip.decompress(body)) == pytest.approx(len(plain), rel=0.1)
        assert "Accept-Encoding" in sent["Vary"]


def test_exports_are_sent_as_they_are(client: Client, alice: User, page: str) -> None:
    client.force_login(alice)
    sent = client.get(f"{page}/export?format=jsonl", headers=TAKES_IT)
    assert "Content-Encoding" not in sent
    assert sent.getvalue().startswith(b'{"id"')
