"""Every screen of the demo in both themes and on a phone, as pictures to be looked at.

    make screenshots            # writes screenshots/NAME-{light,dark,phone}.png
    make screenshots README=1   # and the few of the README, small, into docs/images

Starts a demo with a folder and a port of its own, and ends it.
"""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from playwright.sync_api import Page, ViewportSize, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "platform")]

from tests.engine.processes import eventually, free_port  # noqa: E402
from tests.web.chromium import ARGUMENTS, chromium  # noqa: E402

WIDE: ViewportSize = {"width": 1280, "height": 800}
PHONE: ViewportSize = {"width": 400, "height": 800}
LOOKS: tuple[tuple[str, Literal["light", "dark"], ViewportSize], ...] = (
    ("light", "light", WIDE),
    ("dark", "dark", WIDE),
    ("phone", "light", PHONE),
)
# The few that the README shows, and in which look.
SHOWN = {
    "comparison": "light",
    "drawer": "dark",
    "report": "light",
    "launch": "dark",
    "side-by-side": "light",
}


@contextmanager
def demo() -> Iterator[tuple[str, str]]:
    """A demo's address and what it printed."""
    with tempfile.TemporaryDirectory(prefix="tiebreak-shots-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        command = [sys.executable, "-m", "tiebreak.cli", "demo", "--data", str(folder / "data")]
        port, log = free_port(), folder / "log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                [*command, "--port", str(port)], stdout=output, stderr=output, cwd=ROOT,
                env={"PATH": "/usr/bin:/bin", "PYTHONPATH": f"{ROOT}:{ROOT / 'platform'}"},
            )  # fmt: skip
        try:
            eventually(lambda: "Press Ctrl-C" in log.read_text(), 120, "the demo is ready")
            yield f"http://127.0.0.1:{port}", log.read_text()
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(60)


def sign_in(page: Page, text: str) -> None:
    page.goto("/sign-in")
    for label, field in (("user", "username"), ("password", "password")):
        found = re.search(rf"^{label}\s+(\S+)", text, re.M)
        assert found, f"the demo told no {label}"
        page.fill(f"[name={field}]", found[1])
    page.click("main button[type=submit], form button")
    page.wait_for_url("**/datasets**")


def screens(page: Page, text: str) -> dict[str, str]:
    """The address of each screen, by name."""
    comparison = _first(text, r"/comparisons/[0-9a-f-]{36}")
    dataset = _link(page, comparison, r"^/datasets/[0-9a-f-]{36}$")
    experiment = _link(page, f"{dataset}/experiments", r"^/experiments/[0-9a-f-]{36}$")
    experiments: list[str] = page.eval_on_selector_all(
        "input[name=exp]", "boxes => boxes.map(box => box.value)"
    )
    chosen = "&".join(f"exp={one}" for one in experiments[:2])
    run = _link(page, experiment, r"^/runs/[0-9a-f-]{36}$")
    row = _link(page, comparison, r"[?&]row=")
    beside = f"{dataset}/compare?{chosen}"
    return {
        "datasets": "/datasets",
        "share-dataset": f"{dataset}/share",
        "delete-dataset": f"{dataset}/delete",
        "examples": dataset,
        "example": _link(page, dataset, r"[?&]row=[0-9a-f-]{36}"),
        "new-example": f"{dataset}?row=new",
        "experiments": f"{dataset}/experiments",
        "experiments-ticked": f"{dataset}/experiments?{chosen}",
        "evaluate-ticked": f"/experiments/evaluate?{chosen}",
        "side-by-side": beside,
        "side-by-side-differences": f"{beside}&diff=base&meta=all",
        "side-by-side-drawer": _link(page, beside, r"[?&]row="),
        "launch": f"{dataset}/pairwise",
        "versions": f"{dataset}/versions",
        "experiment": experiment,
        "run": run,
        "comparison": comparison,
        "comparison-swapped": f"{comparison}?swap=1&out=a",
        "differences": f"{comparison}?diff=1",
        "drawer": row,
        "report": f"{comparison}/report",
        "leaderboards": "/leaderboards",
        "leaderboard": dataset.replace("/datasets/", "/leaderboards/"),
        "all-experiments": "/experiments",
        "evaluators": "/evaluators",
        "upload": "/uploads/new",
        "settings": "/settings",
    }


def _first(text: str, pattern: str) -> str:
    found = re.search(pattern, text)
    assert found, pattern
    return found[0]


def _link(page: Page, path: str, pattern: str) -> str:
    """The first link of a page that is like this."""
    page.goto(path)
    links: list[str] = page.eval_on_selector_all(
        "a[href]", "links => links.map(link => link.getAttribute('href'))"
    )
    return next(link for link in links if re.search(pattern, link))


def main(for_readme: bool) -> None:
    folder, small = ROOT / "screenshots", ROOT / "docs" / "images"
    folder.mkdir(exist_ok=True)
    with demo() as (address, text), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=ARGUMENTS)
        page = browser.new_page(base_url=address, viewport=WIDE)
        sign_in(page, text)
        for name, path in screens(page, text).items():
            for look, scheme, size in LOOKS:
                page.set_viewport_size(size)
                page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
                page.goto(path)
                page.wait_for_load_state("networkidle")
                page.screenshot(path=folder / f"{name}-{look}.png", full_page=True)
                if for_readme and SHOWN.get(name) == look:
                    small.mkdir(exist_ok=True)
                    page.screenshot(path=small / f"{name}.jpg", type="jpeg", quality=72)
            print(name, path)
        browser.close()


if __name__ == "__main__":
    main("--readme" in sys.argv)
