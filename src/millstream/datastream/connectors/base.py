"""The contracts of sources and sinks, where PyFlink has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.common.absent import missing_name
from millstream.connectors.sink import DeliveryGuarantee, Sink
from millstream.connectors.source import Source

__all__ = ["DeliveryGuarantee", "Sink", "Source"]


if not TYPE_CHECKING:
    __getattr__ = missing_name(__name__)
