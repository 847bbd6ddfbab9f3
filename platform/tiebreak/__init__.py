"""The site: all that knows HTTP, people and the environment."""

from tiebreak.celery import app as celery_app

__all__ = ["celery_app"]
