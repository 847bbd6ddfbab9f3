"""Which libraries the operations compute with, for those who compute a number again elsewhere."""

from functools import cache
from importlib.metadata import version

LIBRARIES = ("evalica", "numpy", "scipy")


@cache
def computed_with() -> dict[str, str]:
    """Return the version of each library."""
    return {name: version(name) for name in LIBRARIES}
