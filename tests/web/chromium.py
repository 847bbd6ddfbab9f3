"""Where Chromium is, and how it is started: headless, silent, asking nobody for anything."""

import shutil

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def chromium() -> str | None:
    """The installed browser; None when there is none."""
    return shutil.which("chromium") or shutil.which("chromium-browser")
