"""Configured evaluators and providers: writes, and turning a row into something that judges."""

from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone

import evaluators
from evaluators.errors import MissingExtra
from evaluators.kinds import Kind
from evaluators.llm.judging import Unasked
from evaluators.registry import kind as kind_named
from experiments.errors import ConflictError, InvalidError
from experiments.models import Evaluator, Provider
from experiments.services.datasets import clean_name
from experiments.services.outbound import check_base_url
from experiments.services.sealing import seal
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
        return latest
    wanted.version = latest.version + 1
    wanted.save()
    return wanted


def _try(evaluator: Evaluator) -> None:
    try:
        build(evaluator)
    except (ValueError, TypeError, MissingExtra) as error:
        raise InvalidError("settings", str(error)) from error


def save_provider(
    *,
    workspace: Workspace,
    name: str,
    base_url: str,
    model: str,
    key: str = "",
    timeout: float = 60,
    max_tokens: int | None = None,
    structured: bool = False,
    provider: Provider | None = None,
) -> Provider:
    """Add or change a provider; a key is kept only while the address stays the same."""
    base_url = check_base_url("base_url", base_url)
    if not model.strip():
        raise InvalidError("model", "must not be empty")
    if not 1 <= timeout <= 600:
        raise InvalidError("timeout", "must be between 1 and 600 seconds")
    row = provider or Provider(workspace=workspace)
    moved = row.base_url != base_url
    row.name = clean_name("name", name)
    if Provider.objects.filter(workspace=workspace, name=row.name, archived_at=None).exclude(
        pk=row.pk
    ):
        raise ConflictError(f"A provider named {row.name!r} already exists.")
    row.base_url, row.model, row.timeout = base_url, model.strip(), timeout
    row.max_tokens, row.structured = max_tokens, structured
    if key or moved:
        row.sealed_key = seal(key)
        row.key_hint = key[-4:] if len(key) >= 12 else ""
    row.save()
    return row


def archive_provider(provider: Provider) -> None:
    """Take a provider out of the lists and forget its key; what used it keeps its name."""
    provider.archived_at = timezone.now()
    provider.sealed_key = b""
    provider.key_hint = ""
    provider.save(update_fields=["archived_at", "sealed_key", "key_hint"])
