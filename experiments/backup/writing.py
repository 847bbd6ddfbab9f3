"""Writing a workspace into an archive, from one snapshot of the database."""

from __future__ import annotations

from shutil import copyfileobj
from typing import IO, Any
from zipfile import ZIP_DEFLATED, ZipFile

from django.db import connection, transaction
from django.db.models import F, Max, Min, TextField
from django.db.models.functions import Cast

from experiments.backup.tables import FORMAT, TABLES, Table, schema
from experiments.models import Attachment
from experiments.rawjson import dumps
from experiments.services.file_store import open_kept
from tiebreak.accounts.models import User, Workspace

CHUNK = 2_000
PEOPLE = ("username", "first_name", "last_name", "email", "password", "is_active")


def export_workspace(workspace: Workspace, target: IO[bytes]) -> dict[str, int]:
    """Write everything the workspace holds; the answer counts the rows of each table."""
    with transaction.atomic(), ZipFile(target, "w", ZIP_DEFLATED) as archive:
        if len(connection.savepoint_ids) == 0:
            with connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        counts = {table.name: _write_table(archive, table, workspace) for table in TABLES}
        _write_files(archive, workspace)
        archive.writestr("manifest.json", dumps(_manifest(workspace, counts)))
    return counts


def _manifest(workspace: Workspace, counts: dict[str, int]) -> dict[str, Any]:
    people = User.objects.filter(memberships__workspace=workspace)
    return {
        "format": FORMAT,
        "schema": schema(),
        "workspace": {
            "uid": str(workspace.uid),
            "name": workspace.name,
            "created_at": workspace.created_at.isoformat(),
        },
        "people": [
            {"pk": user.pk, "uid": str(user.uid), **{name: getattr(user, name) for name in PEOPLE}}
            for user in people.order_by("pk")
        ],
        "tables": {
            table.name: {"rows": counts[table.name], "keys": _keys(table, workspace)}
            for table in TABLES
        },
    }


def _keys(table: Table, workspace: Workspace) -> list[int] | None:
    """The lowest and the highest primary key."""
    ends = table.rows(workspace).aggregate(low=Min("pk"), high=Max("pk"))
    return None if ends["low"] is None else [ends["low"], ends["high"]]


def _write_table(archive: ZipFile, table: Table, workspace: Workspace) -> int:
    """A line per row: the values as PostgreSQL writes them, in the order of the first line."""
    names = [field.attname for field in table.fields]
    texts = {f"_{name}": Cast(F(name), TextField()) for name in names}
    rows = table.rows(workspace).order_by("pk").annotate(**texts).values_list(*texts)
    count = 0
    with archive.open(f"tables/{table.name}.jsonl", "w", force_zip64=True) as file:
        file.write(f"{dumps(names)}\n".encode())
        for row in rows.iterator(chunk_size=CHUNK):
            file.write(f"{dumps(row)}\n".encode())
            count += 1
    return count


def _write_files(archive: ZipFile, workspace: Workspace) -> None:
    rows = Attachment.objects.filter(workspace=workspace).order_by("path")
    for path in rows.values_list("path", flat=True).distinct().iterator(chunk_size=CHUNK):
        content = open_kept(path)
        if content is not None:
            with content, archive.open(f"files/{path}", "w", force_zip64=True) as target:
                copyfileobj(content, target)
