"""Curves over time: as a chart, and in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape

WARM_UP = 0.3
"""The share of a run that does not count: JIT, caches, and the epochs that Spark retains."""

Curves = Mapping[str, Sequence[float]]


def growth(values: Sequence[float], times: Sequence[float]) -> float:
    """The growth over the time of a least-squares line, as a share of the mean."""
    n, mean_v, mean_t = len(values), sum(values) / len(values), sum(times) / len(times)
    spread = sum((t - mean_t) ** 2 for t in times)
    if n < 2 or not spread or not mean_v:
        return 0.0
    slope = sum((t - mean_t) * (v - mean_v) for t, v in zip(times, values, strict=True)) / spread
    return slope * (times[-1] - times[0]) / mean_v


def summary(seconds: Sequence[float], curves: Curves, warm_up: float = WARM_UP) -> list[str]:
    """A line for each curve: first, last and largest value, and how it grows after the warm-up."""
    first = next(n for n, at in enumerate(seconds) if at >= warm_up * seconds[-1])
    lines = []
    for title, values in curves.items():
        settled = values[first:]
        share = growth(settled, seconds[first:])
        lines.append(
            f"{title}: {settled[0]:,.0f} to {settled[-1]:,.0f}, at most {max(settled):,.0f}, "
            f"{share:+.1%} over the time after the warm-up"
        )
    return lines


def chart(seconds: Sequence[float], curves: Curves) -> str:
    """Small curves over time, three in a row, as SVG."""
    width, height, pad = 320, 150, 48
    tall = -(-len(curves) // 3) * height + 20
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {3 * width} {tall}" '
        'font-family="sans-serif" font-size="11">',
        f'<rect width="{3 * width}" height="{tall}" fill="white"/>',
    ]
    end = seconds[-1] or 1
    for number, (title, values) in enumerate(curves.items()):
        left, top = number % 3 * width + pad, number // 3 * height + 28
        inner_w, inner_h = width - pad - 14, height - 50
        limit = max(values) * 1.1 or 1
        points = " ".join(
            f"{left + at / end * inner_w:.1f},{top + inner_h - v / limit * inner_h:.1f}"
            for at, v in zip(seconds, values, strict=True)
        )
        parts += [
            f'<text x="{left}" y="{top - 8}" font-weight="bold">{escape(title)}</text>',
            f'<path d="M{left},{top} v{inner_h} h{inner_w}" fill="none" stroke="#888"/>',
            f'<text x="{left - 4}" y="{top + 8}" text-anchor="end">{limit / 1.1:.0f}</text>',
            f'<text x="{left - 4}" y="{top + inner_h}" text-anchor="end">0</text>',
            f'<text x="{left + inner_w}" y="{top + inner_h + 14}" text-anchor="end">'
            f"{end / 60:.0f} min</text>",
            f'<polyline points="{points}" fill="none" stroke="#1f6feb" stroke-width="1.5"/>',
        ]
    return "\n".join([*parts, "</svg>\n"])
