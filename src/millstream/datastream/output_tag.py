"""Names of side outputs."""

from __future__ import annotations

from millstream.common.output_tag import OutputTag

__all__ = ["OutputTag"]
