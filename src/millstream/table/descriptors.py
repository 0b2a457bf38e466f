"""The old descriptors of Flink 1.x, which PyFlink only keeps for imports."""

from __future__ import annotations

from millstream.table.environment.absent import absent

__all__ = ["Rowtime", "Schema"]

_INSTEAD = "use millstream.table.Schema.new_builder() and its watermark(...), with TableDescriptor"
Rowtime = absent(__name__, "Rowtime", _INSTEAD)
Schema = absent(__name__, "Schema", _INSTEAD)
