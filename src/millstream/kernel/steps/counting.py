"""Edges into sinks that forget: how many records came is all that leaves."""

from __future__ import annotations

from collections.abc import Callable

from millstream.kernel.records.buffers import DATA, ArrowCodec, BufferRow, header_of_count
from millstream.kernel.records.columns import Columns
from millstream.kernel.steps.chain import EdgeStep
from millstream.kernel.steps.stateless import Flow


class CountingEdge(EdgeStep):
    """An edge to any slot whose records nobody reads: those in columns of its type are only counted.

    Other values are written as on any edge, which is what refuses those that do not fit their type.
    """

    count = 0

    def bind(self, emit: Callable[[BufferRow], None], own_slot: int) -> None:
        super().bind(emit, own_slot)
        self.count = 0

    def _take(self, flow: Flow) -> None:
        values, codec = flow.values, self.codec
        of_type = codec.type_info if isinstance(codec, ArrowCodec) else None
        if isinstance(values, Columns) and values.type_info == of_type:
            self.count += len(values)
        else:
            super()._take(flow)

    def _finish(self) -> None:
        super()._finish()
        if self.count:
            header = header_of_count(self.count)
            self.count = 0
            self.emit(BufferRow(self.own_slot, DATA, self.tag, header, b""))
