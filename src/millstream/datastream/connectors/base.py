"""Sources: descriptions that the plan understands; and the contract of sinks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

from millstream.common.absent import missing_name
from millstream.common.typeinfo import TypeInformation
from millstream.connectors.sink import Sink
from millstream.plan.specs import SourceSpec

__all__ = ["Conversion", "DeliveryGuarantee", "Sink", "Source"]


@dataclass(frozen=True)
class Conversion:
    """Makes any number of records of each that is read."""

    function: Callable[[Any], Iterable[Any]]
    read_type: TypeInformation


class DeliveryGuarantee(Enum):
    """How often a record may reach a sink when something fails."""

    EXACTLY_ONCE = 0
    AT_LEAST_ONCE = 1
    NONE = 2


class Source(ABC):
    """Where records come from. Give it to ``env.from_source``."""

    @abstractmethod
    def to_spec(self) -> SourceSpec:
        """Return what is to be read."""

    def to_specs(self) -> tuple[SourceSpec, ...]:
        """Return all parts to read, for a source that stands for several."""
        return (self.to_spec(),)

    def get_produced_type(self) -> TypeInformation | None:
        """Return the type of the records, None if only reading them will tell."""
        return None

    def conversion(self) -> Conversion | None:
        """Return what makes records of what is read, None if that is the same."""
        return None


if not TYPE_CHECKING:
    __getattr__ = missing_name(__name__)
