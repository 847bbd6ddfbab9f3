"""Moving in: what a LangSmith-compatible server holds, read by the SDK and written here.

Ids stay the same, so a copy that broke off goes on where it was, and a second one changes only what
has changed. Needs the SDK, an extra.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from experiments.errors import ConflictError, InvalidError
from experiments.exports.records import batches
from experiments.formats.parquet import json_text
from experiments.models import Comparison, Dataset, Experiment
from experiments.rawjson import storable
from experiments.services.attachments import KeptFile, store_file
from experiments.services.comparisons import record_sdk_comparison
from experiments.services.datasets import create_dataset
from experiments.services.examples import SPLIT_KEY, NewExample, clean_splits
from experiments.services.experiments import create_experiment
from experiments.services.feedback import FeedbackEntry, store_feedback
from experiments.services.ingest import ingest
from experiments.services.overrides import take_out_examples
from experiments.services.run_pieces import IncomingFile, RunPiece
from experiments.services.upserts import Upserter
from experiments.services.versions import new_version, set_tag
from tiebreak.accounts.models import Workspace

BATCH = 100
Say = Callable[[str], None]


@dataclass
class Mover:
    """Copies from a client into a workspace; `counts` says how much of what was read."""

    client: Any
    workspace: Workspace
    say: Say = print
    history: bool = True
    projects: bool = True
    counts: Counter[str] = field(default_factory=Counter)

    def move(self, names: list[str] | None = None) -> Counter[str]:
        """Copy datasets with their experiments and comparisons: those named, or all.

        With all of them, the tracing projects that belong to no dataset come too.
        """
        for source in list(self.client.list_datasets()):
            if not names or source.name in names:
                self._dataset_or_not(source)
        if self.projects and not names:
            for project in list(self.client.list_projects(reference_free=True)):
                self._project(project)
        return self.counts

    def _dataset_or_not(self, source: Any) -> None:
        """What has the name of something else here is left out; the rest comes all the same."""
        try:
            self._dataset(source)
        except ConflictError as error:
            self.counts["datasets left out"] += 1
            self.say(f"{source.name}: left out. {error}")

    def _project(self, project: Any) -> None:
        """A project whose name is taken here gives its runs to the one that has it."""
        known = Experiment.objects.filter(workspace=self.workspace, dataset=None)
        found = known.filter(uid=project.id) or known.filter(name=project.name)
        here = found.first() or self._created(project, None)
        self.counts["projects"] += 1
        self._runs(project, here.uid)
        self.say(f"{project.name}: a project without a dataset")

    def _dataset(self, source: Any) -> None:
        dataset = self._standing_dataset(source)
        self.counts["datasets"] += 1
        self._versions(source, dataset)
        experiments = list(self.client.list_projects(reference_dataset_id=source.id))
        for project in experiments:
            self._experiment(project, dataset)
        self._comparisons(dataset)
        for project in experiments:
            self._runs(project, project.id)
        gone = dataset.examples.exclude(revisions__valid_to=None)
        if Comparison.objects.filter(dataset=dataset).exists():
            take_out_examples(dataset, list(gone.values_list("uid", flat=True)))
        self.say(
            f"{source.name}: {dataset.example_count:,} examples, {len(experiments)} experiments"
        )

    def _standing_dataset(self, source: Any) -> Dataset:
        found = Dataset.objects.filter(workspace=self.workspace, uid=source.id).first()
        if found is not None:
            return found
        made = create_dataset(
            workspace=self.workspace,
            uid=source.id,
            name=source.name,
            description=source.description,
            data_type=getattr(source.data_type, "value", source.data_type) or "kv",
            metadata=source.metadata or {},
            inputs_schema=_text(source.inputs_schema),
            outputs_schema=_text(source.outputs_schema),
            created_at=source.created_at,
        )
        # Its versions come with their own moments, which lie in the past.
        made.modified_at = source.created_at - timedelta(microseconds=1)
        made.save(update_fields=["modified_at"])
        return made

    def _versions(self, source: Any, dataset: Dataset) -> None:
        versions = sorted(
            self.client.list_dataset_versions(dataset_id=source.id), key=lambda one: one.as_of
        )
        known = set(dataset.versions.values_list("as_of", flat=True))
        for version in versions if self.history else versions[-1:]:
            if version.as_of not in known and version.as_of > dataset.modified_at:
                self._version(source, dataset, version.as_of)
        for version in versions:
            for tag in version.tags or []:
                if tag != "latest" and version.as_of <= dataset.modified_at:
                    set_tag(dataset=dataset, tag=storable(tag), as_of=version.as_of)

    def _version(self, source: Any, dataset: Dataset, as_of: datetime) -> None:
        with new_version(dataset, note="Moved in", at=as_of) as change:
            upserter = Upserter(dataset, change)
            rows = self.client.list_examples(
                dataset_id=source.id, as_of=as_of, include_attachments=True
            )
            for chunk in batches(rows, BATCH):
                upserter.write([self._example(row) for row in chunk])
                self.counts["examples"] += len(chunk)
            upserter.end_the_others()
        dataset.refresh_from_db()

    def _example(self, row: Any) -> NewExample:
        metadata = dict(row.metadata or {})
        return NewExample(
            uid=row.id,
            inputs=json_text(row.inputs or {}),
            outputs=_text(row.outputs),
            splits=clean_splits(metadata.pop(SPLIT_KEY, None) or []),
            metadata=_text(metadata or None),
            created_at=row.created_at,
            source_run_uid=row.source_run_id,
            files=[self._file(name, info) for name, info in (row.attachments or {}).items()],
        )

    def _file(self, name: str, info: dict[str, Any]) -> KeptFile:
        self.counts["attachments"] += 1
        return store_file(self.workspace, _incoming(name, info))

    def _experiment(self, project: Any, dataset: Dataset) -> None:
        self.counts["experiments"] += 1
        if Experiment.objects.filter(workspace=self.workspace, uid=project.id).exists():
            return
        self._created(project, dataset)

    def _created(self, project: Any, dataset: Dataset | None) -> Experiment:
        return create_experiment(
            workspace=self.workspace,
            uid=project.id,
            name=project.name,
            dataset=dataset,
            description=project.description,
            extra=json_text(project.extra or {}),
            start_time=project.start_time,
            end_time=project.end_time,
        )

    def _comparisons(self, dataset: Dataset) -> None:
        for row in self._listed(dataset):
            uid = UUID(row["id"])
            self.counts["comparisons"] += 1
            if Comparison.objects.filter(workspace=self.workspace, uid=uid).exists():
                continue
            uids = [UUID(str(one["id"])) for one in row.get("experiments_info") or []]
            sides = {one.uid: one for one in dataset.experiments.filter(uid__in=uids)}
            if len(sides) < 2 or len(sides) < len(uids):
                self.say(f"{row['name']}: left out, an experiment of it is gone")
                continue
            extra = row.get("extra") or {}
            record_sdk_comparison(
                workspace=self.workspace,
                uid=uid,
                name=row["name"],
                description=row.get("description"),
                experiments=[sides[one] for one in uids],
                dataset=dataset,
                extra=json_text(extra),
                metadata=extra.get("metadata") or {},
                created_at=datetime.fromisoformat(row["created_at"]),
            )

    def _listed(self, dataset: Dataset) -> Iterator[dict[str, Any]]:
        """The SDK has no call for these; two addresses are in use."""
        for path in (
            f"/datasets/comparative?reference_dataset_id={dataset.uid}&limit=100&offset=",
            f"/datasets/{dataset.uid}/comparative?limit=100&offset=",
        ):
            try:
                yield from self._pages(path)
            except Exception as error:
                if not any(code in str(error) for code in ("404", "405", "422")):
                    raise
            else:
                return

    def _pages(self, path: str) -> Iterator[dict[str, Any]]:
        offset = 0
        while True:
            page = self.client.request_with_retries("GET", f"{path}{offset}").json()
            yield from page
            offset += len(page)
            if len(page) < BATCH:
                return

    def _runs(self, project: Any, experiment: UUID) -> None:
        """The runs of a project with their feedback, and the feedback on the project itself."""
        for chunk in batches(self.client.list_runs(project_id=project.id), BATCH):
            uids = [run.id for run in chunk]
            marks = list(self.client.list_feedback(run_ids=uids))
            ingest(
                workspace=self.workspace,
                pieces=[_piece(run, experiment, self._files(run)) for run in chunk],
                feedback=[_entry(mark) for mark in marks],
            )
            self.counts["runs"] += len(chunk)
            self.counts["feedback"] += len(marks)
        whole = self.client.list_feedback(session=[project.id], level="session")
        for chunk in batches((mark for mark in whole if mark.run_id is None), BATCH):
            entries = [replace(_entry(mark), experiment_uid=experiment) for mark in chunk]
            store_feedback(workspace=self.workspace, entries=entries)
            self.counts["feedback"] += len(chunk)

    def _files(self, run: Any) -> dict[str, IncomingFile]:
        files = {name: _incoming(name, info) for name, info in (run.attachments or {}).items()}
        self.counts["attachments"] += len(files)
        return files


def _incoming(name: str, info: dict[str, Any]) -> IncomingFile:
    kind = info.get("mime_type") or "application/octet-stream"
    return IncomingFile(name, kind, info["reader"].read())


def _text(value: Any) -> str | None:
    return None if value is None else json_text(value)


def _piece(run: Any, experiment: UUID, files: dict[str, IncomingFile]) -> RunPiece:
    return RunPiece(
        uid=run.id,
        opening=True,
        trace_uid=run.trace_id or run.id,
        parent_uid=run.parent_run_id,
        dotted_order=run.dotted_order or None,
        name=run.name,
        run_type=run.run_type,
        start_time=run.start_time,
        end_time=run.end_time,
        experiment_uid=experiment,
        example_uid=run.reference_example_id,
        tags=list(run.tags or []),
        inputs=_text(run.inputs),
        outputs=_text(run.outputs),
        error=_text(run.error),
        events=_text(run.events or None),
        extra=_text(run.extra),
        files=files,
    )


def _entry(mark: Any) -> FeedbackEntry:
    score = float(mark.score) if isinstance(mark.score, bool) else mark.score
    source = mark.feedback_source
    return FeedbackEntry(
        uid=mark.id,
        key=mark.key,
        run_uid=mark.run_id,
        trace_uid=mark.trace_id,
        experiment_uid=mark.session_id,
        score=None if score is None else float(score),
        score_text=None if mark.score is None else json_text(mark.score),
        value=_text(mark.value),
        comment=_text(mark.comment),
        correction=_text(mark.correction),
        source=json_text(source.model_dump(mode="json")) if source else '{"type":"api"}',
        source_type=source.type if source else "api",
        extra=_text(mark.extra),
        comparison_uid=mark.comparative_experiment_id,
        group_uid=mark.feedback_group_id,
        created_at=mark.created_at,
        modified_at=mark.modified_at,
    )


def client_for(endpoint: str, key: str) -> Any:
    """The SDK's client for a server, or an error that says how to get the SDK."""
    try:
        from langsmith import Client
    except ImportError as error:
        raise InvalidError(
            "endpoint", "moving in needs the SDK: pip install 'tiebreak[move-in]'"
        ) from error
    return Client(api_url=endpoint, api_key=key, auto_batch_tracing=False)
