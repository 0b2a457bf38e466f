"""A chart of a loop: the workset and the time of each superstep, as SVG."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

__all__ = ["Panel", "chart"]

WIDTH, HEIGHT = 360, 200
LEFT, RIGHT, TOP, BOTTOM = 58, 12, 28, 34
MOST_POINTS = 300
"""More supersteps share a point, which is the largest of them."""

_FONT = 'font-family="sans-serif" font-size="11"'


@dataclass(frozen=True)
class Panel:
    """One of the charts that stand side by side.

    Parameters
    ----------
    title
        What it shows.
    values
        A value per superstep.
    colour
        The colour of the line.
    """

    title: str
    values: Sequence[float]
    colour: str


def chart(first: int, panels: Sequence[Panel]) -> str:
    """Draw panels side by side.

    Parameters
    ----------
    first
        The number of the first superstep.
    panels
        What to draw.

    Examples
    --------
    >>> svg = chart(1, [Panel("workset", [5, 3, 0], "#1668b8")])
    >>> svg[:4], svg.count("<circle")
    ('<svg', 3)
    """
    width = WIDTH * len(panels)
    drawn = "".join(_drawn(first, panel, WIDTH * place) for place, panel in enumerate(panels))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {HEIGHT}" '
        f'width="{width}" height="{HEIGHT}" role="img">'
        f'<rect width="{width}" height="{HEIGHT}" fill="#ffffff"/>{drawn}</svg>'
    )


def _drawn(first: int, panel: Panel, shift: int) -> str:
    points = _thinned(first, panel.values)
    scale = _Scale(panel.values)
    left, right = shift + LEFT, shift + WIDTH - RIGHT
    last = first + len(panel.values) - 1
    places = [
        (left + (right - left) * (step - first) / max(last - first, 1), scale.place(value))
        for step, value in points
    ]
    return "".join(
        [
            f'<text x="{left}" y="16" {_FONT} font-weight="bold" fill="#333">'
            f"{escape(panel.title)}{' (logarithmic)' if scale.logarithmic else ''}</text>",
            *(_grid(left, right, scale.place(tick), tick) for tick in scale.ticks),
            _steps(left, right, first, last),
            _line(places, panel.colour),
        ]
    )


def _thinned(first: int, values: Sequence[float]) -> list[tuple[int, float]]:
    share = max(1, math.ceil(len(values) / MOST_POINTS))
    found = []
    for begin in range(0, len(values), share):
        part = values[begin : begin + share]
        at = max(range(len(part)), key=part.__getitem__)
        found.append((first + begin + at, float(part[at])))
    return found


class _Scale:
    """Where a value is drawn: on a logarithmic scale if the values differ much."""

    def __init__(self, values: Sequence[float]) -> None:
        largest = float(max(values, default=0)) or 1.0
        positive = [value for value in values if value > 0]
        smallest = float(min(positive, default=largest))
        self.logarithmic = largest / smallest > 100
        if self.logarithmic:
            self._low = 10.0 ** math.floor(math.log10(smallest))
            self._high = 10.0 ** math.ceil(math.log10(largest))
            decades = round(math.log10(self._high / self._low))
            every = math.ceil(decades / 4)
            self.ticks = [self._low * 10.0**n for n in range(0, decades + 1, every)]
        else:
            step = _round_step(largest / 4)
            self._low, self._high = 0.0, step * math.ceil(largest / step)
            self.ticks = [step * n for n in range(round(self._high / step) + 1)]

    def place(self, value: float) -> float:
        """The vertical place; what is 0 lies on the lowest line."""
        if self.logarithmic:
            above = math.log(max(value, self._low) / self._low)
            part = above / math.log(self._high / self._low)
        else:
            part = value / self._high
        return HEIGHT - BOTTOM - part * (HEIGHT - TOP - BOTTOM)


def _round_step(least: float) -> float:
    """1, 2 or 5 times a power of ten, not below the given one."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(power * n for n in (1, 2, 5, 10) if power * n >= least * (1 - 1e-9))


def _grid(left: int, right: int, y: float, value: float) -> str:
    return (
        f'<line x1="{left}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}" stroke="#e3e3e3"/>'
        f'<text x="{left - 6}" y="{y + 4:.1f}" {_FONT} fill="#555" text-anchor="end">'
        f"{_number(value)}</text>"
    )


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 or value == int(value) else f"{value:.3g}"


def _steps(left: int, right: int, first: int, last: int) -> str:
    y = HEIGHT - BOTTOM + 16
    ends = [(left, first, "start")] + ([(right, last, "end")] if last > first else [])
    return "".join(
        f'<text x="{x}" y="{y}" {_FONT} fill="#555" text-anchor="{anchor}">{step}</text>'
        for x, step, anchor in ends
    ) + (
        f'<text x="{(left + right) / 2}" y="{y}" {_FONT} fill="#555" text-anchor="middle">'
        "superstep</text>"
    )


def _line(places: Sequence[tuple[float, float]], colour: str) -> str:
    text = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    line = f'<polyline points="{text}" fill="none" stroke="{colour}" stroke-width="1.6"/>'
    dots = [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.4" fill="{colour}"/>' for x, y in places]
    return line + ("".join(dots) if len(dots) <= 60 else "")
