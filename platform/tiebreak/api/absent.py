"""What the SDK knows and this server does not do: an answer that says so."""

from django.http import HttpRequest, JsonResponse
from django.views.decorators.csrf import csrf_exempt
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

REASONS = {
    "repos": "Prompts are not kept here",
    "commits": "Prompts are not kept here",
    "likes": "Prompts are not kept here",
    "prompts": "Prompts are not kept here",
    "hub": "Prompts are not kept here",
    "otel": "Traces are taken from the SDK, not over OpenTelemetry",
    "insights": "Insights are not part of this product",
    "charts": "Charts are not part of this product",
    "evaluators": "Online evaluators are not part of this product",
    "sandboxes": "Sandboxes are not part of this product",
}


@api_view(["GET", "POST", "PUT", "PATCH", "DELETE"])
def absent(request: Request, area: str, rest: str = "") -> Response:
    return Response({"detail": f"{REASONS[area]}: /{area} is not implemented."}, status=501)


@csrf_exempt
def unknown(request: HttpRequest) -> JsonResponse:
    return JsonResponse({"detail": f"There is nothing at {request.path[:200]}"}, status=404)
