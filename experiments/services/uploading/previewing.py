"""The first rows as they will be stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from experiments.formats.surveys import Survey, survey
from experiments.models import DEFAULT_SPLIT, Upload
from experiments.services.examples import split_off
from experiments.services.uploading.building import RowBuilder, RowError
from experiments.services.uploading.columns import Column, guess_columns, unpack
from experiments.services.uploading.files import path_of
from experiments.services.uploading.marks import guess_scores, is_results
from experiments.services.uploading.reading import layout_of, namespace_of
from experiments.services.uploading.remembering import saved_mapping

PREVIEW_ROWS = 5


@dataclass(frozen=True)
class PreviewRow:
    """An example to be, or the reason why it will not."""

    line: int
    inputs: str = ""
    outputs: str | None = None
    metadata: str | None = None
    splits: Sequence[str] = ()
    uid: UUID | None = None
    problem: str = ""


@dataclass(frozen=True)
class Mapped:
    """What the mapping step shows."""

    survey: Survey
    columns: list[Column]


def survey_of(upload: Upload) -> Survey:
    return survey(path_of(upload), layout_of(upload))


def mapped(upload: Upload) -> Mapped:
    """The columns of the file with the roles chosen so far; guessed where nothing was chosen."""
    found = survey_of(upload)
    kept = unpack(upload.mapping or saved_mapping(upload.workspace_id, found.columns))
    columns = guess_columns(found, kept, needs_input=not is_results(upload))
    if is_results(upload) and not kept:
        columns = guess_scores(columns)
    return Mapped(found, columns)


def preview(upload: Upload, given: Mapped) -> list[PreviewRow]:
    """The first rows under a mapping."""
    builder = RowBuilder(
        given.columns,
        is_json=given.survey.is_json,
        namespace=namespace_of(upload),
        dataset=None if is_results(upload) else upload.dataset,
    )
    rows = []
    for row in given.survey.rows[:PREVIEW_ROWS]:
        try:
            example = builder.build(row)
        except RowError as error:
            where = f"{error.column}: " if error.column else ""
            rows.append(PreviewRow(row.line, problem=f"{where}{error.reason}"))
            continue
        metadata, named = split_off(example.metadata)
        splits = example.splits or named or [DEFAULT_SPLIT]
        rows.append(
            PreviewRow(row.line, example.inputs, example.outputs, metadata, splits, example.uid)
        )
    return rows
