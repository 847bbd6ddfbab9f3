"""Attachments on their way out: always as a download, never as something a browser would run."""

from django.http import FileResponse, Http404

from experiments.models import Attachment
from experiments.services.file_store import open_kept


def attached_file(row: Attachment | None) -> FileResponse:
    """The file behind an attachment; 404 when there is none (any more)."""
    content = open_kept(row.path) if row is not None else None
    if row is None or content is None:
        raise Http404("No such file")
    response = FileResponse(content, as_attachment=True, filename=row.name)
    response["Content-Type"] = _header_safe(row.mime_type)
    response["Content-Security-Policy"] = "sandbox; default-src 'none'"
    response["X-Content-Type-Options"] = "nosniff"
    return response


def _header_safe(mime_type: str) -> str:
    plain = mime_type.isascii() and mime_type.isprintable() and "/" in mime_type
    return mime_type if plain else "application/octet-stream"
