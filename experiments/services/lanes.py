"""Lanes: shares of a job's concurrency. Who holds a lane's token may claim and write."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil
from uuid import UUID, uuid4

from django.db import connection, transaction
from django.db.models import F
from django.utils import timezone

from experiments.models import Job, Lane, QueueItem

LANE_WIDTH = 64
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
    """Lanes that together are as wide as the job allows, with fresh tokens."""
    count = ceil(job.max_concurrency / LANE_WIDTH)
    moment = timezone.now()
    share, rest = divmod(job.max_concurrency, count)
    return [
        Lane.objects.update_or_create(
            job=job,
            number=number,
            defaults={
                "width": share + (number < rest),
                "token": uuid4(),
                "state": Lane.State.QUEUED,
                "owner": "",
                "changed_at": moment,
                "lease_until": None,
            },
        )[0]
        for number in range(count)
    ]


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


def free_items(job: Job) -> None:
    """Let go of everything that any lane of this job has claimed."""
    QueueItem.objects.filter(job=job, lane_token__isnull=False).update(lane_token=None)


def next_due(lane: Lane) -> datetime | None:
    """When the next unclaimed item may be asked; None when there is none."""
    free = QueueItem.objects.filter(job=lane.job_id, lane_token=None)
    return free.order_by("not_before").values_list("not_before", flat=True).first()


@transaction.atomic
def hand_over(lane: Lane) -> UUID | None:
    """End our turn: with work left, return the token for the next turn's message, else None."""
    QueueItem.objects.filter(lane_token=lane.token).update(lane_token=None)
    more = (
        Job.objects.filter(pk=lane.job_id, state=Job.State.RUNNING).exists()
        and QueueItem.objects.filter(job=lane.job_id, lane_token=None).exists()
    )
    return renew(lane, Lane.State.QUEUED if more else Lane.State.IDLE)


def renew(lane: Lane, state: str) -> UUID | None:
    """Give a lane a new token, unless somebody did so meanwhile; its old one is worthless then."""
    token = uuid4()
    renewed = Lane.objects.filter(pk=lane.pk, token=lane.token).update(
        token=token, state=state, owner="", changed_at=timezone.now(), lease_until=None
    )
    return token if renewed and state == Lane.State.QUEUED else None
