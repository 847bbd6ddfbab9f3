"""Cells that a spreadsheet would take for formulas: made harmless on the way out, and undone."""

from __future__ import annotations

import re

_FORMULA = re.compile(r"'*[=+\-@\t\r]")


def guarded(text: str) -> str:
    """A text no spreadsheet takes for a formula: an apostrophe goes before = + - @ tab and CR.

    One more goes before texts that have apostrophes there already; so `unguarded` undoes it.
    """
    return f"'{text}" if _FORMULA.match(text) else text


def unguarded(text: str) -> str:
    """The text that `guarded` was given."""
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text
