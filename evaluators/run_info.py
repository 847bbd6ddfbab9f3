"""What a call tells about itself on request, as LangChain's chains do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid4


@dataclass(frozen=True)
class RunInfo:
    """An id, and the `Reply` (text, tokens, cost, seconds) if a model was asked."""

    run_id: UUID = field(default_factory=uuid4)
    reply: Any = None


def with_run_info(
    result: dict[str, Any], arguments: Mapping[str, Any], reply: Any = None
) -> dict[str, Any]:
    """The result, with `__run` if the call asked for it by `include_run_info=True`."""
    if not arguments.get("include_run_info"):
        return result
    return {**result, "__run": RunInfo(reply=reply)}
