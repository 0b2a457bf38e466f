"""Tables and streams that online algorithms read, and what they give back: of the same kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from millstream.common.errors import short_repr
from millstream.common.typeinfo import RowTypeInfo, TupleTypeInfo, TypeInformation, Types
from millstream.common.types import Row
from millstream.datastream.data_stream import DataStream
from millstream.ml.errors import ml_error, ml_type_error
from millstream.ml.frames.tables import TableFrame
from millstream.ml.stages.entry import frame_of
from millstream.table.table import Table

__all__ = ["Input", "ModelData", "input_of"]


@dataclass(frozen=True)
class Input:
    """A stream of records; ``t_env`` if it is that of a table."""

    stream: DataStream[Any]
    t_env: Any = None
    info: TypeInformation | None = None

    def given(self, stream: DataStream[Any]) -> Any:
        """Return a stream as the program gets it: tables as a list of one table, as in flink-ml."""
        return stream if self.t_env is None else [self.t_env.from_data_stream(stream)]

    def require(self, names: Sequence[str]) -> None:
        """Refuse a table without a column that is read."""
        if isinstance(self.info, RowTypeInfo) and self.t_env is not None:
            known = self.info.get_field_names()
            for name in names:
                if name not in known:
                    hint = f"it has {', '.join(known)}"
                    raise ml_error("ML_UNKNOWN_COLUMN", f"the table has no column {name!r}", hint)

    def with_fields(
        self, names: Sequence[str], types: Sequence[TypeInformation]
    ) -> TypeInformation | None:
        """Return the type of records with further fields; None if that of the records is not known."""
        info = self.info
        if isinstance(info, RowTypeInfo):
            self._not_taken(info.get_field_names(), names)
            fields = [*info.get_field_types(), *types]
            return Types.ROW_NAMED([*info.get_field_names(), *names], fields)
        if isinstance(info, TupleTypeInfo):
            return Types.TUPLE([*info.get_field_types(), *types])
        return None

    def _not_taken(self, known: Sequence[str], names: Sequence[str]) -> None:
        for name in names:
            if name in known:
                hint = "give the model another output column"
                raise ml_error("ML_COLUMN_EXISTS", f"there is a column {name!r} already", hint)


def input_of(data: Any) -> Input:
    """Return what an online algorithm reads."""
    if isinstance(data, DataStream):
        return Input(data, None, data.get_type())
    if isinstance(data, Table):
        t_env = data._t_env
        if hasattr(t_env, "to_data_stream"):
            info = TableFrame(data)._info()
            return Input(t_env.to_data_stream(data), t_env, info)
        message = "the table is not one of a StreamTableEnvironment"
        raise ml_type_error(
            "ML_INPUT_KIND", message, "make it in StreamTableEnvironment.create(env)"
        )
    raise ml_type_error(
        "ML_INPUT_KIND",
        f"an online algorithm reads a Table or a DataStream, got a {type(data).__name__}",
        "write env.from_collection(...), or t_env.from_pandas(...)",
    )


def is_rows(data: Any) -> bool:
    """Whether data are model data of this process: of Arrow, pandas or Spark."""
    return type(data).__module__.startswith(("pyarrow", "pandas", "pyspark"))


@dataclass(frozen=True)
class ModelData:
    """The data of models: one row that is known, or a table or stream of versions."""

    data: Any

    @staticmethod
    def of(given: Any) -> ModelData:
        """Return model data from what a program gives: a row, table, stream, or a fitted model."""
        if isinstance(given, list | tuple) and len(given) == 1 and not isinstance(given, Row):
            given = given[0]
        if isinstance(given, ModelData):
            return given
        if hasattr(given, "get_model_data"):
            return ModelData.of(given.get_model_data())
        if isinstance(given, Row | tuple | Table | DataStream):
            return ModelData(given)
        if is_rows(given):
            batch = frame_of(given).batch()
            if len(batch):
                return ModelData(Row(**{name: batch.values(name)[0] for name in batch.columns}))
        hint = "give the result of get_model_data() of a fitted model, or a Row"
        message = f"model data are a table, stream or row, got {short_repr(given)}"
        raise ml_type_error("ML_MODEL_DATA", message, hint)

    @property
    def row(self) -> Any:
        """The row, None if it is not known before the job runs."""
        return None if isinstance(self.data, Table | DataStream) else self.data

    def stream(self) -> DataStream[Any]:
        """Return the versions as a stream."""
        return input_of(self.data).stream

    def first_row(self) -> Any:
        """Return the first row; a table or stream is read now."""
        if self.row is not None:
            return self.row
        if isinstance(self.data, Table):
            rows = [*self.data._t_env.final_rows(self.data)]
        else:
            rows = self.data.execute_and_collect(limit=1)
        if not rows:
            hint = "give the model data of a fitted model"
            raise ml_error("ML_MODEL_DATA", "the model data have no row", hint)
        return rows[0]

    def before(self, stream: DataStream[Any]) -> Any:
        """Return the data for a job: a stream of the same environment, or else a row."""
        if self.row is not None:
            return self.row
        found = self.stream()
        same = found.get_execution_environment() is stream.get_execution_environment()
        return found if same else self.first_row()
