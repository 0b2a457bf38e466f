"""The environment of programs on data sets: sources, settings, runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from millstream.common.errors import PlanError, TypeMismatchError, short_repr, user_location
from millstream.common.job import JobExecutionResult
from millstream.common.memory_mode import memory_tasks
from millstream.common.typeinfo import RowTypeInfo, TypeInformation, Types, from_arrow
from millstream.dataset.bridges import records_of_stream, records_of_table
from millstream.dataset.data_set import DataSet
from millstream.dataset.execution import Engine, Settings, engine_for, foreseen, result_of
from millstream.dataset.functions import FilterFunction, RichFunction
from millstream.dataset.operations.base import checked_size
from millstream.dataset.plan.calls import user_function
from millstream.dataset.plan.formats import CSV_TYPES, FromCsv, from_json
from millstream.dataset.plan.nodes import (
    Each,
    First,
    FromFrame,
    FromRecords,
    FromTable,
    Node,
    NumberSequence,
    ReadLines,
    ReadParquet,
)
from millstream.dataset.plan.records import PICKLED, coerced, records_type
from millstream.dataset.plan.travelling import TravellingType
from millstream.iteration import LoopOptions

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame, SparkSession

    from millstream.datastream import DataStream
    from millstream.table import Table

__all__ = ["ExecutionEnvironment", "get_environment"]


class ExecutionEnvironment:
    """The beginning of programs on data sets.

    Examples
    --------
    >>> env = ExecutionEnvironment.get_execution_environment()
    >>> env.generate_sequence(1, 4).filter(lambda n: n % 2 == 0).collect()
    [2, 4]
    """

    def __init__(self, session: SparkSession | None = None) -> None:
        self._settings = Settings(session=session)
        self._sinks: list[Any] = []
        self._last: JobExecutionResult | None = None
        self._notes: dict[Node, str] = {}

    @staticmethod
    def get_execution_environment(session: SparkSession | None = None) -> ExecutionEnvironment:
        """A new environment.

        Parameters
        ----------
        session
            The Spark session to run on; without it the active one, or a new one. Programs inside of
            `millstream.testing.in_memory` need none.
        """
        return ExecutionEnvironment(session)

    def set_parallelism(self, parallelism: int) -> ExecutionEnvironment:
        """Let operators run in so many tasks, unless they say otherwise."""
        self._settings.parallelism = checked_size(parallelism, "set_parallelism()", 1)
        return self

    def set_iteration_options(self, options: LoopOptions) -> ExecutionEnvironment:
        """Say how iterations run: in resident tasks or as jobs per superstep, with which snapshots."""
        if not isinstance(options, LoopOptions):
            raise PlanError(
                "DATASET_ITERATION",
                f"set_iteration_options() needs LoopOptions, got {short_repr(options)}",
                location=user_location(),
                hint='write LoopOptions(mode="driver")',
            )
        self._settings.loop_options = options
        return self

    def get_parallelism(self) -> int | None:
        """The number of tasks that was set; None: as many as the session runs at once."""
        return self._settings.parallelism

    def from_elements(self, *elements: Any, type_info: TypeInformation | None = None) -> DataSet:
        """A set of these elements.

        Parameters
        ----------
        *elements
            The elements, at least one.
        type_info
            Their type; without it, it is found from the elements.
        """
        if not elements:
            raise PlanError(
                "DATASET_EMPTY",
                "from_elements() needs at least one element",
                location=user_location(),
                hint="use from_collection([], type_info) for an empty set",
            )
        return self.from_collection(elements, type_info)

    def from_collection(
        self, collection: Iterable[Any], type_info: TypeInformation | None = None
    ) -> DataSet:
        """A set of the elements of a list or any other iterable.

        Parameters
        ----------
        collection
            The elements.
        type_info
            Their type; without it, it is found from the elements: elements of different classes have
            none and are pickled.
        """
        location = user_location()
        try:
            records = list(collection)
        except TypeError:
            raise PlanError(
                "DATASET_COLLECTION",
                f"from_collection() needs a list or an iterable, got {short_repr(collection)}",
                location=location,
                hint="use from_elements() for single elements",
            ) from None
        found = records_type(records) if type_info is None else type_info
        if type_info is not None:
            try:
                records = coerced(found, records)
            except TypeMismatchError as error:
                error.location = error.location or location
                raise
        return DataSet(
            self, FromRecords(type=found, location=location, name="Collection", records=records)
        )

    def generate_sequence(self, frm: int, to: int) -> DataSet:
        """The whole numbers from one to another, both included."""
        location = user_location()
        for bound in (frm, to):
            checked_size(bound, "generate_sequence()", -(1 << 63))
            if bound >= 1 << 63:
                raise PlanError(
                    "DATASET_SIZE",
                    f"generate_sequence() got {bound}, which is beyond the range of LONG",
                    location=location,
                )
        return DataSet(
            self,
            NumberSequence(
                type=Types.LONG(), location=location, name="Sequence", first=frm, last=to
            ),
        )

    def from_arrow(self, table: pa.Table) -> DataSet:
        """The rows of a table, as Rows with its names."""
        location = user_location()
        if isinstance(table, pa.RecordBatch):
            table = pa.Table.from_batches([table])
        if not isinstance(table, pa.Table):
            raise PlanError(
                "DATASET_TABLE",
                f"from_arrow() needs a pyarrow.Table, got {short_repr(table)}",
                location=location,
            )
        kind = row_type(table.schema)
        table = table.cast(pa.schema(list(zip(table.column_names, _stored(kind), strict=True))))
        return DataSet(self, FromTable(type=kind, location=location, name="Arrow", table=table))

    def from_pandas(self, frame: pd.DataFrame) -> DataSet:
        """The rows of a DataFrame of pandas, as Rows with its names; its index is left out."""
        return self.from_arrow(pa.Table.from_pandas(frame, preserve_index=False))

    def from_dataframe(self, frame: DataFrame) -> DataSet:
        """The rows of a DataFrame of Spark, as Rows with its names."""
        from millstream.dataset.spark.columns import frame_type

        location = user_location()
        node = FromFrame(type=frame_type(frame), location=location, name="DataFrame", frame=frame)
        if self._settings.session is None:
            self._settings.session = frame.sparkSession
        return DataSet(self, node)

    def from_data_stream(self, stream: DataStream) -> DataSet:
        """The elements of a bounded stream; its job runs now.

        Parameters
        ----------
        stream
            A stream whose sources end.
        """
        return self.from_collection(records_of_stream(stream))

    def from_table(self, table: Table) -> DataSet:
        """The rows of a table as Rows with its names; its query runs now, and only final rows count.

        Parameters
        ----------
        table
            A table whose sources end.
        """
        return self.from_collection(records_of_table(table))

    def register_type(self, type: type, serializer: Any, deserializer: Any) -> None:
        """Say how values of a class travel, which pickle cannot handle.

        Parameters
        ----------
        type
            The class.
        serializer
            A function from a value to bytes, or an object with a method ``serialize``.
        deserializer
            A function from bytes to a value, or an object with a method ``deserialize``.
        """
        location = user_location()
        write = user_function(serializer, "serialize", 1, location).call()
        read = user_function(deserializer, "deserialize", 1, location).call()
        known = TravellingType(type, write, read)
        known.register()
        self._settings.types.append(known)

    def read_text(self, path: str) -> DataSet:
        """The lines of a text file, or of the files of a folder."""
        return DataSet(self, self._lines(path, "\n"))

    def read_csv(
        self,
        path: str,
        types: Sequence[TypeInformation],
        line_delimiter: str = "\n",
        field_delimiter: str = ",",
        *,
        names: Sequence[str] | None = None,
        ignore_first_line: bool = False,
    ) -> DataSet:
        """The lines of CSV files as tuples; a field with a delimiter in it is quoted.

        Parameters
        ----------
        path
            A file, or a folder of files.
        types
            The types of the fields. An empty field is None, but a text is an empty text.
        line_delimiter
            The end of lines.
        field_delimiter
            The text between fields.
        names
            Names of the fields: the elements are Rows then.
        ignore_first_line
            Leave out lines that are equal to the first line of the files, their header.
        """
        location = user_location()
        for kind in types:
            if getattr(kind, "kind", None) not in CSV_TYPES:
                raise PlanError(
                    "DATASET_CSV",
                    f"read_csv() cannot read fields of {short_repr(kind)}",
                    location=location,
                    hint="use numbers, texts, booleans, dates and times of Types",
                )
        lines = self._lines(path, line_delimiter)
        if ignore_first_line:
            lines = self._without_header(lines, location)
        kinds = list(types)
        found = Types.TUPLE(kinds) if names is None else Types.ROW_NAMED(list(names), kinds)
        reader = user_function(FromCsv(kinds, field_delimiter), "__call__", 1, location)
        return DataSet(
            self,
            Each(
                inputs=(lines,),
                type=found,
                location=location,
                kind="map",
                function=reader,
                name="Csv",
            ),
        )

    def read_json(self, path: str, type_info: TypeInformation | None = None) -> DataSet:
        """The lines of JSON files.

        Parameters
        ----------
        path
            A file, or a folder of files.
        type_info
            The type of the elements, such as ``Types.ROW_NAMED``; without it, objects are dicts.
        """
        location = user_location()
        reader = user_function(from_json, "__call__", 1, location)
        return DataSet(
            self,
            Each(
                inputs=(self._lines(path, "\n"),), type=type_info or PICKLED, location=location,
                kind="map", function=reader, name="Json",
            ),
        )  # fmt: skip

    def read_parquet(self, path: str) -> DataSet:
        """The rows of Parquet files, as Rows with their names."""
        location = user_location()
        if memory_tasks() is None:
            from millstream.dataset.spark.files import parquet_node

            return DataSet(self, parquet_node(engine_for(self._settings), path, location))  # type: ignore[arg-type]
        from pyarrow.parquet import read_schema

        from millstream.dataset.kernel.files import files_of

        found = row_type(read_schema(files_of(path, location)[0]))
        return DataSet(self, ReadParquet(type=found, location=location, name="Parquet", path=path))

    def _lines(self, path: str, end: str) -> Node:
        return ReadLines(
            type=Types.STRING(), location=user_location(), name="Text", path=str(path), end=end
        )

    def _without_header(self, lines: Node, location: Any) -> Node:
        """The lines except for the header: it is read when the program runs, as a broadcast set."""
        first = First(inputs=(lines,), type=lines.type, keys=None, sort=(), size=1)
        without = user_function(WithoutHeader(), "filter", 1, location)
        return Each(
            inputs=(lines,), type=lines.type, location=location, kind="filter", function=without,
            name="Header", broadcasts={"header": first},
        )  # fmt: skip

    def _add_sink(self, sink: Any) -> None:
        self._sinks.append(sink)

    def execute(self, job_name: str = "") -> JobExecutionResult:
        """Run all sinks that wait."""
        if not self._sinks:
            raise PlanError(
                "DATASET_NO_SINK",
                "the program has no sink that waits: there is nothing to run",
                location=user_location(),
                hint="add one, such as write_text() or output(); collect() and count() run at once",
            )
        self._run(None, lambda engine: None)
        assert self._last is not None
        return self._last

    def get_last_job_execution_result(self) -> JobExecutionResult | None:
        """The result of the last run, with its accumulators; None before the first."""
        return self._last

    def _run(self, node: Node | None, want: Callable[[Engine], Any]) -> Any:
        """Run the sinks that wait, and what else is wanted of a node."""
        started = perf_counter()
        engine = engine_for(self._settings)
        sinks, self._sinks = self._sinks, []
        try:
            engine.prepare([*(sink.node for sink in sinks), *([node] if node is not None else [])])
            for sink in sinks:
                sink.run(engine)
            found = want(engine)
            self._last = result_of(engine, started)
            self._notes.update(engine.notes())
        finally:
            engine.close()
        return found

    def _foreseen(self, node: Node) -> dict[Node, str]:
        return foreseen(self._settings, node)

    def _frame(self, node: Node) -> DataFrame:
        return engine_for(self._settings).frame(node)


class WithoutHeader(RichFunction, FilterFunction):
    """Keeps the lines that are not the header.

    Examples
    --------
    See `ExecutionEnvironment.read_csv`.
    """

    def filter(self, value: str) -> bool:
        """Whether a line is not the header."""
        return value not in self.context.get_broadcast_variable("header")


def get_environment() -> ExecutionEnvironment:
    """A new environment, by the name of Flink's Python API.

    Examples
    --------
    >>> get_environment().from_elements(1).collect()
    [1]
    """
    return ExecutionEnvironment.get_execution_environment()


def row_type(schema: pa.Schema) -> RowTypeInfo:
    """The type of the rows of a table.

    Examples
    --------
    >>> row_type(pa.schema({"a": pa.int64()}))
    ROW_NAMED(a: LONG)
    """
    return Types.ROW_NAMED(schema.names, [from_arrow(field.type) for field in schema])


def _stored(kind: RowTypeInfo) -> list[pa.DataType]:
    return [each.to_arrow() for each in kind.field_types]
