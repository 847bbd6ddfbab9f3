"""Every TIEBREAK_* variable, typed, with its default."""

import secrets
from functools import cache
from pathlib import Path

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict


class Environment(BaseSettings):
    """What can be set from outside; docs/settings.md lists each variable."""

    model_config = SettingsConfigDict(env_prefix="TIEBREAK_")

    data_dir: Path = Field(default=Path("tiebreak-data"))
    database_url: str = ""
    broker_url: str = ""
    secret_key: str = ""
    host: str = "127.0.0.1"
    port: int = 8400
    public_url: str = ""
    allowed_hosts: str = "*"
    debug: bool = False
    secure_cookies: bool = False
    web_processes: int = 1
    web_threads: int = 32
    worker_threads: int = 64
    database_pool: int = 16
    private_model_hosts: str = ""
    max_body_mb: int = 64
    requests_per_minute: int = 0
    ingest_requests_per_minute: int = 0
    max_upload_mb: int = 2048
    attachments_bucket: str = ""
    attachments_endpoint: str = ""

    @property
    def data_path(self) -> Path:
        return self.data_dir.expanduser().resolve()

    @property
    def files_path(self) -> Path:
        """Where uploads wait for the worker and attachments are kept."""
        return self.data_path / "files"

    def private_hosts(self) -> frozenset[str]:
        return frozenset(h.strip() for h in self.private_model_hosts.split(",") if h.strip())


@cache
def environment() -> Environment:
    return Environment()


def kept_secret(data_path: Path) -> str:
    """The secret of this installation: made once, kept beside the data.

    Without a data folder (a tool that only reads the settings) it lasts as long as the process.
    """
    path = data_path / "secret-key"
    if path.exists():
        return path.read_text().strip()
    secret = secrets.token_urlsafe(50)
    if not data_path.is_dir():
        return secret
    path.touch(mode=0o600)
    path.write_text(secret)
    return secret
