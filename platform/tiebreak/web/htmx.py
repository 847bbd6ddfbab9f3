"""Whole page or fragment: one address, one template, two sizes."""

from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.utils.cache import patch_vary_headers

from tiebreak.web.http import HtmxHttpRequest


def wants_fragment(request: HtmxHttpRequest) -> bool:
    """True for a swap of a part; boosted links and restored history get the whole page."""
    htmx = request.htmx
    return bool(htmx) and not htmx.boosted and not htmx.history_restore_request


def render_page(
    request: HtmxHttpRequest,
    template: str,
    context: dict[str, Any],
    *,
    partial: str,
    status: int = 200,
) -> HttpResponse:
    """The page, or its named partial when htmx asks for it."""
    name = f"{template}#{partial}" if wants_fragment(request) else template
    response = render(request, name, context, status=status)
    patch_vary_headers(response, ["HX-Request", "Cookie"])
    return response
