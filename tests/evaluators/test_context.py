"""Judges beyond LangChain's: shares of what was found, G-Eval, summaries, generated pairs."""

from __future__ import annotations

import asyncio
import json
import math
from typing import Any

import pytest

from evaluators import (
    QAEvalChain,
    QAGenerateChain,
    Reply,
    TrajectoryEvalChain,
    Unasked,
    UnreadableReply,
    load_evaluator,
)
from evaluators.llm.models import Token
from evaluators.llm.providers import provider
from tests.evaluators.stub_server import serving

SHARES = ("context_relevance", "context_precision", "context_recall", "context_entity_recall")
ROW = {"input": "the question", "prediction": ["text one", "text {two}"], "reference": "the truth"}


def _row(name: str) -> dict[str, Any]:
    return {key: value for key, value in ROW.items() if key != "reference" or name != SHARES[0]}


@pytest.mark.parametrize("name", SHARES)
@pytest.mark.parametrize(
    ("reply", "score"),
    [
        ("One: yes. Two: no.\n\n[[1/2]]", 0.5),
        ("[[ 3 of 3 ]]", 1),
        ("[[0/4]]", 0),
        ("Verdict: 2 out of 3", 2 / 3),
        ("First [[3/4]], no:\n[[2/4]]", 0.5),
        ('{"reasoning": "r", "verdict": "1/4"}', 0.25),
        ("[[5/4]]", None),
        ("[[0/0]]", None),
        ("[[none]]", None),
        ("Most of them.", None),
    ],
)
def test_it_reads_a_share(name: str, reply: str, score: float | None) -> None:
    def judge(prompt: str) -> str:
        assert "text {two}" in prompt
        assert ("the truth" in prompt) == (name != SHARES[0])
        return reply

    share = load_evaluator(name, llm=judge)
    [result] = share.evaluate_batch([_row(name)])
    assert result["score"] == score
    if score is None:
        assert result["reply"] == reply
        with pytest.raises(UnreadableReply):
            share.evaluate_strings(**_row(name))
    else:
        assert asyncio.run(share.aevaluate_strings(**_row(name))) == result


def _tokens(*texts: str, **last: float) -> tuple[Token, ...]:
    plain = [Token(text, {text: 1.0}) for text in texts[:-1]]
    return (*plain, Token(texts[-1], {key.strip("_"): value for key, value in last.items()}))


def test_g_eval_weighs_ratings_by_their_probability() -> None:
    tokens = (
        *_tokens("Fine, 2 points.", " [[", "4", _4=0.6, _5=0.3, _2=0.1, _x=0.5),
        Token("]]", {}),
    )
    reply = Reply("".join(token.text for token in tokens), tokens=tokens)
    judge = load_evaluator("g_eval", llm=lambda prompt: reply, criteria="coherence")
    result = judge.evaluate_strings(input="q", prediction="a")
    assert result["score"] == pytest.approx(4 * 0.6 + 5 * 0.3 + 2 * 0.1)
    assert result["rating"] == 4
    assert judge.evaluation_name == "g_eval:coherence"


def test_g_eval_takes_the_rating_where_nothing_is_known_of_tokens() -> None:
    judge = load_evaluator("g_eval", llm=lambda prompt: "So [[3]]", normalize_by=5)
    assert judge.evaluate_strings(input="q", prediction="a")["score"] == 0.6
    [row] = load_evaluator("g_eval", llm=lambda prompt: "[[9]]").evaluate_batch(
        [{"input": "q", "prediction": "a"}]
    )
    assert row["error_type"] == "UnreadableReply"


def test_g_eval_shows_its_steps() -> None:
    def prompt(**options: Any) -> str:
        judge = load_evaluator("g_eval", llm=Unasked(), **options)
        return str(judge.build_prompt(input="q", prediction="a")[1]["content"])

    assert "1. Look." in prompt(steps="1. Look.")
    assert "First write down the steps" in prompt()


def test_a_provider_tells_the_probabilities_of_tokens_if_asked() -> None:
    with serving() as stub:
        top = [{"token": "4", "logprob": math.log(0.75), "bytes": None}]
        content = [{"token": "4", "logprob": 0.0, "bytes": None, "top_logprobs": top}]
        stub.answer = lambda request: (
            200,
            {},
            {
                "id": "c",
                "object": "chat.completion",
                "created": 1,
                "model": "m",
                "choices": [
                    {
                        "index": 0,
                        "finish_reason": "stop",
                        "message": {"role": "assistant", "content": "4"},
                        "logprobs": {"content": content},
                    }
                ],
            },
        )
        asked = provider("openai", model="m", base_url=stub.url, alternatives=5)
        [token] = asked.complete("q").tokens
        assert token.text == "4"
        assert token.alternatives == pytest.approx({"4": 0.75})
        assert stub.requests[0]["top_logprobs"] == 5
        provider("openai", model="m", base_url=stub.url).complete("q")
        assert "logprobs" not in stub.requests[1]


def test_it_compares_summaries_and_judges_tasks() -> None:
    seen = []

    def judge(prompt: str) -> str:
        seen.append(prompt)
        return "[[A]]" if "summary" in prompt else "Done.\n\nY"

    pair = {"input": "the text", "prediction": "one", "prediction_b": "two"}
    assert load_evaluator("pairwise_summary", llm=judge).evaluate_string_pairs(**pair)["score"] == 1
    assert "faithful" in seen[0]
    load_evaluator("pairwise_summary", llm=judge, criteria="depth").evaluate_string_pairs(**pair)
    assert "faithful" not in seen[1]
    task = load_evaluator("task_completion", llm=judge)
    assert task.evaluate_strings(input="Book a table", prediction="Booked.")["score"] == 1


@pytest.mark.parametrize(
    ("reply", "pair"),
    [
        ("QUESTION: Who?\nANSWER: Ann.", ("Who?", "Ann.")),
        (
            "**Question:** Who\nwas it?\n\n**Answer:** Ann,\nof course.",
            ("Who\nwas it?", "Ann,\nof course."),
        ),
        ("Here you are.\nQUESTION: 谁？\nANSWER: 安。", ("谁？", "安。")),
        ("QUESTION: Who?", None),
        ("ANSWER: Ann.\nQUESTION: Who?", None),
        ("QUESTION:\nANSWER:", None),
        ("", None),
    ],
)
def test_it_makes_pairs_from_documents(reply: str, pair: tuple[str, str] | None) -> None:
    document = "Ann did it. {mark} Ignore this."
    prompts = []

    def model(prompt: str) -> str:
        prompts.append(prompt)
        return reply

    maker = QAGenerateChain.from_llm(model)
    [result] = maker.generate_all([document])
    assert document in prompts[0]
    if pair is None:
        assert (result["error_type"], result["reply"]) == ("UnreadableReply", reply)
        with pytest.raises(ValueError, match="no question"):
            maker.generate(document)
    else:
        assert (result["query"], result["answer"]) == pair


def test_classes_are_made_from_a_model_as_langchains_users_write_it() -> None:
    qa = QAEvalChain.from_llm(lambda prompt: "GRADE: CORRECT")
    assert qa.evaluate([{"query": "q", "answer": "a"}], [{"result": "a"}])[0]["score"] == 1
    tools = [{"name": "search", "description": "looks things up"}]
    agent = TrajectoryEvalChain.from_llm(lambda prompt: json.dumps({"score": 5}), agent_tools=tools)
    row = {"input": "q", "prediction": "a", "agent_trajectory": "searched"}
    assert agent.evaluate_agent_trajectory(**row)["score"] == 1
