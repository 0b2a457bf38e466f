"""Records of receivers as batches: each takes the blocks that were stored since the one before it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from millstream.common.errors import PlanError, user_location
from millstream.dstream.inputs.base import Input, InputSite
from millstream.dstream.inputs.options import millis_of, number_of
from millstream.dstream.inputs.rates import RateController, RateLimiter, rate_controller
from millstream.dstream.listener import ReceiverInfo, StreamingListener
from millstream.dstream.rdd import RDD, SparkContext
from millstream.dstream.receivers.blocks import (
    DurableBlocks,
    MemoryBlocks,
    Taken,
    opened_blocks,
    records_of,
)
from millstream.dstream.receivers.receiver import Receiver
from millstream.dstream.receivers.supervisor import BLOCK_MS, RESTART_DELAY_MS, ReceiverSupervisor

__all__ = ["ReceivedInput"]

T = TypeVar("T")


class ReceivedInput(Input[T]):
    """The records that a receiver stores.

    Parameters
    ----------
    receiver : Receiver
        The receiver.
    conf : mapping
        Spark's configuration: ``spark.streaming.receiver.maxRate``, ``receiverRestartDelay``,
        ``blockInterval`` and ``backpressure``.
    """

    def __init__(self, receiver: Receiver, conf: Mapping[str, str]) -> None:
        if not isinstance(receiver, Receiver):
            raise PlanError(
                "NOT_A_RECEIVER",
                f"receiverStream needs a Receiver, got {type(receiver).__name__}",
                location=user_location(),
                hint="derive your class from millstream.dstream.receivers.Receiver",
            )
        self._receiver = receiver
        self._restart_ms = millis_of(conf, "spark.streaming.receiverRestartDelay", RESTART_DELAY_MS)
        self._block_ms = millis_of(conf, "spark.streaming.blockInterval", BLOCK_MS)
        self._highest = number_of(conf, "spark.streaming.receiver.maxRate", 0.0)
        self._first_rate = number_of(conf, "spark.streaming.backpressure.initialRate", 0.0)
        self._conf = dict(conf)
        self._skip = 0
        self._blocks: MemoryBlocks | DurableBlocks | None = None
        self._supervisor: ReceiverSupervisor | None = None
        self._controller: RateController | None = None

    def open(self, site: InputSite) -> None:
        """Start the receiver behind what batches in the log have taken."""
        self._receiver.streamId = site.number
        blocks = self._blocks = opened_blocks(site.folder)
        blocks.skip(self._skip)

        def tell(callback: str, info: ReceiverInfo) -> None:
            site.tell(callback, receiverInfo=info)

        supervisor = ReceiverSupervisor(
            self._receiver, blocks.keep, tell, site.now_ms, self._restart_ms, self._block_ms
        )
        limit = RateLimiter(self._highest, 0.0, supervisor.rest)
        self._controller = rate_controller(self._conf, site.number, site.batch_ms, limit.update)
        if self._controller is not None:
            limit.update(self._first_rate)
        supervisor.limit = limit
        self._supervisor = supervisor
        supervisor.start()

    def listener(self) -> StreamingListener | None:
        """The listener that sets the rate after each batch, if back-pressure is on."""
        return self._controller

    def close(self) -> None:
        """Stop the receiver; what it has stored can still be taken."""
        if self._supervisor is not None and self._blocks is not None:
            self._supervisor.close()
            self._supervisor.flush()
            self._blocks.close()

    def idle(self) -> bool:
        """Whether no record waits."""
        if self._blocks is None or self._supervisor is None:
            return True
        return self._supervisor.is_empty() and self._blocks.is_empty()

    def take(self, time_ms: int) -> Taken | None:
        """The blocks that no batch has yet."""
        found = None if self._blocks is None else self._blocks.take()
        return found if found and found.blocks else None

    def rdd(self, context: SparkContext, taken: Taken | None, time_ms: int) -> RDD[T]:
        """One partition for each block."""
        if taken is None:
            return context.emptyRDD()
        blocks = taken.blocks
        return context.from_partitions(lambda: map(records_of, blocks), "receiverStream")

    def restore(self, taken: Taken | None, time_ms: int) -> None:
        """Remember which blocks batches in the log have."""
        self._skip = max(self._skip, taken.next_number if taken else 0)

    def confirm(self, taken: Taken | None, time_ms: int) -> None:
        """Write down that a batch has its blocks."""
        if self._blocks is not None and taken is not None:
            self._blocks.confirm(taken.next_number)

    def forget(self, taken: Taken | None, time_ms: int) -> None:
        """Delete blocks that nobody needs again."""
        if self._blocks is not None and taken is not None:
            self._blocks.forget(taken.next_number)

    def records(self, taken: Taken | None) -> int:
        """How many records the blocks have."""
        return taken.records if taken else 0

    def description(self, taken: Taken | None) -> str:
        """The class of the receiver."""
        return type(self._receiver).__name__

    def __getstate__(self) -> dict[str, Any]:
        running = {"_blocks": None, "_supervisor": None, "_controller": None}
        return self.__dict__ | running
