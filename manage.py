#!/usr/bin/env python
"""Run a management command from this checkout."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "platform"))

from tiebreak.cli import main

if __name__ == "__main__":
    main()
