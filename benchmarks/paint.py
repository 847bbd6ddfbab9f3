"""When a browser shows a comparison: its largest paint at several sizes, in one run.

    python -m benchmarks.paint [1000 100000]

Prints milliseconds from the click (median of seven) with an empty cache and with a warm one, and
the ratio to the smallest size. Needs Chromium.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Sequence

from playwright.sync_api import Browser, BrowserContext, sync_playwright

from benchmarks.pages import paths_of
from benchmarks.serving import serving, signed_in
from tests.web.chromium import ARGUMENTS, chromium

TIMES = 7
LARGEST_PAINT = """() => new Promise(done => {
    let last = 0;
    new PerformanceObserver(list => { for (const one of list.getEntries()) last = one.startTime })
        .observe({type: "largest-contentful-paint", buffered: true});
    setTimeout(() => done(last), 600);
})"""


def main(sizes: Sequence[int]) -> None:
    with serving() as server:
        session, workspace = signed_in(server)
        address = f"http://127.0.0.1:{server.port}"
        cookies = [(one.name, one.value or "") for one in session.cookies]
        pages = [address + paths_of(workspace, size)[0] for size in sizes]
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium(), args=ARGUMENTS)
            for name, keeps in (("empty cache", False), ("warm cache", True)):
                times = [_paint(browser, page, cookies, keeps=keeps) for page in pages]
                told = [f"{size:,}: {ms:.0f} ms" for size, ms in zip(sizes, times, strict=True)]
                print(f"{name:12} {', '.join(told)}, ratio {times[-1] / times[0]:.2f}")
            browser.close()


def _paint(
    browser: Browser, page: str, cookies: Sequence[tuple[str, str]], *, keeps: bool
) -> float:
    """The median over new windows, or over visits in one."""
    kept = _window(browser, page, cookies)
    spent = []
    for _ in range(TIMES):
        window = kept if keeps else _window(browser, page, cookies)
        opened = window.new_page()
        opened.goto(page)
        spent.append(float(opened.evaluate(LARGEST_PAINT)))
        opened.close()
    return statistics.median(spent)


def _window(browser: Browser, page: str, cookies: Sequence[tuple[str, str]]) -> BrowserContext:
    window = browser.new_context()
    window.add_cookies([{"name": name, "value": value, "url": page} for name, value in cookies])
    return window


if __name__ == "__main__":
    main([int(text) for text in sys.argv[1:]] or [1_000, 100_000])
