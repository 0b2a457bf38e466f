"""The picture of a small graph as SVG: ids, values, directions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from millstream.graph.drawing.colours import INK, LINE, PAPER, QUIET, colours_of, is_dark
from millstream.graph.drawing.layout import placed, spread
from millstream.graph.drawing.texts import written

__all__ = ["picture"]

_EDGE = 92.0
_RADIUS = 17.0
_MARGIN = 18.0
_WIDEST = 900.0
_FONT = "font-family='system-ui,-apple-system,Segoe UI,sans-serif'"
_LONGEST = 14
_WRONG = "#c0392b"
_TIMES = "\u00d7"


@dataclass(frozen=True)
class _Line:
    """All edges between two vertices that are drawn as one line."""

    source: int
    target: int
    label: str
    tooltip: str
    bend: float
    arrow: bool


def picture(vertices: Sequence[tuple[Any, Any]], edges: Sequence[tuple[Any, Any, Any]]) -> str:
    """The drawing of a graph as a text of SVG.

    A vertex that edges name but that is not among the vertices is drawn with a dashed rim. Edges that
    come in both directions with one value are drawn as one line without an arrow.

    Parameters
    ----------
    vertices
        Ids and values.
    edges
        Sources, targets and values.

    Examples
    --------
    >>> text = picture([(1, "a"), (2, "b")], [(1, 2, 0.5)])
    >>> text.startswith("<svg"), "0.5" in text
    (True, True)
    """
    values = dict(vertices)
    ids = list(values)
    missing = list(dict.fromkeys(end for edge in edges for end in edge[:2] if end not in values))
    number = {key: at for at, key in enumerate([*ids, *missing])}
    pairs = [(number[source], number[target]) for source, target, _ in edges]
    halves = [_half(key) for key in number]
    points = _fitted(placed(len(number), pairs) * _scale(edges, values))
    points = spread(points, _apart(values))
    lines = _lines(edges, number)
    points, size = _framed(points, halves, lines, values)
    body = [_edge(line, points, halves) for line in lines]
    colours = colours_of([values[key] for key in ids])
    body += [
        _vertex(key, values[key], points[number[key]], colour)
        for key, colour in zip(ids, colours, strict=True)
    ]
    body += [_ghost(key, points[number[key]]) for key in missing]
    # Values come last: no vertex may cover them.
    body += [_value(values[key], points[number[key]]) for key in ids if _says(key, values[key])]
    if not number:
        body, size = [_EMPTY], np.array([150.0, 56.0])
    width, height = size
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width:.0f} {height:.0f}' "
        f"width='{width:.0f}' height='{height:.0f}' style='max-width:100%;height:auto' role='img' "
        f"aria-label='graph with {len(ids)} vertices and {len(edges)} edges' {_FONT}>"
        f"<defs>{_ARROW}</defs><rect width='100%' height='100%' rx='8' fill='{PAPER}'/>"
        + "".join(body)
        + "</svg>"
    )


_ARROW = (
    "<marker id='ms-arrow' viewBox='0 0 10 10' refX='9' refY='5' markerWidth='7' markerHeight='7' "
    f"orient='auto-start-reverse'><path d='M0 1.2 10 5 0 8.8 2.4 5z' fill='{LINE}'/></marker>"
)

_EMPTY = f"<text x='32' y='33' font-size='12.5' fill='{QUIET}'>an empty graph</text>"


def _scale(edges: Sequence[Any], values: dict[Any, Any]) -> float:
    """The length of an edge: long labels need room."""
    labels = [len(_text(edge[2])) for edge in edges if edge[2] is not None]
    labels += [len(_text(key)) - 3 for key in values]
    labels += [len(_text(value)) - 3 for key, value in values.items() if _says(key, value)]
    return _EDGE + 5.0 * max(0, max(labels, default=0) - 2)


def _fitted(points: Any) -> Any:
    """Points that fit the widest picture."""
    wide = float(points[:, 0].max()) if len(points) else 0.0
    return points * min(1.0, _WIDEST / wide) if wide else points


def _apart(values: dict[Any, Any]) -> float:
    """The least distance of two vertices: neither they nor their labels may cover each other."""
    return 2.4 * _RADIUS + (16 if any(_says(key, value) for key, value in values.items()) else 0)


def _half(key: Any) -> float:
    """Half of the width of a vertex."""
    return max(_RADIUS, 3.9 * len(_text(key)) + 8)


def _framed(
    points: Any, halves: Sequence[float], lines: Sequence[_Line], values: dict[Any, Any]
) -> tuple[Any, Any]:
    """Points inside a frame that holds labels and loops too, and the size of the frame."""
    if not len(points):
        return points, np.zeros(2)
    widths = np.array(halves)
    texts = [3.2 * len(_text(value)) if _says(key, value) else 0.0 for key, value in values.items()]
    widths[: len(texts)] = np.maximum(widths[: len(texts)], texts)
    above, below = np.full(len(points), _RADIUS), np.full(len(points), _RADIUS)
    below[: len(texts)] += np.where(np.array(texts) > 0, 15.0, 0.0)
    for line in lines:
        if line.source == line.target:
            above[line.source] = max(above[line.source], 1.62 * _reach(line) + 9)
    low = np.array([(points[:, 0] - widths).min(), (points[:, 1] - above).min()])
    high = np.array([(points[:, 0] + widths).max(), (points[:, 1] + below).max()])
    return points - low + _MARGIN, high - low + 2 * _MARGIN


def _says(key: Any, value: Any) -> bool:
    """Whether a value says more than the id."""
    return value is not None and value != key


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    text = value if isinstance(value, str) else repr(value)
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _lines(edges: Sequence[tuple[Any, Any, Any]], number: dict[Any, int]) -> list[_Line]:
    """The lines to draw: parallel edges are bent apart, edges and their mirror images are one line."""
    between: dict[tuple[int, int], dict[tuple[int, int, str], list[Any]]] = {}
    for edge in edges:
        a, b = number[edge[0]], number[edge[1]]
        label = "" if edge[2] is None else _text(edge[2])
        group = between.setdefault((min(a, b), max(a, b)), {})
        group.setdefault((a, b, label), []).append(edge)
    lines = []
    for (low, high), group in between.items():
        shown = []
        for (a, b, label), some in group.items():
            mirror = a != b and len(group.get((b, a, label), ())) == len(some)
            if mirror and a == high:
                continue
            times = f" {_TIMES}{len(some)}" if len(some) > 1 else ""
            tooltip = f"{some[0][0]!r} {'—' if mirror else '→'} {some[0][1]!r}"
            value = "" if some[0][2] is None else f": {some[0][2]!r}"
            shown.append((a, b, (label + times).strip(), tooltip + value + times, not mirror))
        for at, (a, b, label, tooltip, arrow) in enumerate(shown):
            bend = at - (len(shown) - 1) / 2
            # A bend to the left of a line is one to the right of its reverse.
            lines.append(_Line(a, b, label, tooltip, bend if a == low else -bend, arrow))
    return lines


def _reach(line: _Line) -> float:
    """How far an edge from a vertex to itself reaches above it."""
    return _RADIUS + 9 * (abs(line.bend) + 1)


def _edge(line: _Line, points: Any, halves: Sequence[float]) -> str:
    start, end = points[line.source], points[line.target]
    mark = " marker-end='url(#ms-arrow)'" if line.arrow else ""
    title = f"<title>{written(line.tooltip)}</title>"
    stroke = f"fill='none' stroke='{LINE}' stroke-width='1.6'{mark}"
    if line.source == line.target:
        x, y = start
        r = _reach(line)
        path = (
            f"M{x - 9:.1f} {y - 14.5:.1f}C{x - r:.1f} {y - 2 * r:.1f} {x + r:.1f} {y - 2 * r:.1f} "
        )
        path += f"{x + 9.5:.1f} {y - 17:.1f}"
        label = _label(line.label, x, y - 1.62 * r)
        return f"<g>{title}<path d='{path}' {stroke}/>{label}</g>"
    along = _towards(end - start)
    aside = np.array([-along[1], along[0]])
    middle = (start + end) / 2 + aside * line.bend * 34
    begin = start + _rim(middle - start, halves[line.source], 1.0)
    finish = end + _rim(middle - end, halves[line.target], 3.0 if line.arrow else 1.0)
    path = f"M{begin[0]:.1f} {begin[1]:.1f}Q{middle[0]:.1f} {middle[1]:.1f} "
    path += f"{finish[0]:.1f} {finish[1]:.1f}"
    label = _label(line.label, *((begin + finish) / 4 + middle / 2))
    return f"<g>{title}<path d='{path}' {stroke}/>{label}</g>"


def _rim(vector: Any, half: float, gap: float) -> Any:
    """From the middle of a vertex to its rim, in a direction; its ends are round."""
    across, up = np.abs(_towards(vector))
    straight = half - _RADIUS
    reach = _RADIUS / up if up > 1e-9 else np.inf
    if reach * across > straight:
        # The round end: a circle around (straight, 0).
        reach = straight * across + np.sqrt(max(_RADIUS**2 - (straight * up) ** 2, 0.0))
    return _towards(vector) * (reach + gap)


def _towards(vector: Any) -> Any:
    return vector / max(float(np.hypot(*vector)), 1e-6)


def _label(text: str, x: float, y: float) -> str:
    if not text:
        return ""
    half = 3.1 * len(text) + 2.5
    return (
        f"<rect x='{x - half:.1f}' y='{y - 7:.1f}' width='{2 * half:.1f}' height='14' rx='4' "
        f"fill='{PAPER}'/><text x='{x:.1f}' y='{y + 3.7:.1f}' font-size='10.5' fill='{QUIET}' "
        f"text-anchor='middle'>{written(text)}</text>"
    )


def _value(value: Any, point: Any) -> str:
    x, y = point
    return (
        f"<text x='{x:.1f}' y='{y + _RADIUS + 12.5:.1f}' font-size='10.5' fill='{INK}' "
        f"text-anchor='middle' stroke='{PAPER}' stroke-width='4' stroke-linejoin='round' "
        f"paint-order='stroke'>{written(_text(value))}</text>"
    )


def _vertex(key: Any, value: Any, point: Any, colour: str) -> str:
    x, y = point
    label = _text(key)
    half = _half(key)
    ink = PAPER if is_dark(colour) else INK
    title = f"{key!r}" if value is None else f"{key!r}: {value!r}"
    return (
        f"<g><title>{written(title)}</title><rect x='{x - half:.1f}' y='{y - _RADIUS:.1f}' "
        f"width='{2 * half:.1f}' height='{2 * _RADIUS:.1f}' rx='{_RADIUS}' fill='{colour}' "
        f"stroke='{PAPER}' stroke-width='2'/><text x='{x:.1f}' y='{y + 4.3:.1f}' font-size='12.5' "
        f"font-weight='600' fill='{ink}' text-anchor='middle'>{written(label)}</text></g>"
    )


def _ghost(key: Any, point: Any) -> str:
    x, y = point
    half = _half(key)
    return (
        f"<g><title>no vertex has the id {written(repr(key))}</title><rect x='{x - half:.1f}' "
        f"y='{y - _RADIUS:.1f}' width='{2 * half:.1f}' height='{2 * _RADIUS:.1f}' rx='{_RADIUS}' "
        f"fill='{PAPER}' stroke='{_WRONG}' stroke-width='1.6' stroke-dasharray='4 3'/><text "
        f"x='{x:.1f}' y='{y + 4.3:.1f}' font-size='12.5' fill='{_WRONG}' text-anchor='middle'>"
        f"{written(_text(key))}</text></g>"
    )
