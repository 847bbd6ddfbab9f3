"""What the SDKs raise, as our own few errors; nothing the server sent gets into their texts."""

from __future__ import annotations

import math
import re
import time
from email.utils import parsedate_to_datetime
from typing import Any

from evaluators.errors import (
    BadKey,
    ContextOverflow,
    MissingExtra,
    ModelError,
    ModelTimeout,
    ProviderError,
    RateLimited,
)

_OVERFLOW = re.compile(
    r"context[ _](?:length|window|size)|maximum context|prompt is too long|too many tokens|"
    r"input (?:is )?too long|exceeds? (?:the )?(?:available )?context|string_above_max_length",
    re.I,
)


def as_model_error(error: Exception) -> ModelError:
    """One of our errors for any exception of a call."""
    if isinstance(error, MissingExtra):
        raise error
    known = known_failure(error)
    return known or ProviderError(f"The call to the model failed ({type(error).__name__}).")


def known_failure(error: Exception) -> ModelError | None:
    """One of our errors for an exception that tells a vendor's failure; None for any other."""
    if isinstance(error, ModelError):
        return error
    status = getattr(error, "status_code", None)
    if isinstance(status, int):
        return _by_status(error, status)
    names = {cls.__name__ for cls in type(error).__mro__}
    if names & {"APITimeoutError", "TimeoutException", "TimeoutError"}:
        return ModelTimeout("The model did not answer in time.")
    if "APIConnectionError" in names:
        return ProviderError("The model's server could not be reached.")
    return None


def _by_status(error: Exception, status: int) -> ModelError:
    if status == 429:
        return RateLimited(retry_after=retry_after(_headers(error)))
    if status in (401, 403):
        return BadKey(f"The model's server refused the key (HTTP {status}).")
    if status in (408, 504):
        return ModelTimeout(f"The model did not answer in time (HTTP {status}).")
    if status == 413 or (status in (400, 422) and _is_overflow(error)):
        return ContextOverflow("The prompt is too long for the model.")
    return ProviderError(f"The model's server answered HTTP {status}.", status)


def _is_overflow(error: Exception) -> bool:
    return bool(_OVERFLOW.search(f"{getattr(error, 'code', '')} {error}"))


def _headers(error: Exception) -> Any:
    return getattr(getattr(error, "response", None), "headers", None) or {}


def retry_after(headers: Any) -> float | None:
    """The seconds that a server asks to wait, None if it does not say."""
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        seconds = _seconds(headers.get(name, ""))
        if seconds is not None:
            return max(0.0, seconds * scale)
    return None


def _seconds(text: str) -> float | None:
    """A number as it is, a date as the time until then; None for anything else."""
    try:
        number = float(text)
    except ValueError:
        return _until(text)
    return number if math.isfinite(number) else None


def _until(date: str) -> float | None:
    try:
        return parsedate_to_datetime(date).timestamp() - time.time()
    except (ValueError, OverflowError):
        return None
