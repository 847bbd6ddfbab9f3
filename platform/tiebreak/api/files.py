"""Attachments: links that carry their own permission, and the files behind them."""

from collections.abc import Callable

from django.core import signing
from django.http import Http404, HttpRequest, HttpResponseBase
from django.urls import reverse
from django.views.decorators.http import require_safe
from rest_framework.request import Request

from experiments.models import Attachment
from experiments.services.run_pieces import IncomingFile
from tiebreak.api.multipart import Part
from tiebreak.attached import attached_file
from tiebreak.environment import environment

SALT = "tiebreak.attachment"
VALID_FOR = 24 * 3600


def own_address(request: Request) -> str:
    """Where clients reach this server: as configured, else as this client did."""
    return environment().public_url.rstrip("/") or request.build_absolute_uri("/").rstrip("/")


def link_maker(request: Request) -> Callable[[Attachment], str]:
    """Makes links as absolute as the address that the client itself used."""
    base = own_address(request)

    def link(row: Attachment) -> str:
        token = signing.dumps([row.pk, row.path], salt=SALT)
        return base + reverse("attachment", args=[token])

    return link


def incoming_file(name: str, part: Part) -> IncomingFile:
    """The file in a part; a large one stays where it lies until it is stored."""
    data = part.spool if part.spool is not None else part.read()
    return IncomingFile(name, part.mime_type or "application/octet-stream", data)


@require_safe
def attachment(request: HttpRequest, token: str) -> HttpResponseBase:
    """Send a file to whoever has a link that was not altered and is not older than a day."""
    try:
        pk, path = signing.loads(token, salt=SALT, max_age=VALID_FOR)
    except signing.BadSignature as error:
        raise Http404("No such file") from error
    return attached_file(Attachment.objects.filter(pk=pk, path=path).first())
