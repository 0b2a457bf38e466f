"""Listeners of a streaming context, with Spark's callbacks and what it tells them."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

__all__ = [
    "BatchInfo",
    "BatchTime",
    "Event",
    "OutputOperationInfo",
    "ReceiverInfo",
    "StreamInputInfo",
    "StreamingListener",
    "notify",
]

_log = logging.getLogger(__name__)
_NOT_YET = -1


class StreamingListener:
    """Base class of listeners to batches and receivers: override the methods that you need.

    All methods are called in the driver process, one after another. An exception in one of them is
    logged, and the stream goes on.

    Examples
    --------
    >>> class Delays(StreamingListener):
    ...     def onBatchCompleted(self, batchCompleted):
    ...         print(batchCompleted.batchInfo().totalDelay())
    >>> done = BatchInfo(BatchTime(1000), 1000, started_ms=1010, ended_ms=1030)
    >>> notify([Delays()], "onBatchCompleted", batchInfo=done)
    30
    """

    def onStreamingStarted(self, streamingStarted: Any) -> None:
        """Hear that the context has started: ``streamingStarted.time()``."""

    def onReceiverStarted(self, receiverStarted: Any) -> None:
        """Hear that a receiver has started: ``receiverStarted.receiverInfo()``."""

    def onReceiverError(self, receiverError: Any) -> None:
        """Hear that a receiver has reported an error: ``receiverError.receiverInfo()``."""

    def onReceiverStopped(self, receiverStopped: Any) -> None:
        """Hear that a receiver has stopped: ``receiverStopped.receiverInfo()``."""

    def onBatchSubmitted(self, batchSubmitted: Any) -> None:
        """Hear that a batch is complete and waits: ``batchSubmitted.batchInfo()``."""

    def onBatchStarted(self, batchStarted: Any) -> None:
        """Hear that a batch is being processed: ``batchStarted.batchInfo()``."""

    def onBatchCompleted(self, batchCompleted: Any) -> None:
        """Hear that all outputs of a batch are done: ``batchCompleted.batchInfo()``."""

    def onOutputOperationStarted(self, outputOperationStarted: Any) -> None:
        """Hear that an output of a batch begins: ``outputOperationStarted.outputOperationInfo()``."""

    def onOutputOperationCompleted(self, outputOperationCompleted: Any) -> None:
        """Hear that an output is done: ``outputOperationCompleted.outputOperationInfo()``."""


class Event:
    """Argument of a callback: its values are methods, as those of Spark's objects.

    Examples
    --------
    >>> Event(time=5).time()
    5
    """

    def __init__(self, **values: Any) -> None:
        self._values = values

    def __getattr__(self, name: str) -> Any:
        values = self.__dict__.get("_values", {})
        if name not in values:
            raise AttributeError(name)
        return lambda: values[name]

    def __repr__(self) -> str:
        return f"Event({', '.join(f'{key}={value!r}' for key, value in self._values.items())})"


def notify(listeners: Iterable[StreamingListener], callback: str, **values: Any) -> None:
    """Call a method of each listener with an event of these values."""
    event = Event(**values)
    for listener in list(listeners):
        try:
            getattr(listener, callback)(event)
        except Exception:
            _log.exception("listener %s failed in %s", type(listener).__name__, callback)


@dataclass(frozen=True)
class BatchTime:
    """The time of a batch: when its interval ends."""

    time_ms: int

    def milliseconds(self) -> int:
        """The time in milliseconds since 1970."""
        return self.time_ms


class _Count(int):
    """A number that programs may call, too: Spark's own tests read it in both ways."""

    def __call__(self) -> int:
        return int(self)


class StreamInputInfo:
    """The records that an input gave to a batch."""

    def __init__(self, stream_id: int, records: int, description: str = "") -> None:
        self._stream_id = stream_id
        self.numRecords = _Count(records)
        self._description = description

    def inputStreamId(self) -> int:
        """The number of the input."""
        return self._stream_id

    def metadata(self) -> dict[str, Any]:
        """The description, by the name that Spark gives it."""
        return {"Description": self._description} if self._description else {}

    def metadataDescription(self) -> str:
        """Where the records come from."""
        return self._description


@dataclass(frozen=True)
class OutputOperationInfo:
    """One output of a batch: what `foreachRDD`, `pprint` or another output did."""

    batch_time: BatchTime
    number: int
    label: str
    details: str = ""
    started_ms: int = _NOT_YET
    ended_ms: int = _NOT_YET
    failure: str | None = None

    def batchTime(self) -> BatchTime:
        """The time of the batch."""
        return self.batch_time

    def id(self) -> int:
        """The number of the output in the program."""
        return self.number

    def name(self) -> str:
        """The method that made the output, and its line."""
        return self.label

    def description(self) -> str:
        """More about the output."""
        return self.details

    def startTime(self) -> int:
        """When it began; -1 if it has not."""
        return self.started_ms

    def endTime(self) -> int:
        """When it ended; -1 if it has not."""
        return self.ended_ms

    def failureReason(self) -> str | None:
        """The error of an output that failed, else None."""
        return self.failure


@dataclass(frozen=True)
class BatchInfo:
    """A batch: what came in, when it was processed, and its outputs."""

    batch_time: BatchTime
    submitted_ms: int
    started_ms: int = _NOT_YET
    ended_ms: int = _NOT_YET
    inputs: Mapping[int, StreamInputInfo] = field(default_factory=dict)
    outputs: Mapping[int, OutputOperationInfo] = field(default_factory=dict)

    def begun(self, now_ms: int) -> BatchInfo:
        """The batch when its processing begins."""
        return replace(self, started_ms=now_ms)

    def finished(self, now_ms: int, outputs: Mapping[int, OutputOperationInfo]) -> BatchInfo:
        """The batch when its outputs are done."""
        return replace(self, ended_ms=now_ms, outputs=outputs)

    def batchTime(self) -> BatchTime:
        """The time of the batch."""
        return self.batch_time

    def streamIdToInputInfo(self) -> Mapping[int, StreamInputInfo]:
        """The input infos by the number of their stream."""
        return self.inputs

    def submissionTime(self) -> int:
        """When the batch was complete."""
        return self.submitted_ms

    def processingStartTime(self) -> int:
        """When its processing began; -1 if it has not."""
        return self.started_ms

    def processingEndTime(self) -> int:
        """When its processing ended; -1 if it has not."""
        return self.ended_ms

    def schedulingDelay(self) -> int:
        """How long the batch waited for others; -1 if it still waits."""
        return _NOT_YET if self.started_ms < 0 else self.started_ms - self.submitted_ms

    def processingDelay(self) -> int:
        """How long its processing took; -1 if it is not done."""
        return _NOT_YET if self.ended_ms < 0 else self.ended_ms - self.started_ms

    def totalDelay(self) -> int:
        """How long it took from the end of the batch; -1 if it is not done."""
        return _NOT_YET if self.ended_ms < 0 else self.ended_ms - self.submitted_ms

    def numRecords(self) -> int:
        """How many records came in. As in Spark those of `queueStream` are not counted."""
        return sum(each.numRecords for each in self.inputs.values())

    def outputOperationInfos(self) -> Mapping[int, OutputOperationInfo]:
        """The outputs, by their number."""
        return self.outputs


@dataclass(frozen=True)
class ReceiverInfo:
    """A receiver: whether it runs, and its last error."""

    stream_id: int
    label: str
    running: bool
    host: str = "localhost"
    last_message: str = ""
    last_error: str = ""
    last_error_ms: int = _NOT_YET

    def streamId(self) -> int:
        """The number of the input."""
        return self.stream_id

    def name(self) -> str:
        """The class of the receiver, and the number of the input."""
        return self.label

    def active(self) -> bool:
        """Whether it receives."""
        return self.running

    def location(self) -> str:
        """Where it runs: the machine of the driver."""
        return self.host

    def lastErrorMessage(self) -> str:
        """The last message that the receiver gave with an error."""
        return self.last_message

    def lastError(self) -> str:
        """The last error."""
        return self.last_error

    def lastErrorTime(self) -> int:
        """When the last error came; -1 if there was none."""
        return self.last_error_ms
