"""Vendors of models; each SDK is imported when its provider is made."""

from __future__ import annotations

from importlib import import_module
from typing import Any

PROVIDERS = {
    "openai": "evaluators.llm.providers.openai_compatible:OpenAICompatible",
    "anthropic": "evaluators.llm.providers.anthropic:Anthropic",
}


def provider(name: str, **settings: Any) -> Any:
    """The provider of this name; ValueError for an unknown one."""
    if name not in PROVIDERS:
        raise ValueError(f"Unknown provider {name!r}: choose from {', '.join(PROVIDERS)}.")
    module, _, attribute = PROVIDERS[name].partition(":")
    return getattr(import_module(module), attribute)(**settings)
