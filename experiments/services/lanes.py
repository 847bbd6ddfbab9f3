"""Lanes: shares of a job's concurrency. Who holds a lane's token may claim and write."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil
from typing import Any
from uuid import UUID, uuid4

from django.db import connection, transaction
from django.db.models import F
from django.utils import timezone

from experiments.models import Job, Lane, QueueItem, Upload
from experiments.services.reserved import release_all

LANE_WIDTH = 64
WAITS_LONG_SECONDS = 2
CLAIM = """
UPDATE experiments_queueitem SET lane_token = %(token)s
WHERE id IN (
    SELECT item.id FROM experiments_queueitem item
    JOIN experiments_lane lane ON lane.id = %(lane)s AND lane.token = %(token)s
    JOIN experiments_job job ON job.id = lane.job_id AND job.state = 'running'
    WHERE item.job_id = lane.job_id AND item.lane_token IS NULL AND item.not_before <= now()
    ORDER BY item.rank LIMIT %(count)s FOR UPDATE OF item SKIP LOCKED
)
RETURNING id, evaluator_id, target, rank, attempts
"""


@dataclass(frozen=True)
class Claimed:
    """An item that this lane holds."""

    item_id: int
    evaluator_id: int
    target: int
    rank: int
    attempts: int


def open_lanes(job: Job) -> Sequence[Lane]:
    """Lanes that together are as wide as the job allows, with fresh tokens.

    A lane that still waits for its last calls is left alone: it goes on by itself, and until then
    its share of the limit is in use.
    """
    count = ceil(job.max_concurrency / LANE_WIDTH)
    share, rest = divmod(job.max_concurrency, count)
    opened = []
    for number in range(count):
        lane, _ = Lane.objects.get_or_create(
            job=job, number=number, defaults={"width": 1, "token": uuid4()}
        )
        free = Lane.objects.filter(pk=lane.pk).exclude(state=Lane.State.RUNNING)
        width = share + (number < rest)
        if free.update(width=width, **fresh(Lane.State.QUEUED)):
            opened.append(Lane.objects.get(pk=lane.pk))
    return opened


def fresh(state: str) -> dict[str, Any]:
    """What a lane is given when it changes hands: a new token, and nothing held any more."""
    return {
        "token": uuid4(),
        "state": state,
        "owner": "",
        "changed_at": timezone.now(),
        "lease_until": None,
        "calls_held": 0,
        "money_held": 0,
    }


def take_lane(lane_id: int, token: UUID, *, owner: str, lease: timedelta) -> Lane | None:
    """Make a queued lane ours; None when the message is late or came twice."""
    moment = timezone.now()
    taken = Lane.objects.filter(
        pk=lane_id, token=token, state=Lane.State.QUEUED, job__state=Job.State.RUNNING
    ).update(state=Lane.State.RUNNING, owner=owner, changed_at=moment, lease_until=moment + lease)
    return Lane.objects.select_related("job").get(pk=lane_id) if taken else None


def report(lane: Lane, *, lease: timedelta) -> bool:
    """Heartbeat: prolong the lease, and say whether this lane may ask on."""
    moment = timezone.now()
    ours = Lane.objects.filter(pk=lane.pk, token=lane.token).update(lease_until=moment + lease)
    running = Job.objects.filter(pk=lane.job_id, state=Job.State.RUNNING).update(touched_at=moment)
    return bool(ours and running)


def claim(lane: Lane, count: int) -> list[Claimed]:
    """Take up to `count` free items, the lowest ranks first; none when the token is stale."""
    with connection.cursor() as cursor:
        cursor.execute(CLAIM, {"lane": lane.pk, "token": lane.token, "count": count})
        return sorted((Claimed(*row) for row in cursor.fetchall()), key=lambda item: item.rank)


def still_ours(lane: Lane, items: Sequence[Claimed]) -> set[int]:
    """Lock those of the items that the lane's token still holds; call inside a transaction."""
    held = QueueItem.objects.select_for_update().filter(
        pk__in=[item.item_id for item in items], lane_token=lane.token
    )
    return set(held.order_by("pk").values_list("pk", flat=True))


def drop_items(item_ids: Sequence[int]) -> None:
    """Take finished items off the queue."""
    QueueItem.objects.filter(pk__in=item_ids).delete()


def put_back(lane: Lane, item_ids: Sequence[int], *, delay: float, failed: bool) -> None:
    """Free items for a later attempt, `delay` seconds from now."""
    QueueItem.objects.filter(pk__in=item_ids, lane_token=lane.token).update(
        lane_token=None,
        not_before=timezone.now() + timedelta(seconds=delay),
        attempts=F("attempts") + int(failed),
    )


def others_wait() -> bool:
    """Whether a lane, a plan or an upload has waited for a worker's thread for a while."""
    late = timezone.now() - timedelta(seconds=WAITS_LONG_SECONDS)
    waiting = Lane.objects.filter(state=Lane.State.QUEUED, changed_at__lt=late)
    return (
        waiting.filter(job__state=Job.State.RUNNING).exists()
        or Job.objects.filter(state=Job.State.QUEUED, touched_at__lt=late).exists()
        or Upload.objects.filter(state=Upload.State.QUEUED, heartbeat_at__lt=late).exists()
    )


def next_due(lane: Lane) -> datetime | None:
    """When the next unclaimed item may be asked; None when there is none."""
    free = QueueItem.objects.filter(job=lane.job_id, lane_token=None)
    return free.order_by("not_before").values_list("not_before", flat=True).first()


@transaction.atomic
def hand_over(lane: Lane) -> UUID | None:
    """End our turn: with work left, return the token for the next turn's message, else None."""
    QueueItem.objects.filter(lane_token=lane.token).update(lane_token=None)
    release_all(lane.token)
    more = (
        Job.objects.filter(pk=lane.job_id, state=Job.State.RUNNING).exists()
        and QueueItem.objects.filter(job=lane.job_id, lane_token=None).exists()
    )
    return renew(lane, Lane.State.QUEUED if more else Lane.State.IDLE)


def renew(lane: Lane, state: str) -> UUID | None:
    """Give a lane a new token, unless somebody did so meanwhile; its old one is worthless then."""
    values = fresh(state)
    renewed = Lane.objects.filter(pk=lane.pk, token=lane.token).update(**values)
    return values["token"] if renewed and state == Lane.State.QUEUED else None
