"""The main job on the sample: two experiments, compared by a worker, with a verdict."""

import secrets
import time
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from experiments.models import Comparison, Dataset, Job
from experiments.queries.outcome_counts import OutcomeCounts, outcome_counts
from experiments.queries.verdict_card import verdict_of
from experiments.services.sample import compare_sample, load_sample
from experiments.tasks import start_job
from tiebreak.accounts.models import Role, User, Workspace
from tiebreak.accounts.services import create_administrator, create_api_key
from tiebreak.environment import environment

WORKSPACE = "Demo"
PATIENCE_SECONDS = 120


class Command(BaseCommand):
    help = "Load the sample, compare its two experiments through the worker, print the verdict."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--address", required=True)
        parser.add_argument("--swap", action="store_true", help="A is the old version")

    def handle(self, *args: Any, **options: Any) -> None:
        workspace = self._workspace()
        dataset = load_sample(workspace)
        comparison = self._comparison(dataset, swap=options["swap"])
        counts = self._wait(comparison)
        self._print_verdict(comparison, counts, options["address"])
        self._print_sign_in()

    def _workspace(self) -> Workspace:
        if not User.objects.exists():
            self._create_administrator()
        found = Workspace.objects.filter(name=WORKSPACE).first() or Workspace.objects.first()
        if found is None:
            raise CommandError("There is no workspace yet; finish the first run in the browser.")
        return found

    def _create_administrator(self) -> None:
        password = secrets.token_urlsafe(9)
        user = create_administrator(username="admin", password=password, workspace_name=WORKSPACE)
        workspace = Workspace.objects.get(name=WORKSPACE)
        _, key = create_api_key(workspace=workspace, name="Demo", role=Role.EDITOR, created_by=user)
        path = self._sign_in_file()
        path.touch(mode=0o600)
        path.write_text(f"user     admin\npassword {password}\nAPI key  {key}\n")

    @staticmethod
    def _sign_in_file() -> Path:
        return environment().data_path / "demo-sign-in.txt"

    def _comparison(self, dataset: Dataset, *, swap: bool) -> Comparison:
        comparison, is_new = compare_sample(dataset, swap=swap)
        if is_new and comparison.job:
            start_job(comparison.job)
        return comparison

    def _wait(self, comparison: Comparison) -> OutcomeCounts:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline:
            job = Job.objects.get(pk=comparison.job_id or 0)
            if not job.is_open:
                break
            time.sleep(0.2)
        else:
            raise CommandError("No worker has finished the comparison within two minutes.")
        if job.state != Job.State.COMPLETE:
            raise CommandError(f"The comparison ended as {job.state}: {job.error}")
        return outcome_counts(comparison.evaluators.get())

    def _print_verdict(self, comparison: Comparison, counts: OutcomeCounts, address: str) -> None:
        found = verdict_of(comparison, comparison.evaluators.get(), counts)
        self.stdout.write(f"\n{comparison.name}: {counts.judged} of {counts.total} pairs judged")
        self.stdout.write(f"  {found.sentence}")
        self.stdout.write(
            f"  A {counts.a} wins, B {counts.b} wins, {counts.ties} ties, "
            f"{counts.failed} failed, {counts.missing} without a partner"
        )
        for figure in (found.figure("decided_rate"), found.figure("p_value")):
            self.stdout.write(f"  {figure.label}: {figure.text} ({figure.how.method})")
        self.stdout.write(f"  {address}/comparisons/{comparison.uid}\n")

    def _print_sign_in(self) -> None:
        path = self._sign_in_file()
        if path.exists() and User.objects.filter(username="admin").exists():
            self.stdout.write(f"Sign in with (kept in {path}):\n{path.read_text()}")
