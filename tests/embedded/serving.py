"""`tiebreak demo` and `serve` as a user starts them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.engine.processes import ROOT, eventually


class Serving:
    """A `tiebreak` process with its output."""

    def __init__(self, command: str, data: Path, port: int, **env: str) -> None:
        self.log = data.parent / f"{command}-{port}-{time.monotonic_ns()}.log"
        clean = {key: value for key, value in os.environ.items() if "TIEBREAK" not in key}
        clean["PYTHONPATH"] = f"{ROOT}:{ROOT / 'platform'}"
        words = [sys.executable, "-m", "tiebreak.cli", command, "--data", str(data)]
        with self.log.open("wb") as output:
            self.process = subprocess.Popen(
                [*words, "--port", str(port)],
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**clean, **env},
                cwd=data.parent,
            )

    def text(self) -> str:
        return self.log.read_text()

    def wait_for(self, words: str, seconds: float = 90) -> str:
        def found() -> bool:
            assert self.process.poll() is None or words in self.text(), self.text()
            return words in self.text()

        eventually(found, seconds, words)
        return self.text()

    def stop(self) -> int:
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(40)
