"""What is done to a dataset as a whole: renamed, shared, deleted."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.urls import reverse

from experiments.errors import ConflictError, InvalidError
from experiments.models import Dataset, SharedLink
from experiments.services.datasets import update_dataset, what_goes_with
from experiments.services.deletion import delete_dataset
from experiments.services.sharing import share, unshare
from tiebreak import access
from tiebreak.accounts.models import Role
from tiebreak.web.datasets import DatasetForm
from tiebreak.web.htmx import render_page
from tiebreak.web.http import HtmxHttpRequest, needs


@needs(Role.EDITOR)
def dataset_rename(request: HtmxHttpRequest, uid: UUID) -> HttpResponse:
    """Another name and description; experiments and versions stay."""
    dataset = access.dataset(request.workspace, uid)
    given = {"name": dataset.name, "description": dataset.description or ""}
    form = DatasetForm(request.POST or None, initial=given)
    if request.method == "POST" and form.is_valid():
        try:
            update_dataset(dataset, **form.cleaned_data)
        except (ConflictError, InvalidError) as error:
            form.add_error("name", getattr(error, "message", str(error)))
        else:
            messages.success(request, f"It is called {dataset.name} now.")
            return HttpResponseRedirect(reverse("dataset_detail", args=[uid]))
    name = Dataset.objects.values_list("name", flat=True).get(pk=dataset.pk)
    context = {"section": "datasets", "dataset": dataset, "name": name, "form": form}
    status = 422 if request.method == "POST" else 200
    return render_page(request, "datasets/rename.html", context, partial="page", status=status)


@needs(Role.EDITOR)
def dataset_share(request: HtmxHttpRequest, uid: UUID) -> HttpResponse:
    """The read-only link: made, shown, ended."""
    dataset = access.dataset(request.workspace, uid)
    kind = SharedLink.Kind.DATASET
    if request.method == "POST":
        if "end" in request.POST:
            unshare(workspace=request.workspace, kind=kind, target_uid=dataset.uid)
            messages.success(request, "The link no longer works.")
        else:
            share(workspace=request.workspace, kind=kind, target_uid=dataset.uid)
            messages.success(request, "Whoever has the link can read these examples.")
        return HttpResponseRedirect(reverse("dataset_share", args=[uid]))
    links = SharedLink.objects.filter(workspace=request.workspace, kind=kind)
    link = links.filter(target_uid=dataset.uid).first()
    address = reverse("shared_dataset", args=[link.token]) if link else ""
    context = {
        "section": "datasets",
        "dataset": dataset,
        "link": link,
        "link_address": request.build_absolute_uri(address) if link else "",
    }
    return render_page(request, "datasets/share.html", context, partial="page")


@needs(Role.EDITOR)
def dataset_delete(request: HtmxHttpRequest, uid: UUID) -> HttpResponse:
    """Ask first, saying what goes; delete when the name is typed."""
    dataset = access.dataset(request.workspace, uid)
    posted = request.method == "POST"
    typed = request.POST.get("sure", "").split()
    if not posted or typed != dataset.name.split():
        context = {
            "section": "datasets",
            "title": f"Delete {dataset.name}?",
            "goes": what_goes_with(dataset),
            "type_name": dataset.name,
            "mistyped": posted,
            "back": reverse("dataset_detail", args=[uid]),
        }
        status = 422 if posted else 200
        template = "components/confirm_delete.html"
        return render_page(request, template, context, partial="page", status=status)
    delete_dataset(dataset)
    messages.success(request, f"{dataset.name} was deleted with all that hung on it.")
    return HttpResponseRedirect(reverse("dataset_list"))
