"""What the scores of a feedback key mean."""

from django.db import IntegrityError, transaction
from django.utils import timezone

from experiments.errors import InvalidError
from experiments.models import FeedbackConfig
from experiments.rawjson import loads
from experiments.services.datasets import clean_name
from tiebreak.accounts.models import Workspace

TYPES = ("continuous", "categorical", "freeform")


def check_config(config: str) -> None:
    """Refuse a configuration that says nothing a reader could use."""
    value = loads(config)
    if not isinstance(value, dict) or value.get("type") not in TYPES:
        raise InvalidError("feedback_config.type", f"must be one of {', '.join(TYPES)}")
    low, high = value.get("min"), value.get("max")
    if isinstance(low, int | float) and isinstance(high, int | float) and low >= high:
        raise InvalidError("feedback_config.max", "must be above min")
    if value["type"] == "categorical" and not _are_categories(value.get("categories")):
        message = "must be a list of at least two values with labels"
        raise InvalidError("feedback_config.categories", message)


def _are_categories(value: object) -> bool:
    return (
        isinstance(value, list)
        and len(value) >= 2
        and all(isinstance(item, dict) and "value" in item for item in value)
    )


def set_config(
    *,
    workspace: Workspace,
    key: str,
    config: str,
    is_lower_score_better: bool | None = None,
    is_enforced: bool = False,
) -> FeedbackConfig:
    """Configure a key; the same again is no mistake, another meaning of a known key is."""
    check_config(config)
    key = clean_name("feedback_key", key)
    try:
        with transaction.atomic():
            return FeedbackConfig.objects.create(
                workspace=workspace,
                key=key,
                config=config,
                is_lower_score_better=is_lower_score_better or False,
                is_enforced=is_enforced,
            )
    except IntegrityError:
        known = FeedbackConfig.objects.get(workspace=workspace, key=key)
    same_way = is_lower_score_better in (None, known.is_lower_score_better)
    if not same_way or loads(known.config) != loads(config):
        raise InvalidError("feedback_key", f"{key!r} is configured already, and differently")
    return known


def update_config(
    known: FeedbackConfig,
    *,
    config: str | None = None,
    is_lower_score_better: bool | None = None,
    is_enforced: bool | None = None,
) -> FeedbackConfig:
    """Change what is given."""
    if config is not None:
        check_config(config)
        known.config = config
    if is_lower_score_better is not None:
        known.is_lower_score_better = is_lower_score_better
    if is_enforced is not None:
        known.is_enforced = is_enforced
    known.modified_at = timezone.now()
    known.save()
    return known


def note_configs(workspace: Workspace, configs: dict[str, str]) -> None:
    """Configurations that came with feedback count for keys that have none."""
    for config in configs.values():
        check_config(config)
    FeedbackConfig.objects.bulk_create(
        [
            FeedbackConfig(workspace=workspace, key=key, config=text)
            for key, text in configs.items()
        ],
        ignore_conflicts=True,
    )
