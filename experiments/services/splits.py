"""Moving examples in and out of splits, one by one or at random."""

import random
import secrets
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db import transaction

from experiments.errors import InvalidError
from experiments.models import MAX_NAME, Dataset, ExampleRevision
from experiments.services.examples import ExampleChange, Written, update_examples
from tiebreak.accounts.models import User

MAX_SPLITS = 20
MAX_SEED = 2**63


@transaction.atomic
def change_splits(
    *,
    dataset: Dataset,
    uids: Sequence[UUID],
    add: Sequence[str] = (),
    remove: Sequence[str] = (),
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
    return update_examples(dataset=dataset, changes=changes)


def _changed(splits: Sequence[str], add: Sequence[str], remove: Sequence[str]) -> list[str]:
    return [name for name in dict.fromkeys([*splits, *add]) if name not in remove]


@dataclass(frozen=True)
class Assigned:
    """A random assignment: the seed repeats it, `counts` says how many went where."""

    seed: int
    counts: Mapping[str, int]
    written: Written


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


def _check_ratios(ratios: Mapping[str, float]) -> None:
    if not 1 <= len(ratios) <= MAX_SPLITS:
        raise InvalidError("ratios", f"must name 1 to {MAX_SPLITS} splits")
    for name, share in ratios.items():
        if not 1 <= len(name) <= MAX_NAME or "\x00" in name:
            raise InvalidError("ratios", f"a split's name has 1 to {MAX_NAME} characters")
        if not 0 < share < 1e9:
            raise InvalidError("ratios", f"the share of {name} must be above 0")


@transaction.atomic
def assign_splits(
    *,
    dataset: Dataset,
    ratios: Mapping[str, float],
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
    rows = ExampleRevision.objects.filter(dataset=dataset, valid_to=None).order_by("example_id")
    standing = list(rows.values_list("example__uid", "splits"))
    if not standing:
        raise InvalidError("ratios", "there are no examples to be split")
    names = _drawn(len(standing), ratios, seed)
    changes = [
        ExampleChange(uid=uid, splits=[*(one for one in splits if one not in ratios), name])
        for (uid, splits), name in zip(standing, names, strict=True)
    ]
    note = f"Random splits, seed {seed}"
    written = update_examples(dataset=dataset, changes=changes, author=author, note=note)
    counted = Counter(names)
    return Assigned(seed, {name: counted[name] for name in ratios}, written)


def _drawn(count: int, ratios: Mapping[str, float], seed: int) -> list[str]:
    total, reached, names = sum(ratios.values()), 0.0, list[str]()
    for name, share in ratios.items():
        reached += share
        names += [name] * (round(count * reached / total) - len(names))
    random.Random(seed).shuffle(names)  # noqa: S311
    return names
