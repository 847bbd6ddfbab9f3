"""A judge in a process of its own: OpenAI's chat completions, with a planted winner, counted.

The better answer holds GOOD-ANSWER; a prompt in which neither or both do is a tie.
Run `python stub_judge.py PORT DELAY_SECONDS`; `GET /stats` tells what it saw.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import sys
from collections import Counter

stats: Counter[str] = Counter()
prompts: Counter[str] = Counter()
in_flight = 0
delay = float(sys.argv[2]) if len(sys.argv) > 2 else 0.0
script: list[dict[str, object]] = json.loads(sys.argv[3]) if len(sys.argv) > 3 else []


def verdict(prompt: str) -> str:
    first, _, second = prompt.partition("<prediction_b-")
    good = ("GOOD-ANSWER" in first, "GOOD-ANSWER" in second)
    return {(True, False): "[[A]]", (False, True): "[[B]]"}.get(good, "[[C]]")


def answer(prompt: str) -> tuple[int, dict[str, str], bytes]:
    """A scripted reply whose `has` is in the prompt and whose `times` are left, else ours."""
    for number, rule in enumerate(script):
        if str(rule.get("has", "")) in prompt and stats[f"rule{number}"] < int(
            str(rule.get("times", 1 << 30))
        ):
            stats[f"rule{number}"] += 1
            if "status" in rule:
                headers = dict(rule.get("headers", {}))  # type: ignore[call-overload]
                return int(str(rule["status"])), headers, b'{"error": {"message": "scripted"}}'
            return 200, {}, completion(str(rule["reply"]))
    return 200, {}, completion(f"Because it is so.\n{verdict(prompt)}")


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
    global in_flight
    if head.startswith("GET"):
        seen_twice = sum(times > 1 for times in prompts.values())
        report = {**stats, "in_flight": in_flight, "seen_twice": seen_twice}
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
    in_flight += 1
    stats["max_in_flight"] = max(stats["max_in_flight"], in_flight)
    try:
        await asyncio.sleep(delay)
        send(writer, *answer(prompt))
        await writer.drain()
        stats["answered"] += 1
    finally:
        in_flight -= 1


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
