"""Sources and sinks: descriptions that the plan understands."""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum
from typing import TYPE_CHECKING

from millstream.common.absent import missing_name
from millstream.connectors.source import Source
from millstream.plan.specs import SinkSpec

__all__ = ["DeliveryGuarantee", "Sink", "Source"]


class DeliveryGuarantee(Enum):
    """How often a record may reach a sink when something fails."""

    EXACTLY_ONCE = 0
    AT_LEAST_ONCE = 1
    NONE = 2


class Sink(ABC):
    """Where records go. Give it to ``stream.sink_to``."""

    @abstractmethod
    def to_spec(self) -> SinkSpec:
        """Return what is to be written."""


if not TYPE_CHECKING:
    __getattr__ = missing_name(__name__)
