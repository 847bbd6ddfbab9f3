"""One line per page or action."""

from django.urls import URLPattern

urlpatterns: list[URLPattern] = []
