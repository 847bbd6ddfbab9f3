"""What the address of the side-by-side asks for, and the links that change it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import QueryDict

from experiments.models import Experiment
from experiments.queries.side_by_side import (
    WAYS,
    PairingReport,
    Standing,
    Standings,
    Wanted,
    Won,
)
from experiments.rawjson import dumps
from tiebreak.row_filters import MAX_TEXT, text
from tiebreak.web.address import number, one_of, with_changes
from tiebreak.web.comparison_filters import VIEWS, Segment

SIZES = (10, 25, 50, 100)
PLACE = ("after", "before", "n", "row")
LETTERS = "ABCDEFGHIJ"
DIFFS = {"base": "from the baseline", "ref": "from the reference"}


@dataclass(frozen=True)
class Choices:
    """Which examples, which scores, which page, and how outputs are shown."""

    wanted: Wanted
    keys: Sequence[str]
    size: int
    after: int | None
    before: int | None
    start: int
    view: str
    diff: str

    @classmethod
    def of(
        cls, query: QueryDict, experiments: Sequence[Experiment], known: Sequence[str]
    ) -> Choices:
        lacks = _index(query.get("lacks", ""), experiments)
        return cls(
            wanted=Wanted(
                won=filters_of(query, experiments, known),
                only_differing=query.get("only") == "differing",
                in_all=query.get("in") == "all",
                lacks=None if lacks is None else experiments[lacks],
                q=text(query, "q").strip()[:MAX_TEXT],
                split=text(query, "split"),
            ),
            keys=[key for key in dict.fromkeys(query.getlist("key")) if key in set(known)],
            size=number(query, "size", SIZES, 25),
            after=_whole(query.get("after", "")),
            before=_whole(query.get("before", "")),
            start=_whole(query.get("n", "")) or 0,
            view=one_of(query, "view", VIEWS, "text"),
            diff=one_of(query, "diff", DIFFS),
        )


def filters_of(
    query: QueryDict, experiments: Sequence[Experiment], known: Sequence[str]
) -> tuple[Won, ...]:
    """The filters that the address names, as in `won=better.2.correct`: the second of the order."""
    found = []
    for written in dict.fromkeys(query.getlist("won")):
        way, _, rest = written.partition(".")
        place, _, key = rest.partition(".")
        index = _index(place, experiments)
        if way in WAYS and index and key in set(known):
            found.append(Won(way, experiments[index], key))
    return tuple(found)


def _index(text: str, experiments: Sequence[Experiment]) -> int | None:
    place = _whole(text)
    return place - 1 if place and place <= len(experiments) else None


def _whole(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None


@dataclass(frozen=True)
class Metric:
    """A score in a column's head: how it stands, and the toggles that filter by it."""

    key: str
    standing: Standing | None
    ways: Sequence[Segment]


@dataclass(frozen=True)
class Column:
    """An experiment's head: its metrics, what it lacks, and how to move it or take it out."""

    letter: str
    experiment: Experiment
    metrics: Sequence[Metric]
    examples: int
    failed: int
    lacks: Segment
    moves: Mapping[str, str]

    @property
    def css(self) -> str:
        """A is blue, B is orange, the others are plain."""
        return self.letter.lower() if self.letter in "AB" else "n"


def columns_of(
    query: QueryDict,
    choices: Choices,
    experiments: Sequence[Experiment],
    standings: Standings,
    pairing: PairingReport,
) -> list[Column]:
    keys = sorted({key for found in standings.values() for key in found})
    pressed = query.getlist("won")
    return [
        Column(
            letter=LETTERS[index],
            experiment=row,
            metrics=[
                Metric(key, standing, _ways(query, pressed, index, standing) if index else ())
                for key in keys
                for standing in (standings.get(row.pk, {}).get(key),)
            ],
            examples=pairing.held[row.pk].examples,
            failed=pairing.held[row.pk].failed,
            lacks=_lacks(query, choices, index, row, pairing),
            moves=_moves(query, experiments, index),
        )
        for index, row in enumerate(experiments)
    ]


def _ways(
    query: QueryDict, pressed: Sequence[str], index: int, standing: Standing | None
) -> list[Segment]:
    """Better, worse and same: pressed again it opens, and one of the three at a time."""
    if standing is None or not standing.shared:
        return []
    tail = f".{index + 1}.{standing.key}"
    others = [one for one in pressed if not (one.endswith(tail) and one.removesuffix(tail) in WAYS)]
    return [
        Segment(
            f"{way}-{index + 1}-{standing.key}",
            way,
            getattr(standing, way),
            way + tail in pressed,
            with_changes(
                query,
                {"won": others if way + tail in pressed else [*others, way + tail]},
                drop=PLACE,
            ),
        )
        for way in WAYS
    ]


def _lacks(
    query: QueryDict, choices: Choices, index: int, row: Experiment, pairing: PairingReport
) -> Segment:
    on = choices.wanted.lacks == row
    href = with_changes(query, {"lacks": None if on else index + 1}, drop=("in", *PLACE))
    return Segment(f"lacks-{index + 1}", "no run", pairing.lacks(row), on, href)


def _moves(query: QueryDict, experiments: Sequence[Experiment], index: int) -> dict[str, str]:
    """Addresses with this column elsewhere; filters name columns by place, so they are dropped."""
    ids = [str(row.uid) for row in experiments]
    rest = [*ids[:index], *ids[index + 1 :]]
    orders = {}
    if index:
        orders["Compare with this one"] = [ids[index], *rest]
    if index > 1:
        orders["Move left"] = [*rest[: index - 1], ids[index], *rest[index - 1 :]]
    if 0 < index < len(ids) - 1:
        orders["Move right"] = [*rest[: index + 1], ids[index], *rest[index + 1 :]]
    if len(ids) > 2:
        orders["Take it out"] = rest
    return {
        label: with_changes(query, {"exp": order}, drop=("won", "lacks", *PLACE))
        for label, order in orders.items()
    }


def switches(query: QueryDict, choices: Choices) -> dict[str, list[Segment]]:
    """How outputs are shown, what they are held against, and whether equal rows are left out."""
    return {
        "view": [
            _switch(query, f"view-{key}", label, "view", key, choices.view, "text")
            for key, label in VIEWS.items()
        ],
        "diff": [
            _switch(query, f"view-{'diff' if key == 'base' else key}", label, "diff", key,
                    choices.diff, "")
            for key, label in DIFFS.items()
        ],
        "only": [
            Segment(
                "only-differing",
                "Only rows that differ",
                0,
                choices.wanted.only_differing,
                with_changes(
                    query,
                    {"only": None if choices.wanted.only_differing else "differing"},
                    drop=PLACE,
                ),
            )
        ],
    }  # fmt: skip


def _switch(
    query: QueryDict, name: str, label: str, key: str, value: str, now: str, default: str
) -> Segment:
    on = value == now
    target = None if value == default or (on and not default) else value
    return Segment(name, label, 0, on, with_changes(query, {key: target}))


@dataclass(frozen=True)
class MetadataTable:
    """What the experiments say of themselves under each key, None where they say nothing."""

    rows: Sequence[tuple[str, Sequence[str | None]]]
    alike: int
    everything: bool
    href: str


def metadata_table(query: QueryDict, experiments: Sequence[Experiment]) -> MetadataTable:
    """The keys on which they differ; all of them with `meta=all`."""
    found = [_described(row) for row in experiments]
    keys = sorted({key for one in found for key in one})
    rows = [(key, [one.get(key) for one in found]) for key in keys]
    differing = [row for row in rows if len(set(row[1])) > 1]
    everything = query.get("meta") == "all"
    return MetadataTable(
        rows=rows if everything else differing,
        alike=len(rows) - len(differing),
        everything=everything,
        href=with_changes(query, {"meta": None if everything else "all"}),
    )


def _described(experiment: Experiment) -> dict[str, str]:
    given: dict[str, Any] = {
        key: value
        for key, value in experiment.metadata.items()
        if not key.startswith("__") and value is not None
    }
    said = {key: value if isinstance(value, str) else dumps(value) for key, value in given.items()}
    version = experiment.dataset_version
    if version:
        said["dataset version"] = f"{version:%Y-%m-%d %H:%M:%S} UTC"
    return said
