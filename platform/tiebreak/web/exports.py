"""Downloads of a dataset, an experiment and a comparison."""

from __future__ import annotations

from uuid import UUID

from django.http import Http404, HttpResponseBase
from django.views.decorators.http import require_GET

from experiments.errors import InvalidError
from tiebreak import access, downloads
from tiebreak.accounts.models import Role
from tiebreak.web.http import HtmxHttpRequest, needs


@require_GET
@needs(Role.VIEWER)
def dataset_export(request: HtmxHttpRequest, uid: UUID) -> HttpResponseBase:
    """The examples as the address shows them."""
    dataset = access.dataset(request.workspace, uid)
    try:
        return downloads.dataset_download(dataset, request.GET)
    except InvalidError as error:
        raise Http404(str(error)) from error


@require_GET
@needs(Role.VIEWER)
def experiment_export(request: HtmxHttpRequest, uid: UUID) -> HttpResponseBase:
    """The runs as the address shows them."""
    experiment = access.experiment(request.workspace, uid)
    try:
        return downloads.experiment_download(experiment, request.GET)
    except InvalidError as error:
        raise Http404(str(error)) from error


@require_GET
@needs(Role.VIEWER)
def comparison_export(request: HtmxHttpRequest, uid: UUID, what: str) -> HttpResponseBase:
    """Rows, preferences, judgments or games as the address filters them."""
    comparison = access.comparison(request.workspace, uid)
    try:
        return downloads.comparison_download(comparison, what, request.GET)
    except InvalidError as error:
        raise Http404(str(error)) from error
