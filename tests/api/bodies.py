"""Bodies as the SDKs build them, for tests that send them by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

CASES = Path(__file__).parent / "cases"
BOUNDARY = "0123456789abcdef0123456789abcdef"
START = "2026-03-02T09:00:00.000000+00:00"
END = "2026-03-02T09:00:01.500000+00:00"


def case(name: str) -> Any:
    return json.loads((CASES / f"{name}.json").read_text())


def run_body(uid: UUID | str | None = None, **changes: Any) -> dict[str, Any]:
    """A finished root run."""
    uid = str(uid or uuid4())
    body = {
        "id": uid,
        "trace_id": uid,
        "dotted_order": f"20260302T090000000000Z{uid}",
        "name": "target",
        "run_type": "chain",
        "session_name": "project",
        "start_time": START,
        "end_time": END,
        "inputs": {"question": "q"},
        "outputs": {"answer": "a"},
    }
    return {key: value for key, value in (body | changes).items() if value != "left out"}


def json_part(name: str, value: Any) -> tuple[str, str, bytes]:
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    return name, "application/json", data


def multipart(*parts: tuple[str, str, bytes], boundary: str = BOUNDARY) -> bytes:
    """Parts without file names, as the Python SDK sends them."""
    lines = b""
    for name, content_type, data in parts:
        lines += (
            f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n'
            f"Content-Type: {content_type}\r\nContent-Length: {len(data)}\r\n\r\n"
        ).encode()
        lines += data + b"\r\n"
    return lines + f"--{boundary}--\r\n".encode()


HEADERS = {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"}
