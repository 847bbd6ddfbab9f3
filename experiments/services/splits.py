"""Moving examples in and out of splits, one by one or at random."""

import random
import secrets
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db import connection, transaction

from experiments.errors import InvalidError
from experiments.models import MAX_NAME, Dataset, ExampleRevision
from experiments.rawjson import storable
from experiments.services.examples import ExampleChange, Written, update_examples
from experiments.services.reinstating import STAND_AGAIN
from experiments.services.versions import new_version
from tiebreak.accounts.models import User

MAX_SPLITS = 20
MAX_SEED = 2**63
CHUNK = 20_000
UNSTORABLE = "NUL characters or halves of surrogate pairs"
_CLOSE = """
UPDATE experiments_examplerevision SET valid_to = %(now)s
WHERE dataset_id = %(dataset)s AND valid_to IS NULL AND example_id = ANY(%(examples)s)
"""
_MOVE = f"""
WITH earlier AS MATERIALIZED (
    SELECT revision.id, revision.example_id, revision.dataset_id, revision.metadata,
           ARRAY(SELECT name FROM unnest(revision.splits) WITH ORDINALITY AS kept(name, place)
                 WHERE name <> ALL(%(ratios)s) ORDER BY place) || given.name AS splits,
           nextval(pg_get_serial_sequence('experiments_examplerevision', 'id')) AS fresh
    FROM unnest(%(examples)s::int8[], %(names)s::text[]) AS given(example_id, name)
    JOIN experiments_examplerevision revision ON revision.example_id = given.example_id
    WHERE revision.dataset_id = %(dataset)s AND revision.valid_to = %(now)s
), {STAND_AGAIN}
"""  # noqa: S608


@transaction.atomic
def change_splits(
    *,
    dataset: Dataset,
    uids: Sequence[UUID],
    add: Sequence[str] = (),
    remove: Sequence[str] = (),
    author: User | None = None,
) -> Written:
    """Add splits to examples and take others away, as one version."""
    Dataset.objects.select_for_update().get(pk=dataset.pk)
    standing = dict(
        ExampleRevision.objects.filter(
            dataset=dataset, valid_to=None, example__uid__in=uids
        ).values_list("example__uid", "splits")
    )
    changes = [
        ExampleChange(uid=uid, splits=_changed(standing.get(uid, []), add, remove)) for uid in uids
    ]
    return update_examples(dataset=dataset, changes=changes, author=author)


def _changed(splits: Sequence[str], add: Sequence[str], remove: Sequence[str]) -> list[str]:
    return [name for name in dict.fromkeys([*splits, *add]) if name not in remove]


@dataclass(frozen=True)
class Assigned:
    """A random assignment: the seed repeats it, `counts` says how many went where."""

    seed: int
    counts: Mapping[str, int]
    as_of: datetime


def split_ratios(text: str) -> dict[str, float]:
    """Ratios written as `train 80, test 20`; or an error at the field."""
    found: dict[str, float] = {}
    for part in filter(None, map(str.strip, text.split(","))):
        name, _, number = part.rpartition(" ")
        try:
            found[name.strip()] = float(number.rstrip("%"))
        except ValueError as error:
            raise InvalidError("ratios", "must be written as: train 80, test 20") from error
    _check_ratios(found)
    return found


def _check_ratios(ratios: Mapping[str, float | Decimal]) -> None:
    if not 1 <= len(ratios) <= MAX_SPLITS:
        raise InvalidError("ratios", f"must name 1 to {MAX_SPLITS} splits")
    for name, share in ratios.items():
        if storable(name) != name:
            raise InvalidError("ratios", f"a split's name must not hold {UNSTORABLE}")
        if not 1 <= len(name) <= MAX_NAME:
            raise InvalidError("ratios", f"a split's name has 1 to {MAX_NAME} characters")
        if not 1e-9 <= share < 1e9:
            raise InvalidError("ratios", f"the share of {name} must be above 0, up to 1e9")


@transaction.atomic
def assign_splits(
    *,
    dataset: Dataset,
    ratios: Mapping[str, float | Decimal],
    seed: int | None = None,
    author: User | None = None,
) -> Assigned:
    """Put every standing example into exactly one of the splits, as one version.

    The same seed, ratios and examples give the same assignment. Shares are met exactly, up to
    rounding. Other splits of an example stay.
    """
    _check_ratios(ratios)
    seed = secrets.randbelow(2**31) if seed is None else seed
    if not 0 <= seed < MAX_SEED:
        raise InvalidError("seed", "must be a whole number from 0 to 2^63 - 1")
    Dataset.objects.select_for_update().get(pk=dataset.pk)
    rows = ExampleRevision.objects.filter(dataset=dataset, valid_to=None)
    examples = list(rows.order_by("example_id").values_list("example_id", flat=True))
    if not examples:
        raise InvalidError("ratios", "there are no examples to be split")
    names = _drawn(len(examples), ratios, seed)
    with new_version(dataset, author=author, note=f"Random splits, seed {seed}") as version:
        for first in range(0, len(examples), CHUNK):
            chosen = slice(first, first + CHUNK)
            _move(dataset, version.moment, examples[chosen], names[chosen], list(ratios))
        version.changed = len(examples)
    counted = Counter(names)
    return Assigned(seed, {name: counted[name] for name in ratios}, version.moment)


def _move(
    dataset: Dataset,
    moment: datetime,
    examples: Sequence[int],
    names: Sequence[str],
    ratios: Sequence[str],
) -> None:
    """Put each example into its split and out of the others of `ratios`, inside the database."""
    values: dict[str, Any] = {
        "dataset": dataset.pk,
        "now": moment,
        "examples": examples,
        "names": names,
        "ratios": ratios,
    }
    with connection.cursor() as cursor:
        cursor.execute(_CLOSE, values)
        cursor.execute(_MOVE, values)


def _drawn(count: int, ratios: Mapping[str, float | Decimal], seed: int) -> list[str]:
    shares = {name: float(share) for name, share in ratios.items()}
    total, reached, names = sum(shares.values()), 0.0, list[str]()
    for name, share in shares.items():
        reached += share
        names += [name] * (round(count * reached / total) - len(names))
    random.Random(seed).shuffle(names)  # noqa: S311
    return names
