"""Fail when a model has changed without a migration; needs no database."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "platform"))

from tiebreak.cli import main

if __name__ == "__main__":
    main(["makemigrations", "--check", "--dry-run"])
