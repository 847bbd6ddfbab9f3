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
from experiments.rawjson import loads
from tiebreak.accounts.models import Workspace

MAX_COMMENTS = 10


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
    values = Counter(str(loads(row.value)) for row in good if row.value is not None)
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


_OF_EXPERIMENTS = """
SELECT experiment_id, key, run_uid IS NULL,
       count(*) FILTER (WHERE NOT is_error AND (score IS NOT NULL OR value IS NOT NULL)),
       avg(score) FILTER (WHERE NOT is_error), stddev_pop(score) FILTER (WHERE NOT is_error),
       min(score) FILTER (WHERE NOT is_error), max(score) FILTER (WHERE NOT is_error),
       count(*) FILTER (WHERE is_error)
FROM experiments_feedback
WHERE experiment_id = ANY(%s) AND comparison_uid IS NULL
GROUP BY experiment_id, key, run_uid IS NULL
ORDER BY key
"""

_VALUES = """
SELECT experiment_id, key, run_uid IS NULL, value::text, count(*)
FROM experiments_feedback
WHERE experiment_id = ANY(%s) AND comparison_uid IS NULL AND NOT is_error AND value IS NOT NULL
GROUP BY experiment_id, key, run_uid IS NULL, value::text
ORDER BY count(*) DESC LIMIT 1000
"""


def figures_of_experiments(ids: Sequence[int]) -> dict[tuple[int, bool], Figures]:
    """By experiment and whether the feedback is on the experiment as a whole, then by key."""
    found: dict[tuple[int, bool], Figures] = defaultdict(dict)
    with connection.cursor() as cursor:
        cursor.execute(_OF_EXPERIMENTS, [list(ids)])
        for pk, key, whole, n, avg, stdev, low, high, errors in cursor.fetchall():
            found[pk, whole][key] = KeyFigures(n, avg, stdev, low, high, errors)
        cursor.execute(_VALUES, [list(ids)])
        for pk, key, whole, value, n in cursor.fetchall():
            found[pk, whole][key].values[str(loads(value))] = n
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
