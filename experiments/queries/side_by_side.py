"""Two to ten experiments of one dataset side by side: which examples, and how the scores fall."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection

from experiments.models import Experiment
from experiments.queries.comparison_search import like_pattern
from experiments.queries.score_comparison import MEAN_SCORES

COUNT_LIMIT = 10_000
WAYS = ("better", "worse", "same")

_PAIRING = """
WITH held AS (
    SELECT run.experiment_id, run.example_uid, count(*) AS runs,
           count(*) FILTER (WHERE run.status = 'error') AS failed
    FROM experiments_run run
    JOIN experiments_example example
        ON example.workspace_id = %(workspace)s AND example.uid = run.example_uid
    WHERE run.experiment_id = ANY(%(experiments)s) AND run.is_root
      AND example.dataset_id = %(dataset)s
    GROUP BY 1, 2
), met AS (SELECT count(*) AS of FROM held GROUP BY example_uid)
SELECT experiment_id, count(*), max(runs), sum(failed)::int8, (SELECT count(*) FROM met),
       (SELECT count(*) FROM met WHERE met.of = %(all)s)
FROM held GROUP BY experiment_id
"""

_SCORED = f"WITH scores(key, experiment, example, score) AS ({MEAN_SCORES})"

# Each experiment's mean stands on the examples that the baseline has that score for, too; the
# baseline's own on all of its examples. (Joined to themselves, scores whose number the planner
# cannot foresee would be compared each with each.)
_STANDINGS = f"""
{_SCORED}
SELECT one.key, one.experiment, count(*), count(one.base),
       coalesce(avg(one.score) FILTER (WHERE one.base IS NOT NULL), avg(one.score)), avg(one.base),
       count(*) FILTER (WHERE one.score > one.base),
       count(*) FILTER (WHERE one.score < one.base),
       count(*) FILTER (WHERE one.score = one.base)
FROM (
    SELECT key, experiment, score, max(score) FILTER (WHERE experiment = %(baseline)s)
        OVER (PARTITION BY example, key COLLATE "C") AS base
    FROM scores
) one
GROUP BY 1, 2 ORDER BY 1
"""  # noqa: S608

_HAS_RUN = """EXISTS (
    SELECT FROM experiments_run run
    WHERE run.experiment_id = ANY({experiments}) AND run.is_root
      AND run.example_uid = example.uid)"""

_IN_ALL = """(
    SELECT count(DISTINCT run.experiment_id) FROM experiments_run run
    WHERE run.experiment_id = ANY(%(experiments)s) AND run.is_root
      AND run.example_uid = example.uid) = %(all)s"""

_DIFFERS = """(
    SELECT count(DISTINCT said) > 1 FROM (
        SELECT string_agg(md5(run.status || coalesce(payload.outputs::text, '')), ' '
                          ORDER BY run.start_time, run.id) AS said
        FROM experiments_run run JOIN experiments_runpayload payload ON payload.run_id = run.id
        WHERE run.experiment_id = ANY(%(experiments)s) AND run.is_root
          AND run.example_uid = example.uid
        GROUP BY run.experiment_id) each)"""

_MENTIONS = """(EXISTS (
    SELECT FROM experiments_examplerevision revision
    JOIN experiments_examplepayload said ON said.revision_id = revision.id
    WHERE revision.example_id = example.id AND revision.valid_to IS NULL
      AND upper(coalesce(revision.search, tiebreak_search_text(said.inputs, said.outputs)))
          LIKE upper(%(pattern)s))
  OR EXISTS (
    SELECT FROM experiments_run run JOIN experiments_runpayload payload ON payload.run_id = run.id
    WHERE run.experiment_id = ANY(%(experiments)s) AND run.is_root
      AND run.example_uid = example.uid AND upper(payload.search) LIKE upper(%(pattern)s)))"""

_IN_SPLIT = """EXISTS (
    SELECT FROM experiments_examplerevision revision
    WHERE revision.example_id = example.id AND revision.valid_to IS NULL
      AND revision.splits @> ARRAY[%(split)s])"""

_STANDS = """(example.uid IN (
    SELECT example FROM scores
    WHERE key = %(key{n})s AND experiment IN (%(experiment{n})s, %(baseline)s)
    GROUP BY example
    HAVING max(score) FILTER (WHERE experiment = %(experiment{n})s)
        {sign} max(score) FILTER (WHERE experiment = %(baseline)s))) IS TRUE"""


@dataclass(frozen=True)
class Standing:
    """One experiment on one score: over the `shared` examples that the baseline has it for, too."""

    key: str
    scored: int
    shared: int
    mean: float
    baseline_mean: float | None
    better: int
    worse: int
    same: int

    @property
    def change(self) -> float | None:
        """Against the baseline, in the score's own unit."""
        return None if self.baseline_mean is None else self.mean - self.baseline_mean


Standings = Mapping[int, Mapping[str, Standing]]


def standings_of(
    experiments: Sequence[Experiment], lower: Collection[str], keys: Sequence[str] = ()
) -> Standings:
    """By experiment and key, against the first; of the keys in `lower`, lower is better."""
    found: dict[int, dict[str, Standing]] = {}
    values = {**_values(experiments), "every": not keys, "keys": list(keys)}
    with connection.cursor() as cursor:
        cursor.execute(_STANDINGS, values)
        for key, experiment, scored, shared, mean, base, over, under, same in cursor.fetchall():
            better, worse = (under, over) if key in lower else (over, under)
            standing = Standing(key, scored, shared, mean, base, better, worse, same)
            found.setdefault(experiment, {})[key] = standing
    return found


@dataclass(frozen=True)
class Held:
    """What one experiment has of the examples."""

    examples: int = 0
    repetitions: int = 0
    failed: int = 0


@dataclass(frozen=True)
class PairingReport:
    """How many examples are in any and in all of the experiments."""

    total: int
    in_all: int
    held: Mapping[int, Held]

    def lacks(self, experiment: Experiment) -> int:
        """The examples that others have a run for, and this one has not."""
        return self.total - self.held[experiment.pk].examples


def pairing_report(experiments: Sequence[Experiment]) -> PairingReport:
    """Count which examples the experiments have in common."""
    held = {row.pk: Held() for row in experiments}
    with connection.cursor() as cursor:
        cursor.execute(_PAIRING, _values(experiments))
        rows = cursor.fetchall()
    held |= {pk: Held(*numbers) for pk, *numbers, _, _ in rows}
    total, in_all = rows[0][-2:] if rows else (0, 0)
    return PairingReport(total, in_all, held)


@dataclass(frozen=True)
class Won:
    """A filter: an experiment is better, worse or the same than the baseline on a score."""

    way: str
    experiment: Experiment
    key: str


@dataclass(frozen=True)
class Wanted:
    """Which examples are asked for; `lacks` names an experiment that must have no run of them."""

    won: Sequence[Won] = ()
    only_differing: bool = False
    in_all: bool = False
    lacks: Experiment | None = None
    q: str = ""
    split: str = ""

    @property
    def narrow(self) -> bool:
        """Whether any example is left out."""
        return self != Wanted()


@dataclass(frozen=True)
class Slice:
    """The keys of some examples, in the dataset's order, and whether there are more around."""

    ids: Sequence[int]
    has_before: bool
    has_after: bool


def examples_page(
    experiments: Sequence[Experiment],
    wanted: Wanted,
    lower: Collection[str],
    *,
    size: int,
    after: int | None = None,
    before: int | None = None,
) -> Slice:
    """A page of examples that any of the experiments has a run for, in the dataset's order."""
    where, values = _conditions(experiments, wanted, lower)
    place, order = "true", "ASC"
    if before is not None:
        place, order = "example.id < %(place)s", "DESC"
    elif after is not None:
        place = "example.id > %(place)s"
    statement = f"{where} AND {place} ORDER BY example.id {order} LIMIT %(limit)s"
    values |= {"place": before if before is not None else after, "limit": size + 1}
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        ids = [pk for (pk,) in cursor.fetchall()]
    more, shown = len(ids) > size, ids[:size]
    if before is not None:
        return Slice(shown[::-1], more, has_after=True)
    return Slice(shown, after is not None, more)


def count_examples(
    experiments: Sequence[Experiment], wanted: Wanted, lower: Collection[str]
) -> tuple[int, bool]:
    """How many examples fit, at most ten thousand; the flag says that there are more."""
    where, values = _conditions(experiments, wanted, lower)
    with connection.cursor() as cursor:
        cursor.execute(f"{where} LIMIT %(limit)s", {**values, "limit": COUNT_LIMIT + 1})
        found = cursor.rowcount
    return min(found, COUNT_LIMIT), found > COUNT_LIMIT


def _conditions(
    experiments: Sequence[Experiment], wanted: Wanted, lower: Collection[str]
) -> tuple[str, dict[str, Any]]:
    """A statement for the examples that fit, open at its end, and its values."""
    values = _values(experiments)
    parts = ["example.dataset_id = %(dataset)s", _HAS_RUN.format(experiments="%(experiments)s")]
    for n, one in enumerate(wanted.won):
        parts.append(_STANDS.format(n=n, sign=_sign(one.way, lower=one.key in lower)))
        values |= {f"key{n}": one.key, f"experiment{n}": one.experiment.pk}
    if wanted.only_differing:
        parts.append(_DIFFERS)
    if wanted.in_all:
        parts.append(_IN_ALL)
    if wanted.lacks:
        parts.append(f"NOT {_HAS_RUN.format(experiments='%(lacks)s')}")
        values["lacks"] = [wanted.lacks.pk]
    if wanted.q:
        parts.append(_MENTIONS)
        values["pattern"] = like_pattern(wanted.q)
    if wanted.split:
        parts.append(_IN_SPLIT)
        values["split"] = wanted.split
    values |= {"every": False, "keys": [one.key for one in wanted.won]}
    scores = _SCORED if wanted.won else ""
    found = " AND ".join(parts)
    statement = f"{scores} SELECT example.id FROM experiments_example example WHERE {found}"  # noqa: S608
    return statement, values


def _sign(way: str, *, lower: bool) -> str:
    if way == "same":
        return "="
    return ">" if (way == "better") != lower else "<"


def _values(experiments: Sequence[Experiment]) -> dict[str, Any]:
    first = experiments[0]
    return {
        "workspace": first.workspace_id,
        "dataset": first.dataset_id,
        "baseline": first.pk,
        "experiments": [row.pk for row in experiments],
        "all": len(experiments),
    }
