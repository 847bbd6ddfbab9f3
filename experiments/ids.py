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


def uuid7s(count: int) -> list[uuid.UUID]:
    """So many of them at once, in ascending order."""
    stamp = time.time_ns() // 1_000_000
    high = (stamp << 16 | 0x7000) << 64
    noise = os.urandom(8 * count)
    # The twelve bits behind the version and those after them count up, as the RFC allows.
    return [
        uuid.UUID(
            int=high
            | (number >> 16) << 64
            | 0b10 << 62
            | (number & 0xFFFF) << 46
            | int.from_bytes(noise[8 * number : 8 * number + 8], "big") >> 18
        )
        for number in range(count)
    ]
