"""A database that is away or full: said so, as JSON, and the client may try again."""

from __future__ import annotations

import pytest
from django.db import IntegrityError, OperationalError, connection
from psycopg import errors
from psycopg_pool import PoolTimeout
from rest_framework.exceptions import ParseError

from experiments.models import Experiment, Run
from experiments.services import experiments as experiments_service
from experiments.services import ingest as ingest_service
from experiments.services import run_rows
from experiments.services.deletion import delete_experiment
from tests.api.bodies import run_body
from tests.api.conftest import Call
from tiebreak.accounts.models import Workspace
from tiebreak.api.run_reading import read_run
from tiebreak.api.wire import exception_handler


@pytest.mark.parametrize(
    "cause",
    [
        errors.DiskFull("could not extend file"),
        errors.AdminShutdown("terminating connection"),
        errors.TooManyConnections("too many clients"),
        errors.DeadlockDetected("deadlock detected"),
        PoolTimeout("no connection within 30 s"),
    ],
)
def test_an_outage_is_a_503_with_a_time_to_wait(db: None, cause: Exception) -> None:
    error = cause
    if not isinstance(cause, PoolTimeout):
        with pytest.raises(OperationalError) as caught, connection.wrap_database_errors:
            raise cause
        error = caught.value
    answer = exception_handler(error, {})
    assert answer.status_code == 503
    assert int(answer.headers["Retry-After"]) > 0
    assert "nothing was stored" in answer.data["detail"]


def test_a_clients_mistake_is_no_outage(db: None) -> None:
    assert exception_handler(ParseError("no"), {}).status_code == 400
    assert exception_handler(IntegrityError("a bug of ours"), {}).status_code == 500


def test_a_connection_that_broke_is_answered_and_the_next_request_works(
    call: Call, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server's own connection is cut in the middle of a batch."""
    real = run_rows.upsert_payloads

    def cut(*arguments: object) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")

    run = run_body()
    monkeypatch.setattr(ingest_service, "upsert_payloads", cut)
    answer = call("POST", "/runs", json=run)
    assert (answer.status_code, "Retry-After" in answer.headers) == (503, True)
    assert not Run.objects.filter(workspace=workspace).exists()
    monkeypatch.setattr(ingest_service, "upsert_payloads", real)
    assert call("POST", "/runs", json=run).status_code == 202


def test_an_experiment_that_goes_while_its_runs_come_is_made_again(
    transactional_db: None, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = Experiment.objects.create(workspace=workspace, name="project")
    real = experiments_service.ensure_experiments
    deleted: list[bool] = []

    def find_and_lose(**arguments: object) -> dict[str, int]:
        found: dict[str, int] = real(**arguments)  # type: ignore[arg-type]
        if not deleted:
            delete_experiment(known)
            deleted.append(True)
        return found

    monkeypatch.setattr(ingest_service, "ensure_experiments", find_and_lose)
    piece = read_run(run_body(), opening=True)
    ingest_service.ingest(workspace=workspace, pieces=[piece])
    assert Run.objects.get(uid=piece.uid).experiment.name == "project"
