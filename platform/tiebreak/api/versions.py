"""Versions, tags and splits of a dataset."""

from datetime import datetime
from decimal import Decimal

from django.http import Http404
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from experiments.errors import InvalidError
from experiments.models import Dataset, ExampleRevision
from experiments.queries.changes import ChangedRow, changes_between
from experiments.queries.versions import (
    difference,
    splits_at,
    tags_of,
    version_at,
    versions_of,
)
from experiments.services.reinstating import restore_version
from experiments.services.schema_inference import adopt_schemas, infer_schemas
from experiments.services.splits import assign_splits, change_splits
from experiments.services.versions import set_tag
from tiebreak import access
from tiebreak.api.examples import as_of_moment, written_shape
from tiebreak.api.lists import page_of
from tiebreak.api.reading import Fields, Params, object_body, workspace_of
from tiebreak.api.shapes import Shape, version_shape
from tiebreak.api.wire import raw


def _dataset(request: Request, uid: str) -> Dataset:
    return access.dataset(workspace_of(request), uid)


@api_view(["GET"])
def versions(request: Request, uid: str) -> Response:
    dataset = _dataset(request, uid)
    rows = versions_of(dataset, Params(request).text("search"))
    page = page_of(request, rows, ["-as_of", "-pk"])
    tags = tags_of(dataset, page)
    return Response([version_shape(row, tags[row.as_of]) for row in page])


@api_view(["GET"])
def version(request: Request, uid: str) -> Response:
    dataset, params = _dataset(request, uid), Params(request)
    wanted = params.text("tag") or params.text("as_of")
    if wanted is None:
        raise InvalidError("as_of", "is needed, or a tag")
    row = version_at(dataset, as_of_moment(dataset, wanted))
    if row is None:
        raise Http404("This dataset has no version at that time")
    return Response(version_shape(row, tags_of(dataset, [row])[row.as_of]))


@api_view(["PUT"])
def tags(request: Request, uid: str) -> Response:
    """Any moment is accepted: the tag goes to the newest version at or before it."""
    dataset, body = _dataset(request, uid), object_body(request)
    moment = body.moment("as_of")
    if moment is None:
        raise InvalidError("as_of", "is needed")
    tag = body.needed_text("tag").strip()
    if not 1 <= len(tag) <= 400:
        raise InvalidError("tag", "must have 1 to 400 characters")
    placed = set_tag(dataset=dataset, tag=tag, as_of=moment)
    row = version_at(dataset, placed.as_of)
    return Response(version_shape(row, [tag]) if row else _unversioned(placed.as_of, tag))


def _unversioned(as_of: datetime, tag: str) -> Shape:
    return {"as_of": as_of, "tags": [tag]}


@api_view(["GET"])
def diff(request: Request, uid: str) -> Response:
    dataset, params = _dataset(request, uid), Params(request)
    before, after = params.text("from_version"), params.text("to_version")
    if before is None or after is None:
        raise InvalidError("from_version", "is needed, and to_version")
    found = difference(dataset, as_of_moment(dataset, before), as_of_moment(dataset, after))
    return Response(
        {
            "examples_added": found.added,
            "examples_modified": found.modified,
            "examples_removed": found.removed,
        }
    )


@api_view(["GET"])
def changes(request: Request, uid: str) -> Response:
    """The rows that differ between two versions, with what they said and say; paged by `cursor`."""
    dataset, params = _dataset(request, uid), Params(request)
    early, late = (
        as_of_moment(dataset, params.text(name)) for name in ("from_version", "to_version")
    )
    cursor = params.text("cursor") or ""
    page = changes_between(dataset, early, late, size=params.limit, cursor=cursor)
    return Response({"changes": [_change(row) for row in page.rows], "cursor": page.older or None})


def _change(row: ChangedRow) -> Shape:
    return {"id": row.uid, "kind": row.kind, "before": _said(row.before), "after": _said(row.after)}


def _said(row: ExampleRevision | None) -> Shape | None:
    if row is None:
        return None
    payload = row.payload
    texts = {"inputs": payload.inputs, "outputs": payload.outputs, "metadata": payload.metadata}
    return {
        "splits": row.splits,
        **{name: raw(text) for name, text in texts.items()},
    }


@api_view(["POST"])
def restore(request: Request, uid: str) -> Response:
    """What stood at a version (`as_of`, a time or a tag) stands again, as a new version."""
    dataset, body = _dataset(request, uid), object_body(request)
    wanted = body.needed_text("as_of")
    row = restore_version(dataset, as_of=as_of_moment(dataset, wanted) or dataset.modified_at)
    return Response(version_shape(row, tags_of(dataset, [row])[row.as_of]), status=201)


@api_view(["POST"])
def random_splits(request: Request, uid: str) -> Response:
    """Every example into one of the splits at random: `{"ratios": {"train": 80}, "seed": 7}`."""
    dataset, body = _dataset(request, uid), object_body(request)
    ratios = body.get("ratios")
    if not isinstance(ratios, dict) or not all(
        isinstance(share, int | float | Decimal) and not isinstance(share, bool)
        for share in ratios.values()
    ):
        raise InvalidError("ratios", "must be an object of numbers by split")
    seed = body.get("seed")
    if seed is not None and (not isinstance(seed, int) or isinstance(seed, bool)):
        raise InvalidError("seed", "must be a whole number")
    done = assign_splits(dataset=dataset, ratios=ratios, seed=seed)
    return Response({"seed": done.seed, "counts": done.counts, "as_of": done.as_of})


@api_view(["GET", "PUT"])
def splits(request: Request, uid: str) -> Response:
    dataset = _dataset(request, uid)
    if request.method == "PUT":
        body = object_body(request)
        name = [body.needed_text("split_name")]
        take_away = body.flag("remove") is True
        written = change_splits(
            dataset=dataset,
            uids=body.uuids("examples") or [],
            add=[] if take_away else name,
            remove=name if take_away else [],
        )
        return Response(written_shape(written))
    moment = as_of_moment(dataset, Params(request).text("as_of"))
    return Response(splits_at(dataset, moment))


@api_view(["PATCH"])
def example_metadata(request: Request, uid: str) -> Response:
    """Changes of a list inside the metadata of many examples; the splits are one."""
    dataset, body = _dataset(request, uid), object_body(request)
    add: list[str] = []
    remove: list[str] = []
    for index, item in enumerate(body.get("operations") or []):
        operation = Fields.of(item, f"operations.{index}")
        if operation.text("key") != "dataset_split":
            raise InvalidError(f"operations.{index}.key", "must be dataset_split")
        kinds = {"array_add": add, "array_remove": remove}
        kind = operation.text("operation")
        if kind not in kinds:
            raise InvalidError(f"operations.{index}.operation", "is array_add or array_remove")
        kinds[kind] += operation.texts("values")
    uids = body.uuids("example_ids") or []
    written = change_splits(dataset=dataset, uids=uids, add=add, remove=remove)
    return Response(written_shape(written))


@api_view(["POST"])
def inferred_schemas(request: Request, uid: str) -> Response:
    """JSON schemas read off the examples; with `{"adopt": true}` they are enforced from now on."""
    dataset, body = _dataset(request, uid), object_body(request)
    found = adopt_schemas(dataset) if body.flag("adopt") else infer_schemas(dataset)
    return Response(
        {
            "inputs_schema_definition": raw(found.inputs),
            "outputs_schema_definition": raw(found.outputs),
        }
    )
