"""Mappings kept for the next file with the same columns."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from experiments.models import SavedMapping
from experiments.services.uploading.columns import Column, pack
from tiebreak.accounts.models import Workspace


def signature(names: Sequence[str]) -> str:
    """Tells files with the same columns, in whatever order."""
    text = "\x00".join(sorted(names))
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def remember_mapping(workspace: Workspace, columns: Sequence[Column]) -> SavedMapping:
    """Keep a mapping; it takes the place of the earlier one for these columns."""
    names = [column.name for column in columns if not column.path]
    kept, _ = SavedMapping.objects.update_or_create(
        workspace=workspace, signature=signature(names), defaults={"mapping": pack(columns)}
    )
    return kept


def saved_mapping(workspace_id: int, names: Sequence[str]) -> dict[str, Any]:
    """What was kept for files with these columns; empty for none."""
    rows = SavedMapping.objects.filter(workspace=workspace_id, signature=signature(names))
    return rows.values_list("mapping", flat=True).first() or {}
