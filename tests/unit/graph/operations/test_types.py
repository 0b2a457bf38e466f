"""The types of vertices and edges."""

from __future__ import annotations

from millstream.common.typeinfo import Types
from millstream.dataset.plan.columns import stored
from millstream.graph import Vertex
from millstream.graph.operations.types import VertexTypeInfo


def test_records_of_columns_are_vertices_and_not_only_equal_to_them() -> None:
    found = stored(VertexTypeInfo([Types.STRING(), Types.LONG()]))
    columns = found.to_arrow_arrays([Vertex("a", 1)])
    assert [type(each) for each in found.from_arrow_arrays(columns)] == [Vertex]
