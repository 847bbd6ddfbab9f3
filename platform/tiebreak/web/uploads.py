"""Uploading a file in the browser: file, map, check, done; the step stands in the address."""

from __future__ import annotations

from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.db import transaction
from django.http import HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.csrf import csrf_exempt, csrf_protect
from django.views.decorators.http import require_GET, require_POST

from experiments.errors import ConflictError, InvalidError
from experiments.models import Dataset, Upload
from experiments.queries.paging import page_by_time
from experiments.services.uploading.files import megabytes
from experiments.services.uploading.previewing import mapped
from experiments.services.uploading.remembering import remember_mapping
from experiments.services.uploads import (
    OPEN,
    check_upload,
    create_upload,
    discard_upload,
    queue_upload,
    set_layout,
    set_mapping,
    set_target,
    target_problem,
    withdraw_upload,
)
from experiments.tasks import start_upload
from tiebreak import access
from tiebreak.accounts.models import Role
from tiebreak.templatetags.tiebreak import visible
from tiebreak.web.datasets import paging_links, place_of
from tiebreak.web.htmx import render_page, wants_fragment
from tiebreak.web.http import HtmxHttpRequest, needs
from tiebreak.web.upload_forms import (
    FileForm,
    LayoutForm,
    TargetForm,
    chosen_path,
    fingerprint,
    posted_columns,
)
from tiebreak.web.upload_pages import (
    PAGES,
    check_page,
    file_page,
    map_page,
    problems_of,
    step_address,
    step_of,
    to_step,
)
from tiebreak.web.upload_receiving import FilesFolderHandler, receive_text


# The form is read by a handler that must be in place before anything looks into the request's
# body, so the token is checked one step later than elsewhere.
@csrf_exempt
@needs(Role.EDITOR)
def upload_new(request: HtmxHttpRequest) -> HttpResponse:
    """The first step: a file or a text, and where its rows go."""
    if request.method != "POST":
        return _new_page(request, FileForm(request.workspace, _asked_dataset(request)))
    handler = FilesFolderHandler(request)
    request.upload_handlers = [handler]
    try:
        return _receive(request, handler)
    finally:
        handler.drop()


def _asked_dataset(request: HtmxHttpRequest) -> Dataset | None:
    uid = request.GET.get("dataset")
    return access.dataset(request.workspace, uid) if uid else None


def _new_page(request: HtmxHttpRequest, form: FileForm) -> HttpResponse:
    rows = Upload.objects.filter(workspace=request.workspace).select_related("dataset")
    page = page_by_time(rows, "created_at", **place_of(request))
    context = {
        "section": "datasets",
        "step": "file",
        "form": form,
        "limit": megabytes(settings.MAX_UPLOAD_BYTES),
        "limit_bytes": settings.MAX_UPLOAD_BYTES,
        "uploads": page.rows,
        **paging_links(request, page.newer, page.older),
    }
    status = 422 if form.errors else 200
    return render_page(request, "uploads/new.html", context, partial="list", status=status)


@csrf_protect
def _receive(request: HtmxHttpRequest, handler: FilesFolderHandler) -> HttpResponse:
    form = FileForm(request.workspace, _asked_dataset(request), request.POST, request.FILES)
    if handler.error:
        form.errors.pop("file", None)
        form.add_error("file", handler.error)
    if form.is_valid():
        try:
            upload = _create(request, form, handler)
        except InvalidError as error:
            form.add_error(error.field if error.field in form.fields else "file", error.message)
        else:
            return to_step(upload, "file" if target_problem(upload) else "map")
    return _new_page(request, form)


def _create(request: HtmxHttpRequest, form: FileForm, handler: FilesFolderHandler) -> Upload:
    file = handler.take() if request.FILES.get("file") else None
    return create_upload(
        workspace=request.workspace,
        file=file or receive_text(form.cleaned_data["text"]),
        filename=handler.filename if file else "pasted text",
        dataset=form.chosen,
        dataset_name=form.cleaned_data["dataset_name"],
        author=request.user,
        experiment=form.experiment_name,
        data_type=form.cleaned_data["data_type"],
    )


@require_GET
@needs(Role.EDITOR)
def upload_detail(request: HtmxHttpRequest, uid: UUID) -> HttpResponse:
    """The step that the address names, as far as the upload has come."""
    upload = access.upload(request.workspace, uid)
    show = PAGES[step_of(request, upload)]
    return show(request, upload)


@require_POST
@needs(Role.EDITOR)
def upload_target(request: HtmxHttpRequest, uid: UUID) -> HttpResponse:
    """Say where the rows go."""
    upload = access.upload(request.workspace, uid)
    form = TargetForm(request.workspace, upload.dataset, request.POST)
    if form.is_valid():
        try:
            set_target(
                upload,
                dataset=form.chosen,
                dataset_name=form.cleaned_data["dataset_name"],
                experiment=form.experiment_name,
                data_type=form.cleaned_data["data_type"],
            )
        except InvalidError as error:
            field = error.field if error.field in form.fields else "dataset_name"
            form.add_error(field, error.message)
        except ConflictError:
            return to_step(upload, "done")
        else:
            return to_step(upload, "map")
    return file_page(request, upload, form)


@require_POST
@needs(Role.EDITOR)
def upload_layout(request: HtmxHttpRequest, uid: UUID) -> HttpResponse:
    """Read the file in another way."""
    upload = access.upload(request.workspace, uid)
    form = LayoutForm(upload, request.POST)
    if not form.is_valid():
        return map_page(request, upload, refused="This way of reading the file is not known.")
    try:
        set_layout(upload, form.layout())
    except InvalidError as error:
        return map_page(request, upload, refused=error.message)
    except ConflictError:
        return to_step(upload, "done")
    return map_page(request, upload) if wants_fragment(request) else to_step(upload, "map")


@require_POST
@needs(Role.EDITOR)
def upload_mapping(request: HtmxHttpRequest, uid: UUID) -> HttpResponse:
    """Keep the mapping; then show the preview, or go on to the check."""
    upload = access.upload(request.workspace, uid)
    found = mapped(upload)
    if request.POST.get("fingerprint") != fingerprint(found.columns):
        return map_page(request, upload, refused="The file is read differently by now: look again.")
    columns = posted_columns(request.POST, found.columns)
    columns += chosen_path(request.POST, found, columns)
    try:
        set_mapping(
            upload,
            columns,
            write=request.POST.get("write", "append"),
            distinct="distinct" in request.POST,
        )
        if request.POST.get("then") == "path":
            return to_step(upload, "map")
        if request.POST.get("then") != "check":
            return _previewed(request, upload)
        if found.survey.broken and not found.survey.rows:
            return map_page(request, upload, refused=found.survey.broken)
        if problems_of(upload, columns, found):
            return map_page(request, upload, refused="Some columns need another role or key.")
        if "remember" in request.POST:
            remember_mapping(request.workspace, columns)
        check_upload(upload)
    except InvalidError as error:
        return map_page(request, upload, refused=error.message)
    except ConflictError:
        return to_step(upload, "done")
    return to_step(upload, "check")


def _previewed(request: HtmxHttpRequest, upload: Upload) -> HttpResponse:
    if wants_fragment(request):
        return map_page(request, upload, part="preview")
    return HttpResponseRedirect(f"{step_address(upload, 'map')}#preview")


@require_POST
@needs(Role.EDITOR)
def upload_start(request: HtmxHttpRequest, uid: UUID) -> HttpResponse:
    """Queue the job."""
    upload = access.upload(request.workspace, uid)
    if upload.state in OPEN and not upload.options.get("check", {}).get("good"):
        return to_step(upload, "map")
    try:
        with transaction.atomic():
            start_upload(queue_upload(upload, policy=request.POST.get("policy", "")))
    except InvalidError as error:
        return check_page(request, upload, refused=error.message)
    except ConflictError:
        pass
    return to_step(upload, "done")


@require_POST
@needs(Role.EDITOR)
def upload_stop(request: HtmxHttpRequest, uid: UUID) -> HttpResponse:
    """Stop storing; nothing is kept of it, and the mapping stays."""
    upload = access.upload(request.workspace, uid)
    withdraw_upload(upload)
    return to_step(upload, "check")


@needs(Role.EDITOR)
def upload_discard(request: HtmxHttpRequest, uid: UUID) -> HttpResponse:
    """Ask first; then forget the upload with its file."""
    upload = access.upload(request.workspace, uid)
    if request.method != "POST":
        context = {
            "section": "datasets",
            "title": f"Discard the upload of {visible(upload.filename)}?",
            "goes": {"uploaded file, with the roles of its columns": 1},
            "stays": "Examples that were stored stay.",
            "back": step_address(upload, "map"),
        }
        return render_page(request, "components/confirm_delete.html", context, partial="page")
    discard_upload(upload)
    messages.success(request, f"The upload of {visible(upload.filename)} was discarded.")
    return HttpResponseRedirect(reverse("upload_new"))
