"""What a client asks first: what this server can do, and whose workspace it is."""

from django.conf import settings
from rest_framework.decorators import (
    api_view,
    authentication_classes,
    permission_classes,
)
from rest_framework.request import Request
from rest_framework.response import Response

from tiebreak.api.reading import workspace_of
from tiebreak.api.wire import moment

# High enough for version 2 of reading, low enough that users of newer accessors are warned.
SPOKEN_VERSION = "0.16.0"


@api_view(["GET"])
@authentication_classes([])
@permission_classes([])
def info(request: Request) -> Response:
    """Open to everyone: some clients ask before they have a key. All six keys must be there."""
    return Response(
        {
            "version": SPOKEN_VERSION,
            "license_expiration_time": None,
            "batch_ingest_config": {
                "use_multipart_endpoint": True,
                "size_limit": 100,
                "size_limit_bytes": settings.MAX_BODY_BYTES,
                "scale_up_nthreads_limit": 16,
                "scale_up_qsize_trigger": 1000,
                "scale_down_nempty_trigger": 4,
            },
            "instance_flags": {
                "dataset_examples_multipart_enabled": True,
                "examples_multipart_enabled": True,
                "zstd_compression_enabled": True,
                "gzip_body_enabled": True,
            },
        }
    )


@api_view(["GET"])
def workspace_settings(request: Request) -> Response:
    workspace = workspace_of(request)
    return Response(
        {
            "id": workspace.uid,
            "display_name": workspace.name,
            "created_at": moment(workspace.created_at),
            "tenant_handle": None,
        }
    )
