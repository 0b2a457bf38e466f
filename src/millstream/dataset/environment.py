"""The environment of programs on data sets: sources, settings, runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from time import perf_counter
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from millstream.common.errors import PlanError, TypeMismatchError, short_repr, user_location
from millstream.common.job import JobExecutionResult
from millstream.common.typeinfo import RowTypeInfo, TypeInformation, Types, from_arrow
from millstream.dataset.data_set import DataSet
from millstream.dataset.execution import Engine, Settings, engine_for, result_of
from millstream.dataset.operations.base import checked_size
from millstream.dataset.plan.nodes import FromFrame, FromRecords, FromTable, Node, NumberSequence
from millstream.dataset.plan.records import coerced, records_type

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame, SparkSession

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

    def execute(self, job_name: str = "") -> JobExecutionResult:
        """Run all sinks that wait."""
        if not self._sinks:
            raise PlanError(
                "DATASET_NO_SINK",
                "the program has no sink that waits: there is nothing to run",
                location=user_location(),
                hint="add one, such as write_text() or output(); collect() and count() run at once",
            )
        self._run(lambda engine: None)
        assert self._last is not None
        return self._last

    def get_last_job_execution_result(self) -> JobExecutionResult | None:
        """The result of the last run, with its accumulators; None before the first."""
        return self._last

    def _run(self, want: Callable[[Engine], Any]) -> Any:
        """Run the sinks that wait, and what else is wanted."""
        started = perf_counter()
        engine = engine_for(self._settings)
        sinks, self._sinks = self._sinks, []
        try:
            for sink in sinks:
                sink.run(engine)
            found = want(engine)
            self._last = result_of(engine, started)
        finally:
            engine.close()
        return found

    def _frame(self, node: Node) -> DataFrame:
        return engine_for(self._settings).frame(node)


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
