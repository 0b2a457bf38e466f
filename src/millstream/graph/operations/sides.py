"""The vertices or the edges of a graph: as records, as columns, or as both."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.common.errors import PlanError, user_location
from millstream.common.memory_mode import memory_tasks
from millstream.common.pickling import dumps
from millstream.common.typeinfo import (
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
    Types,
    infer_from_values,
)
from millstream.graph.elements import Edge, Vertex
from millstream.graph.operations.types import (
    EdgeTypeInfo,
    VertexTypeInfo,
    is_known,
    parts_of,
    tuple_of,
)

if TYPE_CHECKING:
    from millstream.dataset import DataSet, ExecutionEnvironment

__all__ = [
    "EDGE_COLUMNS",
    "VERTEX_COLUMNS",
    "Side",
    "as_edge",
    "as_vertex",
    "both_directions",
    "context_of",
    "data_set_of",
    "ids_of_edges",
    "plain",
    "turned",
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
    return record if record.__class__ is Vertex else Vertex(*record)


def as_edge(record: Any) -> Edge[Any, Any]:
    """An edge from a record with two or three fields.

    Examples
    --------
    >>> as_edge((1, 2))
    Edge(1, 2, None)
    """
    return record if record.__class__ is Edge else Edge(*record)


def plain(value: Any) -> Any:
    """A value of Python for one of numpy, which has no column and looks different.

    Examples
    --------
    >>> plain(np.int64(7)), plain("a")
    (7, 'a')
    """
    return value.item() if isinstance(value, np.generic) else value


def context_of(context: ExecutionEnvironment | None) -> ExecutionEnvironment:
    """An environment, or the default one where there is none."""
    if context is not None:
        return context
    from millstream.dataset import ExecutionEnvironment

    return ExecutionEnvironment.get_execution_environment()


class Side:
    """The vertices or the edges of a graph.

    Algorithms read columns, and functions read records. A side has what it was made of, and makes the
    other one when somebody asks for it.

    Parameters
    ----------
    context
        The environment, which makes DataSets.
    names
        The names of the columns: `VERTEX_COLUMNS` or `EDGE_COLUMNS`.
    data
        A DataSet of tuples; None if there are columns.
    columns
        A `pyarrow.Table` or a DataFrame with columns of these names.
    pickled
        The names of the columns whose values are pickled.

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
        names: tuple[str, ...],
        data: DataSet | None = None,
        columns: Any = None,
        pickled: Iterable[str] = (),
    ) -> None:
        self._context = context
        self.names = names
        self._data = data
        self._records: DataSet | None = None
        self._columns = columns
        self._pickled = frozenset(pickled)
        self.ends_of: Side | None = None
        self._kinds: list[Any] | None = None

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

    @property
    def _is_vertices(self) -> bool:
        return self.names == VERTEX_COLUMNS

    def data(self) -> DataSet:
        """The records as tuples or rows, of which types are known as far as possible."""
        if self._data is None:
            data = data_set_of(self.context, self._columns)
            if self._pickled:
                data = data.map(_Unpickled([name in self._pickled for name in self.names]))
            self._data = data
        return self._data

    def parts(self) -> list[TypeInformation]:
        """The types of the fields."""
        return parts_of(self.data().get_type(), len(self.names))

    def type(self) -> TypeInformation:
        """The type of the records as elements of a graph."""
        return tuple_of(VertexTypeInfo if self._is_vertices else EdgeTypeInfo, self.parts())

    def records(self) -> DataSet:
        """The records as vertices or edges."""
        if self._records is None:
            element: Callable[[Any], Any] = as_vertex if self._is_vertices else as_edge
            self._records = self.data().map(element, self.type())
        return self._records

    def columns(self) -> Any:
        """The columns: a `pyarrow.Table` in memory, a DataFrame on Spark."""
        in_memory = memory_tasks() is not None
        if self._columns is None:
            if not in_memory:
                # A DataFrame is a query: what it reads may change, so it is not kept.
                return self._frame()
            self._columns = self._table()
        if isinstance(self._columns, pa.Table):
            if in_memory:
                return self._columns
            return data_set_of(self.context, self._columns).to_dataframe()
        return self._columns.toArrow() if in_memory else self._columns

    def pickled(self) -> frozenset[str]:
        """The names of the columns whose values have no type, and are pickled."""
        self.columns()
        return self._pickled

    def _table(self) -> pa.Table:
        data = self.data()
        if all(map(is_known, self.parts())):
            return data.to_arrow().rename_columns(list(self.names))
        records = [self._fields(record) for record in data.collect()]
        columns = list(zip(*records, strict=True)) or [()] * len(self.names)
        table = {}
        for name, column in zip(self.names, columns, strict=True):
            values = list(map(plain, column))
            kind = _kind(values)
            if _is_pickled(kind):
                self._pickled |= {name}
            table[name] = _array(kind, values)
        return pa.table(table)

    def _fields(self, record: Any) -> tuple[Any, ...]:
        fields = tuple(record) if isinstance(record, tuple) or hasattr(record, "as_dict") else ()
        if len(fields) == len(self.names):
            return fields
        if not self._is_vertices and len(fields) == 2:
            return (*fields, None)
        what = "vertices" if self._is_vertices else "edges"
        raise PlanError(
            "GRAPH_RECORDS",
            f"{what} have {len(self.names)} fields ({', '.join(self.names)}); {record!r} has not",
            location=user_location(),
            hint="make records of Vertex(id, value) and Edge(source, target, value)",
        )

    def _frame(self) -> Any:
        data, parts = self.data(), self.parts()
        if all(map(is_known, parts)):
            return data.to_dataframe().toDF(*self.names)
        if self._kinds is None:
            # It takes a job, and an algorithm asks for the columns several times.
            self._kinds = _kinds_of(data, parts)
        kinds = self._kinds
        self._pickled = frozenset(
            name for name, kind in zip(self.names, kinds, strict=True) if _is_pickled(kind)
        )
        kept = [at for at, kind in enumerate(kinds) if kind != "none"]
        cells = data.map(
            _Cells([(at, kinds[at]) for at in kept]),
            TupleTypeInfo([_stored(kinds[at]) for at in kept]),
        )
        return _with_nulls(cells.to_dataframe().toDF(*(self.names[at] for at in kept)), self.names)


def _kinds_of(data: DataSet, parts: Sequence[Any]) -> list[Any]:
    """The kinds of the fields of records whose types nobody knows."""
    unknown = [at for at, part in enumerate(parts) if not is_known(part)]
    found = data.map_partition(_Kinds(unknown)).collect()
    kinds: list[Any] = list(parts)
    for place, at in enumerate(unknown):
        kinds[at] = _merged([each[place] for each in found])
    # Without a record nothing says what ids are.
    kinds[:-1] = [Types.LONG() if kind == "none" else kind for kind in kinds[:-1]]
    return kinds


def column_of(values: Iterable[Any]) -> pa.Array:
    """Values as a column; whole numbers among others become others, and what has no type is pickled.

    Examples
    --------
    >>> column_of([1, 2.5]).type, column_of([None]).type, column_of([{1}]).type
    (DataType(double), DataType(null), DataType(binary))
    """
    values = list(map(plain, values))
    return _array(_kind(values), values)


def _array(kind: Any, values: list[Any]) -> pa.Array:
    if kind == "none":
        return pa.nulls(len(values))
    if kind == "number":
        return pa.array([None if value is None else float(value) for value in values], pa.float64())
    if not is_known(kind):
        return pa.array([None if value is None else dumps(value) for value in values], pa.binary())
    if isinstance(kind, TupleTypeInfo | RowTypeInfo):
        # Records are columns of their own; around a record they are one.
        kind, values = TupleTypeInfo([kind]), [(value,) for value in values]
    (array,) = kind.to_arrow_arrays(values)
    return array


def _is_pickled(kind: Any) -> bool:
    return not isinstance(kind, str) and not is_known(kind)


def _kind(values: list[Any]) -> Any:
    present = [value for value in values if value is not None]
    if not present:
        return "none"
    classes = set(map(type, present))
    if classes == {int, float}:
        return "number"
    return infer_from_values(present)


def _stored(kind: Any) -> TypeInformation:
    """The type of a column; what has no type of its own is pickled."""
    if kind == "number":
        return Types.DOUBLE()
    known: TypeInformation = kind
    return known if is_known(known) else Types.PRIMITIVE_ARRAY(Types.BYTE())


def _merged(kinds: list[Any]) -> Any:
    """The kind of a column, from those of its parts."""
    found = [kind for kind in kinds if kind != "none"]
    if not found:
        return "none"
    if all(kind == found[0] for kind in found):
        return found[0]
    numbers = ("number", Types.LONG(), Types.DOUBLE())
    return "number" if all(kind in numbers for kind in found) else Types.PICKLED_BYTE_ARRAY()


class _Kinds:
    """The kinds of values that some fields of the records of a partition have."""

    def __init__(self, places: list[int]) -> None:
        self.places = places

    def map_partition(self, records: Iterator[Any]) -> Iterator[Any]:
        columns: list[list[Any]] = [[] for _ in self.places]
        for record in records:
            for column, place in zip(columns, self.places, strict=True):
                column.append(plain(record[place]))
        yield tuple(map(_kind, columns))


class _Cells:
    """The fields of a record as columns hold them."""

    def __init__(self, kinds: list[tuple[int, Any]]) -> None:
        self.makers = [(place, _maker(kind)) for place, kind in kinds]

    def map(self, record: Any) -> tuple[Any, ...]:
        return tuple(
            None if record[place] is None else make(record[place]) for place, make in self.makers
        )


def _maker(kind: Any) -> Callable[[Any], Any]:
    if kind == "number":
        return float
    return plain if is_known(kind) else _dumped


def _dumped(value: Any) -> bytes:
    return dumps(plain(value))


class _Unpickled:
    """The fields of a row, with values of those that are pickled."""

    def __init__(self, pickled: list[bool]) -> None:
        self.pickled = pickled

    def map(self, row: Any) -> tuple[Any, ...]:
        return tuple(
            pickle.loads(value) if pickled and value is not None else value
            for value, pickled in zip(row, self.pickled, strict=True)
        )


def _with_nulls(frame: Any, names: tuple[str, ...]) -> Any:
    """A DataFrame with columns of nulls where it has none of a name."""
    from pyspark.sql import functions as F

    have = set(frame.columns)
    return frame.select(*(F.col(n) if n in have else F.lit(None).alias(n) for n in names))


def data_set_of(context: Any, columns: Any) -> DataSet:
    """Columns as a DataSet of rows."""
    is_table = isinstance(columns, pa.Table)
    found: DataSet = context.from_arrow(columns) if is_table else context.from_dataframe(columns)
    return found


def turned(columns: Any) -> Any:
    """Edges that are columns, from target to source.

    Examples
    --------
    >>> edges = pa.table({"source": [1], "target": [2], "value": ["a"]})
    >>> turned(edges).to_pylist()
    [{'source': 2, 'target': 1, 'value': 'a'}]
    """
    found = ["target", "source", "value"]
    if isinstance(columns, pa.Table):
        return columns.select(found).rename_columns(list(EDGE_COLUMNS))
    return columns.select(*found).toDF(*EDGE_COLUMNS)


def both_directions(columns: Any) -> Any:
    """Edges that are columns, and the same ones turned around.

    Examples
    --------
    >>> edges = pa.table({"source": [1], "target": [2], "value": ["a"]})
    >>> both_directions(edges)["source"].to_pylist()
    [1, 2]
    """
    other = turned(columns)
    if isinstance(columns, pa.Table):
        # Ends of different types, such as 32 and 64 bits, need one type.
        return pa.concat_tables([columns, other], promote_options="permissive")
    return columns.unionAll(other)


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
