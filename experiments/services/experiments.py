"""Writes of experiments, which the SDK calls sessions or projects."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID, uuid5

from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from experiments.columns import array, fetch
from experiments.errors import ConflictError
from experiments.ids import uuid7
from experiments.models import Dataset, Experiment
from experiments.rawjson import dumps, loads, loads_exact, storable_value
from experiments.services.datasets import clean_name
from tiebreak.accounts.models import Workspace

DEFAULT_NAME = "default"


def create_experiment(
    *,
    workspace: Workspace,
    name: str,
    uid: UUID | None = None,
    dataset: Dataset | None = None,
    description: str | None = None,
    extra: str = "{}",
    start_time: datetime | None = None,
    end_time: datetime | None = None,
    num_examples: int | None = None,
    num_repetitions: int | None = None,
    evaluator_keys: Sequence[str] = (),
) -> Experiment:
    """Create an experiment, or a plain tracing project if there is no dataset."""
    name = clean_name("name", name)
    moment = timezone.now()
    try:
        with transaction.atomic():
            return Experiment.objects.create(
                workspace=workspace,
                uid=uid or uuid7(),
                name=name,
                dataset=dataset,
                description=description,
                created_at=moment,
                start_time=start_time or moment,
                end_time=end_time,
                num_examples=num_examples,
                num_repetitions=num_repetitions,
                evaluator_keys=list(evaluator_keys),
                **_of_extra(extra),
            )
    except IntegrityError as error:
        raise ConflictError(f"An experiment named {name!r} or with its id exists.") from error


def update_experiment(
    experiment: Experiment,
    *,
    name: str | None = None,
    description: str | None = None,
    end_time: datetime | None = None,
    extra: str | None = None,
    dataset: Dataset | None = None,
) -> Experiment:
    """Change what is given; keys of `extra` that are not given stay."""
    changes: dict[str, Any] = {"description": description, "end_time": end_time}
    changes["name"] = None if name is None else clean_name("name", name)
    changes["dataset"] = dataset
    if extra is not None:
        changes |= _of_extra(dumps(loads_exact(experiment.extra) | loads_exact(extra)))
    changes = {field: value for field, value in changes.items() if value is not None}
    if "dataset" in changes and changes["dataset"] != experiment.dataset:
        changes["is_baseline"] = False
    for field, value in changes.items():
        setattr(experiment, field, value)
    try:
        with transaction.atomic():
            experiment.save(update_fields=list(changes))
    except IntegrityError as error:
        raise ConflictError(f"An experiment named {name!r} exists.") from error
    return experiment


@transaction.atomic
def choose_baseline(experiment: Experiment, *, chosen: bool = True) -> None:
    """Let the other experiments of its dataset be compared with this one, or no longer."""
    if experiment.dataset_id is None:
        raise ConflictError("It has no dataset, so there is nothing to be compared with it.")
    Dataset.objects.select_for_update().get(pk=experiment.dataset_id)
    before = Experiment.objects.filter(dataset=experiment.dataset_id, is_baseline=True)
    if chosen:
        before.exclude(pk=experiment.pk).update(is_baseline=False)
    Experiment.objects.filter(pk=experiment.pk).update(is_baseline=chosen)
    experiment.is_baseline = chosen


def _of_extra(extra: str) -> dict[str, Any]:
    """The columns that are read out of `extra`."""
    metadata = loads(extra).get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    return {
        "extra": extra,
        "metadata": storable_value(metadata),
        "dataset_version": _version(metadata.get("dataset_version")),
    }


def _version(value: object) -> datetime | None:
    try:
        moment = parse_datetime(value) if isinstance(value, str) else None
    except ValueError:
        return None
    return moment if moment is not None and moment.tzinfo is not None else None


def ensure_experiments(*, workspace: Workspace, names: Iterable[str]) -> dict[str, int]:
    """Primary keys by name; projects that are missing are made."""
    return _ensure(workspace, {name: (_new_uid(workspace, name), name) for name in names}, "name")


def default_uid(workspace: Workspace) -> UUID:
    """The id that the default project has, or will have once something is written to it."""
    return uuid5(workspace.uid, DEFAULT_NAME)


def _new_uid(workspace: Workspace, name: str) -> UUID:
    return default_uid(workspace) if name == DEFAULT_NAME else uuid7()


def ensure_experiments_by_uid(*, workspace: Workspace, uids: Iterable[UUID]) -> dict[UUID, int]:
    """Primary keys by id; a run may name a project that nobody has made yet."""
    return _ensure(workspace, {uid: (uid, str(uid)) for uid in uids}, "uid")


def _ensure(
    workspace: Workspace, wanted: dict[Any, tuple[UUID, str]], field: str
) -> dict[Any, int]:
    known = _known(workspace, wanted, field) if wanted else {}
    missing = sorted(set(wanted) - set(known))
    if missing:
        rows = [
            Experiment(workspace=workspace, uid=uid, name=name)
            for uid, name in map(wanted.__getitem__, missing)
        ]
        Experiment.objects.bulk_create(rows, ignore_conflicts=True)
        known |= _known(workspace, missing, field)
    return known


def known_experiments(workspace: Workspace, uids: Iterable[UUID]) -> dict[UUID, int]:
    """Primary keys of those that exist."""
    return _known(workspace, uids, "uid")


def _known(workspace: Workspace, wanted: Iterable[Any], field: str) -> dict[Any, int]:
    statement = (
        f"SELECT {field}, id FROM experiments_experiment "  # noqa: S608
        f"WHERE workspace_id = $1 AND {field} = ANY($2::{_KINDS[field]}[])"
    )
    return dict(fetch(statement, [workspace.pk, array(wanted)]))


_KINDS = {"name": "text", "uid": "uuid"}
