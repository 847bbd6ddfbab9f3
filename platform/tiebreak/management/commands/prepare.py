"""Bring the database up to this release."""

import os
from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from tiebreak.accounts.models import User
from tiebreak.accounts.services import create_administrator


class Command(BaseCommand):
    help = "Apply migrations; with TIEBREAK_ADMIN_PASSWORD set, create the first administrator."

    def handle(self, *args: Any, **options: Any) -> None:
        executor = MigrationExecutor(connection)
        if executor.migration_plan(executor.loader.graph.leaf_nodes()):
            call_command("migrate", verbosity=0)
        password = os.environ.get("TIEBREAK_ADMIN_PASSWORD")
        if password and not User.objects.exists():
            create_administrator(username="admin", password=password, workspace_name="Workspace")
