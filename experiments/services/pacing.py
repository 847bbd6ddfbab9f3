"""How fast a provider may be called: one pace for all lanes of all workers, kept in PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterable

from django.db import connection

from experiments.models import Provider

RESERVE = """
INSERT INTO experiments_pace AS pace (provider_id, next_at)
VALUES (%(provider)s, now() + %(span)s * interval '1 second')
ON CONFLICT (provider_id) DO UPDATE
SET next_at = greatest(pace.next_at, now()) + %(span)s * interval '1 second'
RETURNING extract(epoch FROM next_at - now())::float8 - %(span)s
"""
BLOCK = """
INSERT INTO experiments_pace AS pace (provider_id, next_at, blocked_until)
VALUES (%(provider)s, now(), now() + %(span)s * interval '1 second')
ON CONFLICT (provider_id) DO UPDATE
SET blocked_until = greatest(coalesce(pace.blocked_until, now()), excluded.blocked_until)
"""
BLOCKED = """
SELECT provider_id, extract(epoch FROM blocked_until - now())::float8
FROM experiments_pace WHERE provider_id = ANY(%s) AND blocked_until > now()
"""


def seconds_between_calls(provider: Provider, tokens: float) -> float:
    """The distance between calls that keeps to both limits; 0 when there is none.

    `tokens` is what one call takes, read and written together.
    """
    requests = 60 / provider.requests_per_minute if provider.requests_per_minute else 0.0
    by_tokens = 60 * tokens / provider.tokens_per_minute if provider.tokens_per_minute else 0.0
    return max(requests, by_tokens)


def reserve_moments(provider_id: int, seconds: float) -> float:
    """Take the next free stretch of so many seconds; how long it is until it begins."""
    with connection.cursor() as cursor:
        cursor.execute(RESERVE, {"provider": provider_id, "span": seconds})
        return max(0.0, float(cursor.fetchone()[0]))


def block(provider_id: int, seconds: float) -> None:
    """Let nobody call a provider that asked to wait for so many seconds."""
    with connection.cursor() as cursor:
        cursor.execute(BLOCK, {"provider": provider_id, "span": seconds})


def blocked_for(provider_ids: Iterable[int]) -> dict[int, float]:
    """Seconds that providers are still to be left alone; those that may be called are absent."""
    with connection.cursor() as cursor:
        cursor.execute(BLOCKED, [list(provider_ids)])
        return dict(cursor.fetchall())
