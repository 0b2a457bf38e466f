"""The picture of a large graph: its numbers, and how its degrees are distributed."""

from __future__ import annotations

from collections.abc import Mapping
from math import log10

from millstream.graph.drawing.colours import INK, LINE, PAPER, QUIET
from millstream.graph.drawing.texts import written

__all__ = ["degree_picture"]

_WIDTH, _HEIGHT = 460, 190
_LEFT, _BOTTOM, _TOP = 52, 34, 30
_FONT = "font-family='system-ui,-apple-system,Segoe UI,sans-serif'"
_BAR = "#3b6fa5"


def buckets(counts: Mapping[int, int]) -> list[tuple[int, int, int]]:
    """Degrees in ranges that double: the first and last degree of a range, and how many vertices it has.

    Examples
    --------
    >>> buckets({0: 5, 1: 4, 2: 3, 3: 2, 4: 1})
    [(0, 0, 5), (1, 1, 4), (2, 3, 5), (4, 7, 1)]
    """
    if not counts:
        return []
    found: dict[int, int] = {}
    for degree, count in counts.items():
        found[degree.bit_length()] = found.get(degree.bit_length(), 0) + count
    ranges = range(min(found), max(found) + 1)
    return [
        (0 if bits == 0 else 1 << (bits - 1), (1 << bits) - 1, found.get(bits, 0))
        for bits in ranges
    ]


def degree_picture(counts: Mapping[int, int], caption: str) -> str:
    """The degrees of a graph as a bar chart in SVG; both axes are logarithmic.

    Parameters
    ----------
    counts
        How many vertices have a degree, by degree.
    caption
        The text above.

    Examples
    --------
    >>> degree_picture({1: 90, 2: 10}, "100 vertices").count("<rect")
    3
    """
    bars = buckets(counts)
    most = max((count for *_, count in bars), default=1)
    top = max(1, len(str(most)) if most > 10 ** (len(str(most)) - 1) else len(str(most)) - 1)
    high = _HEIGHT - _BOTTOM - _TOP - 8
    base = _HEIGHT - _BOTTOM
    parts = []
    for power in range(top + 1):
        y = base - high * power / top
        parts.append(
            f"<line x1='{_LEFT}' x2='{_WIDTH - 14}' y1='{y:.1f}' y2='{y:.1f}' stroke='{LINE}' "
            f"stroke-width='.6' opacity='.6'/><text x='{_LEFT - 7}' y='{y + 3.5:.1f}' font-size='10' "
            f"fill='{QUIET}' text-anchor='end'>{_short(10**power)}</text>"
        )
    step = (_WIDTH - 14 - _LEFT) / max(1, len(bars))
    for at, (low, last, count) in enumerate(bars):
        parts.append(_bar(_LEFT + at * step, step, low, last, count, high / top))
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {_WIDTH} {_HEIGHT}' width='{_WIDTH}' "
        f"height='{_HEIGHT}' style='max-width:100%;height:auto' role='img' {_FONT}>"
        f"<rect width='100%' height='100%' rx='8' fill='{PAPER}'/><text x='14' y='19' font-size='12.5' "
        f"font-weight='600' fill='{INK}'>{written(caption)}</text>{''.join(parts)}"
        f"<text x='{_WIDTH - 14}' y='{_HEIGHT - 5}' font-size='10' fill='{QUIET}' "
        "text-anchor='end'>degree of a vertex; upwards: how many vertices</text></svg>"
    )


def _bar(left: float, step: float, low: int, last: int, count: int, unit: float) -> str:
    base = _HEIGHT - _BOTTOM
    label = _short(low) if low == last else f"{_short(low)}\u2013{_short(last)}"
    text = (
        f"<text x='{left + step / 2:.1f}' y='{base + 13}' font-size='10' fill='{QUIET}' "
        f"text-anchor='middle'>{label}</text>"
    )
    if not count:
        return text
    # One vertex must be visible, though its logarithm is 0.
    height = max(3.0, unit * log10(count))
    return (
        f"<g><title>{count:,} vertices with degree {label}</title><rect x='{left + step * 0.14:.1f}' "
        f"y='{base - height:.1f}' width='{step * 0.72:.1f}' height='{height:.1f}' rx='2' fill='{_BAR}'/>"
        f"{text}</g>"
    )


def _short(number: int) -> str:
    for size, unit in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if number >= size:
            return f"{number / size:.3g}{unit}"
    return str(number)
