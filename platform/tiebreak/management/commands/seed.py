"""Make up a large workspace, to try how this server behaves with it."""

import time
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from experiments.errors import InvalidError
from experiments.services.reports import add_up
from experiments.services.seeding import seed
from tiebreak.accounts.models import Workspace


class Command(BaseCommand):
    help = "Make up a dataset with two experiments and a judged comparison, of any size."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--judgments", type=int, default=100_000)
        parser.add_argument("--workspace", default="", help="its name; the first one if left out")

    def handle(self, *args: Any, **options: Any) -> None:
        workspaces = Workspace.objects.order_by("pk")
        name = options["workspace"]
        workspace = (workspaces.filter(name=name) if name else workspaces).first()
        if workspace is None:
            raise CommandError(
                f"There is no workspace named {name!r}." if name else "No workspace."
            )
        started = time.monotonic()
        total = options["judgments"]

        def told(done: int) -> None:
            rate = done / (time.monotonic() - started)
            self.stdout.write(f"\r{done:,} of {total:,} judgments, {rate:,.0f}/s", ending="")
            self.stdout.flush()

        try:
            made = seed(workspace, judgments=total, told=told)
        except InvalidError as error:
            raise CommandError(str(error)) from error
        add_up(made.comparison.evaluators.select_related("comparison").get())
        spent = time.monotonic() - started
        self.stdout.write(f"\n{made.dataset.name} in {spent:,.0f} s")
        self.stdout.write(f"/comparisons/{made.comparison.uid}")
