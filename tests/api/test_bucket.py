"""Attachments in a bucket that speaks S3: a tiny one, in this process."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from langsmith import Client

from experiments.services.attachments import store_file
from experiments.services.file_store import _connected, open_kept
from experiments.services.run_pieces import IncomingFile
from tests.factories import make_dataset
from tiebreak.accounts.models import Workspace

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def bucket(
    settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[dict[str, bytes]]:
    """What lies in the bucket, by its path."""
    held: dict[str, bytes] = {}

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_PUT(self) -> None:
            held[self.path.split("?")[0]] = self._body()
            self._answer(200, b"")

        def do_HEAD(self) -> None:
            found = held.get(self.path.split("?")[0])
            self._answer(404 if found is None else 200, found or b"", body=False)

        def do_GET(self) -> None:
            found = held.get(self.path.split("?")[0])
            self._answer(404 if found is None else 200, found or b"")

        def _body(self) -> bytes:
            raw = self.rfile.read(int(self.headers["Content-Length"]))
            if "aws-chunked" not in self.headers.get("Content-Encoding", ""):
                return raw
            size, _, rest = raw.partition(b"\r\n")
            return rest[: int(size.split(b";")[0], 16)]

        def _answer(self, status: int, content: bytes, *, body: bool = True) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.send_header("Last-Modified", "Mon, 30 Nov 2026 00:00:00 GMT")
            self.send_header("ETag", '"x"')
            self.end_headers()
            if body:
                self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    settings.FILES_PATH = tmp_path
    settings.ATTACHMENTS_BUCKET = "attached"
    settings.ATTACHMENTS_ENDPOINT = f"http://127.0.0.1:{server.server_port}"
    yield held
    _connected.cache_clear()
    server.shutdown()
    server.server_close()


def test_files_lie_in_the_bucket_and_come_back(
    bucket: dict[str, bytes], workspace: Workspace, tmp_path: Path
) -> None:
    kept = store_file(workspace, IncomingFile("a.txt", "text/plain", b"attached" * 1000))
    assert list(bucket) == [f"/attached/{kept.path}"]
    content = open_kept(kept.path)
    assert content is not None
    with content:
        assert content.read() == b"attached" * 1000
    assert open_kept(f"{kept.path}0") is None
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]
    store_file(workspace, IncomingFile("b.txt", "text/plain", b"attached" * 1000))
    assert len(bucket) == 1


def test_the_sdk_reads_them(bucket: dict[str, bytes], workspace: Workspace, client: Client) -> None:
    dataset = make_dataset(workspace, [])
    client.create_example(
        dataset_id=dataset.uid,
        inputs={"q": 1},
        outputs={"a": 2},
        attachments={"note": ("text/plain", b"from afar")},
    )
    example = next(client.list_examples(dataset_id=dataset.uid, include_attachments=True))
    assert example.attachments is not None
    assert example.attachments["note"]["reader"].read() == b"from afar"
    assert len(bucket) == 1
