"""The addresses that the SDK prints, sent on to our pages."""

from __future__ import annotations

from uuid import UUID

from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.http import require_GET

from experiments.queries.score_comparison import MAX_EXPERIMENTS
from tiebreak import access
from tiebreak.accounts.models import Role, User
from tiebreak.web.http import HtmxHttpRequest, needs


def _enter(request: HtmxHttpRequest, workspace_uid: UUID | None) -> None:
    """Make the workspace of the link the current one; a stranger to it sees 404."""
    if workspace_uid is None or request.workspace.uid == workspace_uid:
        return
    assert isinstance(request.user, User)
    member = request.user.memberships.filter(workspace__uid=workspace_uid)
    membership = member.select_related("workspace").first()
    if membership is None:
        raise Http404("Workspace not found")
    request.session["workspace"] = str(workspace_uid)
    request.workspace = membership.workspace
    request.role = Role(membership.role)


@require_GET
@needs(Role.VIEWER)
def project_link(
    request: HtmxHttpRequest, tenant: UUID, session: UUID, run: UUID | None = None
) -> HttpResponse:
    """A project or a run in it."""
    _enter(request, tenant)
    if run is not None:
        access.run(request.workspace, run)
        return HttpResponseRedirect(reverse("run_detail", args=[run]))
    access.experiment(request.workspace, session)
    return HttpResponseRedirect(reverse("experiment_detail", args=[session]))


@require_GET
@needs(Role.VIEWER)
def dataset_link(
    request: HtmxHttpRequest, tenant: UUID, uid: UUID, example: UUID | None = None
) -> HttpResponse:
    """A dataset, or an example in it."""
    _enter(request, tenant)
    access.dataset(request.workspace, uid)
    return HttpResponseRedirect(reverse("dataset_detail", args=[uid]))


@require_GET
@needs(Role.VIEWER)
def compare_link(request: HtmxHttpRequest, tenant: UUID, uid: UUID) -> HttpResponse:
    """A comparative experiment, one experiment's results, or those of several side by side."""
    _enter(request, tenant)
    comparison = request.GET.get("comparativeExperiment")
    if comparison:
        found = access.comparison(request.workspace, comparison)
        return HttpResponseRedirect(reverse("comparison_detail", args=[found.uid]))
    chosen = request.GET.get("selectedSessions", "").split(",")[: MAX_EXPERIMENTS + 1]
    experiments = [access.experiment(request.workspace, one) for one in chosen if one]
    if len(experiments) > 1:
        query = {"exp": [str(one.uid) for one in experiments]}
        return HttpResponseRedirect(reverse("side_by_side", args=[uid], query=query))
    if experiments:
        return HttpResponseRedirect(reverse("experiment_detail", args=[experiments[0].uid]))
    access.dataset(request.workspace, uid)
    return HttpResponseRedirect(reverse("dataset_experiments", args=[uid]))
