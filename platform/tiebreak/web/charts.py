"""Plots as Plotly figures in JSON; colours are names of our CSS variables, set by the page."""

from __future__ import annotations

import html
import json
from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from experiments.queries.judging_parts import Part, Running, Swap

LAYOUT = {
    "margin": {"l": 52, "r": 14, "t": 10, "b": 44},
    "paper_bgcolor": "rgba(0,0,0,0)",
    "plot_bgcolor": "rgba(0,0,0,0)",
    "font": {"color": "var(--text)", "size": 12},
    "showlegend": False,
    "hovermode": "closest",
}
GRID = {
    "gridcolor": "var(--line)",
    "zerolinecolor": "var(--line)",
    "linecolor": "var(--line-strong)",
}
SHARE = {**GRID, "tickformat": ".0%", "range": [0, 1], "fixedrange": True}
HALF = {"type": "line", "line": {"color": "var(--muted)", "width": 1, "dash": "dash"}}


def running_chart(running: Running) -> str:
    """A's share as rows came in, inside the band that holds however often one looks."""
    edge = [*_filled(running.high, 1.0), *reversed(_filled(running.low, 0.0))]
    figure = go.Figure(
        data=[
            go.Scatter(
                x=[*running.rows, *reversed(running.rows)],
                y=edge,
                fill="toself",
                mode="none",
                fillcolor="var(--tie-soft)",
                hoverinfo="skip",
            ),
            go.Scatter(
                x=running.rows,
                y=running.rate,
                mode="lines",
                line={"color": "var(--a)"},
                name="A’s share",
            ),
        ],
        layout=LAYOUT,
    )
    figure.update_layout(
        xaxis={**GRID, "title": {"text": "rows judged"}, "rangemode": "tozero", "fixedrange": True},
        yaxis={**SHARE, "title": {"text": "A’s share of decided rows"}},
        shapes=[{**HALF, "xref": "paper", "x0": 0, "x1": 1, "y0": 0.5, "y1": 0.5}],
        height=280,
    )
    return as_json(figure)


def _filled(ends: Sequence[float | None], default: float) -> list[float]:
    return [default if end is None else end for end in ends]


def parts_chart(parts: Sequence[Part]) -> str:
    """A's share with its interval, a line per part; the clear ones in the winner's colour."""
    known = [part for part in reversed(parts) if part.rate is not None]
    rates = [part.rate or 0.0 for part in known]
    figure = go.Figure(
        data=go.Scatter(
            x=rates,
            y=[html.escape(part.name) for part in known],
            mode="markers",
            marker={"color": [_colour(part) for part in known], "size": 10},
            error_x={
                "type": "data",
                "symmetric": False,
                "array": [(part.high or 0.0) - (part.rate or 0.0) for part in known],
                "arrayminus": [(part.rate or 0.0) - (part.low or 0.0) for part in known],
                "color": "var(--muted)",
            },
        ),
        layout=LAYOUT,
    )
    figure.update_layout(
        xaxis={**SHARE, "title": {"text": "A’s share of decided rows"}},
        yaxis={**GRID, "type": "category", "automargin": True, "fixedrange": True},
        shapes=[{**HALF, "yref": "paper", "y0": 0, "y1": 1, "x0": 0.5, "x1": 0.5}],
        height=90 + 30 * len(known),
    )
    return as_json(figure)


SWAP_COLOURS = {"a": "var(--a)", "b": "var(--b)", "tie": "var(--tie)"}


def swaps_chart(swaps: Sequence[Swap]) -> str:
    """How the two orders of a row were called, a bar per way; those that differ in grey."""
    shown = list(reversed(swaps))
    figure = go.Figure(
        data=go.Bar(
            x=[swap.share for swap in shown],
            y=[swap.name for swap in shown],
            orientation="h",
            marker={"color": [SWAP_COLOURS.get(swap.key, "var(--muted)") for swap in shown]},
            text=[f"{swap.rows:,}" for swap in shown],
            textposition="outside",
            cliponaxis=False,
        ),
        layout=LAYOUT,
    )
    figure.update_layout(
        xaxis={**SHARE, "title": {"text": "share of rows asked in both orders"}},
        yaxis={**GRID, "type": "category", "automargin": True, "fixedrange": True},
        height=90 + 30 * len(shown),
    )
    return as_json(figure)


def _colour(part: Part) -> str:
    if not part.clear or part.rate is None:
        return "var(--tie)"
    return "var(--a)" if part.rate > 0.5 else "var(--b)"


def as_json(figure: Any) -> str:
    """The figure without Plotly's theme, which is larger than most of our plots."""
    plain = figure.to_plotly_json()
    plain["layout"].pop("template", None)
    return json.dumps(plain)
