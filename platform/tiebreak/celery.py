"""The Celery application; `celery -A tiebreak worker` finds it here."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tiebreak.settings")

app = Celery("tiebreak")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
