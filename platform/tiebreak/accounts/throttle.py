"""Slows down guessing: after five failures each further one doubles the wait."""

import hashlib
import time

from django.core.cache import cache

FREE_TRIES = 5
LONGEST_WAIT = 15 * 60
REMEMBERED = 24 * 3600


def _key(username: str, address: str) -> str:
    digest = hashlib.sha256(f"{username.lower()}\0{address}".encode()).hexdigest()
    return f"sign-in:{digest}"


def seconds_to_wait(username: str, address: str) -> int:
    """How long this name from this address must wait before it may try again."""
    failures, last = cache.get(_key(username, address), (0, 0.0))
    if failures < FREE_TRIES:
        return 0
    wait: int = min(LONGEST_WAIT, 2 ** (failures - FREE_TRIES + 1))
    waited: float = time.time() - last
    return max(0, round(wait - waited))


def note_failure(username: str, address: str) -> None:
    """Count a wrong password."""
    key = _key(username, address)
    failures, _ = cache.get(key, (0, 0.0))
    cache.set(key, (failures + 1, time.time()), REMEMBERED)


def forget_failures(username: str, address: str) -> None:
    """A right password clears the count."""
    cache.delete(_key(username, address))
