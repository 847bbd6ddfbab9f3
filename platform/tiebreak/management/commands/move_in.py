"""Copy everything from a LangSmith-compatible server into a workspace."""

import os
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from experiments.errors import ConflictError, InvalidError
from experiments.moving import Mover, client_for
from tiebreak.accounts.models import Workspace


class Command(BaseCommand):
    help = (
        "Copy datasets with their versions, experiments, runs, feedback and comparisons from a "
        "LangSmith-compatible server, and its tracing projects. Run it again to go on after a "
        "break."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--endpoint", required=True, help="address of its API")
        parser.add_argument("--api-key", help="else the variable LANGSMITH_API_KEY")
        parser.add_argument("--workspace", help="name of the workspace here; needless for one")
        parser.add_argument("--dataset", action="append", help="only this one; may be repeated")
        parser.add_argument(
            "--latest-only", action="store_true", help="leave earlier versions of examples out"
        )

        parser.add_argument(
            "--no-projects", action="store_true", help="leave projects without a dataset out"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        key = options["api_key"] or os.environ.get("LANGSMITH_API_KEY", "")
        if not key:
            raise CommandError("Give --api-key, or set LANGSMITH_API_KEY.")
        workspace = _workspace(options["workspace"])
        try:
            mover = Mover(
                client_for(options["endpoint"], key),
                workspace,
                say=self.stdout.write,
                history=not options["latest_only"],
                projects=not options["no_projects"],
            )
            counts = mover.move(options["dataset"])
        except InvalidError as error:
            raise CommandError(f"{error.field}: {error.message}") from error
        except ConflictError as error:
            raise CommandError(str(error)) from error
        told = ", ".join(f"{count:,} {noun}" for noun, count in counts.items()) or "nothing"
        self.stdout.write(f"Copied into {workspace.name}: {told}")


def _workspace(name: str | None) -> Workspace:
    rows = list(Workspace.objects.order_by("name"))
    found = [row for row in rows if name is None or row.name == name]
    if len(found) != 1:
        known = ", ".join(row.name for row in rows) or "none"
        raise CommandError(f"Name the workspace with --workspace. There are: {known}")
    return found[0]
