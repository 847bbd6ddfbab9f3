"""Slows down guessing: after five failures each further one doubles the wait."""

import contextlib
import hashlib
import time

from django.core.cache import cache
from redis.exceptions import RedisError

FREE_TRIES = 5
LONGEST_WAIT = 15 * 60
REMEMBERED = 24 * 3600


def _key(username: str, address: str) -> str:
    digest = hashlib.sha256(f"{username.lower()}\0{address}".encode()).hexdigest()
    return f"sign-in:{digest}"


def _failures(username: str, address: str) -> tuple[int, float]:
    """How often, and when last. People can sign in while the cache is away."""
    try:
        found: tuple[int, float] = cache.get(_key(username, address), (0, 0.0))
    except RedisError:
        return 0, 0.0
    return found


def seconds_to_wait(username: str, address: str) -> int:
    """How long this name from this address must wait before it may try again."""
    failures, last = _failures(username, address)
    if failures < FREE_TRIES:
        return 0
    wait: int = min(LONGEST_WAIT, 2 ** (failures - FREE_TRIES + 1))
    waited: float = time.time() - last
    return max(0, round(wait - waited))


def note_failure(username: str, address: str) -> None:
    """Count a wrong password."""
    failures, _ = _failures(username, address)
    with contextlib.suppress(RedisError):
        cache.set(_key(username, address), (failures + 1, time.time()), REMEMBERED)


def forget_failures(username: str, address: str) -> None:
    """A right password clears the count."""
    with contextlib.suppress(RedisError):
        cache.delete(_key(username, address))
