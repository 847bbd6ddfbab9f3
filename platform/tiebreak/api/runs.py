"""Runs as they are read: one by id, many by a query."""

import base64
import binascii
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

from django.db.models import QuerySet
from django.utils import timezone
from rest_framework.decorators import api_view, permission_classes
from rest_framework.request import Request
from rest_framework.response import Response

from experiments.errors import InvalidError
from experiments.models import Attachment, Experiment, Run
from experiments.queries.experiment_statistics import root_counts
from experiments.queries.feedback import figures_of_runs
from experiments.queries.run_statistics import figures_of_set, run_statistics
from experiments.queries.runs import RunQuestion, matching_runs, run_page
from tiebreak import access
from tiebreak.accounts.models import Workspace
from tiebreak.api.authentication import AnyRole
from tiebreak.api.files import link_maker
from tiebreak.api.ingest import create_run, update_run
from tiebreak.api.reading import Fields, object_body, to_uuid, workspace_of
from tiebreak.api.run_shapes import FIELDS, RunView, run_shape
from tiebreak.api.shapes import Shape, attachment_shapes, figures_shape
from tiebreak.api.wire import moment, number

MAX_PAGE = 100
YOUNG = timedelta(seconds=30)
PATIENCE = 2.0
PAUSE = 0.05


@api_view(["POST"])
def runs(request: Request) -> Response:
    return create_run(request)


@api_view(["GET", "PATCH"])
def run(request: Request, uid: str) -> Response:
    if request.method == "PATCH":
        return update_run(request, uid)
    row = access.run(workspace_of(request), uid)
    return Response(run_shapes(request, [row], None)[0])


@api_view(["POST"])
@permission_classes([AnyRole])
def runs_query(request: Request) -> Response:
    workspace, body = workspace_of(request), object_body(request)
    question = question_of(body)
    await_runs(workspace, question)
    cursor = Cursor.of(body.text("cursor"))
    wanted = body.integer("limit")
    left = None if wanted is None else max(wanted - cursor.given, 0)
    limit = MAX_PAGE if left is None else min(left, MAX_PAGE)
    select = body.texts("select") or None
    page = run_page(
        with_needed(matching_runs(workspace, question)),
        limit=limit,
        after=cursor.after,
        ascending=body.text("order") == "asc",
    )
    given = cursor.given + len(page.runs)
    ended = page.last is None or (wanted is not None and given >= wanted)
    return Response(
        {
            "runs": run_shapes(request, page.runs, select),
            "cursors": {"next": None if ended else Cursor(page.last, given).text()},
        }
    )


@api_view(["POST"])
@permission_classes([AnyRole])
def runs_stats(request: Request) -> Response:
    rows = matching_runs(workspace_of(request), question_of(object_body(request)))
    found = run_statistics(rows)
    for name in ("total_cost", "prompt_cost", "completion_cost"):
        found[name] = number(found[name])
    found["last_run_start_time"] = moment(found["last_run_start_time"])
    figures = figures_shape(figures_of_set(rows))
    return Response(found | {"feedback_stats": figures, "run_facets": []})


def question_of(body: Fields) -> RunQuestion:
    """The conditions of a query; null means that there is none."""
    is_root = body.flag("is_root")
    if is_root is None and body.integer("execution_order") == 1:
        is_root = True
    return RunQuestion(
        experiment_uids=_listed(body, "session") or _listed(body, "session_id"),
        uids=_listed(body, "id"),
        trace_uid=body.uuid("trace") or body.uuid("trace_id"),
        parent_uid=body.uuid("parent_run"),
        example_uids=_listed(body, "reference_example"),
        run_type=body.text("run_type"),
        is_root=is_root,
        has_error=body.flag("error"),
        started_from=body.moment("start_time"),
        ended_until=body.moment("end_time"),
        search=body.text("query"),
        filter=body.text("filter"),
        trace_filter=body.text("trace_filter"),
        tree_filter=body.text("tree_filter"),
    )


def _listed(body: Fields, field: str) -> list[UUID] | None:
    value = body.get(field)
    if value is None:
        return None
    return body.uuids(field) if isinstance(value, list) else [to_uuid(field, value)]


def await_runs(workspace: Workspace, question: RunQuestion) -> None:
    """Wait a little for the last root runs of a young experiment.

    `evaluate()` returns while they are still on their way, and `evaluate_comparative()` in the
    next line would not see them.
    """
    if not question.is_root or question.experiment_uids is None:
        return
    young = Experiment.objects.filter(
        workspace=workspace,
        uid__in=question.experiment_uids,
        created_at__gt=timezone.now() - YOUNG,
        num_examples__gt=0,
    )
    expected = {row.pk: (row.num_examples or 0) * (row.num_repetitions or 1) for row in young}
    until = time.monotonic() + PATIENCE
    while expected and time.monotonic() < until:
        counts = root_counts(list(expected))
        expected = {pk: n for pk, n in expected.items() if counts[pk] < n}
        if expected:
            time.sleep(PAUSE)


def with_needed(rows: QuerySet[Run]) -> QuerySet[Run]:
    return rows.select_related("experiment__dataset", "payload").defer("payload__search")


def run_shapes(
    request: Request,
    rows: Sequence[Run],
    select: Collection[str] | None,
    *,
    comparison_uid: UUID | None = None,
) -> list[Shape]:
    workspace = workspace_of(request)
    uids = [row.uid for row in rows]
    wanted = FIELDS.keys() if select is None else select
    figures = (
        figures_of_runs(workspace, uids, comparison_uid=comparison_uid)
        if "feedback_stats" in wanted
        else {}
    )
    files = attachments_of_runs(rows) if "s3_urls" in wanted else {}
    link = link_maker(request)
    return [
        run_shape(
            RunView(
                row,
                workspace,
                figures.get(row.uid, {}),
                attachment_shapes(files.get(row.pk, ()), link),
            ),
            select,
        )
        for row in rows
    ]


def attachments_of_runs(rows: Sequence[Run]) -> dict[int, list[Attachment]]:
    found: dict[int, list[Attachment]] = {}
    for row in Attachment.objects.filter(run__in=[row.pk for row in rows]).order_by("pk"):
        if row.run_id is not None:
            found.setdefault(row.run_id, []).append(row)
    return found


@dataclass(frozen=True)
class Cursor:
    """Where a query goes on: behind which run, and how many were given already."""

    after: tuple[datetime, int] | None = None
    given: int = 0

    @classmethod
    def of(cls, text: str | None) -> "Cursor":
        if text is None:
            return cls()
        try:
            stamp, pk, given = base64.urlsafe_b64decode(text.encode()).decode().split(" ")
            start = datetime.fromtimestamp(0, UTC) + timedelta(microseconds=int(stamp))
            return cls((start, int(pk)), int(given))
        except (ValueError, OverflowError, binascii.Error) as error:
            raise InvalidError("cursor", "is not one that this server gave") from error

    def text(self) -> str:
        assert self.after is not None
        start, pk = self.after
        stamp = (start - datetime.fromtimestamp(0, UTC)) // timedelta(microseconds=1)
        return base64.urlsafe_b64encode(f"{stamp} {pk} {self.given}".encode()).decode()
