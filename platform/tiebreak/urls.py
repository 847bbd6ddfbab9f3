"""Which door leads where."""

from django.urls import include, path

urlpatterns = [
    path("api/", include("tiebreak.api.urls")),
    path("", include("tiebreak.web.urls")),
]
