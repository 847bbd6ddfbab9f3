"""Taking back an upload that is stored."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.urls import reverse

from experiments.errors import ConflictError
from experiments.services.uploading.undoing import returning_to, standing_of, undo_upload
from tiebreak import access
from tiebreak.accounts.models import Role
from tiebreak.templatetags.tiebreak import visible
from tiebreak.web.htmx import render_page
from tiebreak.web.http import HtmxHttpRequest, needs


@needs(Role.EDITOR)
def upload_undo(request: HtmxHttpRequest, uid: UUID) -> HttpResponse:
    """Ask first, saying what goes; then take its examples out."""
    upload = access.upload(request.workspace, uid)
    back = f"{reverse('upload_detail', args=[uid])}?step=done"
    if request.method != "POST":
        context = {
            "section": "datasets",
            "title": f"Undo the upload of {visible(upload.filename)}?",
            "count": standing_of(upload).count(),
            "back_again": returning_to(upload).count(),
            "back": back,
        }
        return render_page(request, "uploads/undo.html", context, partial="page")
    try:
        count = undo_upload(upload, author=request.user)
        messages.success(request, f"{count:,} examples were taken out again.")
    except ConflictError as error:
        messages.error(request, str(error))
    return HttpResponseRedirect(back)
