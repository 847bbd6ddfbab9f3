"""Who is asked when a provider does not answer."""

from experiments.models import Provider

MAX_FALLBACKS = 3


def chain_of(provider: Provider) -> list[Provider]:
    """A provider and those that are asked in its place, in order; circles end where they close."""
    chain = [provider]
    while (following := chain[-1].fallback) is not None and len(chain) <= MAX_FALLBACKS:
        if following.archived_at is not None or following in chain:
            break
        chain.append(following)
    return chain
