"""Identifiers that sort by the time they were made."""

import os
import time
import uuid


def uuid7() -> uuid.UUID:
    """A UUID of version 7 (RFC 9562): 48 bits of Unix milliseconds, then 74 random bits."""
    stamp = time.time_ns() // 1_000_000
    noise = int.from_bytes(os.urandom(10), "big")
    high = (stamp << 16) | 0x7000 | (noise >> 68 & 0xFFF)
    low = (0b10 << 62) | (noise & (1 << 62) - 1)
    return uuid.UUID(int=(high << 64) | low)
