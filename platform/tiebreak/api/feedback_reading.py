"""Feedback as a client sends it, checked field by field."""

import math
from decimal import Decimal
from typing import Any

from experiments.errors import InvalidError
from experiments.ids import uuid7
from experiments.rawjson import dumps, storable
from experiments.services.datasets import clean_name
from experiments.services.feedback import DEFAULT_SOURCE, FeedbackEntry
from experiments.services.feedback_configs import check_config
from tiebreak.api.reading import Fields, to_uuid


def read_feedback(values: object, *, uid: object = None) -> FeedbackEntry:
    sent = Fields.of(values, "feedback")
    given = sent.get("id") if uid is None else uid
    source = sent.object("feedback_source") or {}
    extra = sent.object("extra")
    entry = FeedbackEntry(
        uid=uuid7() if given is None else to_uuid("id", given),
        key=clean_name("key", sent.needed_text("key")),
        run_uid=sent.uuid("run_id"),
        trace_uid=sent.uuid("trace_id"),
        experiment_uid=sent.uuid("session_id"),
        source=dumps(source) if source else DEFAULT_SOURCE,
        source_type=storable(str(source.get("type") or "api"))[:40],
        extra=None if extra is None else dumps(extra),
        is_error=bool(sent.flag("error")) or bool(extra and extra.get("error") is True),
        comparison_uid=sent.uuid("comparative_experiment_id"),
        group_uid=sent.uuid("feedback_group_id"),
        created_at=sent.moment("created_at"),
        modified_at=sent.moment("modified_at"),
        config=_config(sent),
        **verdict_fields(sent),
    )
    if entry.run_uid is None and entry.experiment_uid is None:
        raise InvalidError("run_id", "is needed, or a session_id for feedback on an experiment")
    return entry


def _config(sent: Fields) -> str | None:
    config = sent.raw_object("feedback_config")
    if config is not None:
        check_config(config)
    return config


def verdict_fields(sent: Fields) -> dict[str, Any]:
    """Score, value, comment and correction, in the spelling of the table."""
    score = sent.get("score")
    value = sent.get("value")
    if isinstance(value, list):
        raise InvalidError("value", "must be a text, a number, true, false or an object")
    return {
        "score": _score(score),
        "score_text": None if score is None else dumps(score),
        "value": None if value is None else dumps(value),
        "comment": None if sent.get("comment") is None else dumps(_comment(sent)),
        "correction": sent.raw_object("correction"),
    }


def _score(score: object) -> float | None:
    if score is None:
        return None
    if not isinstance(score, bool | int | float | Decimal):
        raise InvalidError("score", "must be a number, true, false or null")
    try:
        number = float(score)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise InvalidError("score", "is too large")
    return number


def _comment(sent: Fields) -> str:
    comment = sent.get("comment")
    if not isinstance(comment, str):
        raise InvalidError("comment", "must be a text")
    return comment
