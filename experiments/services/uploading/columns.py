"""What becomes of each column of a file: its role, its key, and whether its cells are JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from django.db.models import TextChoices

from experiments.formats.surveys import Survey
from experiments.rawjson import loads


class Role(TextChoices):
    INPUT = "input", "Input"
    OUTPUT = "output", "Reference output"
    METADATA = "metadata", "Metadata"
    SPLIT = "split", "Split"
    ID = "id", "Example id"
    SCORE = "score", "Score"
    IGNORE = "ignore", "Ignore"


KEYED = {Role.INPUT, Role.OUTPUT, Role.METADATA, Role.ID, Role.SCORE}
MAX_KEY = 400
MAX_PATH = 10
MAX_PATHS = 100
_NAMES = {
    Role.INPUT: (
        "question input inputs prompt query instruction text user message messages "
        "context problem request task"
    ),
    Role.OUTPUT: (
        "answer answers output outputs expected expected_output expected_answer reference "
        "references reference_output reference_outputs reference_answer ground_truth target "
        "gold ideal label completion response solution correct_answer"
    ),
    Role.METADATA: "metadata meta",
    Role.SPLIT: "split splits dataset_split fold",
    Role.ID: "id uid uuid example_id",
}
_ROLE_OF = {name: role for role, names in _NAMES.items() for name in names.split()}
_PREFIXED = re.compile(r"(inputs?|outputs?|reference_outputs?|metadata)[._](.+)", re.DOTALL)
_WHOLE = {"input", "inputs", "output", "outputs", "reference_outputs", "expected", "metadata"}


@dataclass(frozen=True)
class Column:
    """One column; an empty key takes the members of an object instead of the object.

    With a `path` it is a value inside a column: the column's name, then key after key.
    """

    name: str
    role: str
    key: str
    parse: bool = False
    path: tuple[str, ...] = ()


def pack(columns: Sequence[Column]) -> dict[str, Any]:
    """For the database, as one text: names may hold what a `jsonb` value cannot."""
    return {"columns": json.dumps([asdict(column) for column in columns])}


def unpack(stored: Mapping[str, Any]) -> list[Column]:
    columns = json.loads(stored.get("columns", "[]"))
    return [Column(**column | {"path": tuple(column.get("path", ()))}) for column in columns]


def nested(path: Sequence[str]) -> Column:
    """The column of a value inside another column, an input at first."""
    return Column(".".join(path), Role.INPUT, path[-1], path=tuple(path))


def guess_columns(
    survey: Survey, kept: Sequence[Column] = (), *, needs_input: bool = True
) -> list[Column]:
    """Roles by the names of the columns; what was chosen for a name before stays."""
    chosen = {column.name: column for column in kept}
    columns: list[Column] = []
    for name in survey.columns:
        has_id = any(column.role == Role.ID for column in columns)
        columns.append(chosen.get(name) or _guess(name, survey, has_id=has_id))
    columns += [column for column in kept if column.path and column.path[0] in survey.columns]
    if needs_input and not kept and all(column.role != Role.INPUT for column in columns):
        return _with_an_input(columns)
    return columns


def _guess(name: str, survey: Survey, *, has_id: bool) -> Column:
    plain = re.sub(r"[\s-]+", "_", name.strip().casefold())
    role = _ROLE_OF.get(plain)
    if role is None or (role == Role.ID and has_id):
        return _by_prefix(name) or Column(name, Role.METADATA, name)
    samples = survey.samples(name)
    if survey.is_json and plain in _WHOLE and samples and all(map(_is_object, samples)):
        return Column(name, role, "")
    held = [text for text in samples if text != "null"]
    if survey.is_json and plain in _WHOLE and samples and all(map(_is_object_text, held)):
        return Column(name, role, "", parse=bool(held))
    opening = '"[' if survey.is_json else "["
    lists = role == Role.SPLIT and samples and all(text.startswith(opening) for text in samples)
    return Column(name, role, name, parse=bool(lists))


def _by_prefix(name: str) -> Column | None:
    match = _PREFIXED.fullmatch(name)
    return Column(name, _ROLE_OF[match[1].rstrip("s")], match[2]) if match else None


def _is_object_text(text: str) -> bool:
    return text.startswith('"{')


def _is_object(text: str) -> bool:
    return text.startswith("{")


def _with_an_input(columns: list[Column]) -> list[Column]:
    """Without a telling name the first column that is nothing else is the input."""
    for number, column in enumerate(columns):
        if column.role == Role.METADATA and column.key:
            columns[number] = Column(column.name, Role.INPUT, column.key)
            break
    return columns


def mapping_problems(
    columns: Sequence[Column], *, is_json: bool, results: bool = False
) -> dict[int, str]:
    """What is wrong, by column number; -1 is the mapping as a whole.

    Files of `results` hold outputs of a system; their rows need the id or the inputs of an example.
    """
    problems: dict[int, str] = {}
    roles = {column.role for column in columns}
    if results and not roles & {Role.ID, Role.INPUT}:
        problems[-1] = "A column must be the example id, or columns must be its inputs."
    elif results and Role.OUTPUT not in roles:
        problems[-1] = "At least one column must be an output."
    elif not results and Role.INPUT not in roles:
        problems[-1] = "At least one column must be an input."
    taken: dict[tuple[str, str], str] = {}
    for number, column in enumerate(columns):
        place = (Role.METADATA if column.role == Role.ID else column.role, column.key)
        problem = _problem(column, is_json)
        if column.role == Role.SCORE and not results:
            problem = "Scores belong to the results of a system."
        if not problem and column.key and column.role in KEYED:
            other = taken.setdefault(place, column.name)
            if other is not column.name:
                problem = f"The key “{column.key}” is used for “{other}” as well."
        if problem:
            problems[number] = problem
    ids = [number for number, column in enumerate(columns) if column.role == Role.ID]
    if len(ids) > 1:
        problems[ids[1]] = "Only one column can be the example id."
    return problems


def _problem(column: Column, is_json: bool) -> str:
    if len(column.path) == 1 or len(column.path) > MAX_PATH:
        return f"A path has two to {MAX_PATH} steps."
    if column.role not in Role.values:
        return "This role is not known."
    if len(column.key) > MAX_KEY:
        return f"A key has at most {MAX_KEY} characters."
    if column.role not in KEYED or column.key:
        return ""
    if column.role == Role.SCORE:
        return "Give a key: the name of the score."
    if column.role == Role.ID:
        return "Give a key: ids that are no UUIDs are kept in the metadata under it."
    if is_json or column.parse:
        return ""
    return "Give a key. Only cells that are JSON objects can do without."


def paths_in(survey: Survey) -> list[tuple[str, ...]]:
    """The places inside objects of the first rows, such as `inputs.user.name`."""
    found: dict[tuple[str, ...], None] = {}
    for name in survey.columns if survey.is_json else ():
        for text in survey.samples(name)[:20]:
            if text.startswith("{"):
                _note_paths(loads(text), (name,), found)
    return list(found)[:MAX_PATHS]


def _note_paths(value: Any, path: tuple[str, ...], found: dict[tuple[str, ...], None]) -> None:
    if not isinstance(value, dict) or len(path) >= MAX_PATH or len(found) >= MAX_PATHS:
        return
    for key, item in value.items():
        found[*path, key] = None
        _note_paths(item, (*path, key), found)
