"""The contracts of sources and sinks, where PyFlink has them."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from millstream.common.absent import missing_name
from millstream.connectors.sink import Sink
from millstream.connectors.source import Source

__all__ = ["DeliveryGuarantee", "Sink", "Source"]


class DeliveryGuarantee(Enum):
    """How often a record may reach a sink when something fails."""

    EXACTLY_ONCE = 0
    AT_LEAST_ONCE = 1
    NONE = 2


if not TYPE_CHECKING:
    __getattr__ = missing_name(__name__)
