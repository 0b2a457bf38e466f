"""Tables for the tests of machine learning, as flink-ml's tests make them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from millstream.common.typeinfo import TypeInformation, Types
from millstream.datastream import StreamExecutionEnvironment
from millstream.ml.linalg import DenseVectorTypeInfo, SparseVectorTypeInfo, Vector, VectorTypeInfo
from millstream.table import StreamTableEnvironment, Table

INT, LONG, DOUBLE = Types.INT(), Types.LONG(), Types.DOUBLE()
TEXT, BOOLEAN = Types.STRING(), Types.BOOLEAN()
DENSE, SPARSE, VECTOR = DenseVectorTypeInfo(), SparseVectorTypeInfo(), VectorTypeInfo()
TEXTS = Types.OBJECT_ARRAY(Types.STRING())


class Tables:
    """Tables of one environment."""

    def __init__(self) -> None:
        self.env = StreamExecutionEnvironment.get_execution_environment()
        self.t_env = StreamTableEnvironment.create(self.env)

    def of(self, columns: dict[str, TypeInformation], rows: Sequence[Sequence[Any]]) -> Table:
        """A table of rows."""
        info = Types.ROW_NAMED(list(columns), list(columns.values()))
        stream = self.env.from_collection([tuple(row) for row in rows], type_info=info)
        return self.t_env.from_data_stream(stream)

    def rows(self, table: Table) -> list[Any]:
        """The rows of a table."""
        return list(self.t_env.to_data_stream(table).execute_and_collect())

    def column(self, table: Table, name: str) -> list[Any]:
        """One column of a table."""
        at = table.get_schema().get_field_names().index(name)
        return [row[at] for row in self.rows(table)]


def arrays(vectors: Iterable[Any]) -> list[list[float]]:
    """Vectors as lists."""
    return [
        v.to_array().tolist() if isinstance(v, Vector) else list(np.asarray(v)) for v in vectors
    ]


def table_of(rows: Sequence[Any], names: Sequence[str], types: Sequence[Any]) -> tuple[Any, Table]:
    """An environment of tables, and a table in it."""
    tables = Tables()
    return tables.t_env, tables.of(dict(zip(names, types, strict=True)), rows)


def rows_of_table(table: Table) -> list[Any]:
    """The rows of a table, in its own environment."""
    return list(table._t_env.to_data_stream(table).execute_and_collect())
