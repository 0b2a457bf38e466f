"""Methods that run a program, or say where results go."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from millstream.common.errors import user_location
from millstream.dataset.bridges import stream_of, table_of_set
from millstream.dataset.functions import WriteMode
from millstream.dataset.operations.base import Operations
from millstream.dataset.optimizer.text import explained
from millstream.dataset.plan.formats import CsvLine, json_line, text_line

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame

    from millstream.dataset.sinks import DataSink
    from millstream.datastream import DataStream, StreamExecutionEnvironment
    from millstream.table import Table, TableEnvironment

from millstream.dataset.plan.calls import user_function
from millstream.dataset.plan.nodes import Each
from millstream.dataset.summaries import ColumnSummary, merged_summaries, summaries_of

__all__ = ["ResultOperations"]


class ResultOperations(Operations):
    """Methods that run a program, or say where results go.

    Examples
    --------
    >>> from millstream.dataset import ExecutionEnvironment
    >>> env = ExecutionEnvironment.get_execution_environment()
    >>> env.from_elements(("a", 1), ("b", 2)).to_arrow().to_pydict()
    {'f0': ['a', 'b'], 'f1': [1, 2]}
    """

    def collect(self) -> list[Any]:
        """Run the program and return all elements; sinks that wait run along."""
        return self._env._run(self._node, lambda engine: engine.records(self._node))  # type: ignore[no-any-return]

    def count(self) -> int:
        """Run the program and return the number of elements."""
        return self._env._run(self._node, lambda engine: engine.count(self._node))  # type: ignore[no-any-return]

    def print(self) -> None:
        """Run the program and print each element on a line."""
        for element in self.collect():
            print(element)

    def summarize(self) -> tuple[ColumnSummary, ...]:
        """Run the program and return a summary of each field: counts, extremes, mean, variance."""
        parts = self._set(
            Each(
                inputs=(self._node,), kind="map_partition", name="Summarize",
                function=user_function(summaries_of, "map_partition", 1, user_location()),
            )
        )  # fmt: skip
        found = parts.reduce(merged_summaries).collect()
        return tuple(found[0]) if found else ()

    def to_data_stream(self, env: StreamExecutionEnvironment) -> DataStream:
        """Run the program and return a bounded stream of its elements.

        Parameters
        ----------
        env
            The environment of the stream.
        """
        return stream_of(self, env)  # type: ignore[arg-type, no-any-return]

    def to_table(self, t_env: TableEnvironment) -> Table:
        """Run the program and return a table of its elements.

        Parameters
        ----------
        t_env
            The environment of the table.
        """
        return table_of_set(self, t_env)  # type: ignore[arg-type, no-any-return]

    def explain(self) -> str:
        """The plan as text: which operators Spark's engine runs, and which run as Python, and why.

        How an iteration will run is said as far as it can be known without running it: inside of
        `millstream.testing.in_memory`, or when there is a Spark session. How it ran in the end is there
        after a run on Spark.
        """
        return explained(self._node, self._env._notes, self._env._foreseen(self._node))

    def output(self, to_error: bool = False) -> DataSink:
        """Print each element when the program runs, as Flink does: ``(a, 1)``.

        Parameters
        ----------
        to_error
            Print to the standard error output.
        """
        from millstream.dataset.sinks import PrintSink, lines

        node = lines(self._node, text_line, "Print")
        sink: DataSink = PrintSink(node, user_location(), to_error)
        self._env._add_sink(sink)
        return sink

    def write_text(self, path: str, write_mode: WriteMode = WriteMode.NO_OVERWRITE) -> DataSink:
        """Write each element as a line of text, as `output` prints it.

        Parameters
        ----------
        path
            The folder, or with ``set_parallelism(1)`` the file.
        write_mode
            What to do if it exists already.
        """
        return self._written(path, "text", write_mode, text_line)

    def write_csv(
        self,
        path: str,
        line_delimiter: str = "\n",
        field_delimiter: str = ",",
        write_mode: WriteMode = WriteMode.NO_OVERWRITE,
    ) -> DataSink:
        """Write each tuple or Row as a line of fields; None is an empty field.

        Parameters
        ----------
        path
            The folder, or with ``set_parallelism(1)`` the file.
        line_delimiter
            The end of lines.
        field_delimiter
            The text between fields. A field that contains it, or a quote, is quoted.
        write_mode
            What to do if it exists already.
        """
        return self._written(path, "text", write_mode, CsvLine(field_delimiter), line_delimiter)

    def write_json(self, path: str, write_mode: WriteMode = WriteMode.NO_OVERWRITE) -> DataSink:
        """Write each element as a line of JSON; tuples are objects with the fields f0, f1 and so on.

        Parameters
        ----------
        path
            The folder, or with ``set_parallelism(1)`` the file.
        write_mode
            What to do if it exists already.
        """
        return self._written(path, "text", write_mode, json_line)

    def write_parquet(self, path: str, write_mode: WriteMode = WriteMode.NO_OVERWRITE) -> DataSink:
        """Write the columns of `to_arrow` as Parquet files.

        Parameters
        ----------
        path
            The folder, or with ``set_parallelism(1)`` the file.
        write_mode
            What to do if it exists already.
        """
        from millstream.dataset.sinks import FileSink

        sink: DataSink = FileSink(self._node, user_location(), path, "parquet", write_mode)
        self._env._add_sink(sink)
        return sink

    def _written(
        self, path: str, kind: str, mode: WriteMode, line: Any, end: str = "\n"
    ) -> DataSink:
        from millstream.dataset.sinks import FileSink, lines

        node = lines(self._node, line, "Write")
        sink: DataSink = FileSink(node, user_location(), path, kind, mode, end)
        self._env._add_sink(sink)
        return sink

    def to_arrow(self) -> pa.Table:
        """Run the program and return the columns: those of tuples are f0, f1 and so on.

        Rows have theirs by name; other elements are in one column "value".
        """
        return self._env._run(self._node, lambda engine: engine.table(self._node))

    def to_pandas(self) -> pd.DataFrame:
        """Run the program and return the columns of `to_arrow` as a DataFrame of pandas."""
        return self.to_arrow().to_pandas()  # type: ignore[no-any-return]

    def to_dataframe(self) -> DataFrame:
        """The columns of `to_arrow` as a DataFrame of Spark, which computes them when it needs them.

        Elements without a type come to the driver first: their columns are found from all of them.
        """
        return self._env._frame(self._node)
