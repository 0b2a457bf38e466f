"""Graphs from CSV files: the values of Gelly's tests, and what a reader refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from millstream.common.errors import MillstreamError, PlanError
from millstream.common.typeinfo import Types
from millstream.graph import Graph
from millstream.testing import in_memory

EDGES = "1,2,ot\n3,2,tt\n3,1,to\n"


def triplets(graph: Graph[Any, Any, Any]) -> list[Any]:
    with in_memory(parallelism=2):
        return sorted(map(tuple, graph.get_triplets().collect()))


def files(folder: Path, vertices: str | None, edges: str) -> list[str]:
    paths = []
    for name, text in (("vertices", vertices), ("edges", edges)):
        if text is not None:
            (folder / name).write_text(text)
            paths.append(str(folder / name))
    return paths


def test_create_with_csv_file(tmp_path: Path) -> None:
    paths = files(tmp_path, "1,1\n2,2\n3,3\n", EDGES)
    graph = Graph.from_csv_reader(*paths).types(Types.LONG(), Types.LONG(), Types.STRING())
    assert triplets(graph) == [(1, 2, 1, 2, "ot"), (3, 1, 3, 1, "to"), (3, 2, 3, 2, "tt")]


def test_csv_with_null_edge(tmp_path: Path) -> None:
    paths = files(tmp_path, "1,one\n2,two\n3,three\n", "1,2\n3,2\n3,1\n")
    found = triplets(Graph.from_csv_reader(*paths).vertex_types(int, str))
    assert found[0] == (1, 2, "one", "two", None) and len(found) == 3


def test_csv_with_constant_value_mapper(tmp_path: Path) -> None:
    paths = files(tmp_path, None, EDGES)
    graph = Graph.from_csv_reader(*paths, lambda key: 0.1).types(int, float, str)
    assert triplets(graph)[0] == (1, 2, 0.1, 0.1, "ot")


def test_create_with_only_edges_csv_file(tmp_path: Path) -> None:
    paths = files(tmp_path, None, "header\n" + EDGES)
    reader = Graph.from_csv_reader(*paths).ignore_first_line_edges().ignore_comments_vertices("hi")
    assert triplets(reader.edge_types(int, str))[0] == (1, 2, None, None, "ot")


def test_delimiters(tmp_path: Path) -> None:
    paths = files(tmp_path, "header\n1;1\n2;2\n3;3\n", "header|1:2:ot|3:2:tt|3:1:to|")
    reader = Graph.from_csv_reader(*paths).ignore_first_line_edges().ignore_first_line_vertices()
    reader.field_delimiter_edges(":").field_delimiter_vertices(";").line_delimiter_edges("|")
    assert triplets(reader.types(int, int, str))[0] == (1, 2, 1, 2, "ot")


def test_fields_comments_and_invalid_lines(tmp_path: Path) -> None:
    paths = files(tmp_path, None, '# ids\n1,x,2,"a,b"\nnothing\n2,y,3,c\n')
    reader = Graph.from_csv_reader(*paths).ignore_comments_edges("#").ignore_invalid_lines_edges()
    graph = reader.include_fields_edges("1011").parse_quoted_strings_edges('"').edge_types(int, str)
    assert triplets(graph) == [(1, 2, None, None, "a,b"), (2, 3, None, None, "c")]
    keys = Graph.from_csv_reader(*files(tmp_path, None, "7,a,8\n")).include_fields_edges(0b101)
    assert triplets(keys.key_type(int)) == [(7, 8, None, None, None)]


def test_what_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    paths = files(tmp_path, None, EDGES)
    with pytest.raises(PlanError, match=r"GRAPH_CSV.*there is no file of vertices"):
        Graph.from_csv_reader(*paths).types(int, int, str)
    with pytest.raises(PlanError, match=r"2 fields of .* are read, and there are 3 types"):
        Graph.from_csv_reader(*paths).include_fields_edges("11").edge_types(int, str)
    with pytest.raises(PlanError, match="NOT_A_TYPE"):
        Graph.from_csv_reader(*paths).edge_types(int, set)
    with pytest.raises(PlanError, match="GRAPH_CSV"):
        Graph.from_csv_reader(*paths).parse_quoted_strings_edges("'")
    with in_memory(), pytest.raises(MillstreamError, match="'ot' is no LONG"):
        Graph.from_csv_reader(*paths).edge_types(int, int).get_edges().collect()
