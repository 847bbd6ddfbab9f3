"""Several criteria in one call: a verdict on each beside the one on all."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from evaluators.llm.cleaning import clean
from evaluators.llm.scales import YES_NO

REQUEST = "Before the last line write a line for each of these, with its name, a colon and Y or N."
FIELD = "criteria"


def scores(reply: str, names: Iterable[str]) -> dict[str, int]:
    """1 or 0 for each name on which a reply holds a verdict; the last one on a name counts."""
    text = clean(reply).text
    found = {name: [*_in_objects(text, name), *_in_lines(text, name)] for name in names}
    return {name: int(verdicts[-1] == "Y") for name, verdicts in found.items() if verdicts}


def _in_lines(text: str, name: str) -> Iterator[Any]:
    line = rf"^[\s*_`\"'#>|\d.)-]*{re.escape(name)}[\s*_`\"']*[:=|][\s*_`\"'(\[]*(yes|no|y|n)\b"
    for match in re.finditer(line, text, re.I | re.M):
        yield YES_NO.meaning(match[1])


def _in_objects(text: str, name: str) -> Iterator[Any]:
    decoder = json.JSONDecoder(strict=False)
    for match in re.finditer(r"\{", text[:100_000]):
        try:
            value = decoder.raw_decode(text, match.start())[0]
        except (ValueError, RecursionError):
            continue
        held = value.get(FIELD) if isinstance(value, dict) else None
        verdict = YES_NO.read(held.get(name)) if isinstance(held, dict) and name in held else None
        if verdict is not None:
            yield verdict


def with_each(schema: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """The JSON schema of a reply that gives a verdict on each criterion too."""
    verdict = {"enum": list(YES_NO.choices)}
    each = {
        "type": "object",
        "properties": dict.fromkeys(names, verdict),
        "required": list(names),
        "additionalProperties": False,
    }
    parts = schema["properties"]
    properties = {"reasoning": parts["reasoning"], FIELD: each, "verdict": parts["verdict"]}
    return {**schema, "properties": properties, "required": list(properties)}
