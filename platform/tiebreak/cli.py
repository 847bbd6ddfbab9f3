"""The `tiebreak` command."""

import os
import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> None:
    """Run `serve`, `demo`, `compare` or any management command."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    words[:1] = [word if word[:1] == "-" else word.replace("-", "_") for word in words[:1]]
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tiebreak.settings")
    if words and words[0] in ("serve", "demo"):
        from tiebreak.embedded.supervisor import run

        sys.exit(run(words))
    if words and words[0] == "compare":
        from tiebreak.cli_compare import run as compare

        sys.exit(compare(words[1:]))
    from django.core.management import execute_from_command_line

    execute_from_command_line(["tiebreak", *(words or ["help"])])


if __name__ == "__main__":
    main()
