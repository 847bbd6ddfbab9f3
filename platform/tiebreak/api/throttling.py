"""How often a key may ask, where the operator sets a limit."""

import time
from contextlib import suppress
from typing import Any

from django.conf import settings
from django.core.cache import cache
from redis.exceptions import RedisError
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from tiebreak.accounts.models import ApiKey

WINDOW = 60
# SDKs drop traces when they are told to wait, so bringing data in has a limit of its own.
INGEST = ("/runs", "/runs/batch", "/runs/multipart", "/feedback")


class KeyThrottle(BaseThrottle):
    """Requests of a key within a minute of the clock; without the cache nothing is refused."""

    def __init__(self) -> None:
        self.left: float | None = None

    def allow_request(self, request: Request, view: Any) -> bool:
        kind, limit = _limit(request)
        if not limit or not isinstance(request.auth, ApiKey):
            return True
        now = time.time()
        name = f"rate:{kind}:{request.auth.pk}:{int(now // WINDOW)}"
        count = 0
        with suppress(RedisError, ValueError):
            cache.add(name, 0, 2 * WINDOW)
            count = cache.incr(name)
        self.left = WINDOW - now % WINDOW
        return count <= limit

    def wait(self) -> float | None:
        return self.left


def _limit(request: Request) -> tuple[str, int]:
    """Which limit a request counts against; 0 is none."""
    path = request.path.rstrip("/")
    asks = request.method not in ("POST", "PATCH") or path.endswith(("/runs/query", "/runs/stats"))
    if not asks and (path.endswith(INGEST) or "/runs/" in path):
        return "ingest", settings.INGEST_REQUESTS_PER_MINUTE
    return "other", settings.REQUESTS_PER_MINUTE
