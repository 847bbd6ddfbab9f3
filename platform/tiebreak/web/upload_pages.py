"""The four steps of an upload as pages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from django.http import HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone

from experiments.models import Upload
from experiments.services.uploading.columns import Column, mapping_problems, paths_in
from experiments.services.uploading.columns import Role as ColumnRole
from experiments.services.uploading.files import megabytes
from experiments.services.uploading.marks import is_results
from experiments.services.uploading.previewing import Mapped, mapped, preview
from experiments.services.uploading.remembering import saved_mapping
from experiments.services.uploads import OPEN, target_problem
from tiebreak.web.address import one_of
from tiebreak.web.htmx import render_page
from tiebreak.web.http import HtmxHttpRequest
from tiebreak.web.upload_forms import LayoutForm, TargetForm, column_lines, fingerprint

STEPS = ("file", "map", "check", "done")
QUIET_SECONDS = 15
WRITES = (
    ("append", "Add them to what is there"),
    ("upsert", "Change the examples of the same id, add the others"),
    ("replace", "Put them in place of all that is there"),
)


def step_address(upload: Upload, step: str) -> str:
    return f"{reverse('upload_detail', args=[upload.uid])}?step={step}"


def to_step(upload: Upload, step: str) -> HttpResponse:
    return HttpResponseRedirect(step_address(upload, step))


def step_of(request: HtmxHttpRequest, upload: Upload) -> str:
    """The step that the address names, or the nearest one that makes sense."""
    if upload.state not in OPEN:
        return "done"
    failed = upload.state == Upload.State.FAILED
    step = one_of(request.GET, "step", STEPS, "done" if failed else "map")
    if (step == "done" and not failed) or (step == "check" and "check" not in upload.options):
        return "map"
    return step


def _base(upload: Upload, step: str) -> dict[str, Any]:
    reached = [name for name in ("file", "map") if upload.state in OPEN]
    if upload.state in OPEN and "check" in upload.options:
        reached.append("check")
    return {"section": "datasets", "upload": upload, "step": step, "reached": reached}


def file_page(
    request: HtmxHttpRequest, upload: Upload, form: TargetForm | None = None
) -> HttpResponse:
    problem = "" if form else target_problem(upload)
    if form is None:
        form = TargetForm(request.workspace, upload.dataset)
        form.initial.setdefault("dataset_name", upload.dataset_name)
        form.initial["data_type"] = upload.options.get("data_type")
        if is_results(upload):
            form.initial.update(target="results", experiment=upload.options["experiment"])
    context = {**_base(upload, "file"), "form": form, "target_problem": problem}
    context["size"] = megabytes(upload.size)
    status = 422 if form.errors else 200
    return render_page(request, "uploads/file.html", context, partial="step", status=status)


def problems_of(upload: Upload, columns: Sequence[Column], found: Mapped) -> dict[int, str]:
    """What is wrong with a mapping, for what this upload is to become."""
    is_json, results = found.survey.is_json, is_results(upload)
    return mapping_problems(columns, is_json=is_json, results=results)


def map_page(
    request: HtmxHttpRequest, upload: Upload, *, part: str = "mapping", refused: str = ""
) -> HttpResponse:
    found = mapped(upload)
    problems = problems_of(upload, found.columns, found)
    context = {
        **_base(upload, "map"),
        **_mapping_context(upload, found, problems),
        "refused": refused,
        "layout": LayoutForm(upload),
        "size": megabytes(upload.size),
    }
    status = 422 if refused else 200
    return render_page(request, "uploads/map.html", context, partial=part, status=status)


def _mapping_context(upload: Upload, found: Mapped, problems: dict[int, str]) -> dict[str, Any]:
    return {
        "survey": found.survey,
        "lines": column_lines(found, problems),
        "fingerprint": fingerprint(found.columns),
        "problem": problems.get(-1, ""),
        "problems": problems,
        "roles": roles_of(upload),
        "results": is_results(upload),
        "paths": [".".join(path) for path in paths_in(found.survey)],
        "writes": WRITES,
        "write": upload.options.get("write", "append"),
        "remembered": not upload.mapping
        and bool(saved_mapping(upload.workspace_id, found.survey.columns)),
        "rows": [] if problems else preview(upload, found),
    }


def roles_of(upload: Upload) -> list[tuple[str, str]]:
    """The roles that columns may have, in the words of what the file holds."""
    if not is_results(upload):
        return [role for role in ColumnRole.choices if role[0] != ColumnRole.SCORE]
    words = {ColumnRole.OUTPUT: "Output", ColumnRole.INPUT: "Input to find the example by"}
    return [
        (value, words.get(ColumnRole(value), label))
        for value, label in ColumnRole.choices
        if value != ColumnRole.SPLIT
    ]


def check_page(request: HtmxHttpRequest, upload: Upload, refused: str = "") -> HttpResponse:
    report = upload.options["check"]
    context = {
        **_base(upload, "check"),
        "report": report,
        "rows": report["good"] + report["bad"],
        "refused": refused or target_problem(upload),
    }
    status = 422 if refused else 200
    return render_page(request, "uploads/check.html", context, partial="step", status=status)


def done_page(request: HtmxHttpRequest, upload: Upload) -> HttpResponse:
    share = min(1.0, upload.bytes_done / upload.size) if upload.size else 1.0
    late = timezone.now() - timedelta(seconds=QUIET_SECONDS)
    context = {
        **_base(upload, "done"),
        "pending": upload.state in (Upload.State.QUEUED, Upload.State.RUNNING),
        "quiet": upload.heartbeat_at is not None and upload.heartbeat_at < late,
        "stored": upload.options.get("stored"),
        "percent": f"{100 * share:.1f}",
        "quarter": str(int(4 * share) * 25),
        "told": request.GET.get("told", ""),
        "read": megabytes(upload.bytes_done),
        "size": megabytes(upload.size),
    }
    return render_page(request, "uploads/done.html", context, partial="progress")


PAGES: dict[str, Callable[[HtmxHttpRequest, Upload], HttpResponse]] = {
    "file": file_page,
    "map": map_page,
    "check": check_page,
    "done": done_page,
}
