"""Which door leads where."""

from django.urls import include, path

from tiebreak.web.http import healthz

urlpatterns = [
    path("healthz", healthz, name="healthz"),
    path("api/", include("tiebreak.api.urls")),
    path("", include("tiebreak.web.urls")),
]
