"""The check before anything is stored: the whole file, or as much as a few seconds allow."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, field
from typing import Any

from experiments.formats.rows import BrokenFile
from experiments.models import Example, Upload
from experiments.rawjson import storable
from experiments.services.uploading.reading import (
    MAX_PROBLEMS,
    Chunk,
    ContentCheck,
    IdCheck,
    Problem,
    UploadReader,
)
from experiments.services.uploading.results import matcher_of

CHECK_SECONDS = 6.0
MAX_LATER_KEYS = 20


@dataclass
class Report:
    """What the check found; `whole` says that it came to the end of the file."""

    good: int = 0
    bad: int = 0
    blank: int = 0
    changes: int = 0
    repeated: int = 0
    whole: bool = False
    broken: str = ""
    later_keys: list[dict[str, Any]] = field(default_factory=list)

    @property
    def rows(self) -> int:
        return self.good + self.bad

    def stored(self) -> dict[str, Any]:
        return asdict(self)


def check_file(
    upload: Upload, *, seconds: float = CHECK_SECONDS
) -> tuple[Report, list[dict[str, Any]]]:
    """Count the good and the bad rows, and give the first hundred bad ones."""
    report, problems = Report(), list[Problem]()
    until = time.monotonic() + seconds
    try:
        with UploadReader(upload) as reader:
            checks = IdCheck(upload), ContentCheck(upload, counts=True)
            report.whole = _count(reader, *checks, report, problems, until)
            report.blank = reader.source.blank
            report.later_keys = _later(reader.builder.later_keys)
    except BrokenFile as error:
        report.broken, report.whole = storable(str(error)), True
    return report, [problem.stored() for problem in problems]


def _count(
    reader: UploadReader,
    ids: IdCheck,
    contents: ContentCheck,
    report: Report,
    problems: list[Problem],
    until: float,
) -> bool:
    matcher = matcher_of(reader.upload)
    for chunk in reader.chunks():
        if matcher is not None:
            matcher.match(chunk)
        else:
            ids.sift(chunk)
            report.repeated += contents.sift(chunk)
            report.changes += _known(ids.upload, chunk) if ids.may_change else 0
        report.good += len(chunk.examples)
        report.bad += len(chunk.problems)
        problems += chunk.problems[: MAX_PROBLEMS - len(problems)]
        if time.monotonic() > until:
            return False
    return True


def _known(upload: Upload, chunk: Chunk) -> int:
    uids = [example.uid for example in chunk.examples if example.uid]
    return Example.objects.filter(dataset=upload.dataset_id, uid__in=uids).count()


def _later(keys: dict[str, int]) -> list[dict[str, Any]]:
    found = list(keys.items())[:MAX_LATER_KEYS]
    return [{"key": storable(key)[:200], "line": line} for key, line in found]
