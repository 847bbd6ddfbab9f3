"""Say how to sign in for the first time."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from tiebreak.accounts.first_run import setup_token
from tiebreak.accounts.models import User


class Command(BaseCommand):
    help = "Print the address at which the first administrator is created, until there is one."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--address", required=True)

    def handle(self, *args: Any, **options: Any) -> None:
        if not User.objects.exists():
            address = options["address"]
            self.stdout.write(f"  first run   {address}/setup?token={setup_token()}")
