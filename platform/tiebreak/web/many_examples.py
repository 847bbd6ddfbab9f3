"""What is done to many examples at once: those ticked, or all that the filters leave."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect, QueryDict
from django.urls import reverse
from django.views.decorators.http import require_POST

from experiments.errors import ConflictError, InvalidError
from experiments.filters.examples import SPLIT_KEY
from experiments.models import MAX_NAME, Dataset
from experiments.queries.dataset_pages import fitting
from experiments.rawjson import NotJsonError, loads_exact
from experiments.services.describing import GONE, describe_examples
from experiments.services.examples import Written, delete_examples
from experiments.services.splits import change_splits
from tiebreak import access
from tiebreak.accounts.models import Role, User
from tiebreak.row_filters import MAX_TEXT, text
from tiebreak.web.address import with_changes
from tiebreak.web.htmx import render_page
from tiebreak.web.http import HtmxHttpRequest, needs

COUNTED = 10_000
MOST_AT_ONCE = 100_000
# So many ids still make a good address.
MOST_TICKED = 100


def ticked_context(
    query: QueryDict, dataset: Dataset, here: Sequence[UUID], *, q: str, split: str
) -> dict[str, Any]:
    """What the tray of examples shows; the address holds what is ticked, also on other pages."""
    ticked = _ids(query.getlist("example"))[:MOST_TICKED]
    fit = dataset.example_count
    if q or split:
        fit = fitting(dataset, q=q, split=split)[: COUNTED + 1].count()
    bounded = bool(q or split) and fit > COUNTED
    return {
        "ticked": ticked,
        "tick_name": "example",
        "ticked_elsewhere": [uid for uid in ticked if uid not in set(here)],
        "fitting": COUNTED if bounded else fit,
        "more_fit": bounded,
        "untick": with_changes(query, {"example": None}),
    }


def _ids(texts: Sequence[str]) -> list[UUID]:
    found = []
    for one in dict.fromkeys(texts):
        try:
            found.append(UUID(one))
        except ValueError:
            continue
    return found


@require_POST
@needs(Role.EDITOR)
def examples_many(request: HtmxHttpRequest, uid: UUID) -> HttpResponse:
    """Do what `do` names, as one version, and go back to the list as it was filtered."""
    dataset, given = access.dataset(request.workspace, uid), request.POST
    try:
        uids = _chosen(dataset, given)
        if given.get("do") == "delete" and "sure" not in given:
            return _ask(request, dataset, uids)
        told = _act(dataset, uids, given, request.user)
    except (InvalidError, ConflictError, LookupError) as error:
        messages.error(request, str(error))
    else:
        messages.success(request, told)
    return HttpResponseRedirect(_back(dataset, given))


def _chosen(dataset: Dataset, given: QueryDict) -> list[UUID]:
    """The standing examples that are meant."""
    rows = fitting(dataset, q=text(given, "q").strip()[:MAX_TEXT], split=text(given, "split"))
    if "all" not in given:
        rows = fitting(dataset).filter(example__uid__in=_ids(given.getlist("example")))
    uids = list(rows.order_by("example").values_list("example__uid", flat=True)[: MOST_AT_ONCE + 1])
    if not uids:
        raise InvalidError("examples", "tick one at least")
    if len(uids) > MOST_AT_ONCE:
        raise InvalidError("examples", f"at most {MOST_AT_ONCE:,} at once: narrow the filters")
    return uids


def _act(dataset: Dataset, uids: list[UUID], given: QueryDict, author: User) -> str:
    do = given.get("do", "")
    if do in ("add_split", "remove_split"):
        name = _name(given, "name", "the split")
        sides: dict[str, Any] = {"add" if do == "add_split" else "remove": [name]}
        change_splits(dataset=dataset, uids=uids, author=author, **sides)
        way = "are in" if do == "add_split" else "are no longer in"
        return f"{_number(len(uids))} {way} the split {name}, as a new version."
    if do in ("describe", "undescribe"):
        key = _name(given, "key", "the metadata key")
        if key == SPLIT_KEY:
            raise InvalidError("key", "this key stands for the splits: change those instead")
        value = _value(given.get("value", "")) if do == "describe" else GONE
        written = describe_examples(dataset=dataset, uids=uids, key=key, value=value, author=author)
        return _told(written, key)
    if do == "delete":
        delete_examples(dataset=dataset, uids=uids, author=author)
        return f"{_number(len(uids))} deleted. Earlier versions still show them."
    raise InvalidError("do", "must be add_split, remove_split, describe, undescribe or delete")


def _number(count: int) -> str:
    return f"{count:,} example{'' if count == 1 else 's'}"


def _told(written: Written, key: str) -> str:
    if not written.uids:
        return "They say so already: nothing was changed."
    return f"The metadata key {key} was changed in {_number(len(written.uids))}, as a new version."


def _name(given: QueryDict, field: str, what: str) -> str:
    name = given.get(field, "").strip()
    if not 1 <= len(name) <= MAX_NAME or "\x00" in name:
        raise InvalidError(field, f"{what} has 1 to {MAX_NAME} characters")
    return name


def _value(written: str) -> Any:
    """JSON where it is JSON, else the text itself."""
    try:
        return loads_exact(written.strip())
    except NotJsonError:
        return written.strip()


def _ask(request: HtmxHttpRequest, dataset: Dataset, uids: Sequence[UUID]) -> HttpResponse:
    given = request.POST
    kept = [(key, one) for key in ("all", "q", "split") for one in given.getlist(key)]
    named = [] if "all" in given else [("example", str(uid)) for uid in uids]
    context = {
        "section": "datasets",
        "title": f"Delete {_number(len(uids))} of {dataset.name}?",
        "goes": {"of the examples that stand now": len(uids)},
        "stays": "Earlier versions still show them; comparisons no longer count them.",
        "hidden": [("do", "delete"), ("sure", "1"), *kept, *named],
        "back": _back(dataset, given),
    }
    return render_page(request, "components/confirm_delete.html", context, partial="page")


def _back(dataset: Dataset, given: QueryDict) -> str:
    """The list as it was filtered, with what is still ticked."""
    query = {key: given[key] for key in ("q", "split") if given.get(key)}
    ticked = [] if "sure" in given else given.getlist("example")[:MOST_TICKED]
    return reverse("dataset_detail", args=[dataset.uid], query={**query, "example": ticked})
