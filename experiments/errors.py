"""What the domain refuses; pages show it at the field, the API answers 422 or 409."""


class InvalidError(ValueError):
    """A value that is not allowed: which field, and what is allowed."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field
        self.message = message


class ConflictError(Exception):
    """The name or id is taken, or the state does not allow this."""
