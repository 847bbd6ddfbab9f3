"""Reading an archive back: all of it or nothing, beside whatever the database holds already."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from shutil import copyfileobj
from typing import IO, Any
from uuid import UUID
from zipfile import BadZipFile, ZipFile

from django.db import connection, transaction
from django.db.models import Model

from experiments.backup.tables import FORMAT, TABLES, Table, schema
from experiments.backup.writing import PEOPLE
from experiments.copying import copy_rows
from experiments.errors import ConflictError, InvalidError
from experiments.models import Job
from experiments.rawjson import loads
from experiments.services.file_store import keep, local
from tiebreak.accounts.models import ApiKey, User, Workspace

OPEN = {Job.State.QUEUED, Job.State.RUNNING, Job.State.PAUSED}
Cells = list[str | None]


@dataclass
class Keys:
    """What primary keys become: those of a table move together, so nothing has to be remembered."""

    moved: dict[type[Model], tuple[int, int, int]] = field(default_factory=dict)
    people: dict[int, int] = field(default_factory=dict)
    workspace: int = 0

    def of(self, model: type[Model], text: str | None) -> str | None:
        """The new key; None for one that pointed nowhere."""
        if text is None:
            return None
        if model is Workspace:
            return str(self.workspace)
        if model is User:
            person = self.people.get(int(text))
            return None if person is None else str(person)
        low, high, by = self.moved.get(model, (1, 0, 0))
        return str(int(text) + by) if low <= int(text) <= high else None


def import_workspace(source: IO[bytes], *, name: str = "") -> Workspace:
    """Restore a workspace under its own ids; `name` is for when its name is taken."""
    try:
        with ZipFile(source) as archive:
            manifest = loads(archive.read("manifest.json"))
            _check(manifest)
            with transaction.atomic():
                return _restore(archive, manifest, name)
    except (BadZipFile, KeyError) as error:
        raise InvalidError("archive", f"is not a workspace's archive: {error}") from error


def _check(manifest: dict[str, Any]) -> None:
    if manifest["format"] != FORMAT:
        raise InvalidError("archive", f"has format {manifest['format']}, not {FORMAT}")
    other = set(manifest["schema"]) ^ set(schema())
    if other:
        raise InvalidError(
            "archive",
            f"comes from another release of Tiebreak: they differ in {', '.join(sorted(other))}",
        )


def _restore(archive: ZipFile, manifest: dict[str, Any], name: str) -> Workspace:
    workspace = _workspace(manifest["workspace"], name)
    keys = Keys(workspace=workspace.pk, people=_people(manifest["people"]))
    for table in TABLES:
        told = manifest["tables"][table.name]
        if told["keys"] is not None:
            _move(table, told["keys"], keys)
            _read_table(archive, table, keys)
        if table.rows(workspace).count() != told["rows"] and table.model is not ApiKey:
            raise InvalidError("archive", f"lacks rows of {table.name}")
    for path in archive.namelist():
        if path.startswith("files/"):
            _read_file(archive, path, workspace.uid)
    return workspace


def _workspace(told: dict[str, Any], name: str) -> Workspace:
    if Workspace.objects.filter(uid=told["uid"]).exists():
        raise ConflictError("This workspace is here already.")
    name = name or told["name"]
    if Workspace.objects.filter(name=name).exists():
        raise ConflictError(f"A workspace named {name!r} is here already; give another name.")
    uid, created_at = UUID(told["uid"]), datetime.fromisoformat(told["created_at"])
    return Workspace.objects.create(uid=uid, name=name, created_at=created_at)


def _people(told: list[dict[str, Any]]) -> dict[int, int]:
    """Members by user name; those who are unknown here come with their password's hash."""
    found: dict[int, int] = {}
    for person in told:
        values = {key: person[key] for key in PEOPLE if key != "username"}
        if not User.objects.filter(uid=person["uid"]).exists():
            values["uid"] = person["uid"]
        user, _ = User.objects.get_or_create(username=person["username"], defaults=values)
        found[person["pk"]] = user.pk
    return found


def _move(table: Table, ends: list[int], keys: Keys) -> None:
    """Where the table's rows go: behind the highest key, in one piece."""
    low, high = ends
    target = table.model._meta.pk.remote_field
    if target is not None:
        keys.moved[table.model] = keys.moved[target.model]
        return
    span = high - low + 1
    while True:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT min(taken), max(taken) FROM (SELECT nextval(pg_get_serial_sequence(%s,"
                " 'id')) AS taken FROM generate_series(1, %s)) AS all_taken",
                [table.model._meta.db_table, span],
            )
            first, last = cursor.fetchone()
        # Another write took keys in between: then these are not in one piece.
        if last - first + 1 == span:
            keys.moved[table.model] = (low, high, first - low)
            return


def _read_table(archive: ZipFile, table: Table, keys: Keys) -> None:
    with archive.open(f"tables/{table.name}.jsonl") as file:
        names = loads(file.readline())
        fields = {one.attname: one for one in table.fields}
        if set(names) != set(fields):
            raise InvalidError("archive", f"has other columns in {table.name}")
        targets = [_target(table, fields[name]) for name in names]
        rows = (
            [text if model is None else keys.of(model, text) for model, text in pairs]
            for line in file
            for pairs in [zip(targets, loads(line), strict=True)]
        )
        columns = [str(fields[name].column) for name in names]
        copy_rows(table.model, columns, _adjusted(table, names, rows, _known_keys()))


def _target(table: Table, one: Any) -> type[Model] | None:
    """Whose key the column holds; None for plain values."""
    if one.remote_field is not None:
        target: type[Model] = one.remote_field.model
        return target
    return table.model if one.primary_key else None


def _known_keys() -> set[str]:
    """The API keys that are here, as PostgreSQL writes them; during a COPY nothing can be asked."""
    digests = ApiKey.objects.values_list("digest", flat=True)
    return {"\\x" + bytes(digest).hex() for digest in digests}


def _adjusted(
    table: Table, names: list[str], rows: Iterator[Cells], known: set[str]
) -> Iterator[Cells]:
    """Nobody works on the jobs that were open, and a key that is known here stays as it is."""
    if table.model is Job:
        state = names.index("state")
        for row in rows:
            row[state] = Job.State.CANCELLED.value if row[state] in OPEN else row[state]
            yield row
    elif table.model is ApiKey:
        digest = names.index("digest")
        yield from (row for row in rows if row[digest] not in known)
    else:
        yield from rows


def _read_file(archive: ZipFile, path: str, workspace: UUID | str) -> None:
    """Files are kept under their digest; anything else in the archive is refused."""
    place = re.fullmatch(rf"files/(attachments/{workspace}/[0-9a-f]{{2}}/([0-9a-f]{{64}}))", path)
    if place is None:
        raise InvalidError("archive", f"holds a file of an odd name: {path[:200]}")
    location = local(place[1])
    location.parent.mkdir(parents=True, exist_ok=True)
    coming = location.with_suffix(".incoming")
    with archive.open(path) as source, coming.open("wb") as target:
        copyfileobj(source, target)
    with coming.open("rb") as written:
        fits = hashlib.file_digest(written, "sha256").hexdigest() == place[2]
    if not fits:
        coming.unlink()
        raise InvalidError("archive", f"holds a file that is not what it was: {path[:200]}")
    keep(coming, place[1])
