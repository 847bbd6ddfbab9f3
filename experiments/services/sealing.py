"""Provider keys at rest: encrypted with a key made from the installation's secret."""

import base64
import hashlib

from cryptography.fernet import Fernet, InvalidToken
from django.conf import settings


class Unsealable(Exception):
    """The secret of this installation has changed since the key was stored."""


def _box() -> Fernet:
    digest = hashlib.sha256(b"tiebreak provider keys" + settings.SECRET_KEY.encode()).digest()
    return Fernet(base64.urlsafe_b64encode(digest))


def seal(text: str) -> bytes:
    """Encrypt a key for storing."""
    return _box().encrypt(text.encode()) if text else b""


def unseal(sealed: bytes) -> str:
    """The key in clear, for a call; never for a page."""
    if not sealed:
        return ""
    try:
        return _box().decrypt(bytes(sealed)).decode()
    except InvalidToken as error:
        raise Unsealable("Enter the provider's key again: it cannot be decrypted.") from error


def prompt_salt() -> bytes:
    """What makes the fences around judged texts unguessable, and the same each time."""
    return hashlib.sha256(b"tiebreak prompt fences" + settings.SECRET_KEY.encode()).digest()
