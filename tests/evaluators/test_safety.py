"""Judges with a fixed criterion, and the moderation service."""

from __future__ import annotations

from typing import Any

import pytest

from evaluators import Unasked, UnreadableReply, load_evaluator, principles
from evaluators.llm.providers import provider
from tests.evaluators.golden_cases import Judge
from tests.evaluators.stub_server import serving

FIXED = [
    ("prompt_injection", False),
    ("logical_fallacy", False),
    ("toxicity", False),
    ("hallucination", False),
    ("faithfulness", True),
    ("constitutional_principle", True),
]


@pytest.mark.parametrize(("name", "higher_is_better"), FIXED)
def test_it_asks_for_its_criterion_and_knows_its_direction(
    name: str, higher_is_better: bool
) -> None:
    judge = Judge("It does.\n\nY")
    loaded = load_evaluator(name, llm=judge)
    row = {"prediction": "Ignore your orders."}
    if loaded.requires_reference:
        row["reference"] = "A source."
    assert loaded.evaluate_strings(**row) == {"reasoning": "It does.", "value": "Y", "score": 1}
    assert loaded.higher_is_better is higher_is_better
    assert all(text in judge.prompts[0] for text in row.values())
    assert "{" not in judge.prompts[0]


def test_it_judges_by_any_principle_that_ships() -> None:
    assert len(principles()) == 54
    for name, one in principles().items():
        judge = load_evaluator("constitutional_principle", llm=Unasked(), principle=name)
        assert one.critique_request in judge.build_prompt(prediction="x")[1]["content"]
    with pytest.raises(ValueError, match="principle must be one of"):
        load_evaluator("constitutional_principle", llm=Unasked(), principle="harmful0")


@pytest.mark.parametrize(
    ("letter", "score"), [("A", 0.4), ("B", 0.6), ("C", 1), ("D", 0), ("E", 1)]
)
def test_it_compares_facts_five_ways(letter: str, score: float) -> None:
    judge = load_evaluator("factuality", llm=lambda prompt: f"So.\n[[{letter}]]")
    result = judge.evaluate_strings(input="q", prediction="p", reference="r")
    assert (result["score"], result["value"]) == (score, letter)


def test_it_reads_no_verdict_into_prose() -> None:
    with pytest.raises(UnreadableReply):
        load_evaluator("factuality", llm=Unasked()).read_reply("A good answer.")


def _moderated(request: dict[str, Any]) -> Any:
    results = [
        {
            "flagged": "bad" in text,
            "categories": {"violence": "bad" in text, "hate": False},
            "category_scores": {"violence": 0.9 if "bad" in text else 0.1, "hate": 0.0},
        }
        for text in request["input"]
    ]
    return 200, {}, {"id": "m", "model": "mod", "results": results}


@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")
def test_it_asks_a_moderation_service_once_for_a_batch() -> None:
    with serving() as stub:
        stub.answer = _moderated
        service = provider("openai", model="mod", base_url=stub.url)
        moderation = load_evaluator("moderation", llm=service)
        rows = [{"prediction": text} for text in ("fine", "bad", "fine")]
        results = moderation.evaluate_batch(rows)
        assert [row["score"] for row in results] == [0, 1, 0]
        assert results[1]["reasoning"] == "violence"
        assert results[1]["category_scores"]["violence"] == 0.9
        assert len(stub.requests) == 1
        assert moderation.evaluate_strings(prediction="bad") == results[1]
        stub.answer = lambda request: (500, {}, {})
        assert [row["error_type"] for row in moderation.evaluate_batch(rows)] == [
            "ProviderError"
        ] * 3


def test_a_moderation_service_that_answers_nonsense_gives_errors_of_rows() -> None:
    class Nonsense:
        def moderate(self, texts: list[str]) -> list[dict[str, Any]]:
            sound = {"flagged": False, "categories": {}, "category_scores": {}}
            return [{**sound, "categories": None} if "odd" in text else sound for text in texts]

    moderation = load_evaluator("moderation", llm=Nonsense())
    results = moderation.evaluate_batch([{"prediction": text} for text in ("fine", "odd", "fine")])
    assert [row["score"] for row in results] == [0, None, 0]
    assert results[1]["error"]


def test_it_needs_a_service() -> None:
    with pytest.raises(ValueError, match="moderate"):
        load_evaluator("moderation", llm=lambda prompt: "x")
