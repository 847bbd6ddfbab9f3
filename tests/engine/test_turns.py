"""A turn ends after its time if other work waits for a thread, and only then."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from experiments.models import Comparison, Job, Lane, Upload
from experiments.services import jobs
from experiments.services.lanes import others_wait

pytestmark = pytest.mark.django_db(transaction=True)


def test_only_lanes_that_wait_long_for_a_running_job_count(comparison: Comparison) -> None:
    assert comparison.job is not None
    (lane,) = jobs.plan(comparison.job)
    assert not others_wait()
    Lane.objects.filter(pk=lane.pk).update(changed_at=timezone.now() - timedelta(seconds=5))
    assert others_wait()
    Job.objects.update(state=Job.State.PAUSED)
    assert not others_wait()
    Job.objects.update(state=Job.State.RUNNING)
    Lane.objects.update(state=Lane.State.RUNNING)
    assert not others_wait()


def test_a_plan_and_an_upload_that_wait_long_count(comparison: Comparison) -> None:
    assert not others_wait()
    late = timezone.now() - timedelta(seconds=5)
    Job.objects.update(touched_at=late)
    assert others_wait()
    Job.objects.update(state=Job.State.RUNNING)
    assert not others_wait()
    upload = Upload.objects.create(
        workspace=comparison.workspace,
        state=Upload.State.QUEUED,
        filename="rows.csv",
        path="rows",
        size=1,
        format="csv",
        heartbeat_at=late,
    )
    assert others_wait()
    Upload.objects.filter(pk=upload.pk).update(state=Upload.State.RUNNING)
    assert not others_wait()
