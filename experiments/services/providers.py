"""Model providers of a workspace: saving, taking out of use, and one small call to try them."""

from __future__ import annotations

import asyncio
from copy import copy
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypedDict

from django.utils import timezone

from evaluators.errors import ModelError, ProviderError
from evaluators.llm.models import Message, Reply
from evaluators.llm.providers.openai_compatible import sdk
from experiments.errors import ConflictError, InvalidError
from experiments.models import Provider
from experiments.rawjson import NotJsonError, loads
from experiments.services.calling import Caller
from experiments.services.datasets import clean_name
from experiments.services.fallbacks import MAX_FALLBACKS, chain_of
from experiments.services.outbound import check_base_url
from experiments.services.sealing import Unsealable, seal
from tiebreak.accounts.models import Workspace

LONGEST_TRIAL_SECONDS = 20
QUESTION: list[Message] = [
    {"role": "user", "content": "Which number is larger, 2 or 3? Answer with the number alone."}
]
SHAPE: dict[str, Any] = {
    "type": "object",
    "properties": {"answer": {"type": "string", "enum": ["2", "3"]}},
    "required": ["answer"],
    "additionalProperties": False,
}


class Options(TypedDict, total=False):
    """What may be left out: no limit, no price of one's own, nobody to fall back on."""

    timeout: float
    max_tokens: int | None
    structured: bool
    input_price: Decimal | None
    output_price: Decimal | None
    requests_per_minute: int | None
    tokens_per_minute: int | None
    fallback: Provider | None


def save_provider(
    *,
    workspace: Workspace,
    name: str,
    base_url: str,
    model: str,
    key: str = "",
    options: Options | None = None,
    provider: Provider | None = None,
) -> Provider:
    """Add or change a provider; a key is kept only while the address stays the same."""
    base_url = check_base_url("base_url", base_url)
    if not model.strip():
        raise InvalidError("model", "must not be empty")
    row = provider or Provider(workspace=workspace)
    moved = row.base_url != base_url
    row.name = clean_name("name", name)
    if Provider.objects.filter(workspace=workspace, name=row.name, archived_at=None).exclude(
        pk=row.pk
    ):
        raise ConflictError(f"A provider named {row.name!r} already exists.")
    row.base_url, row.model = base_url, model.strip()
    for field, value in (options or {}).items():
        setattr(row, field, value)
    _check_options(row)
    if key or moved:
        row.sealed_key = seal(key)
        row.key_hint = key[-4:] if len(key) >= 12 else ""
    row.save()
    return row


def _check_options(row: Provider) -> None:
    if not 1 <= row.timeout <= 600:
        raise InvalidError("timeout", "must be between 1 and 600 seconds")
    for field in ("input_price", "output_price", "requests_per_minute", "tokens_per_minute"):
        value = getattr(row, field)
        if value is not None and (value < 0 or (value == 0 and "minute" in field)):
            raise InvalidError(field, "must be above 0" if "minute" in field else "must not be < 0")
    if (row.input_price is None) != (row.output_price is None):
        lacking = "input_price" if row.input_price is None else "output_price"
        raise InvalidError(lacking, "enter both prices, or neither")
    if row.fallback is None:
        return
    if row.fallback.workspace_id != row.workspace_id or row.fallback.archived_at is not None:
        raise InvalidError("fallback", "is not a model of this workspace")
    if row.pk and row.pk in [one.pk for one in chain_of(row.fallback)]:
        raise InvalidError("fallback", "would come back to this one")
    if len(chain_of(row.fallback)) > MAX_FALLBACKS:
        raise InvalidError("fallback", f"at most {MAX_FALLBACKS} may be asked one after the other")


def archive_provider(provider: Provider) -> None:
    """Take a provider out of the lists and forget its key; what used it keeps its name."""
    provider.archived_at = timezone.now()
    provider.sealed_key = b""
    provider.key_hint = ""
    provider.save(update_fields=["archived_at", "sealed_key", "key_hint"])
    Provider.objects.filter(fallback=provider).update(fallback=None)


@dataclass(frozen=True)
class Trial:
    """What one small call to a provider brought; `latency` in seconds."""

    model: str = ""
    latency: float = 0.0
    keeps_to_schema: bool = False
    error: str = ""


def try_provider(provider: Provider) -> Trial:
    """Ask one small question, in a JSON shape if the server takes one; never raises for a fault.

    The text of an error holds nothing that the server sent.
    """
    try:
        check_base_url("base_url", provider.base_url)
        return asyncio.run(_try(provider))
    except InvalidError as error:
        return Trial(error=f"The address was refused: {error.message}.")
    except (ModelError, Unsealable) as error:
        return Trial(error=str(error))


async def _try(provider: Provider) -> Trial:
    try:
        reply = await _ask(provider, structured=True)
    except ProviderError as error:
        if error.status not in (400, 404, 422):
            raise
        return _trial(await _ask(provider, structured=False), keeps_to_schema=False)
    return _trial(reply, keeps_to_schema=_fits(reply.text))


async def _ask(provider: Provider, *, structured: bool) -> Reply:
    probe = copy(provider)
    probe.structured = structured
    probe.timeout = min(provider.timeout, LONGEST_TRIAL_SECONDS)
    sdk()  # Loading it is no part of the model's latency.
    caller = Caller(probe, SHAPE)
    try:
        return await caller.call(QUESTION)
    finally:
        await caller.close()


def _trial(reply: Reply, *, keeps_to_schema: bool) -> Trial:
    return Trial(reply.model, reply.latency, keeps_to_schema)


def _fits(text: str) -> bool:
    try:
        value = loads(text)
    except NotJsonError:
        return False
    return isinstance(value, dict) and value.get("answer") in ("2", "3")
