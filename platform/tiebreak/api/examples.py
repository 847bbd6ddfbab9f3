"""Examples: read as of a moment, written by multipart or JSON."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.http import Http404
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from experiments.errors import InvalidError
from experiments.models import Dataset, Example, ExampleRevision
from experiments.queries.examples import attachments_of, example_revisions, moment_of_tag
from experiments.services.examples import (
    Written,
    add_examples,
    delete_examples,
    erase_examples,
    update_examples,
)
from tiebreak import access
from tiebreak.accounts.models import Workspace
from tiebreak.api.example_reading import ExampleParts, example_change, gathered, new_example
from tiebreak.api.files import link_maker
from tiebreak.api.lists import page_of
from tiebreak.api.multipart import request_parts
from tiebreak.api.reading import (
    Fields,
    Params,
    json_body,
    object_body,
    to_moment,
    to_uuid,
    workspace_of,
)
from tiebreak.api.shapes import Shape, attachment_shapes, example_shape
from tiebreak.api.wire import moment

DEFAULT = (
    "id",
    "name",
    "dataset_id",
    "inputs",
    "outputs",
    "metadata",
    "source_run_id",
    "created_at",
    "modified_at",
)


def as_of_moment(dataset: Dataset | None, text: str | None) -> datetime | None:
    """A moment or a tag; None is what stands now."""
    if text is None or text == "latest":
        return None
    if dataset is not None and (tagged := moment_of_tag(dataset, text)):
        return tagged
    try:
        return to_moment("as_of", text)
    except InvalidError as error:
        raise Http404(f"This dataset has no version {text[:100]!r}") from error


def _dataset_of_example(workspace: Workspace, uid: UUID | str) -> Dataset:
    return access.find(Example.objects.select_related("dataset"), workspace, uid).dataset


@api_view(["GET", "POST", "DELETE"])
def examples(request: Request) -> Response:
    if request.method == "POST":
        return _create_one(request)
    return _delete_many(request) if request.method == "DELETE" else _list(request)


def _list(request: Request) -> Response:
    workspace, params = workspace_of(request), Params(request)
    dataset_uid, uids = params.uuid("dataset"), params.uuids("id")
    if dataset_uid is None and uids is None:
        raise InvalidError("dataset", "is needed, or ids of examples")
    dataset = None if dataset_uid is None else access.dataset(workspace, dataset_uid)
    rows = example_revisions(
        workspace,
        dataset=dataset,
        as_of=as_of_moment(dataset, params.text("as_of")),
        uids=uids,
        splits=params.texts("splits"),
        metadata=params.object("metadata"),
        filter_text=params.text("filter"),
    )
    page = page_of(request, rows, ["example_id"])
    return Response(_shapes(request, page, params))


def _shapes(request: Request, page: Sequence[ExampleRevision], params: Params) -> list[Shape]:
    """`select` adds to the usual fields; those left out, it stands with the id alone."""
    select = params.texts("select") or []
    alone = select and params.flag("exclude_default_fields")
    wanted = {*(("id",) if alone else DEFAULT), *select}
    files = attachments_of([row.pk for row in page]) if "attachment_urls" in wanted else {}
    link = link_maker(request)
    shapes = [example_shape(row, attachment_shapes(files.get(row.pk, ()), link)) for row in page]
    return [{key: value for key, value in shape.items() if key in wanted} for shape in shapes]


def _create_one(request: Request) -> Response:
    workspace, body = workspace_of(request), object_body(request)
    dataset = access.dataset(workspace, body.needed_uuid("dataset_id"))
    written = add_examples(dataset=dataset, examples=[new_example(workspace, body)])
    return Response(_read(request, dataset, written.uids[0]), status=201)


def _read(
    request: Request, dataset: Dataset, uid: UUID | str, as_of: datetime | None = None
) -> Shape:
    rows = example_revisions(
        workspace_of(request), dataset=dataset, as_of=as_of, uids=[to_uuid("id", uid)]
    )
    row = rows.first()
    if row is None:
        raise Http404("Example not found")
    urls = attachment_shapes(attachments_of([row.pk]).get(row.pk, ()), link_maker(request))
    return example_shape(row, urls)


def _delete_many(request: Request) -> Response:
    uids = Params(request).uuids("example_ids") or []
    _delete(workspace_of(request), uids, erase=False)
    return Response({"message": "Deleted"})


@transaction.atomic
def _delete(workspace: Workspace, uids: Sequence[UUID], *, erase: bool) -> None:
    """Ids that are not there are already gone."""
    rows = Example.objects.filter(workspace=workspace, uid__in=uids)
    by_dataset: dict[int, list[UUID]] = {}
    for dataset_id, uid in rows.values_list("dataset_id", "uid"):
        by_dataset.setdefault(dataset_id, []).append(uid)
    for dataset in Dataset.objects.filter(pk__in=by_dataset).order_by("pk"):
        gone = by_dataset[dataset.pk]
        if erase:
            erase_examples(dataset=dataset, uids=gone)
        else:
            delete_examples(dataset=dataset, uids=gone, missing_ok=True)


@api_view(["GET", "PATCH", "DELETE"])
def example(request: Request, uid: str) -> Response:
    workspace = workspace_of(request)
    dataset = _dataset_of_example(workspace, uid)
    if request.method == "GET":
        as_of = as_of_moment(dataset, Params(request).text("as_of"))
        return Response(_read(request, dataset, uid, as_of))
    _read(request, dataset, uid)
    if request.method == "DELETE":
        delete_examples(dataset=dataset, uids=[to_uuid("id", uid)])
        return Response({"message": "Deleted"})
    body = object_body(request)
    _same_dataset(dataset, body)
    update_examples(dataset=dataset, changes=[example_change(to_uuid("id", uid), body)])
    return Response(_read(request, dataset, uid))


def _same_dataset(dataset: Dataset, sent: Fields) -> None:
    if sent.uuid("dataset_id") not in (None, dataset.uid):
        raise InvalidError("dataset_id", "an example stays in its dataset")


@api_view(["POST", "PATCH"])
def examples_bulk(request: Request) -> Response:
    """A list of examples, all of one dataset."""
    body = json_body(request)
    if not isinstance(body, list) or not body:
        raise InvalidError("body", "must be a list of examples")
    sent = [Fields.of(item, f"example {index}") for index, item in enumerate(body)]
    return _update_bulk(request, sent) if request.method == "PATCH" else _create_bulk(request, sent)


def _one_dataset(workspace: Workspace, uids: Sequence[UUID | None]) -> Dataset:
    named = {uid for uid in uids if uid is not None}
    if len(named) != 1:
        raise InvalidError("dataset_id", "all examples of one request belong to one dataset")
    return access.dataset(workspace, named.pop())


def _create_bulk(request: Request, sent: list[Fields]) -> Response:
    workspace = workspace_of(request)
    dataset = _one_dataset(workspace, [item.needed_uuid("dataset_id") for item in sent])
    written = add_examples(
        dataset=dataset, examples=[new_example(workspace, item) for item in sent]
    )
    rows = example_revisions(workspace, dataset=dataset, uids=written.uids)
    return Response([example_shape(row) for row in rows.order_by("example_id")], status=201)


def _update_bulk(request: Request, sent: list[Fields]) -> Response:
    workspace = workspace_of(request)
    named = {uid for item in sent if (uid := item.uuid("dataset_id"))}
    if not named:
        named = {_dataset_of_example(workspace, item.needed_uuid("id")).uid for item in sent}
    dataset = _one_dataset(workspace, list(named))
    changes = [example_change(item.needed_uuid("id"), item) for item in sent]
    return Response(written_shape(update_examples(dataset=dataset, changes=changes)))


def written_shape(written: Written) -> Shape:
    return {
        "count": len(written.uids),
        "example_ids": written.uids,
        "as_of": moment(written.as_of),
    }


@api_view(["POST", "PATCH"])
def dataset_examples(request: Request, uid: str) -> Response:
    """Examples of one dataset as a multipart body."""
    workspace = workspace_of(request)
    dataset = access.dataset(workspace, uid)
    sent = gathered(workspace, request_parts(request._request))
    if not sent:
        raise InvalidError("body", "holds no examples")
    if request.method == "PATCH":
        changes = [example_change(item.uid, item.fields, item) for item in sent]
        return Response(written_shape(update_examples(dataset=dataset, changes=changes)))
    return Response(written_shape(_add(request, dataset, sent)), status=201)


def _add(request: Request, dataset: Dataset, sent: Sequence[ExampleParts]) -> Written:
    workspace = workspace_of(request)
    return add_examples(
        dataset=dataset,
        examples=[new_example(workspace, item.fields, item) for item in sent],
    )


@api_view(["POST"])
def examples_upsert(request: Request) -> Response:
    """Multipart examples that are added or changed; the first part names the dataset."""
    workspace = workspace_of(request)
    sent = gathered(workspace, request_parts(request._request))
    dataset = _one_dataset(workspace, [item.fields.uuid("dataset_id") for item in sent])
    standing = Example.objects.filter(workspace=workspace, uid__in=[item.uid for item in sent])
    known = set(standing.values_list("uid", flat=True))
    changes = [example_change(i.uid, i.fields, i) for i in sent if i.uid in known]
    added = [item for item in sent if item.uid not in known]
    with transaction.atomic():
        parts = [_add(request, dataset, added)] if added else []
        if changes:
            parts.append(update_examples(dataset=dataset, changes=changes))
    written = Written(max(part.as_of for part in parts), [item.uid for item in sent])
    return Response(written_shape(written), status=201)


@api_view(["POST"])
def erase(request: Request) -> Response:
    """Delete examples with their history."""
    body = object_body(request)
    uids = body.uuids("example_ids") or []
    _delete(workspace_of(request), uids, erase=body.flag("hard_delete") is True)
    return Response({"message": "Deleted", "count": len(uids)})
