"""Any server that speaks OpenAI's embeddings."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from evaluators.llm.providers.failures import as_model_error
from evaluators.llm.providers.openai_compatible import connection, sdk


@dataclass(kw_only=True)
class OpenAICompatibleEmbeddings:
    """Embeddings behind OpenAI's API; `timeout` in seconds. Raises the `ModelError` family only."""

    model: str
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    timeout: float = 60.0
    max_retries: int = 0
    http_client: Any = field(default=None, repr=False)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """A vector for each text, in order."""
        try:
            answer = self._client.embeddings.create(model=self.model, input=texts)
            rows = sorted(answer.data, key=lambda row: row.index)
            return [list(row.embedding) for row in rows]
        except Exception as error:
            raise as_model_error(error) from None

    @cached_property
    def _client(self) -> Any:
        return sdk().OpenAI(**connection(self, self.http_client))
