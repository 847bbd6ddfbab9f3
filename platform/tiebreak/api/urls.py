"""One line per endpoint."""

from django.urls import URLPattern

urlpatterns: list[URLPattern] = []
