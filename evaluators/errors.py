"""What can go wrong with a row, in the package's own few words."""

from __future__ import annotations


class UnreadableReply(ValueError):
    """A judge's reply holds no verdict; `reply` is its raw text, `cause` says why as far as known.

    `cause` is one of "unread", "empty", "cut off", "filtered" and "refused".
    """

    def __init__(self, message: str, reply: str, cause: str = "unread") -> None:
        super().__init__(message)
        self.reply = reply
        self.cause = cause


class OutOfTime(ValueError):
    """A row took longer than its time limit."""


class MissingExtra(ImportError):
    """An optional package is not installed; the text says which extra brings it."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(f"{package} is not installed: pip install 'tiebreak[{extra}]'")
        self.package = package
        self.extra = extra


class ModelError(Exception):
    """A model did not answer. Texts never hold keys or what the server sent."""


class RateLimited(ModelError):
    """The provider asks to slow down; `retry_after` is in seconds, None if it did not say."""

    def __init__(
        self, message: str = "The model is rate limited.", retry_after: float | None = None
    ):
        super().__init__(message)
        self.retry_after = retry_after


class ModelTimeout(ModelError):
    """No answer within the time limit."""


class ContextOverflow(ModelError):
    """The prompt is too long for the model; asking again cannot help."""


class BadKey(ModelError):
    """The provider refused the key."""


class ProviderError(ModelError):
    """Any other failure of a provider; `status` is the HTTP status, None without a connection.

    `reply` is what came instead of an answer, as far as it is worth keeping.
    """

    def __init__(self, message: str, status: int | None = None, reply: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.reply = reply
