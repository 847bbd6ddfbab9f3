"""The `tiebreak` command."""

import os
import sys
from collections.abc import Sequence

HELP = """tiebreak: decide which of two LLM systems is better

  tiebreak serve             start the database, the broker, a worker and the web server
  tiebreak demo              the same, with a sample dataset and a comparison
  tiebreak compare A B …     compare two experiments of a server; a gate for CI
  tiebreak prepare           apply migrations (with servers of your own)
  tiebreak first_steps       print the address of the first run again
  tiebreak seed              make up a large workspace, to try things on
  tiebreak export-workspace  write a workspace into one archive
  tiebreak import-workspace  read it back
  tiebreak move-in           copy everything from a LangSmith-compatible server

Any other word is a management command of Django; `tiebreak <command> --help` says more."""


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
    if words in ([], ["help"], ["--help"], ["-h"]):
        print(HELP)
        return
    from django.core.management import execute_from_command_line

    execute_from_command_line(["tiebreak", *(words or ["help"])])


if __name__ == "__main__":
    main()
