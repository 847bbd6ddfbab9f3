"""What replies cost, for whoever uses the library by itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from evaluators.llm.adapters import as_model
from evaluators.llm.models import Model, Prompt, Readable, Reply, Wrapper, acomplete, complete

Price = Callable[[Reply], float | None]


def list_price(reply: Reply, base_url: str | None = None) -> float | None:
    """The US dollars of a reply by the list that genai-prices ships; None if it cannot be told.

    The vendor is told by `base_url` where it is given, else by the model's name.
    """
    from genai_prices import Usage, calc_price

    if reply.input_tokens is None or reply.output_tokens is None:
        return None
    usage = Usage(input_tokens=reply.input_tokens, output_tokens=reply.output_tokens)
    try:
        found = calc_price(usage, model_ref=reply.model, provider_api_url=base_url)
    except LookupError:
        return None
    return float(found.total_price)


def with_prices(llm: Any, price: Price | None = None) -> Priced:
    """A model whose replies have their `cost`.

    `price` is a function from a reply to US dollars (None if not known); without one the list
    price of the reply's model counts.
    """
    model = as_model(llm)
    base_url = getattr(model, "base_url", None)
    return Priced(model, price or (lambda reply: list_price(reply, base_url)))


@dataclass(frozen=True)
class Priced(Wrapper):
    """A model whose replies are priced; a cost that the model itself tells stays."""

    model: Model
    price: Price

    def complete(
        self,
        prompt: Prompt,
        schema: Mapping[str, Any] | None = None,
        readable: Readable | None = None,
    ) -> Reply:
        """The reply to a prompt, with its cost."""
        return self._priced(complete(self.model, prompt, schema, readable))

    async def acomplete(
        self,
        prompt: Prompt,
        schema: Mapping[str, Any] | None = None,
        readable: Readable | None = None,
    ) -> Reply:
        """The async twin of `complete`."""
        return self._priced(await acomplete(self.model, prompt, schema, readable))

    def _priced(self, reply: Reply) -> Reply:
        return reply if reply.cost is not None else replace(reply, cost=self.price(reply))
