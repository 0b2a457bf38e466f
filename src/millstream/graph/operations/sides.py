"""The vertices or the edges of a graph: as a DataSet, as columns, or as both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from millstream.common.errors import PlanError, user_location
from millstream.common.memory_mode import memory_tasks
from millstream.graph.elements import Edge, Vertex

if TYPE_CHECKING:
    from millstream.dataset import DataSet, ExecutionEnvironment

__all__ = [
    "EDGE_COLUMNS",
    "VERTEX_COLUMNS",
    "Side",
    "as_edge",
    "as_vertex",
    "context_of",
    "ids_of_edges",
]

VERTEX_COLUMNS = ("id", "value")
"""The columns of vertices."""

EDGE_COLUMNS = ("source", "target", "value")
"""The columns of edges."""


def as_vertex(record: Any) -> Vertex[Any, Any]:
    """A vertex from a record with two fields.

    Examples
    --------
    >>> as_vertex((1, "a"))
    Vertex(1, 'a')
    """
    return record if isinstance(record, Vertex) else Vertex(*record)


def as_edge(record: Any) -> Edge[Any, Any]:
    """An edge from a record with two or three fields.

    Examples
    --------
    >>> as_edge((1, 2))
    Edge(1, 2, None)
    """
    return record if isinstance(record, Edge) else Edge(*record)


def context_of(context: ExecutionEnvironment | None) -> ExecutionEnvironment:
    """An environment, or the default one where there is none."""
    if context is not None:
        return context
    from millstream.dataset import ExecutionEnvironment

    return ExecutionEnvironment.get_execution_environment()


class Side:
    """The vertices or the edges of a graph.

    Algorithms read columns, and most methods of graphs read records. A side has what it was made
    of, and makes the other one when somebody asks for it.

    Parameters
    ----------
    context
        The environment, which makes DataSets.
    names
        The names of the columns.
    data_set
        The records; None if there are columns.
    columns
        A `pyarrow.Table` or a DataFrame with columns of these names.

    Examples
    --------
    >>> from millstream.testing import in_memory
    >>> side = Side(None, VERTEX_COLUMNS, columns=pa.table({"id": [1], "value": ["a"]}))
    >>> with in_memory():
    ...     side.columns().to_pylist()
    [{'id': 1, 'value': 'a'}]
    """

    def __init__(
        self,
        context: ExecutionEnvironment | None,
        names: Sequence[str],
        data_set: DataSet[Any] | None = None,
        columns: Any = None,
    ) -> None:
        self._context = context
        self.names = tuple(names)
        self._data_set = data_set
        self._columns = columns

    @property
    def context(self) -> ExecutionEnvironment:
        """The environment: that of the graph, or the default one."""
        return context_of(self._context)

    @property
    def has_columns(self) -> bool:
        """Whether there are columns already."""
        return self._columns is not None

    def held(self) -> Any:
        """The columns that there are, wherever they are."""
        return self._columns

    def records(self) -> DataSet[Any]:
        """The records, as a DataSet of vertices or edges."""
        if self._data_set is None:
            self._data_set = data_set_of(self.context, self._columns).map(self._record)
        return self._data_set

    @property
    def _record(self) -> Callable[[Any], Any]:
        return as_vertex if self.names == VERTEX_COLUMNS else as_edge

    def columns(self) -> Any:
        """The columns: a `pyarrow.Table` in memory, a DataFrame on Spark."""
        in_memory = memory_tasks() is not None
        if self._columns is None:
            found = self._read(in_memory)
            if not in_memory:
                return found
            # A table is computed once; a DataFrame is a query, which Spark caches if it is told to.
            self._columns = found
        if isinstance(self._columns, pa.Table):
            if in_memory:
                return self._columns
            return data_set_of(self.context, self._columns).to_dataframe()
        return self._columns.toArrow() if in_memory else self._columns

    def _read(self, in_memory: bool) -> Any:
        assert self._data_set is not None
        found = self._data_set.to_arrow() if in_memory else self._data_set.to_dataframe()
        have = found.column_names if in_memory else found.columns
        if in_memory and not found.num_rows:
            return pa.table({name: pa.nulls(0) for name in self.names})
        if len(have) != len(self.names):
            what = "vertices" if self.names == VERTEX_COLUMNS else "edges"
            raise PlanError(
                "GRAPH_RECORDS",
                f"{what} must have {len(self.names)} fields ({', '.join(self.names)}), got "
                f"{len(have)}: {', '.join(have)}",
                location=user_location(),
                hint="make records of Vertex(id, value) and Edge(source, target, value)",
            )
        return found.rename_columns(list(self.names)) if in_memory else found.toDF(*self.names)


def data_set_of(context: ExecutionEnvironment, columns: Any) -> DataSet[Any]:
    """Columns as a DataSet of rows."""
    if isinstance(columns, pa.Table):
        return context.from_arrow(columns)
    return context.from_dataframe(columns)


def ids_of_edges(columns: Any) -> Any:
    """The vertices of edges that are columns: their distinct ids, with values that are null.

    Examples
    --------
    >>> ids_of_edges(pa.table({"source": [1, 1], "target": [2, 3]})).to_pylist()[0]
    {'id': 1, 'value': None}
    """
    if not isinstance(columns, pa.Table):
        from pyspark.sql import functions as F

        both = columns.select(F.col("source").alias("id"))
        both = both.unionAll(columns.select(F.col("target").alias("id"))).distinct()
        return both.withColumn("value", F.lit(None))
    source, target = columns["source"], columns["target"]
    if source.type != target.type:
        target = target.cast(source.type)
    ids = pc.unique(pa.chunked_array([*source.chunks, *target.chunks], source.type))
    return pa.table({"id": ids, "value": pa.nulls(len(ids))})
