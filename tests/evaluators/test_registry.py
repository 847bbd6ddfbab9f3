"""Kinds: what can be loaded, what a form learns of it, own and third parties' kinds."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from typing import Annotated, Any

import numpy
import pytest

import evaluators
from evaluators import (
    About,
    EvaluatorType,
    Setting,
    StringEvaluator,
    available,
    evaluator,
    kind,
    load_evaluator,
    load_evaluators,
    registry,
)
from evaluators.define import REGISTERED


@pytest.fixture
def clean_registry() -> Iterator[None]:
    available()
    before = dict(REGISTERED)
    registry._load_third_parties.cache_clear()
    yield
    REGISTERED.clear()
    REGISTERED.update(before)
    registry._load_third_parties.cache_clear()


def test_it_exports_what_it_says() -> None:
    assert all(hasattr(evaluators, name) for name in evaluators.__all__)
    assert len(set(evaluators.__all__)) == len(evaluators.__all__)


def test_it_imports_nothing_heavy() -> None:
    heavy = "django openai anthropic pandas numpy scipy jsonschema pydantic celery"
    code = f"import sys, evaluators; print(*set(sys.modules) & set({heavy.split()}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


@pytest.mark.parametrize("name", ["nope", "", "exact_match ", "Exact_Match", "json_schema"])
def test_it_refuses_an_unknown_name_and_lists_the_valid_ones(name: str) -> None:
    with pytest.raises(ValueError, match="string_distance"):
        load_evaluator(name)


def test_it_suggests_the_nearest_name_and_option() -> None:
    with pytest.raises(ValueError, match="Did you mean 'exact_match'"):
        load_evaluator("exactmatch")
    with pytest.raises(ValueError, match="Did you mean 'ignore_case'"):
        load_evaluator("exact_match", ignorecase=True)
    with pytest.raises(ValueError, match="none"):
        kind("token_overlap").__class__("x", "x", "", "string", dict).check_options({"a": 1})


def test_it_gives_shared_options_to_those_that_know_them() -> None:
    loaded = load_evaluators(
        ["exact_match", "token_overlap", "string_distance"],
        config={"string_distance": {"distance": "indel"}, "not_loaded": {"x": 1}},
        ignore_case=True,
    )
    assert loaded[0].ignore_case
    assert loaded[1].ignore_case
    assert loaded[2].distance == "indel"
    with pytest.raises(ValueError, match="None of them has an option 'ignorecase'"):
        load_evaluators(["exact_match"], ignorecase=True)
    with pytest.raises(ValueError, match="must be a list of names"):
        load_evaluators("exact_match")


def test_it_needs_a_judge_to_be_named() -> None:
    with pytest.raises(ValueError, match="judge"):
        load_evaluator("pairwise_string")


def test_it_tells_a_form_all_it_needs() -> None:
    distance = kind("string_distance")
    assert (distance.title, distance.family) == ("String distance", "string")
    assert distance.description == "How far the prediction is from the reference: 0 is equal."
    assert (distance.requires_input, distance.requires_reference) == (False, True)
    assert (distance.higher_is_better, distance.order_matters) == (False, False)
    first = distance.settings[0]
    assert (first.name, first.type, first.default) == ("distance", "choice", "jaro_winkler")
    assert "levenshtein" in first.choices
    judge = kind("labeled_pairwise_string")
    assert judge.needs_model
    assert judge.order_matters
    assert judge.pairwise
    assert (judge.requires_input, judge.requires_reference) == (True, True)
    assert "llm" not in [setting.name for setting in judge.settings]


def test_it_describes_every_kind_and_setting() -> None:
    for one in available():
        if one.source == "tiebreak":
            assert one.title
            assert one.description.endswith((".", ")")), one.name
            assert all(setting.help for setting in one.settings), one.name


@pytest.mark.usefixtures("clean_registry")
def test_it_takes_a_function_as_an_evaluator() -> None:
    @evaluator("shouting", higher_is_better=False)
    def shouting(prediction: str, *, mark: Annotated[str, About("What shouts.")] = "!") -> float:
        """How much a text shouts."""
        return prediction.count(mark) / len(prediction)

    assert shouting("a!") == 0.5
    loaded = load_evaluator("shouting", mark="?")
    assert loaded.evaluate_strings(prediction="a?b?") == {"score": 0.5}
    assert loaded.evaluation_name == "shouting"
    about = kind("shouting")
    assert about.settings == (Setting("mark", "text", "!", "What shouts."),)
    assert about.description == "How much a text shouts."
    assert about.higher_is_better is False
    assert about.source == "tests"
    with pytest.raises(ValueError, match="marks"):
        load_evaluator("shouting", marks="?")


@pytest.mark.usefixtures("clean_registry")
@pytest.mark.parametrize("made", ["x", (1, 2), float("nan"), {"value": 1}, {"score": "good"}, [1]])
def test_what_is_no_score_is_an_error_of_its_row(made: Any) -> None:
    @evaluator("odd")
    def odd(prediction: str) -> Any:
        return made if prediction == "odd" else numpy.float64(0.5)

    loaded = load_evaluator("odd")
    fine, bad = loaded.evaluate_batch([{"prediction": "fine"}, {"prediction": "odd"}])
    assert (fine, type(fine["score"])) == ({"score": 0.5}, float)
    assert (bad["score"], bad["error_type"]) == (None, "ValueError")
    assert "score" in bad["error"]
    with pytest.raises(ValueError, match="score"):
        loaded.evaluate_strings(prediction="odd")


@pytest.mark.usefixtures("clean_registry")
def test_a_function_that_takes_an_input_is_not_said_to_ignore_it() -> None:
    @evaluator("asked_for")
    def asked_for(prediction: str, input: str = "") -> bool:
        return input in prediction

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = load_evaluator("asked_for").evaluate_strings(prediction="ab", input="b")
    assert result == {"score": 1}


@pytest.mark.usefixtures("clean_registry")
def test_it_refuses_what_looks_at_nothing_or_has_no_name() -> None:
    with pytest.raises(TypeError, match="looks at one of prediction"):
        evaluator("blind")(lambda outputs: 1)
    with pytest.raises(ValueError, match="needs a name"):
        evaluator(" ")(lambda prediction: 1)


@pytest.mark.usefixtures("clean_registry")
async def test_it_takes_an_async_function_that_compares() -> None:
    @evaluator("longer")
    async def longer(prediction: str, prediction_b: str, reference: str) -> dict[str, Any]:
        return {"score": float(len(prediction) > len(prediction_b)), "reference": reference}

    loaded = load_evaluator("longer")
    wanted = {"score": 1.0, "reference": "r"}
    row = {"prediction": "ab", "prediction_b": "a", "reference": "r"}
    assert kind("longer").family == "pairwise"
    assert await loaded.aevaluate_string_pairs(**row) == wanted
    assert loaded.evaluate_string_pairs(**row) == wanted
    assert await loaded.aevaluate_batch([row]) == [wanted]
    with pytest.raises(ValueError, match="requires a reference string"):
        loaded.evaluate_string_pairs(prediction="a", prediction_b="b")


@pytest.mark.usefixtures("clean_registry")
def test_it_takes_a_dataclass_as_an_evaluator() -> None:
    @evaluator("at_least")
    @dataclass
    class AtLeast:
        """Whether a text has enough letters."""

        letters: int = 3

        def evaluate(self, prediction: str) -> bool:
            return len(prediction) >= self.letters

    loaded = load_evaluator("at_least", letters=2)
    assert loaded.evaluate_strings(prediction="ab") == {"score": 1}
    assert kind("at_least").settings == (Setting("letters", "int", 3),)


@pytest.mark.usefixtures("clean_registry")
def test_it_refuses_a_name_that_is_taken_and_what_is_no_evaluator() -> None:
    with pytest.raises(ValueError, match="already"):
        evaluator("exact_match")(lambda prediction: 1)
    with pytest.raises(TypeError, match="neither"):
        evaluator("thing")(type("Thing", (), {}))
    with pytest.raises(TypeError, match="_evaluate_strings"):
        evaluator("half")(type("Half", (StringEvaluator,), {}))


class Brackets(StringEvaluator):
    """How many brackets there are."""

    def __init__(self, kind_of_bracket: str = "(") -> None:
        self.bracket = kind_of_bracket

    def _evaluate_strings(self, *, prediction: Any, **kwargs: Any) -> dict[str, Any]:
        return {"score": prediction.count(self.bracket)}


@pytest.mark.usefixtures("clean_registry")
def test_it_finds_third_parties_and_survives_broken_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    points = [
        EntryPoint("brackets", f"{__name__}:Brackets", registry.GROUP),
        EntryPoint("broken", "no_such_module:Thing", registry.GROUP),
        EntryPoint("exact_match", f"{__name__}:Brackets", registry.GROUP),
    ]
    monkeypatch.setattr(registry, "entry_points", lambda group: points)
    assert load_evaluator("brackets", kind_of_bracket="[").evaluate_strings(prediction="[[") == {
        "score": 2
    }
    assert kind("brackets").settings[0].default == "("
    broken = kind("broken")
    assert not broken.available
    assert "no_such_module" in broken.problem
    with pytest.raises(ValueError, match="cannot be used"):
        load_evaluator("broken")
    assert kind("exact_match").source == "tiebreak"


def test_it_knows_langchains_names() -> None:
    names = {one.name for one in available()}
    assert len(EvaluatorType) == 20
    assert load_evaluator(EvaluatorType.EXACT_MATCH).evaluation_name == "exact_match"
    assert {"string_distance", "pairwise_string"} <= names
