"""Many small jobs on one worker, which has fewer connections to the database than lanes."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.models import Job
from tests.engine.launching import launched
from tests.engine.processes import StubJudge, Worker, eventually
from tests.factories import make_provider
from tiebreak.accounts.models import Workspace

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.xdist_group("many_jobs"),
]
MANY = 24


def test_many_small_jobs_share_a_worker_and_all_complete(
    workspace: Workspace, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    with StubJudge(delay=0.3) as stub, Worker(threads=64, log=log):
        for number in range(MANY):
            provider = make_provider(workspace, stub.base_url)
            # Another model, so that no reply answers two jobs.
            provider.model = f"stub {number}"
            provider.save(update_fields=["model"])
            launched(workspace, provider, 20, max_concurrency=2)
        done = Job.objects.filter(state=Job.State.COMPLETE)
        eventually(lambda: done.count() == MANY, 60, "all are complete")
        # All at once, not a few lanes at a time.
        assert stub.stats()["max_in_flight"] > MANY
        assert stub.stats()["calls"] == 20 * MANY
    assert "Timeout" not in log.read_text()
