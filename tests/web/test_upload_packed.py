"""Packed files: unpacked when they are honest, refused when they are not."""

from __future__ import annotations

import gzip
import io
import tracemalloc
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
import zstandard
from django.test import Client

from experiments.models import Upload
from tests.web.uploading import send, sent, signed_in
from tiebreak.accounts.models import User

ROWS = b"question,answer\n" + b"".join(b"Why %d?,So\n" % number for number in range(5000))


@pytest.fixture
def client(alice: User, settings: Any, tmp_path: Path) -> Client:
    settings.FILES_PATH = tmp_path
    return signed_in(alice)


def files_in(folder: Path) -> list[bytes]:
    return [path.read_bytes() for path in (folder / "uploads").iterdir()]


def zipped(**members: bytes) -> bytes:
    target = io.BytesIO()
    with ZipFile(target, "w", ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name.replace("__", "/"), data)
    return target.getvalue()


PACKED = {
    "rows.csv.gz": gzip.compress(ROWS),
    "rows.csv.zst": zstandard.compress(ROWS),
    "two frames.zst": zstandard.compress(ROWS[:999]) + zstandard.compress(ROWS[999:]),
    "rows.zip": zipped(folder__rows=ROWS, folder__=b""),
    "no ending": gzip.compress(ROWS),
}


@pytest.mark.parametrize("name", PACKED)
def test_it_reads_what_is_packed(client: Client, tmp_path: Path, name: str) -> None:
    upload = sent(client, name, PACKED[name])
    assert (upload.format, upload.size) == ("csv", len(ROWS))
    assert (
        upload.dataset_name == name.removesuffix(".csv.gz").removesuffix(".csv.zst").split(".")[0]
    )
    assert files_in(tmp_path) == [ROWS]


REFUSED = {
    "cut.gz": (gzip.compress(ROWS)[:-20], "broken or cut off"),
    "cut.zst": (zstandard.compress(ROWS)[:-20], "broken or cut off"),
    "cut.zip": (zipped(rows=ROWS)[:-30], "broken or cut off"),
    "two.zip": (zipped(a=ROWS, b=ROWS), "holds 2 files, not one"),
    "bomb.gz": (gzip.compress(b"a,b\n" * 20_000_000), "more than 200 times"),
    "bomb.zst": (zstandard.compress(b"a,b\n" * 20_000_000), "more than 200 times"),
    "bomb.zip": (zipped(rows=b"a,b\n" * 20_000_000), "more than 200 times"),
    "nested.gz": (gzip.compress(gzip.compress(ROWS)), "This is a gzip archive"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_it_refuses_what_is_broken_or_a_bomb(client: Client, tmp_path: Path, name: str) -> None:
    data, reason = REFUSED[name]
    tracemalloc.start()
    answer = send(client, name, data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert answer.status_code == 422
    assert reason in answer.content.decode()
    assert files_in(tmp_path) == []
    assert not Upload.objects.exists()
    assert peak < 48 * 1024 * 1024


def test_the_limit_counts_what_is_unpacked(client: Client, settings: Any, tmp_path: Path) -> None:
    settings.MAX_UPLOAD_BYTES = len(ROWS) - 1
    answer = send(client, "rows.csv.gz", PACKED["rows.csv.gz"])
    assert "which is the limit here" in answer.content.decode()
    assert files_in(tmp_path) == []
