"""SQL and mathematics by meaning rather than by letter."""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass
from typing import Annotated, Any

from evaluators.base import Result, StringEvaluator
from evaluators.define import evaluator
from evaluators.kinds import About
from evaluators.overlap import extra
from evaluators.processes import within_process
from evaluators.texts import UNSPACED, as_text

_LONGEST_SQL = 50_000
_LONGEST_MATHS = 5_000


@evaluator("sql_match", title="SQL equivalence", requires=("sqlglot",), extra="sql")
@dataclass(kw_only=True)
class SqlMatchEvaluator(StringEvaluator):
    """1 if two SQL statements have the same syntax tree once normalised, 0 if not."""

    dialect: Annotated[str, About("A dialect of sqlglot, such as postgres; empty: standard.")] = ""

    requires_reference = True

    def __post_init__(self) -> None:
        dialects = extra("sqlglot.dialects.dialect", "sql").Dialect
        try:
            dialects.get_or_raise(self.dialect or None)
        except ValueError as error:
            raise ValueError(f"Unknown SQL dialect {self.dialect!r}.") from error

    def _evaluate_strings(
        self, *, prediction: Any, reference: Any = None, input: Any = None, **kwargs: Any
    ) -> Result:
        try:
            wanted = self._normal(reference)
        except ValueError as error:
            raise ValueError(f"The reference is not SQL: {error}") from None
        try:
            found = self._normal(prediction)
        except ValueError as error:
            return {"score": 0, "reasoning": f"The prediction is not SQL: {error}"}
        return {"score": int(found == wanted)}

    def _normal(self, statement: Any) -> str:
        text = _unfenced(as_text(statement))
        if not text or len(text) > _LONGEST_SQL:
            raise ValueError("it is empty or too long.")
        sqlglot = extra("sqlglot", "sql")
        normalise = extra("sqlglot.optimizer.normalize_identifiers", "sql").normalize_identifiers
        simplify = extra("sqlglot.optimizer.simplify", "sql").simplify
        try:
            tree = sqlglot.parse_one(text, read=self.dialect or None)
            tree = simplify(normalise(tree, dialect=self.dialect or None)).transform(_unsaid)
        except (sqlglot.errors.SqlglotError, RecursionError) as error:
            raise ValueError(f"{type(error).__name__}.") from None
        return str(tree.sql(dialect=self.dialect or None, comments=False, identify=True))


def _unsaid(node: Any) -> Any:
    """A node without the words that change nothing: INNER, OUTER, ASC."""
    if node.key == "join" and node.args.get("kind") in ("INNER", "OUTER"):
        node.set("kind", None)
    if node.key == "ordered" and not node.args.get("desc"):
        node.set("desc", None)
    return node


_FENCED = re.compile(r"```(?:sql\b|\w*\n)?(.*?)```", re.S | re.I)


def _unfenced(text: str) -> str:
    fenced = _FENCED.search(text)
    inside = fenced[1] if fenced else re.sub(r"\A\s*sql\b", "", text, flags=re.I)
    return inside.strip().rstrip(";").strip()


@evaluator("math_match", title="Maths answer", requires=("math_verify",), extra="math")
@dataclass(kw_only=True)
class MathMatchEvaluator(StringEvaluator):
    """1 if the prediction's answer equals the reference as mathematics (by math-verify), else 0."""

    precision: Annotated[int, About("Decimal places that must agree.")] = 6
    time_limit: Annotated[float, About("Seconds for one comparison.")] = 5.0

    requires_reference = True

    def __post_init__(self) -> None:
        if self.precision < 0 or not self.time_limit > 0:
            raise ValueError("precision must be 0 or more, and time_limit above 0.")
        extra("math_verify", "math")

    def _evaluate_strings(
        self, *, prediction: Any, reference: Any = None, input: Any = None, **kwargs: Any
    ) -> Result:
        text, wanted_text = as_text(prediction), as_text(reference)
        if max(len(text), len(wanted_text)) > _LONGEST_MATHS:
            raise ValueError(f"Texts of more than {_LONGEST_MATHS:,} characters are not read.")
        same = within_process(
            _same_maths,
            (_as_maths(wanted_text), _as_maths(text), self.precision),
            self.time_limit,
            needs="math_verify",
        )
        if same is None:
            raise ValueError("The reference holds no mathematics that can be read.")
        return {"score": int(same)}


def _same_maths(wanted_text: str, text: str, precision: int) -> bool | None:
    math_verify = extra("math_verify", "math")
    logging.getLogger("math_verify").setLevel(logging.ERROR)
    # Its own time limits need signals, which only a main thread has.
    wanted = math_verify.parse(wanted_text, parsing_timeout=None)
    if not wanted:
        return None
    found = math_verify.parse(text, parsing_timeout=None)
    return bool(found) and bool(
        math_verify.verify(wanted, found, float_rounding=precision, timeout_seconds=None)
    )


def _as_maths(text: str) -> str:
    # Numbers are found between blanks, which some scripts do without.
    text = re.sub(rf"((?:{UNSPACED})+)", r" \1 ", text)
    marked = any(mark in text for mark in ("$", "\\boxed", "\\(", "\\["))
    return text if marked or " " in text.strip() else f"${text}$"
