"""A judge in a process of its own: OpenAI's chat completions, with a planted winner, counted.

The better answer holds GOOD-ANSWER; a prompt in which neither or both do is a tie.
Run `python stub_judge.py PORT DELAY_SECONDS SCRIPT`; `GET /stats` tells what it saw, `GET /times`
when calls began. A rule of the script answers what has its `has`, at most `times` times, with its
`reply`, its `status` and `headers`, its `raw` body, or by closing the connection (`close`), after
its `delay`.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import sys
import time
from collections import Counter
from typing import Any

stats: Counter[str] = Counter()
prompts: Counter[str] = Counter()
open_calls: set[asyncio.StreamReader] = set()
delay = float(sys.argv[2]) if len(sys.argv) > 2 else 0.0
times: list[float] = []
script: list[dict[str, Any]] = json.loads(sys.argv[3]) if len(sys.argv) > 3 else []


def in_flight() -> int:
    """The calls under way whose callers still wait."""
    return sum(not reader.at_eof() and not reader.exception() for reader in open_calls)


def verdict(prompt: str) -> str:
    first, _, second = prompt.partition("<prediction_b-")
    good = ("GOOD-ANSWER" in first, "GOOD-ANSWER" in second)
    return {(True, False): "[[A]]", (False, True): "[[B]]"}.get(good, "[[C]]")


def rule_for(prompt: str) -> dict[str, Any]:
    """The first rule of the script whose `has` is in the prompt and whose `times` are left."""
    for number, rule in enumerate(script):
        known = stats[f"rule{number}"]
        if rule.get("has", "") in prompt and known < rule.get("times", known + 1):
            stats[f"rule{number}"] += 1
            return rule
    return {}


def answer(prompt: str, rule: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
    """What the rule says, else our own verdict."""
    if "raw" in rule:
        return rule.get("status", 200), {}, rule["raw"].encode()
    if "status" in rule:
        return rule["status"], rule.get("headers", {}), b'{"error": {"message": "scripted"}}'
    return 200, {}, completion(rule.get("reply", f"Because it is so.\n{verdict(prompt)}"))


def completion(text: str) -> bytes:
    choice = {
        "index": 0,
        "finish_reason": "stop",
        "message": {"role": "assistant", "content": text},
    }
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
    return json.dumps(
        {
            "id": "x",
            "object": "chat.completion",
            "created": 0,
            "model": "stub",
            "choices": [choice],
            "usage": usage,
        }
    ).encode()


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while head := await reader.readuntil(b"\r\n\r\n"):
            await respond(head.decode(), reader, writer)
    except (asyncio.IncompleteReadError, ConnectionError):
        stats["cut"] += 1
    finally:
        writer.close()


async def respond(head: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    if head.startswith("GET /times"):
        send(writer, 200, {}, json.dumps(times).encode())
        return
    if head.startswith("GET"):
        seen_twice = sum(times > 1 for times in prompts.values())
        report = {**stats, "in_flight": in_flight(), "seen_twice": seen_twice}
        send(writer, 200, {}, json.dumps(report).encode())
        return
    length = next(
        int(line.split(":")[1])
        for line in head.split("\r\n")
        if line.lower().startswith("content-length")
    )
    body = json.loads(await reader.readexactly(length))
    prompt = "\n".join(str(message["content"]) for message in body["messages"])
    prompts[hashlib.sha256(prompt.encode()).hexdigest()] += 1
    stats["calls"] += 1
    times.append(time.time())
    open_calls.add(reader)
    stats["max_in_flight"] = max(stats["max_in_flight"], in_flight())
    rule = rule_for(prompt)
    try:
        await asyncio.sleep(rule.get("delay", delay))
        if rule.get("close"):
            writer.transport.abort()
            return
        send(writer, *answer(prompt, rule))
        await writer.drain()
        stats["answered"] += 1
    finally:
        open_calls.discard(reader)


def send(writer: asyncio.StreamWriter, status: int, headers: dict[str, str], body: bytes) -> None:
    lines = [
        f"HTTP/1.1 {status} X",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
    ]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    writer.write(("\r\n".join(lines) + "\r\n\r\n").encode() + body)


async def main() -> None:
    server = await asyncio.start_server(
        serve, "127.0.0.1", int(sys.argv[1]), backlog=2048, limit=1 << 24
    )
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
