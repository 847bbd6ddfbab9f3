"""The numbers below a verdict: order, length and cost, each with its "how"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from evaluators.statistics import OPS
from evaluators.statistics.figures import Figure, How
from evaluators.statistics.judge_bias import position_report_of
from evaluators.statistics.wording import DASH, count_text, p_text, percent_text
from experiments.queries.judging_facts import LENGTH_ROWS, Orders, Usage

NOT_RECORDED = "not recorded"
NO_ORDER = "No order was recorded."


def order_figures(orders: Orders) -> list[Figure]:
    """Same verdict when swapped, the first slot's share, and what the rules make of both orders."""
    found = position_report_of(orders)
    rows = found["rows"]
    inputs = {f"{ab or '-'}{ba or '-'}": count for (ab, ba), count in sorted_orders(orders)}

    def how(method: str, n: int = rows) -> How:
        return How(method, "position_report", n, inputs)

    return [
        _rate(
            "consistency",
            "Same verdict when swapped",
            (found["consistency"], found["consistency_low"], found["consistency_high"]),
            how("Rows with one verdict in both orders, of those asked in both; Wilson interval."),
            _no_swap(orders),
        ),
        first_slot(orders),
        _p(
            "flip_test",
            "Flips favour a slot",
            found["flip_p_value"],
            how(FLIP_TEST),
            _no_swap(orders),
        ),
        *(
            reconciled(key, label, found[name], how(method), _no_swap(orders))
            for key, label, name, method in RULES
        ),
        _rate(
            "average",
            "Win rate over all games",
            (found["average_half_win_rate"], None, None),
            how("Mean over both orders of 1 for A, 0.5 for a tie, 0 for B."),
            _no_swap(orders),
        ),
    ]


FLIP_TEST = "Exact binomial test: among rows that flipped, is the slot shown first favoured?"
RULES = (
    (
        "strict",
        "Strict rule",
        "reconciled",
        "A row goes to a side only if both orders say so, else it is a tie. The verdict uses it.",
    ),
    (
        "lenient",
        "Lenient rule",
        "reconciled_lenient",
        "A row goes to a side if one order says so and none says the other.",
    ),
)


def sorted_orders(orders: Orders) -> list[tuple[tuple[str | None, str | None], int]]:
    return sorted(orders.items(), key=str)


def _no_swap(orders: Orders) -> str:
    """Why nothing can be said about swapping, where nothing can."""
    if not orders:
        return NO_ORDER
    asked_twice = any(ab and ba for ab, ba in orders)
    return "" if asked_twice else "Each row was asked in one order only."


def first_slot(orders: Orders) -> Figure:
    """The share of decided games won by what was shown first."""
    first = sum(n * ((ab == "A") + (ba == "B")) for (ab, ba), n in orders.items())
    second = sum(n * ((ab == "B") + (ba == "A")) for (ab, ba), n in orders.items())
    result = OPS["wilson_interval"](wins=first, n=first + second)
    how = How(
        "Games won by the answer shown first, of all decided games; 50% is neutral.",
        "wilson_interval",
        first + second,
        {"wins": first, "n": first + second, "confidence": 0.95},
    )
    reason = NO_ORDER if not orders else ""
    if orders and not any(ba for _, ba in orders):
        reason = "A was always shown first, so its place and its quality cannot be told apart."
        result = {"rate": None, "low": None, "high": None}
    values = (result["rate"], result["low"], result["high"])
    return _rate("first_slot", "First slot wins", values, how, reason)


def reconciled(key: str, label: str, counts: Mapping[str, int], how: How, reason: str) -> Figure:
    """Wins, ties and losses under one rule, with A's share of the decided rows."""
    found = OPS["wilson_interval"](wins=counts["A"], n=counts["A"] + counts["B"])
    if reason:
        return Figure(key, label, None, None, None, _lack(reason), reason, how)
    text = f"A {counts['A']:,} · {count_text(counts['T'], 'tie')} · B {counts['B']:,}"
    return Figure(key, label, found["rate"], found["low"], found["high"], text, None, how)


def length_figures(rows: Sequence[tuple[float, int, int]]) -> list[Figure]:
    """Does the longer answer win, and who would at equal length."""
    scores, a, b = _columns(rows)
    longer = OPS["longer_wins"](scores_a=scores, length_a=a, length_b=b)
    difference = [x - y for x, y in zip(a, b, strict=True)]
    controlled = OPS["length_controlled"](scores_a=scores, length_diff=difference)
    about = {"rows": len(rows), "unit": "characters of the stored output"}
    sample = f" Of at most {LENGTH_ROWS:,} rows, the first drawn." if len(rows) else ""
    return [
        _rate(
            "longer_wins",
            "Longer answer wins",
            (longer["share"], longer["low"], longer["high"]),
            How(
                "Decided rows of unequal length won by the longer answer; Wilson interval, "
                f"50% is neutral.{sample}",
                "longer_wins",
                longer["rows_used"],
                about | {"longer_wins": longer["longer_wins"]},
            ),
            longer["reason"] or "",
        ),
        _rate(
            "length_controlled",
            "A’s win rate at equal length",
            (controlled["controlled"], None, None),
            How(
                "Logistic regression of A’s score on tanh(length difference / its SD), ties as "
                f"half; without a term for the difficulty of each row.{sample}",
                "length_controlled",
                controlled["n"],
                about | {"raw": controlled["raw"], "sd": controlled["sd_length_diff"]},
            ),
            controlled["reason"] or "",
        ),
    ]


def _columns(
    rows: Sequence[tuple[float, int, int]],
) -> tuple[list[float], list[int], list[int]]:
    return [row[0] for row in rows], [row[1] for row in rows], [row[2] for row in rows]


def cost_figures(usage: Usage) -> list[Figure]:
    """Games, calls, replies found again, tokens and money."""
    unknown = "No model was asked." if not usage.replies else ""
    price = f"{usage.without_price:,} replies have no price." if usage.without_price else unknown
    tokens = None
    if usage.prompt_tokens is not None or usage.completion_tokens is not None:
        tokens = (usage.prompt_tokens or 0) + (usage.completion_tokens or 0)
    return [
        _amount("games", "Games", usage.games, usage, "Questions put to the judge, all rounds."),
        _amount("calls", "Calls to a model", usage.calls, usage, "Replies that were asked for."),
        _amount("cached", "Earlier replies used", usage.from_cache, usage, "Found, not asked."),
        _amount("tokens", "Tokens", tokens, usage, "Prompt and completion of calls.", unknown),
        _money(usage, price),
    ]


def _amount(
    key: str, label: str, value: int | None, usage: Usage, method: str, reason: str = ""
) -> Figure:
    text = DASH if value is None else f"{value:,}"
    how = How(method, "sum", usage.games, {})
    return Figure(key, label, value, None, None, text, reason if value is None else None, how)


def _money(usage: Usage, reason: str) -> Figure:
    text = DASH if usage.cost is None else f"${usage.cost:,.4f}"
    how = How("Prices of the model’s settings times tokens, calls only.", "sum", usage.games, {})
    return Figure("cost", "Cost", usage.cost, None, None, text, reason or None, how)


def _rate(
    key: str,
    label: str,
    values: tuple[float | None, float | None, float | None],
    how: How,
    reason: str,
) -> Figure:
    value, low, high = values
    if value is None:
        return Figure(key, label, None, None, None, _lack(reason), reason or None, how)
    return Figure(key, label, value, low, high, percent_text(value), None, how)


def _p(key: str, label: str, value: float | None, how: How, reason: str) -> Figure:
    text = _lack(reason) if reason else p_text(value)
    return Figure(key, label, value, None, None, text, reason or None, how)


def _lack(reason: str) -> str:
    """What stands in place of a number: nothing was recorded, or it does not apply."""
    return NOT_RECORDED if reason == NO_ORDER else DASH
