"""The upload in a real browser: live preview, keyboard, drag and drop, a job by a real worker."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from experiments.models import Dataset
from tests.engine.processes import Worker
from tests.formats.reading import FILES
from tests.web.uploading import payloads

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def choose(page: Page, name: str) -> None:
    page.goto("/uploads/new")
    page.set_input_files("#id_file", FILES / name)
    page.click("#upload-button")
    page.wait_for_url("**step=map")


def test_a_file_goes_in_from_the_first_step_to_the_dataset(
    alice_page: Page, tmp_path: Path
) -> None:
    page = alice_page
    page.goto("/datasets")
    page.click("text=Upload a file")
    page.set_input_files("#id_file", FILES / "semicolon.csv")
    assert page.input_value("#id_dataset_name") == "semicolon"
    page.click("#upload-button")
    page.wait_for_url("**step=map")
    preview = page.locator("#preview")
    expect(preview).to_contain_text('"weight": "0,75"')
    page.select_option("#role-2", "output")
    page.fill("#key-2", "importance")
    expect(preview.locator("td:nth-child(3)").first).to_contain_text('"importance": "0,75"')
    page.reload()
    assert page.input_value("#key-2") == "importance"
    page.click("text=Check the whole file")
    page.wait_for_url("**step=check")
    page.go_back()
    assert page.input_value("#key-2") == "importance"
    page.click("text=Check the whole file")
    with Worker(log=tmp_path / "log"):
        page.click("text=Store 3 examples")
        expect(page.locator("#done-title")).to_have_text("3 examples stored", timeout=30_000)
    page.click("text=Open semicolon")
    expect(page.locator("#list tbody tr")).to_have_count(3)
    expect(page.locator("#list")).to_contain_text("Price; with VAT?")
    assert payloads(Dataset.objects.get())[1][1] == '{"answer":"12,99 EUR","importance":"1,0"}'


def test_the_delimiter_is_changed_with_the_keyboard_and_the_columns_follow(
    alice_page: Page,
) -> None:
    page = alice_page
    choose(page, "semicolon.csv")
    page.focus("#id_delimiter")
    page.keyboard.type("comma")
    page.keyboard.press("Tab")
    expect(page.locator("#mapping tbody th").first).to_have_text("question;answer;weight")
    expect(page.locator(".mapping tbody tr")).to_have_count(1)


def test_it_names_a_wrong_mapping_while_it_is_made(alice_page: Page) -> None:
    page = alice_page
    choose(page, "bom_crlf.csv")
    page.select_option("#role-0", "ignore")
    expect(page.locator("#preview [role=alert]")).to_contain_text("must be an input")
    page.select_option("#role-0", "input")
    expect(page.locator("#preview tbody tr")).to_have_count(3)


def test_a_file_can_be_dropped_and_its_name_is_only_text(alice_page: Page) -> None:
    page = alice_page
    dialogs: list[str] = []
    page.on("dialog", lambda dialog: dialogs.append(dialog.message))
    page.goto("/uploads/new")
    page.evaluate(
        """() => {
          const files = new DataTransfer();
          const text = "question,answer\\n<img src=x onerror=alert(2)>,4\\n";
          files.items.add(new File([text], "<img src=x onerror=alert(1)>.csv"));
          const drop = new DragEvent("drop", { dataTransfer: files, bubbles: true });
          document.getElementById("drop").dispatchEvent(drop);
        }"""
    )
    page.click("#upload-button")
    page.wait_for_url("**step=map")
    expect(page.locator("h1")).to_have_text("<img src=x onerror=alert(1)>.csv")
    expect(page.locator("#preview")).to_contain_text("<img src=x onerror=alert(2)>")
    page.click("text=Check the whole file")
    page.wait_for_url("**step=check")
    assert page.locator("main img").count() == 0
    assert dialogs == []


def test_a_file_above_the_limit_is_not_even_sent(alice_page: Page, settings) -> None:
    settings.MAX_UPLOAD_BYTES = 10
    page = alice_page
    page.goto("/uploads/new")
    page.set_input_files("#id_file", FILES / "semicolon.csv")
    expect(page.locator("#id_file_error")).to_contain_text("larger than 10 bytes")
    expect(page.locator("#upload-button")).to_be_disabled()
