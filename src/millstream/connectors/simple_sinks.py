"""Sinks that keep nothing, and sinks that run where the program runs: on the driver."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from millstream.common.errors import MillstreamError, user_code_error
from millstream.common.text import TextStyle, checked_style, printed_text
from millstream.connectors.sink import FunctionSink, PartContext, PartWriter, Sink, SinkContext
from millstream.connectors.sink_calls import named_call

__all__ = [
    "CalledFunction",
    "CollectingSink",
    "DiscardingSink",
    "DriverSink",
    "ForeachBatchSink",
    "FrameSink",
    "PrintSink",
]


class DriverSink(Sink, ABC):
    """A sink that gets the records of an epoch on the driver, in the one order of the job."""

    promise = "at least once"
    only_collects: bool = False
    """Whether it runs in memory too where nothing is to be written: it keeps records for the program."""

    def forget(self) -> None:
        """Forget all records: the job begins from the start, in memory."""

    @abstractmethod
    def deliver(
        self, context: SinkContext, epoch: int, records: list[tuple[Any, int | None]]
    ) -> None:
        """Take the records of an epoch with their event times, when the epoch is written."""


class FrameSink(Sink, ABC):
    """A sink that gets the records of an epoch as a Spark DataFrame."""

    promise = "at least once"

    @abstractmethod
    def write_frame(self, context: SinkContext, epoch: int, frame: Any) -> None:
        """Write an epoch; called on the driver, again after a crash."""


@dataclass(frozen=True)
class DiscardingSink(Sink):
    """Counts records and forgets them: for streams whose functions do the work themselves."""

    changelog = "retract"
    forgets = True


@dataclass(frozen=True)
class PrintSink(DriverSink):
    """Prints each record on the driver when its epoch is committed, in order.

    Parameters
    ----------
    sink_identifier
        Stands before every record, as in ``prefix> record``.
    stderr
        Print to the standard error stream instead.
    text
        ``"flink"``: as PyFlink does, which writes records of a declared type as Java does, such as
        ``(hi,1)`` or ``true``, and others as Python does. ``"python"``: all as ``str(record)``.

    Examples
    --------
    >>> PrintSink("words")
    PrintSink(sink_identifier='words', stderr=False, text='flink')
    """

    sink_identifier: str = ""
    stderr: bool = False
    text: TextStyle = "flink"
    changelog = "retract"

    def __post_init__(self) -> None:
        checked_style(self.text)

    def deliver(
        self, context: SinkContext, epoch: int, records: list[tuple[Any, int | None]]
    ) -> None:
        stream = sys.stderr if self.stderr else sys.stdout
        prefix = f"{self.sink_identifier}> " if self.sink_identifier else ""
        text = printed_text(context.type_info, self.text)
        stream.write("".join(f"{prefix}{text(value)}\n" for value, _ in records))
        stream.flush()


@dataclass(frozen=True)
class CollectingSink(DriverSink):
    """Hands records to the program: ``callback(epoch, [(value, timestamp), ...])``."""

    callback: Callable[[int, list[tuple[Any, int | None]]], None]
    only_collects = True
    changelog = "retract"

    def deliver(
        self, context: SinkContext, epoch: int, records: list[tuple[Any, int | None]]
    ) -> None:
        self.callback(epoch, records)


@dataclass(frozen=True)
class ForeachBatchSink(FrameSink):
    """Calls ``function(dataframe, epoch)`` once per epoch, again after a crash.

    ``takes_token``: the function is also given the fencing token of the epoch.
    """

    function: Callable[..., None]
    takes_token: bool = False

    def write_frame(self, context: SinkContext, epoch: int, frame: Any) -> None:
        more = (context.token(epoch),) if self.takes_token else ()
        try:
            self.function(frame, epoch, *more)
        except MillstreamError:
            raise
        except BaseException as error:
            # sys.exit() in it would end the thread on which Spark waits.
            raise user_code_error(
                error, context.name, context.sink, location=context.location
            ) from error


@dataclass(frozen=True)
class CalledFunction(FunctionSink):
    """Calls a user's sink function for each record, in the task that writes it."""

    function: Any

    def open_part(self, context: PartContext) -> PartWriter:
        return _Calls(self.function, context)

    def travelling(self) -> Iterator[tuple[str, Any]]:
        yield "function", self.function


class _Calls(PartWriter):
    """The calls of a sink function for one part: ``open``, ``invoke`` per record, ``close``."""

    def __init__(self, function: Any, context: PartContext) -> None:
        self._function = function
        self._context = context
        self._invoke = getattr(function, "invoke", function)
        self._call("open", context.runtime_context)

    def write(self, batch: list[Any]) -> None:
        value: Any = None
        try:
            for value in batch:
                self._invoke(value)
        except BaseException as error:
            context = self._context
            raise user_code_error(
                error, context.name, context.sink, value, location=context.location
            ) from error

    def finish(self) -> None:
        # What a function keeps back it writes when it is closed: before the epoch commits.
        self._call("close")

    def _call(self, method: str, *arguments: Any) -> None:
        found = getattr(self._function, method, None)
        if found is not None:
            with named_call(self._context, f"{method}()"):
                found(*arguments)
