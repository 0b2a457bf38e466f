"""Outputs of tables by the modes of Structured Streaming: append, update and complete."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

from millstream.common.errors import (
    MillstreamError,
    PlanError,
    user_code_error,
    user_location,
)
from millstream.common.pickling import dumps_apart
from millstream.common.types import Row, RowKind, like
from millstream.connectors.simple_sinks import DriverSink
from millstream.connectors.sink import SinkContext
from millstream.datastream.streams.data_stream import DataStream
from millstream.datastream.streams.sink_methods import DataStreamSink
from millstream.table.environment.bridges import whole_table

if TYPE_CHECKING:
    from millstream.table.table import Table

__all__ = ["OutputMode", "foreach_output", "show_output"]

OutputMode = Literal["append", "update", "complete"]
"""What an epoch gives: its new rows, the rows that it has changed, or all rows of the table."""
_GONE = (RowKind.UPDATE_BEFORE, RowKind.DELETE)


def foreach_output(
    table: Table,
    function: Callable[[list[Row], int], Any],
    output_mode: OutputMode = "append",
) -> DataStreamSink:
    """Call ``function(rows, epoch)`` on the driver for each epoch that changes a table.

    The sink belongs to the next job of the stream environment: ``env.execute()`` starts it. After a
    crash the last epoch may come again, with the same number and the same rows.

    Parameters
    ----------
    table : Table
        A table of a `StreamTableEnvironment`.
    function : callable
        Gets a list of rows and the number of the epoch.
    output_mode : str
        ``"append"``: the new rows of a table that only grows; other tables are refused. ``"update"``:
        the rows that the epoch has added or changed, as they are at its end; rows that it has removed
        do not come. ``"complete"``: all rows, sorted by all columns; they are in the state of the job.

    Examples
    --------
    >>> from millstream.datastream import StreamExecutionEnvironment
    >>> from millstream.table import StreamTableEnvironment
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> t_env = StreamTableEnvironment.create(env)
    >>> t_env.create_temporary_view("words", env.from_collection([("to",), ("be",), ("to",)]))
    >>> counts = t_env.sql_query("SELECT f0 AS word, COUNT(*) AS n FROM words GROUP BY f0")
    >>> _ = foreach_output(counts, lambda rows, epoch: print(sorted(map(tuple, rows))), "complete")
    >>> _ = env.execute()
    [('be', 1), ('to', 2)]
    """
    if output_mode not in get_args(OutputMode):
        raise PlanError(
            "OUTPUT_MODE",
            f"there is no output mode {output_mode!r}",
            location=user_location(),
            hint="use append, update or complete",
        )
    stream = _rows(table, output_mode)
    return stream.sink_to(OutputSink(function, output_mode)).name(f"Output {output_mode}")


def show_output(table: Table, output_mode: OutputMode = "append", n: int = 20) -> DataStreamSink:
    """Print what each epoch gives, as Structured Streaming's console does.

    Parameters
    ----------
    table, output_mode
        As for `foreach_output`.
    n : int
        How many rows are shown.

    Examples
    --------
    >>> from millstream.datastream import StreamExecutionEnvironment
    >>> from millstream.table import StreamTableEnvironment
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> t_env = StreamTableEnvironment.create(env)
    >>> words = t_env.from_elements([("to", 1), ("be", 2)], ["word", "n"])
    >>> _ = show_output(words)
    >>> _ = env.execute()
    -------------------------------------------
    Batch: 0
    -------------------------------------------
    +----+---+
    |word|  n|
    +----+---+
    |  to|  1|
    |  be|  2|
    +----+---+
    """
    names = table.get_resolved_schema().get_column_names()

    def show(rows: list[Row], epoch: int) -> None:
        line = "-" * 43
        print(line, f"Batch: {epoch}", line, _boxed(names, rows, n), sep="\n")

    return foreach_output(table, show, output_mode)


def _rows(table: Table, mode: OutputMode) -> DataStream[Row]:
    """The records of a table for the sink: new rows, changes, or all rows of each epoch."""
    t_env = table._t_env
    if not hasattr(t_env, "to_changelog_stream"):
        raise PlanError(
            "OUTPUT_MODE",
            "outputs by mode need a table of a StreamTableEnvironment",
            location=user_location(),
            hint="make the table with StreamTableEnvironment.create(env)",
        )
    found: DataStream[Row]
    if mode != "append":
        whole = mode == "complete"
        found = (
            whole_table(t_env._statements, table.relation)
            if whole
            else t_env.to_changelog_stream(table)
        )
        return found
    try:
        found = t_env.to_data_stream(table)
    except PlanError as error:
        if error.code != "STREAM_TAKES_NO_UPDATES":
            raise
        raise PlanError(
            "OUTPUT_MODE",
            "output mode append gives rows once, and this table changes rows that it has given",
            location=user_location(),
            hint='use "update" or "complete"; of windows that end with the watermark only the last '
            "result comes: SELECT ... FROM TUMBLE(...) GROUP BY window_start, window_end",
        ) from None
    return found


@dataclass(frozen=True, eq=False)
class OutputSink(DriverSink):
    """Gives what each epoch does to a table, by an output mode."""

    function: Callable[[list[Row], int], Any]
    mode: OutputMode
    changelog = "retract"

    def deliver(
        self, context: SinkContext, epoch: int, records: list[tuple[Any, int | None]]
    ) -> None:
        """Call the function with the rows of an epoch."""
        rows = [row for row, _ in records]
        if self.mode == "update":
            rows = _updated(rows)
        if not rows:
            return
        try:
            self.function(rows, epoch)
        except MillstreamError:
            raise
        except BaseException as error:
            # sys.exit() in it would end the thread on which Spark waits.
            raise user_code_error(
                error, context.name, context.sink, location=context.location
            ) from error


def _updated(changes: Iterable[Row]) -> list[Row]:
    """The rows that changes have added, and that are still there after them."""
    found: dict[bytes, tuple[Row, int]] = {}
    for change in changes:
        row = like(change, list(change))
        row.set_row_kind(RowKind.INSERT)
        # Values need not be hashable. Without the memo, equal ones have equal bytes.
        name = dumps_apart(list(row))
        step = -1 if change.get_row_kind() in _GONE else 1
        found[name] = row, found.get(name, (row, 0))[1] + step
    return [row for row, number in found.values() for _ in range(number)]


def _boxed(names: Sequence[str], rows: Sequence[Row], n: int) -> str:
    """Rows in a box, as `DataFrame.show` draws it."""
    shown = [[_text(value) for value in row] for row in rows[:n]]
    widths = [max(3, *map(len, column)) for column in zip(names, *shown, strict=True)]
    edge = "+" + "+".join("-" * width for width in widths) + "+"

    def line(texts: Sequence[str]) -> str:
        fitted = (text.rjust(width) for text, width in zip(texts, widths, strict=True))
        return "|" + "|".join(fitted) + "|"

    more = [f"only showing top {n} rows"] if len(rows) > n else []
    return "\n".join([edge, line(names), edge, *map(line, shown), edge, *more])


def _text(value: Any) -> str:
    text = "NULL" if value is None else str(value)
    return text if len(text) <= 20 else f"{text[:17]}..."
