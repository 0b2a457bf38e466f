"""The result of a statement."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import Any

from millstream.common.types import Row
from millstream.datastream.job_client import JobClient
from millstream.table.environment.resolved_schema import ResolvedSchema
from millstream.table.execution.tableau import MAX_WIDTH, NULL, tableau
from millstream.table.result_kind import ResultKind
from millstream.table.table_schema import TableSchema
from millstream.table.types.logical import BigIntType, RowField, RowType, VarCharType

__all__ = [
    "CloseableIterator",
    "TableResult",
    "inserted_result",
    "ok_result",
    "shown_result",
    "text_result",
]


class CloseableIterator:
    """The rows of a result. Closing it stops the job that makes them.

    Examples
    --------
    >>> with CloseableIterator([Row(1)]) as rows:
    ...     print(list(rows))
    [<Row(1)>]
    """

    def __init__(self, rows: Iterable[Row], close: Callable[[], Any] | None = None) -> None:
        self._rows = iter(rows)
        self._close = close

    def __iter__(self) -> CloseableIterator:
        return self

    def __next__(self) -> Row:
        return next(self._rows)

    def next(self) -> Row:
        """The next row."""
        return next(self._rows)

    def close(self) -> None:
        """Stop; further rows are not asked for."""
        self._rows = iter(())
        if self._close is not None:
            close, self._close = self._close, None
            close()

    def __enter__(self) -> CloseableIterator:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        self.close()


class TableResult:
    """Rows with their columns, and perhaps the job that makes them.

    ``rows`` is asked once. ``streaming``: `print` shows the kinds of rows. ``by_type``: its columns are
    as wide as their types say, so that rows can be printed as they come. ``wait_for``: waits for the
    first row, at most so many seconds. ``raw``: values are printed without a table. ``width``: the most
    that a column takes when printed; None cuts nothing. ``null``: how `print` shows NULL.
    """

    def __init__(
        self,
        row_type: RowType,
        rows: Iterable[Row] = (),
        *,
        kind: int = ResultKind.SUCCESS_WITH_CONTENT,
        job_client: JobClient | None = None,
        streaming: bool = False,
        zone: str = "UTC",
        width: int | None = MAX_WIDTH,
        null: str = NULL,
        wait_for: Callable[[float | None], Any] | None = None,
        close: Callable[[], Any] | None = None,
        raw: bool = False,
        by_type: bool = False,
    ) -> None:
        self._raw = raw
        self._by_type = by_type
        self.row_type = row_type
        self._rows = CloseableIterator(rows, close)
        self._kind = kind
        self._job_client = job_client
        self._streaming = streaming
        self.zone = zone
        self.width = width
        self.null = null
        self._wait_for = wait_for
        self._waited = False

    def get_job_client(self) -> JobClient | None:
        """The job, None if the statement started none."""
        return self._job_client

    def wait(self, timeout_ms: int | None = None) -> None:
        """Wait until the first row of a query is there, or until the job of an INSERT ends.

        Raises
        ------
        TimeoutError
            That takes more than ``timeout_ms`` milliseconds.
        """
        if self._waited:
            return
        if self._wait_for is not None:
            self._wait_for(None if timeout_ms is None else timeout_ms / 1_000)
        self._waited = True
        first = next(self._rows, None)
        if first is not None:
            self._rows._rows = itertools.chain([first], self._rows._rows)

    def get_table_schema(self) -> TableSchema:
        """The columns."""
        return TableSchema.of(self.row_type)

    def get_resolved_schema(self) -> ResolvedSchema:
        """The columns."""
        return ResolvedSchema.of_row_type(self.row_type)

    def get_result_kind(self) -> int:
        """`ResultKind.SUCCESS`, or `ResultKind.SUCCESS_WITH_CONTENT`."""
        return self._kind

    def collect(self) -> CloseableIterator:
        """The rows, with their kinds. They can be taken once."""
        return self._rows

    def print(self) -> None:
        """Print the rows as Flink does, with their kinds if the job is a stream."""
        if self._kind == ResultKind.SUCCESS:
            print("OK")
            return
        for line in self.lines():
            print(line)

    def lines(self) -> Iterator[str]:
        """The lines that `print` prints."""
        if self._raw:
            return (" ".join(map(str, row)) for row in self._rows)
        return tableau(
            self._rows,
            self.row_type,
            changes=self._streaming,
            by_type=self._by_type,
            zone=self.zone,
            width=self.width,
            null=self.null,
        )


def ok_result() -> TableResult:
    """The result of a statement that has nothing to show.

    Examples
    --------
    >>> ok_result().print()
    OK
    """
    field = RowField("result", VarCharType(2**31 - 1))
    return TableResult(RowType((field,)), [Row("OK")], kind=ResultKind.SUCCESS)


def shown_result(row_type: RowType, rows: Iterable[Row]) -> TableResult:
    """The result of SHOW, DESCRIBE and their like: nothing is cut, and NULL is empty, as in Flink."""
    return TableResult(row_type, rows, width=None, null="")


def text_result(text: str) -> TableResult:
    """The result of a statement that shows a text; it is printed as it is."""
    field = RowField("result", VarCharType(2**31 - 1))
    return TableResult(RowType((field,)), [Row(text)], raw=True)


def inserted_result(sinks: list[str], job_client: JobClient) -> TableResult:
    """The result of INSERT: a column for each sink, whose only row says that its count is not known.

    The row is there when the job has ended.
    """

    def rows() -> Iterator[Row]:
        job_client.wait()
        yield Row(*([-1] * len(sinks)))

    return TableResult(
        RowType(tuple(RowField(name, BigIntType()) for name in _numbered(sinks))),
        rows(),
        job_client=job_client,
        wait_for=job_client.wait,
        raw=True,
        close=lambda: job_client.cancel().result(),
    )


def _numbered(names: list[str]) -> list[str]:
    """The names of sinks; one that is written several times has numbers, as in Flink."""
    seen: Counter[str] = Counter()
    found = []
    for name in names:
        seen[name] += 1
        found.append(f"{name}_{seen[name]}" if names.count(name) > 1 else name)
    return found
