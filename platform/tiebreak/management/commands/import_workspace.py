"""Restore a workspace from an archive."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from experiments.backup.restoring import import_workspace
from experiments.errors import ConflictError, InvalidError


class Command(BaseCommand):
    help = "Restore a workspace that export-workspace has written: all of it, or nothing."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("archive", type=Path)
        parser.add_argument("--name", default="", help="another name, when its own is taken")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            with options["archive"].open("rb") as source:
                workspace = import_workspace(source, name=options["name"])
        except (ConflictError, InvalidError, OSError) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"{workspace.name} is here, with its people and their roles")
