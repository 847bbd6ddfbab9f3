"""Two to ten experiments of one dataset side by side; the first is the baseline."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any
from uuid import UUID

from django.http import Http404, HttpResponse, HttpResponseBase
from django.urls import reverse
from django.views.decorators.http import require_GET

from experiments.errors import InvalidError
from experiments.exports.side_by_side import side_by_side_export
from experiments.models import Dataset, Experiment
from experiments.queries.dataset_pages import splits_of
from experiments.queries.metric_directions import lower_is_better
from experiments.queries.score_comparison import MAX_EXPERIMENTS, chosen_experiments, score_keys
from experiments.queries.side_by_side import (
    PairingReport,
    Slice,
    count_examples,
    examples_page,
    pairing_report,
    standings_of,
)
from experiments.queries.side_by_side_rows import line_of, lines_of
from tiebreak import access
from tiebreak.accounts.models import Role
from tiebreak.downloads import download
from tiebreak.web.address import with_changes
from tiebreak.web.htmx import render_page
from tiebreak.web.http import HtmxHttpRequest, needs
from tiebreak.web.scores import experiment_ids
from tiebreak.web.side_by_side_choices import PLACE, Choices, columns_of, metadata_table, switches

MOST_KEYS = 12
MOST_OFFERED = 100
NARROWING = ("won", "only", "in", "lacks", "q", "split")
# What the search form hands on beside the experiments.
KEPT = ("won", "only", "in", "lacks", "view", "diff", "size", "meta")


@require_GET
@needs(Role.VIEWER)
def side_by_side(request: HtmxHttpRequest, uid: UUID) -> HttpResponse:
    """`exp` (repeated, in order) names the experiments; the whole view is in the address."""
    dataset = access.dataset(request.workspace, uid)
    asked = experiment_ids(request.GET)
    experiments = chosen_experiments(dataset, asked)
    context: dict[str, Any] = {
        "section": "experiments",
        "dataset": dataset,
        "query": request.GET,
        "experiments": experiments,
        "asked": len(set(asked)),
        "unknown": len(set(asked)) - len(experiments),
        "most": MAX_EXPERIMENTS,
    }
    if len(set(asked)) <= MAX_EXPERIMENTS and len(experiments) > 1:
        context |= _compared(request, dataset, experiments)
        context["ready"] = True
    partial = "drawer" if request.headers.get("HX-Target") == "drawer" else "beside"
    return render_page(request, "side_by_side/detail.html", context, partial=partial)


@require_GET
@needs(Role.VIEWER)
def side_by_side_file(request: HtmxHttpRequest, uid: UUID) -> HttpResponseBase:
    """The examples that the address filters, as a file."""
    dataset = access.dataset(request.workspace, uid)
    experiments = chosen_experiments(dataset, experiment_ids(request.GET))
    if len(experiments) < 2:
        raise Http404("Two experiments of this dataset are needed.")
    known = score_keys(experiments)
    wanted = Choices.of(request.GET, experiments, known).wanted
    export = side_by_side_export(experiments, wanted, lower_is_better(request.workspace, known))
    try:
        return download(export, request.GET)
    except InvalidError as error:
        raise Http404(str(error)) from error


def _compared(
    request: HtmxHttpRequest, dataset: Dataset, experiments: Sequence[Experiment]
) -> dict[str, Any]:
    known = score_keys(experiments)
    choices = Choices.of(request.GET, experiments, known)
    keys = choices.keys or known[:MOST_KEYS]
    lower = lower_is_better(request.workspace, known)
    page = examples_page(
        experiments,
        choices.wanted,
        lower,
        size=choices.size,
        after=choices.after,
        before=choices.before,
    )
    pairing = pairing_report(experiments)
    total, more = _total(choices, experiments, lower, pairing)
    lines = lines_of(experiments, page.ids, keys, lower)
    first = choices.start + 1 if lines else 0
    return {
        "choices": choices,
        "columns": columns_of(
            request.GET, choices, experiments, standings_of(experiments, lower, keys), pairing
        ),
        "keys": keys,
        "known_keys": known,
        "lower": lower,
        "lines": lines,
        "shown": {"first": first, "last": choices.start + len(lines), "total": total},
        "more": more,
        "pairing": pairing,
        "in_all_link": with_changes(
            request.GET, {"in": None if choices.wanted.in_all else "all"}, drop=("lacks", *PLACE)
        ),
        "versions_differ": len({row.dataset_version for row in experiments}) > 1,
        "versions": sorted(row.dataset_version for row in experiments if row.dataset_version),
        "repetitions_differ": len({one.repetitions for one in pairing.held.values()}) > 1,
        "metadata": metadata_table(request.GET, experiments),
        "switches": switches(request.GET, choices),
        "splits": splits_of(dataset),
        "statistics_address": _statistics(dataset, experiments, choices.keys),
        "others": _others(dataset, experiments),
        "files": {
            label: with_changes(request.GET, {"format": ending}, drop=("row", *PLACE))
            for label, ending in (("CSV", "csv"), ("JSONL", "jsonl"), ("Parquet", "parquet"))
        },
        "here": with_changes(request.GET, {"row": None}),
        "clear": with_changes(request.GET, {}, drop=(*NARROWING, *PLACE)),
        "kept": [(key, value) for key in KEPT for value in request.GET.getlist(key)],
        **_paging(request, choices, page),
        **_drawer(request, choices, experiments, lines, keys, lower),
    }


def _total(
    choices: Choices,
    experiments: Sequence[Experiment],
    lower: Collection[str],
    pairing: PairingReport,
) -> tuple[int, bool]:
    if choices.wanted.narrow:
        return count_examples(experiments, choices.wanted, lower)
    return pairing.total, False


def _statistics(dataset: Dataset, experiments: Sequence[Experiment], keys: Sequence[str]) -> str:
    chosen = {"exp": [str(row.uid) for row in experiments], "key": list(keys)}
    return reverse("dataset_scores", args=[dataset.uid], query=chosen)


def _others(dataset: Dataset, experiments: Sequence[Experiment]) -> list[tuple[UUID, str]]:
    """What can be put beside these: the newest experiments that are not there yet."""
    if len(experiments) >= MAX_EXPERIMENTS:
        return []
    rows = dataset.experiments.exclude(pk__in=[row.pk for row in experiments])
    return list(rows.order_by("-start_time", "-pk").values_list("uid", "name")[:MOST_OFFERED])


def _paging(request: HtmxHttpRequest, choices: Choices, page: Slice) -> dict[str, str]:
    links = {"newer": "", "older": ""}
    if page.ids and page.has_before:
        start = max(0, choices.start - choices.size)
        place = {"before": page.ids[0], "n": start or None}
        links["newer"] = with_changes(request.GET, place, drop=("after", "row"))
    if page.ids and page.has_after:
        place = {"after": page.ids[-1], "n": choices.start + len(page.ids)}
        links["older"] = with_changes(request.GET, place, drop=("before", "row"))
    return links


def _drawer(
    request: HtmxHttpRequest,
    choices: Choices,
    experiments: Sequence[Experiment],
    lines: Sequence[Any],
    keys: Sequence[str],
    lower: Collection[str],
) -> dict[str, Any]:
    key = request.GET.get("row", "")
    if not key:
        return {"open_line": None}
    names = [line.key for line in lines]
    place = names.index(key) if key in names else None
    try:
        line = line_of(experiments, UUID(key), keys, lower) if place is None else lines[place]
    except ValueError:
        line = None
    if line is None:
        return {"open_line": None, "row_is_gone": True}
    if place is None:
        return {"open_line": line, "row_number": None}
    return {
        "open_line": line,
        "row_number": choices.start + place + 1,
        "previous_row": with_changes(request.GET, {"row": names[place - 1]}) if place else "",
        "next_row": (
            with_changes(request.GET, {"row": names[place + 1]}) if place + 1 < len(names) else ""
        ),
    }
