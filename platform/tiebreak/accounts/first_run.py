"""Who may create the first administrator: whoever can read this installation's output."""

from django.utils.crypto import constant_time_compare, salted_hmac


def setup_token() -> str:
    """A token that only holds until there is a user."""
    return salted_hmac("tiebreak.first-run", "setup").hexdigest()[:24]


def is_setup_token(token: str) -> bool:
    return constant_time_compare(token, setup_token())
