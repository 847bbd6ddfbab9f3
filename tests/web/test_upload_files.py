"""Awkward files come out as they were."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse

from tests.web.uploading import (
    address,
    check,
    page,
    payloads,
    sent,
    signed_in,
    store,
    upload_whole,
)
from tiebreak.accounts.models import User

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def client(alice: User) -> Client:
    return signed_in(alice)


@pytest.fixture(autouse=True)
def _own_files(settings, tmp_path: Path) -> None:
    settings.FILES_PATH = tmp_path


@pytest.mark.parametrize("name", ["semicolon.csv", "tabs.tsv"])
def test_it_stores_european_numbers_as_written(client: Client, name: str) -> None:
    upload = upload_whole(client, name)
    assert payloads(upload.dataset)[1] == (
        '{"question":"Price; with VAT?"}',
        '{"answer":"12,99 EUR"}',
        '{"weight":"1,0"}',
    )


def test_it_shows_the_delimiter_and_lets_it_be_changed(client: Client) -> None:
    upload = sent(client, "semicolon.csv")
    assert (
        '<option value="59" selected>semicolon ;</option>'
        in page(client, upload, "map").content.decode()
    )
    changed = {"format": "csv", "encoding": "utf-8", "delimiter": "44", "quote": '"'}
    assert client.post(address(upload, "layout"), changed).status_code == 302
    assert [line.column.name for line in page(client, upload, "map").context["lines"]] == [
        "question;answer;weight"
    ]


def test_it_reads_another_encoding_on_demand(client: Client) -> None:
    upload = sent(client, "cp1252.csv")
    shown = page(client, upload, "map").content.decode()
    assert "“Café” – how much?" in shown
    assert "its encoding is a guess" in shown
    client.post(
        address(upload, "layout"), {"format": "csv", "encoding": "koi8-r", "delimiter": "44"}
    )
    assert "Café" not in page(client, upload, "map").content.decode()
    client.post(
        address(upload, "layout"), {"format": "csv", "encoding": "cp1252", "delimiter": "44"}
    )
    upload = store(client, check(client, upload))
    assert payloads(upload.dataset)[0] == (
        '{"question":"“Café” – how much?"}',
        '{"answer":"5 €"}',
        None,
    )


def test_it_reads_utf16(client: Client) -> None:
    upload = upload_whole(client, "utf16.txt")
    assert payloads(upload.dataset)[0][0] == '{"question":"Straße?"}'


def test_it_names_odd_headers_before_anything_is_stored(client: Client) -> None:
    upload = sent(client, "dup_headers.csv")
    shown = page(client, upload, "map").content.decode()
    assert "The name “answer” stands in columns 2 and 3" in shown
    upload = store(client, check(client, upload, **{"role-4": "ignore"}))
    assert payloads(upload.dataset)[0] == (
        '{"question":"Q1","Question":"other case"}',
        '{"answer":"first"}',
        '{"answer 2":"second","notes":"n1"}',
    )


def test_it_makes_examples_without_outputs_and_passes_over_blank_lines(client: Client) -> None:
    upload = upload_whole(client, "one_column.csv")
    assert payloads(upload.dataset) == [
        ('{"question":"Only inputs here"}', None, None),
        ('{"question":"Second input"}', None, None),
    ]
    assert upload.options["stored"]["blank"] == 1


def test_it_stores_every_cell_as_written(client: Client) -> None:
    upload = upload_whole(client, "literals.csv")
    rows = payloads(upload.dataset)
    answers = [json.loads(outputs or "")["answer"] for _, outputs, _ in rows]
    assert answers == ["NA", "None", "null", "N/A", "nan", "03/04/2026", "-", ""]
    ids = [json.loads(metadata or "")["id"] for _, _, metadata in rows]
    assert ids == ["007", "3.10", "1e5", "TRUE", "0x1F", "2026-03-04", "9999999999999999", "-0"]


def test_it_keeps_nul_characters_and_half_surrogates(client: Client) -> None:
    upload = upload_whole(client, "nul_surrogate.jsonl")
    rows = payloads(upload.dataset)
    assert rows[0][1] == r'{"answer":"before\u0000after"}'
    assert rows[1][1] == r'{"answer":"cut emoji \ud83d"}'
    assert rows[3][1] == r'{"answer":"\ud83d\ude00 fine"}'
    assert rows[5] == ("{}", '{"answer":"x"}', r'{"key\u0000name":"nul in a key"}')
    assert upload.dataset is not None
    shown = client.get(reverse("dataset_detail", args=[upload.dataset.uid]))
    assert shown.status_code == 200


def test_it_keeps_a_nul_byte_of_a_csv_cell(client: Client) -> None:
    upload = upload_whole(client, "nul_byte.csv")
    assert payloads(upload.dataset)[1][1] == r'{"answer":"be\u0000fore"}'


def test_it_keeps_every_digit(client: Client) -> None:
    upload = upload_whole(client, "bigints.jsonl")
    rows = payloads(upload.dataset)
    assert rows[3][1] == '{"answer":12345678901234567890123}'
    assert rows[6][1:] == ('{"answer":1.0}', '{"copy":1.0}')


def test_it_reports_a_repeated_key_and_keeps_the_order_of_the_others(client: Client) -> None:
    upload = check(client, sent(client, "key_order.jsonl"))
    shown = page(client, upload, "check").content.decode()
    assert "the key “x” stands twice" in shown
    assert upload.problems == [
        {"line": 3, "column": "answer", "reason": "the key “x” stands twice"}
    ]
    upload = store(client, upload, "skip")
    first = payloads(upload.dataset)[0]
    assert first[1] == '{"answer":{"zeta_first": 1, "b": 2, "alpha_last": [3, 1, 2]}}'
    assert (upload.options["stored"]["rows"], upload.options["stored"]["skipped"]) == (2, 1)
