"""The site as an app, for its management commands."""

from django.apps import AppConfig


class TiebreakConfig(AppConfig):
    name = "tiebreak"
