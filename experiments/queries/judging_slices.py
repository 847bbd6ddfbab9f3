"""A's share slice by slice: by split and by what the examples' metadata say."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from django.db import connection

from experiments.models import ComparisonEvaluator
from experiments.queries.judging_parts import Part, part

MAX_SPLITS = 200
MAX_KEYS = 12
MAX_VALUES = 30
# The keys worth slicing by are found among the first rows drawn, a fair sample of the rest.
SAMPLED = 2_000
LONGEST_VALUE = 80

# Repetitions of an example come to one row: whoever won most of them.
_ROWS = """
    SELECT max(pair.revision_id) AS revision_id, min(pair.splits) AS splits,
           sign(sum((judgment.outcome = 'a')::int - (judgment.outcome = 'b')::int)) AS lead
    FROM ({judged}) judgment
    JOIN experiments_pair pair ON pair.id = judgment.pair_id
    GROUP BY pair.example_uid
"""

_JUDGED = """
    SELECT pair_id, outcome FROM experiments_judgment
    WHERE evaluator_id = %(evaluator)s AND judge = ''
      AND outcome IN ('a', 'b', 'tie', 'both_good', 'both_bad')
"""

_SUMS = """count(*) FILTER (WHERE lead > 0), count(*) FILTER (WHERE lead = 0),
       count(*) FILTER (WHERE lead < 0)"""

_SPLITS = f"""
SELECT split, {_SUMS}
FROM ({_ROWS.format(judged=_JUDGED)}) judged CROSS JOIN LATERAL unnest(splits) AS split
GROUP BY split ORDER BY split LIMIT %(splits)s
"""  # noqa: S608

_FIELDS = """
JOIN experiments_examplerevision revision ON revision.id = judged.revision_id
CROSS JOIN LATERAL jsonb_each(revision.metadata) field
WHERE jsonb_typeof(field.value) IN ('string', 'number', 'boolean')
  AND length(field.value::text) <= %(longest)s
"""

_SAMPLE = _JUDGED + " ORDER BY rank, id LIMIT %(sampled)s"

_KEYS = f"""
SELECT field.key FROM ({_ROWS.format(judged=_SAMPLE)}) judged {_FIELDS}
  AND field.key <> 'dataset_split'
GROUP BY field.key HAVING count(DISTINCT field.value) BETWEEN 2 AND %(values)s
ORDER BY field.key LIMIT %(keys)s
"""  # noqa: S608

_METADATA = f"""
SELECT field.key, field.value #>> '{{}}', {_SUMS}
FROM ({_ROWS.format(judged=_JUDGED)}) judged {_FIELDS} AND field.key = ANY(%(chosen)s)
GROUP BY field.key, field.value ORDER BY field.key, field.value
"""  # noqa: S608


def split_slices(evaluator: ComparisonEvaluator) -> list[Part]:
    """A's share by split, by name."""
    return [part(name, *counts) for name, *counts in _read(_SPLITS, evaluator)]


def metadata_slices(evaluator: ComparisonEvaluator) -> dict[str, list[Part]]:
    """A's share by each value of the metadata keys that have a few values each."""
    chosen = [key for (key,) in _read(_KEYS, evaluator)]
    found: defaultdict[str, list[Part]] = defaultdict(list)
    if chosen:
        for key, value, *counts in _read(_METADATA, evaluator, chosen):
            found[key].append(part(value, *counts))
    return {key: parts for key, parts in found.items() if len(parts) <= MAX_VALUES}


def _read(
    query: str, evaluator: ComparisonEvaluator, chosen: list[str] | None = None
) -> list[tuple[Any, ...]]:
    values = {
        "evaluator": evaluator.pk,
        "splits": MAX_SPLITS,
        "keys": MAX_KEYS,
        "values": MAX_VALUES,
        "sampled": SAMPLED,
        "longest": LONGEST_VALUE,
        "chosen": chosen,
    }
    with connection.cursor() as cursor:
        cursor.execute(query, values)
        return list(cursor.fetchall())
