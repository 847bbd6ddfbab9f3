"""Filling prompts: one pass of literal substitution, with judged texts fenced off."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from evaluators.texts import as_text

PROMPTS = Path(__file__).parent / "prompts"
_NAME = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
# Unguessable marks for whoever gives no salt: another one in each process.
_PROCESS_SALT = secrets.token_bytes(32)


@cache
def prompt_file(name: str) -> str:
    """The text of a prompt that ships with the package."""
    return (PROMPTS / f"{name}.txt").read_text(encoding="utf-8").strip()


def variables(template: str) -> set[str]:
    """The `{names}` that stand in a template."""
    return set(_NAME.findall(template))


def fill(template: str, values: Mapping[str, str]) -> str:
    """The template with each known `{name}` replaced once; all other braces stay."""
    return _NAME.sub(lambda found: values.get(found[1], found[0]), template)


def nonce(texts: Iterable[str], salt: bytes | None = None) -> str:
    """A mark that none of the texts holds: the same for the same texts and salt."""
    texts = list(texts)
    digest = _digest("\0".join(texts), _PROCESS_SALT if salt is None else salt)
    while any(digest in text for text in texts):
        digest = _digest(digest, _PROCESS_SALT if salt is None else salt)
    return digest


def _digest(text: str, salt: bytes) -> str:
    content = text.encode("utf-8", "surrogatepass")
    return hmac.new(salt or b"-", content, hashlib.sha256).hexdigest()[:16]


def fenced(texts: Mapping[str, Any], salt: bytes | None = None) -> tuple[str, dict[str, str]]:
    """The mark, and each text between two lines that carry its name and the mark."""
    shown = {name: as_text(value) for name, value in texts.items()}
    mark = nonce(shown.values(), salt)
    return mark, {
        name: f"<{name}-{mark}>\n{text}\n</{name}-{mark}>" for name, text in shown.items()
    }
