"""Pages, styles and scripts go out compressed: a tenth of the bytes for who is far away."""

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware

# What people's browsers load to show a screen. Exports and answers to scripts stay as they are:
# they are long, and compressing them would take longer than sending them.
COMPRESSED = {"text/html", "text/css", "text/javascript", "application/javascript", "image/svg+xml"}


class PageCompressionMiddleware(GZipMiddleware):
    """Django's own, for the kinds of `COMPRESSED`."""

    def process_response(
        self, request: HttpRequest, response: HttpResponseBase
    ) -> HttpResponseBase:
        kind = response.headers.get("Content-Type", "").partition(";")[0].strip()
        if kind not in COMPRESSED or "attachment" in response.headers.get(
            "Content-Disposition", ""
        ):
            return response
        return super().process_response(request, response)
