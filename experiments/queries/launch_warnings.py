"""What a person should know before a comparison is launched."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import connection

from evaluators.kinds import Kind
from experiments.models import Experiment, Provider

# The names by which the makers of models are known, in names of experiments and of models alike.
FAMILIES = (
    "gpt", "o1", "o3", "o4", "claude", "gemini", "gemma", "llama", "mistral", "mixtral", "qwen",
    "deepseek", "command", "phi", "grok", "nova",
)  # fmt: skip

_WITHOUT_REFERENCE = """
SELECT count(*) FROM experiments_examplerevision revision
JOIN experiments_examplepayload payload ON payload.revision_id = revision.id
WHERE revision.dataset_id = %s AND revision.valid_to IS NULL
  AND (payload.outputs IS NULL OR payload.outputs::text IN ('null', '{}'))
"""


def launch_warnings(
    experiments: Sequence[Experiment], kind: Kind | None, provider: Provider | None
) -> list[str]:
    """Versions that differ, references that lack, a judge that may favour its own kin."""
    told = []
    versions = {row.dataset_version for row in experiments}
    if len(versions) > 1:
        told.append(
            "The two ran on different versions of the dataset: an example that changed in "
            "between is judged as A saw it."
        )
    if kind and kind.requires_reference and (lacking := _without_reference(experiments[0])):
        told.append(f"{lacking:,} examples have no reference, which this evaluator needs.")
    if provider:
        told += [
            f"{row.name} and the judge may be of one family ({family}): judges tend to favour "
            "their own."
            for row in experiments
            for family in sorted(_families(row) & _families_in(provider.model))
        ]
    return told


def _without_reference(experiment: Experiment) -> int:
    with connection.cursor() as cursor:
        cursor.execute(_WITHOUT_REFERENCE, [experiment.dataset_id])
        (count,) = cursor.fetchone()
        return int(count)


def _families(experiment: Experiment) -> set[str]:
    model = experiment.metadata.get("model", "")
    return _families_in(f"{experiment.name} {model if isinstance(model, str) else ''}")


def _families_in(text: str) -> set[str]:
    words = "".join(letter if letter.isalnum() else " " for letter in text.lower()).split()
    return {name for name in FAMILIES for word in words if word.startswith(name)}
