"""Registers the accounts app under its short label."""

from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "tiebreak.accounts"
    label = "accounts"
