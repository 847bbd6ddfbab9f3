"""Celery tasks: each loads by id and calls one service. Messages are hints; rows are the truth."""

import logging
import threading
from collections.abc import Iterable
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import UUID

from celery import shared_task
from celery.signals import worker_ready, worker_shutting_down
from django.db import InterfaceError, OperationalError, connection, transaction

from experiments.errors import ConflictError
from experiments.models import ComparisonEvaluator, Job, Judgment, Lane, Upload
from experiments.queries.experiment_pages import ExperimentRow
from experiments.services import jobs, lanes, reports, summaries, sweeping
from experiments.services.budgets import Budget
from experiments.services.lane_turn import Turn
from experiments.services.searching import fill_search, search_waits
from experiments.services.uploading.storing import store_upload
from experiments.services.uploads import forgotten_uploads

log = logging.getLogger(__name__)
SWEEP_SECONDS = 10
FIRST_LEASE = timedelta(seconds=60)
stopping = threading.Event()
active: set[UUID] = set()


def start_job(job: Job) -> None:
    """Queue the planning of a job once its rows are committed."""
    transaction.on_commit(partial(hint, plan, job.pk))


def start_lanes(opened: Iterable[Lane]) -> None:
    """Queue a message for each lane once its row is committed."""
    for lane in opened:
        transaction.on_commit(partial(hint, run_lane, lane.pk, str(lane.token)))


def steer(job: Job | None, step: str) -> None:
    """Take a step that somebody asked for, and send the messages that it takes."""
    if job is None:
        raise ConflictError("A script judges this comparison; it cannot be steered from here.")
    start_lanes(jobs.steer(job, step))
    start_if_queued(job)


def rejudge_row(judgment: Judgment) -> None:
    """Judge one row again, and send the messages that it takes."""
    start_lanes(jobs.rejudge_row(judgment))


def set_budget(job: Job | None, budget: Budget) -> None:
    """Set a job's budget; one that waited for it goes on."""
    if job is None:
        raise ConflictError("A script judges this comparison; it has no budget here.")
    start_lanes(jobs.set_budget(job, budget))
    start_if_queued(job)


def start_if_queued(job: Job) -> None:
    job.refresh_from_db()
    if job.state == Job.State.QUEUED:
        start_job(job)


def hint(task: Any, *arguments: Any) -> None:
    """Send a message; without a broker the sweep finds the work within seconds."""
    try:
        task.apply_async(arguments, retry=False)
    except OSError as error:
        log.warning("No message for %s: %s", task.name, error)
    except Exception as error:
        if type(error).__name__ != "OperationalError":
            raise
        log.warning("No message for %s: %s", task.name, error)


@shared_task
def plan(job_id: int) -> None:
    """Pair the runs of a job, queue its work and start its lanes."""
    job = Job.objects.filter(pk=job_id).first()
    if job is None:
        return
    try:
        start_lanes(jobs.plan(job))
    except (OperationalError, InterfaceError):
        raise
    except Exception as error:
        log.exception("Job %s cannot be planned", job.uid)
        jobs.move(job, "fail", error=f"Planning failed: {type(error).__name__}")


@shared_task
def run_lane(lane_id: int, token: str) -> None:
    """Work for one turn, then queue the next."""
    if stopping.is_set():
        return
    ours = UUID(token)
    active.add(ours)
    try:
        lane = lanes.take_lane(lane_id, ours, owner=sweeping.owner_name(), lease=FIRST_LEASE)
        following = Turn(lane, stopping).run() if lane else None
    finally:
        active.discard(ours)
    if following is not None:
        hint(run_lane, lane_id, str(following))
    elif lane is not None:
        for evaluator_id in reports.due(lane.job_id):
            hint(add_up_report, evaluator_id)


@shared_task
def add_up_report(evaluator_id: int) -> None:
    """Add up the report of an evaluator's verdicts, unless that was done a moment ago."""
    reports.refresh(evaluator_id)


def start_report(evaluator: ComparisonEvaluator) -> None:
    """Queue the adding up of a report that is behind."""
    hint(add_up_report, evaluator.pk)


@shared_task
def add_up_summary(experiment_id: int) -> None:
    """Add up an experiment's runs and scores, unless that was begun a moment ago."""
    summaries.refresh(experiment_id)


def start_summaries(rows: Iterable[ExperimentRow]) -> bool:
    """Queue the adding up of experiments that are behind; says whether there are any."""
    behind = [row for row in rows if not row.summary.fresh]
    for row in behind:
        hint(add_up_summary, row.experiment.pk)
    return bool(behind)


def start_upload(upload: Upload) -> None:
    """Queue the storing of an upload once its row is committed."""
    transaction.on_commit(partial(hint, store, upload.pk))


@shared_task
def store(upload_id: int) -> None:
    """Store the rows of an upload as one version."""
    store_upload(upload_id, stopping)
    if search_waits():
        hint(fill_search_texts)


@shared_task
def fill_search_texts() -> None:
    """Make what searches look at for one turn, then queue the next."""
    if fill_search(stopping):
        hint(fill_search_texts)


def sweep() -> None:
    """Send messages for whatever was forgotten."""
    found = sweeping.sweep(active)
    for job_id in found.jobs:
        hint(plan, job_id)
    for lane_id, token in found.lanes:
        hint(run_lane, lane_id, str(token))
    for upload_id in forgotten_uploads():
        hint(store, upload_id)
    if search_waits():
        hint(fill_search_texts)


def sweep_for_ever() -> None:
    """Sweep at once and every ten seconds, until the worker stops."""
    while True:
        try:
            sweep()
        except Exception:
            log.exception("The sweep failed; it will try again")
        finally:
            connection.close()
        if stopping.wait(SWEEP_SECONDS):
            return


@worker_ready.connect
def start_sweeping(**_: Any) -> None:
    threading.Thread(target=sweep_for_ever, name="sweep", daemon=True).start()


@worker_shutting_down.connect
def begin_stopping(**_: Any) -> None:
    stopping.set()
