"""What feedback on runs and experiments comes to."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import fmean, pstdev
from uuid import UUID

from django.db import connection
from django.db.models import Q

from experiments.columns import columns_of, fetch, made
from experiments.models import Experiment, Feedback
from experiments.rawjson import dumps, loads
from tiebreak.accounts.models import Workspace

MAX_COMMENTS = 10
MAX_VALUES = 100


@dataclass
class KeyFigures:
    """One feedback key: its scores, texts, and how many evaluators failed."""

    n: int = 0
    avg: float | None = None
    stdev: float | None = None
    min: float | None = None
    max: float | None = None
    errors: int = 0
    values: dict[str, int] = field(default_factory=dict)
    comments: list[str] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)


Figures = dict[str, KeyFigures]


def figures_of_runs(
    workspace: Workspace, run_uids: Sequence[UUID], *, comparison_uid: UUID | None = None
) -> dict[UUID, Figures]:
    """By run and key. Preferences of a comparison are no marks of a run, unless asked for."""
    rows = Feedback.objects.filter(
        Q(comparison_uid=None) | Q(comparison_uid=comparison_uid),
        workspace=workspace,
        run_uid__in=run_uids,
    ).order_by("pk")
    by_run: dict[UUID, dict[str, list[Feedback]]] = defaultdict(lambda: defaultdict(list))
    for row in rows.defer("source", "extra", "correction"):
        if row.run_uid:
            by_run[row.run_uid][row.key].append(row)
    return {run: {key: figures(rows) for key, rows in keys.items()} for run, keys in by_run.items()}


def figures(rows: Iterable[Feedback]) -> KeyFigures:
    """The figures of feedback rows of one key; failed evaluators count as errors only."""
    rows = list(rows)
    good = [row for row in rows if not row.is_error]
    scores = [row.score for row in good if row.score is not None]
    values = Counter(value_label(row.value) for row in good if row.value is not None)
    comments = [str(loads(row.comment)) for row in rows if row.comment is not None]
    return KeyFigures(
        n=sum(row.score is not None or row.value is not None for row in good),
        avg=fmean(scores) if scores else None,
        stdev=pstdev(scores) if scores else None,
        min=min(scores, default=None),
        max=max(scores, default=None),
        errors=len(rows) - len(good),
        values=dict(values),
        comments=comments[:MAX_COMMENTS],
        sources=sorted({row.source_type for row in rows}),
    )


def value_label(text: str) -> str:
    """A value given as JSON text, as the key it is counted under: a text itself, else JSON."""
    value = loads(text)
    return value if isinstance(value, str) else dumps(value)


_FIGURES = """
count(*) FILTER (WHERE NOT is_error AND (score IS NOT NULL OR value IS NOT NULL)),
avg(score) FILTER (WHERE NOT is_error), stddev_pop(score) FILTER (WHERE NOT is_error),
min(score) FILTER (WHERE NOT is_error), max(score) FILTER (WHERE NOT is_error),
count(*) FILTER (WHERE is_error)
"""

_OF_EXPERIMENTS = f"""
SELECT experiment_id, key, run_uid IS NULL, {_FIGURES}
FROM experiments_feedback
WHERE experiment_id = ANY(%s) AND comparison_uid IS NULL
GROUP BY experiment_id, key, run_uid IS NULL
ORDER BY key
"""  # noqa: S608

_OF_COMPARISONS = f"""
SELECT comparison_uid, key, {_FIGURES}
FROM experiments_feedback
WHERE workspace_id = %s AND comparison_uid = ANY(%s)
GROUP BY comparison_uid, key
ORDER BY key
"""  # noqa: S608

# The most frequent ones of each key: free texts may be as many as runs.
_VALUES = f"""
SELECT experiment_id, key, whole, value, n FROM (
    SELECT experiment_id, key, run_uid IS NULL AS whole, value::text AS value, count(*) AS n,
        row_number() OVER (
            PARTITION BY experiment_id, key, run_uid IS NULL ORDER BY count(*) DESC, value::text
        ) AS place
    FROM experiments_feedback
    WHERE experiment_id = ANY(%s) AND comparison_uid IS NULL AND NOT is_error
        AND value IS NOT NULL
    GROUP BY experiment_id, key, run_uid IS NULL, value::text
) AS counted
WHERE place <= {MAX_VALUES} ORDER BY place
"""  # noqa: S608


def figures_of_experiments(ids: Sequence[int]) -> dict[tuple[int, bool], Figures]:
    """By experiment and whether the feedback is on the experiment as a whole, then by key."""
    found: dict[tuple[int, bool], Figures] = defaultdict(dict)
    with connection.cursor() as cursor:
        cursor.execute(_OF_EXPERIMENTS, [list(ids)])
        for pk, key, whole, *numbers in cursor.fetchall():
            found[pk, whole][key] = KeyFigures(*numbers)
        cursor.execute(_VALUES, [list(ids)])
        for pk, key, whole, value, n in cursor.fetchall():
            counts, label = found[pk, whole][key].values, value_label(value)
            counts[label] = counts.get(label, 0) + n
    return found


def figures_of_comparisons(workspace: Workspace, uids: Sequence[UUID]) -> dict[UUID, Figures]:
    """By comparison and key: the marks that scripts gave there, all sides together."""
    found: dict[UUID, Figures] = defaultdict(dict)
    with connection.cursor() as cursor:
        cursor.execute(_OF_COMPARISONS, [workspace.pk, list(uids)])
        for uid, key, *numbers in cursor.fetchall():
            found[uid][key] = KeyFigures(*numbers)
    return found


_ONE = (
    f"SELECT {columns_of(Feedback, 'f')}, e.uid FROM experiments_feedback f "  # noqa: S608
    "LEFT JOIN experiments_experiment e ON e.id = f.experiment_id "
    "WHERE f.workspace_id = $1 AND f.uid = $2"
)


def feedback_with_id(workspace: Workspace, uid: UUID) -> Feedback | None:
    """One feedback, by a prepared statement: each mark of a script is answered with it."""
    found = fetch(_ONE, [workspace.pk, uid])
    if not found:
        return None
    *columns, experiment = found[0]
    row = made(Feedback, columns)
    row.workspace = workspace
    if experiment is not None:
        row.experiment = Experiment(pk=row.experiment_id, uid=experiment)
    return row
