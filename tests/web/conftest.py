"""A headless Chromium against a live server."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, sync_playwright
from pytest_django.live_server_helper import LiveServer

from tests.web.chromium import ARGUMENTS, chromium
from tiebreak.accounts.models import User


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Closed with its module: while it is open, its event loop runs in this thread."""
    path = chromium()
    if path is None:
        pytest.fail("The browser tests need Chromium (Debian: apt-get install chromium).")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield opened
        opened.close()


@pytest.fixture
def alice_page(browser: Browser, live_server: LiveServer, alice: User) -> Iterator[Page]:
    """A page on which Alice has signed in; any console error or foreign request fails the test."""
    context = browser.new_context(base_url=live_server.url, viewport={"width": 1440, "height": 900})
    page = context.new_page()
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda told: faults.append(told.text) if told.type == "error" else None)
    page.on(
        "request",
        lambda asked: (
            None
            if re.match(rf"({live_server.url}|data:|blob:)", asked.url)
            else faults.append(asked.url)
        ),
    )
    page.goto("/sign-in")
    page.fill("[name=username]", "alice")
    page.fill("[name=password]", "correct horse battery")
    page.click("button.primary")
    page.wait_for_url("**/datasets")
    yield page
    context.close()
    assert faults == []
