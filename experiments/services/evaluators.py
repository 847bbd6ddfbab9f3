"""Configured evaluators: writes, and turning a row into something that judges."""

from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone

import evaluators
from evaluators.errors import MissingExtra
from evaluators.kinds import Kind
from evaluators.llm.judging import Unasked
from evaluators.registry import kind as kind_named
from experiments.errors import InvalidError
from experiments.models import Evaluator, Provider
from experiments.services.datasets import clean_name
from tiebreak.accounts.models import Workspace


def kind_of(evaluator: Evaluator) -> Kind:
    """The kind that an evaluator is of; ValueError when its package is gone."""
    return kind_named(evaluator.kind)


def build(evaluator: Evaluator) -> Any:
    """The evaluator as the library makes it; a judge without its model, which the engine asks."""
    kind = kind_of(evaluator)
    llm = Unasked() if kind.needs_model else None
    return evaluators.load_evaluator(evaluator.kind, llm=llm, **evaluator.settings)


def configure_evaluator(
    *,
    workspace: Workspace,
    kind: str,
    name: str = "",
    settings: dict[str, Any] | None = None,
    provider: Provider | None = None,
) -> Evaluator:
    """The evaluator with these settings: the newest version if it has them, else a new one."""
    try:
        found = kind_named(kind)
    except ValueError as error:
        raise InvalidError("evaluator", str(error)) from error
    if found.needs_model and provider is None:
        raise InvalidError("provider", f"{found.title} needs a model: choose a provider")
    wanted = Evaluator(
        workspace=workspace,
        name=clean_name("name", name or found.name),
        kind=kind,
        settings=settings or {},
        provider=provider if found.needs_model else None,
    )
    _try(wanted)
    try:
        return _newest_or_new(wanted)
    except IntegrityError:
        return _newest_or_new(wanted)


@transaction.atomic
def _newest_or_new(wanted: Evaluator) -> Evaluator:
    """The newest version when it is the same, else the next; two at once may collide."""
    versions = Evaluator.objects.select_for_update().filter(
        workspace=wanted.workspace, name=wanted.name
    )
    latest = versions.order_by("-version").first()
    if latest is None:
        wanted.save()
        return wanted
    if (latest.kind, latest.settings, latest.provider_id) == (
        wanted.kind,
        wanted.settings,
        wanted.provider_id,
    ):
        if latest.archived_at is not None:
            latest.archived_at = None
            latest.save(update_fields=["archived_at"])
        return latest
    wanted.version = latest.version + 1
    wanted.save()
    return wanted


def archive_evaluator(evaluator: Evaluator) -> None:
    """Take every version of an evaluator's name out of the lists; results keep theirs."""
    Evaluator.objects.filter(
        workspace=evaluator.workspace_id, name=evaluator.name, archived_at=None
    ).update(archived_at=timezone.now())


def _try(evaluator: Evaluator) -> None:
    try:
        build(evaluator)
    except (ValueError, TypeError, MissingExtra) as error:
        raise InvalidError("settings", str(error)) from error
