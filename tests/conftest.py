"""The cast: Alice's workspace, and Mallory, a stranger with a workspace of her own."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError
from django.core.management.commands import flush
from django.db import connection
from django.test import override_settings
from hypothesis import settings as hypothesis_settings
from pytest_django.plugin import DjangoDbBlocker

from experiments.models import Comparison
from tests.engine.processes import Worker
from tests.factories import (
    make_comparison,
    make_dataset,
    make_experiment,
    make_key,
    make_person,
)
from tiebreak.accounts.models import User, Workspace

FLUSH_TRIES = 10
# How long an example takes says how busy the machine is, and nothing about the code.
hypothesis_settings.register_profile("tiebreak", deadline=None)
hypothesis_settings.load_profile("tiebreak")


@pytest.fixture
def alice(db: None) -> User:
    return make_person("alice", "Alice's workspace")[0]


@pytest.fixture
def mallory(db: None) -> User:
    return make_person("mallory", "Mallory's workspace")[0]


@pytest.fixture
def workspace(alice: User) -> Workspace:
    return Workspace.objects.get(memberships__user=alice)


@pytest.fixture
def other_workspace(mallory: User) -> Workspace:
    return Workspace.objects.get(memberships__user=mallory)


@pytest.fixture
def api_key(workspace: Workspace) -> str:
    return make_key(workspace)


@pytest.fixture
def comparison(workspace: Workspace) -> Comparison:
    """A launched comparison: A is nearer in two of three, none judged yet."""
    dataset = make_dataset(workspace)
    a = make_experiment(dataset, ["4", "Paris", "green"], name="system a")
    b = make_experiment(dataset, ["5", "London", "blue"], name="system b")
    return make_comparison(a, b)


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """The test database; what killed processes left connected is cut off before it is dropped."""
    yield
    with django_db_blocker.unblock(), connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


@pytest.fixture(scope="module")
def worker(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    """A Celery worker in a process of its own; it ends with the module, for others want none."""
    log: Path = tmp_path_factory.mktemp("worker") / "worker.log"
    with Worker(log=log) as running:
        yield running


@pytest.fixture(autouse=True, scope="session")
def patient_flush() -> Iterator[None]:
    """A worker may hold a lock at the moment a test's tables are emptied: try again then."""
    empty = flush.Command.handle

    def patiently(command: flush.Command, **options: Any) -> None:
        for _ in range(FLUSH_TRIES):
            try:
                return empty(command, **options)
            except CommandError:
                time.sleep(0.2)
        return empty(command, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(flush.Command, "handle", patiently)
        yield


@pytest.fixture(autouse=True, scope="session")
def quick_passwords() -> Iterator[None]:
    """Hashing a password well takes longer than most tests."""
    with override_settings(PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"]):
        yield
