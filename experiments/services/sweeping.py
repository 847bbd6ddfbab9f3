"""The sweep: finds forgotten work. State lives in PostgreSQL, the broker carries hints only."""

from __future__ import annotations

import os
import socket
from collections.abc import Container, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Count, Exists, OuterRef, Q, Sum
from django.utils import timezone

from experiments.models import Job, Lane, OutcomeDelta, QueueItem, WorkerSign
from experiments.services.jobs import complete_if_done
from experiments.services.lanes import renew
from experiments.services.reserved import forget_lost

SWEEP_LOCK = 0x7469656272656B
HINT_SECONDS = 15
ROLL_UP_ROWS = 50
FORGET_WORKERS_AFTER = timedelta(days=1)


@dataclass
class Forgotten:
    """What needs a message again: jobs to plan, and lanes with their new tokens."""

    jobs: list[int] = field(default_factory=list)
    lanes: list[tuple[int, UUID]] = field(default_factory=list)


def owner_name() -> str:
    """This process: machine, process namespace, number, and when it began."""
    pid = os.getpid()
    return f"{socket.gethostname()} {_namespace()} {pid} {_started(pid)}"


def owner_is_dead(owner: str) -> bool:
    """Whether a lane's owner is known to be gone; unknown machines get their lease's time."""
    parts = owner.split(" ")
    if len(parts) != 4 or parts[:2] != [socket.gethostname(), _namespace()]:
        return False
    return _started(int(parts[2])) != parts[3]


def _namespace() -> str:
    try:
        return str(os.stat("/proc/self/ns/pid").st_ino)
    except OSError:
        return "-"


def _started(pid: int) -> str:
    """The start time of a live process in clock ticks; empty for none."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] == "Z" else fields[19]


def _is_dead(lane: Lane, active: Container[UUID]) -> bool:
    """Its process is gone, or it is this process and the turn has failed."""
    return owner_is_dead(lane.owner) or (lane.owner == owner_name() and lane.token not in active)


@contextmanager
def _alone() -> Iterator[bool]:
    """Hold the sweep's advisory lock for a transaction; False when another worker sweeps."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [SWEEP_LOCK])
        yield bool(cursor.fetchone()[0])


def sweep(active: Container[UUID]) -> Forgotten:
    """Free what dead lanes held, close finished jobs, and say what needs a message again.

    `active` are the tokens of the lanes that this very process is working on.
    """
    found = Forgotten()
    give_sign()
    with _alone() as alone:
        if not alone:
            return found
        late = timezone.now() - timedelta(seconds=HINT_SECONDS)
        found.jobs = list(
            Job.objects.filter(state=Job.State.QUEUED, touched_at__lt=late).values_list(
                "pk", flat=True
            )
        )
        Job.objects.filter(pk__in=found.jobs).update(touched_at=timezone.now())
        for lane in _stuck_lanes(active):
            QueueItem.objects.filter(lane_token=lane.token).update(lane_token=None)
            token = renew(lane, Lane.State.QUEUED)
            if token:
                found.lanes.append((lane.pk, token))
        for job in Job.objects.filter(state=Job.State.RUNNING, planned=True):
            complete_if_done(job)
        roll_up_counts()
        forget_lost()
    return found


def give_sign() -> None:
    """Say that this worker is alive; those that fell silent long ago are forgotten."""
    now = timezone.now()
    WorkerSign.objects.update_or_create(name=owner_name(), defaults={"seen_at": now})
    WorkerSign.objects.filter(seen_at__lt=now - FORGET_WORKERS_AFTER).delete()


def _stuck_lanes(active: Container[UUID]) -> list[Lane]:
    now = timezone.now()
    late = now - timedelta(seconds=HINT_SECONDS)
    waiting = QueueItem.objects.filter(job=OuterRef("job"), lane_token=None, not_before__lte=now)
    lanes = Lane.objects.filter(job__state=Job.State.RUNNING).annotate(waits=Exists(waiting))
    stuck = lanes.filter(
        Q(state=Lane.State.RUNNING, lease_until__lt=now)
        | Q(state=Lane.State.QUEUED, changed_at__lt=late)
        | Q(state=Lane.State.IDLE, waits=True)
    )
    running = Lane.objects.filter(job__state=Job.State.RUNNING, state=Lane.State.RUNNING)
    dead = [lane for lane in running if _is_dead(lane, active)]
    return list({lane.pk: lane for lane in [*stuck, *dead]}.values())


def roll_up_counts() -> None:
    """Sum the deltas of an evaluator into one row each, once there are many."""
    crowded = (
        OutcomeDelta.objects.values("evaluator")
        .annotate(rows=Count("pk"))
        .filter(rows__gt=ROLL_UP_ROWS)
        .values_list("evaluator", flat=True)
    )
    for evaluator in list(crowded):
        _roll_up(int(evaluator or 0))


def _roll_up(evaluator_id: int) -> None:
    rows = OutcomeDelta.objects.filter(evaluator=evaluator_id).select_for_update(skip_locked=True)
    ids = list(rows.values_list("pk", flat=True))
    groups = ("judge", "split", "outcome", "order_changed")
    sums = list(
        OutcomeDelta.objects.filter(pk__in=ids)
        .values(*groups)
        .annotate(total=Sum("amount"))
        .order_by(*groups)
    )
    left = [
        OutcomeDelta(evaluator_id=evaluator_id, amount=row.pop("total"), **row)
        for row in sums
        if row["total"]
    ]
    # With many splits the sums may be as many: nothing is won by writing them anew.
    if len(left) < len(ids):
        OutcomeDelta.objects.filter(pk__in=ids).delete()
        OutcomeDelta.objects.bulk_create(left)
