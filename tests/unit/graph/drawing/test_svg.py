"""Drawings: everything is there, nothing covers anything, and the same graph looks the same."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import Any

import networkx as nx
import numpy as np
import pytest

from millstream.graph.drawing.colours import colours_of
from millstream.graph.drawing.layout import placed
from millstream.graph.drawing.summary import degree_picture
from millstream.graph.drawing.svg import picture
from tests.support.graphs import EDGES, VERTICES
from tests.support.strategies import scaled

SVG = "{http://www.w3.org/2000/svg}"


def texts(svg: str) -> list[str]:
    return [str(node.text) for node in ET.fromstring(svg).iter(f"{SVG}text")]


def titles(svg: str) -> list[str]:
    return [str(node.text) for node in ET.fromstring(svg).iter(f"{SVG}title")]


def test_ids_values_and_edges_are_written() -> None:
    svg = picture([(1, "a"), (2, "b")], [(1, 2, 0.5)])
    assert sorted(texts(svg)) == ["0.5", "1", "2", "a", "b"]
    assert titles(svg) == ["1 → 2: 0.5", "1: 'a'", "2: 'b'"]
    assert svg.count("marker-end") == 1


def test_edges_in_both_directions_are_one_line() -> None:
    both = [(1, 2, 7), (2, 1, 7), (2, 3, 1), (3, 2, 2)]
    svg = picture([(n, None) for n in (1, 2, 3)], both)
    assert titles(svg)[:3] == ["1 — 2: 7", "2 → 3: 1", "3 → 2: 2"]
    assert svg.count("marker-end") == 2


def test_equal_edges_are_counted() -> None:
    svg = picture([(1, None), (2, None)], [(1, 2, None), (1, 2, None)])
    assert "\u00d72" in texts(svg)


def test_text_of_users_is_escaped_and_cut() -> None:
    svg = picture([("<b>", "x" * 100), ("&", "'")], [("<b>", "&", "</svg>")])
    assert "<b>" in texts(svg) and "</svg>" in texts(svg)
    assert max(map(len, texts(svg))) == 14
    assert repr("x" * 100) in titles(svg)[1]


@pytest.mark.parametrize("text", ["\0", "a\x1fb", "\ud800", "\uffff", "\u202e<"])
def test_characters_that_xml_does_not_have(text: str) -> None:
    svg = picture([(text, text), ("b", None)], [(text, "b", text)])
    ET.fromstring(svg.encode())


def test_a_vertex_that_only_an_edge_names_is_shown_as_wrong() -> None:
    svg = picture([(1, None)], [(1, 99, None)])
    assert "no vertex has the id 99" in titles(svg)


@pytest.mark.parametrize("vertices", [[], [(1, None)], [(1, float("nan")), (2, float("inf"))]])
def test_graphs_without_edges(vertices: list[Any]) -> None:
    svg = picture(vertices, [])
    assert ET.fromstring(svg).tag == f"{SVG}svg"
    assert len(texts(svg)) == max(1, sum(1 + (value is not None) for _, value in vertices))


def test_the_same_graph_is_the_same_picture() -> None:
    assert picture(VERTICES, EDGES) == picture(VERTICES, EDGES)


@pytest.mark.parametrize("seed", range(scaled(8, fewest=2)))
def test_vertices_do_not_cover_each_other_and_stay_in_the_picture(seed: int) -> None:
    graph = nx.gnm_random_graph(30, 20 + 10 * seed, seed=seed)
    svg = ET.fromstring(picture([(n, "ab") for n in graph], [(a, b, None) for a, b in graph.edges]))
    boxes = [
        [float(node.attrib[name]) for name in ("x", "y", "width", "height")]
        for node in svg.iter(f"{SVG}rect")
        if "x" in node.attrib
    ]
    assert len(boxes) == 30
    left, top, wide, high = np.array(boxes).T
    assert left.min() >= 0 and (left + wide).max() <= float(svg.attrib["width"])
    assert top.min() >= 0 and (top + high).max() <= float(svg.attrib["height"])
    apart = np.hypot(left[:, None] - left[None, :], top[:, None] - top[None, :])
    assert apart[np.triu_indices(30, 1)].min() > 34


def test_distances_on_paper_follow_those_in_the_graph() -> None:
    graph = nx.path_graph(8)
    points = placed(8, list(graph.edges))
    steps = np.hypot(*(points[1:] - points[:-1]).T)
    assert steps.min() > 0.9 and steps.max() < 1.1
    assert np.hypot(*(points[7] - points[0])) > 6.5


def test_groups_and_amounts_have_colours() -> None:
    a, b, c, d = colours_of(["x", "y", "x", "z"])
    assert a == c and len({a, b, d}) == 2
    low, high, wrong = colours_of([0.0, 1e308, float("inf")])
    assert len({low, high, wrong}) == 3
    assert len(set(colours_of([1, 2, 3]))) == 1


def test_degrees_of_a_large_graph() -> None:
    svg = degree_picture({0: 3, 1: 500, 9: 20, 1500: 1}, "524 vertices")
    assert texts(svg)[0] == "524 vertices"
    assert titles(svg)[:2] == ["3 vertices with degree 0", "500 vertices with degree 1"]
    assert titles(svg)[-1] == "1 vertices with degree 1.02k\u20132.05k"
    assert "an empty" not in degree_picture({}, "nothing")
