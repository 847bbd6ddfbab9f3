"""Files are recognised by what is in them."""

from __future__ import annotations

import pytest

from experiments.formats.recognition import really
from tests.formats.reading import FILES


@pytest.mark.parametrize(
    ("head", "name"),
    [
        (b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "a PNG image"),
        (b"\xff\xd8\xff\xe0\x00\x10JFIF", "a JPEG image"),
        (b"PAR1\x15\x04\x15", "a Parquet file"),
        (b"%PDF-1.7", "a PDF document"),
        (b"\x1f\x8b\x08\x00", "a gzip archive"),
        (b"\x28\xb5\x2f\xfd\x00", "a zstd archive"),
        (b"PK\x03\x04....notes.txt", "a ZIP archive"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1", "an old Excel or Word document"),
        (b"SQLite format 3\x00", "an SQLite database"),
        (b"RIFF\x00\x00\x00\x00WEBPVP8 ", "a WebP image"),
        (b"\xef\xbb\xbf<!DOCTYPE html><html>", "a web page (HTML)"),
        (b"<?xml version='1.0'?>", "an XML file"),
        (bytes(range(32)) * 40, "a binary file"),
    ],
)
def test_it_names_what_it_cannot_read(head: bytes, name: str) -> None:
    assert really(head) == name


def test_it_knows_a_renamed_workbook() -> None:
    assert really((FILES / "really_xlsx.csv").read_bytes()) == "an Excel workbook (.xlsx)"


@pytest.mark.parametrize(
    "head",
    [
        b"",
        b"BMW,Audi\n1,2\n",
        b"ORCHID,ROSE\n",
        b"question,answer\nnul,be\x00fore\n",
        "question\tanswer\n".encode("utf-16"),
        "question\tanswer\r\nja\tnein\r\n".encode("utf-16-be"),
        "質問,答え\n".encode("shift_jis"),
    ],
)
def test_it_lets_text_pass(head: bytes) -> None:
    assert really(head) is None
