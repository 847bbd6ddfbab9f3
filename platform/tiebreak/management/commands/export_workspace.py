"""Write a workspace into one archive."""

import os
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from experiments.backup.writing import export_workspace
from tiebreak.accounts.models import Workspace


class Command(BaseCommand):
    help = "Write a workspace into one archive, for import-workspace here or elsewhere."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("workspace", help="its name")
        parser.add_argument("archive", type=Path, help="the file to write")

    def handle(self, *args: Any, **options: Any) -> None:
        name, path = options["workspace"], options["archive"]
        workspace = Workspace.objects.filter(name=name).first()
        if workspace is None:
            known = ", ".join(Workspace.objects.order_by("name").values_list("name", flat=True))
            raise CommandError(f"There is no workspace named {name!r}. There are: {known}")
        coming = path.with_name(f"{path.name}.incoming")
        handle = os.open(coming, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "wb") as target:
            counts = export_workspace(workspace, target)
        coming.replace(path)
        self.stdout.write(f"{sum(counts.values()):,} rows of {name} are in {path}")
