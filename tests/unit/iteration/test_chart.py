"""Charts of loops."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from millstream.iteration import LoopResult, Superstep, run_loop
from millstream.iteration.chart import MOST_POINTS, Panel, chart
from tests.support.loops import COUNTS, Counting, counting_job

SVG = "{http://www.w3.org/2000/svg}"


def drawn(values: list[float], first: int = 1) -> tuple[list[tuple[float, float]], list[str]]:
    tree = ET.fromstring(chart(first, [Panel("<workset>", values, "#000")]))
    (line,) = tree.findall(f"{SVG}polyline")
    pairs = [pair.split(",") for pair in line.attrib["points"].split()]
    return [(float(x), float(y)) for x, y in pairs], [str(t.text) for t in tree.iter(f"{SVG}text")]


def test_larger_values_are_higher_and_later_ones_to_the_right() -> None:
    places, texts = drawn([4, 2, 0])
    (x1, y1), (x2, y2), (x3, y3) = places
    assert x1 < x2 < x3
    assert y1 < y2 < y3
    assert texts == ["<workset>", "0", "1", "2", "3", "4", "1", "3", "superstep"]


def test_values_that_differ_much_have_a_logarithmic_scale() -> None:
    places, texts = drawn([10_000, 100, 1, 0])
    heights = [y for _, y in places]
    assert heights[1] - heights[0] == pytest.approx(heights[2] - heights[1], abs=0.2)
    assert heights[3] == heights[2]
    assert texts[0] == "<workset> (logarithmic)"
    assert "10,000" in texts


@pytest.mark.parametrize("values", [[], [0], [0, 0], [7], [0.002, 0.0011]])
def test_few_values_are_drawn_too(values: list[float]) -> None:
    places, _ = drawn(values)
    assert len(places) == len(values)
    assert all(0 <= x <= 400 and 0 <= y <= 400 for x, y in places)


def test_of_many_supersteps_the_largest_stay() -> None:
    values = [1.0] * 5_000
    values[777] = 3.0
    places, texts = drawn(values, first=11)
    assert len(places) <= MOST_POINTS
    assert sum(y < max(y for _, y in places) for _, y in places) == 1
    assert "5010" in texts


def test_a_notebook_shows_how_a_loop_went() -> None:
    result = run_loop(counting_job(Counting(3)))
    html = result._repr_html_()
    assert "3 supersteps in " in html
    assert "ended; memory (asked for by the options)" in html
    ET.fromstring(html)
    steps = [Superstep(1, 2, 0.1)]
    again = LoopResult([], COUNTS, "driver", "a < b", steps, converged=False, restarts=2)
    assert "not converged; driver (a &lt; b); started again 2 times" in again._repr_html_()
