"""What calls cost: the workspace's own prices, else the list that genai-prices ships."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from functools import cache

from evaluators.llm.models import Reply
from experiments.models import Provider

MILLION = Decimal(1_000_000)
# What is taken for granted where a server does not count: characters in a token, a reply's length.
CHARACTERS_IN_A_TOKEN = 4
USUAL_REPLY_TOKENS = 300


@dataclass(frozen=True)
class Price:
    """US dollars for a token read and a token written, and where that is known from."""

    read: Decimal
    written: Decimal
    source: str

    def of(self, input_tokens: int, output_tokens: int) -> Decimal:
        """What so many tokens cost, in US dollars."""
        return self.read * input_tokens + self.written * output_tokens

    @property
    def text(self) -> str:
        """Both prices for a million tokens, for people."""
        read, written = (f"{price * MILLION:.4f}" for price in (self.read, self.written))
        return " / ".join(f"${text.rstrip('0').rstrip('.')}" for text in (read, written))


def price_of(provider: Provider) -> Price | None:
    """The price of a provider's model; None when nobody knows it."""
    if provider.input_price is not None and provider.output_price is not None:
        read, written = provider.input_price / MILLION, provider.output_price / MILLION
        return Price(read, written, "entered here")
    return listed_price(provider.base_url, provider.model)


@cache
def listed_price(base_url: str, model: str) -> Price | None:
    """The list price of a vendor's model, by its address: a name alone may be anybody's."""
    from genai_prices import Usage, __version__, calc_price

    try:
        found = calc_price(
            Usage(input_tokens=1000, output_tokens=1000),
            model_ref=model,
            provider_api_url=base_url,
        )
    except LookupError:
        return None
    return Price(
        found.input_price / 1000, found.output_price / 1000, f"list of genai-prices {__version__}"
    )


def tokens_of(reply: Reply, characters: int) -> tuple[int, int]:
    """Tokens read and written: as the server counted, else guessed from the texts' length."""
    read, written = reply.input_tokens, reply.output_tokens
    return (
        characters // CHARACTERS_IN_A_TOKEN if read is None else max(0, read),
        len(reply.text) // CHARACTERS_IN_A_TOKEN if written is None else max(0, written),
    )


def expected_tokens(characters: int, max_tokens: int | None) -> tuple[int, int]:
    """Tokens that a call will take, before anything is known but its prompt's length."""
    written = min(USUAL_REPLY_TOKENS, max_tokens or USUAL_REPLY_TOKENS)
    return characters // CHARACTERS_IN_A_TOKEN, written
