"""Descriptions of states: what an operator keeps for a key, and of which type."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from millstream.common.state import MapStateDescriptor, StateDescriptor, StateTtlConfig
from millstream.common.typeinfo import ListTypeInfo, TypeInformation, type_from_dict

OWN_MAPS = frozenset({"windows"})
"""Cells that operators keep for themselves and that are maps; the others are values."""

BROADCAST = "broadcast"
"""The name under which operators keep the state that all slots have."""


@dataclass(frozen=True)
class StateInfo:
    """Description of a state. ``kind``: value, list, map; others are values.

    ``layout``: how an operator's own cell is made up, where there are several ways. ``opened``: the
    function asked for it in ``open``, and does so at each start.
    """

    name: str
    kind: str = "value"
    value: TypeInformation | None = None
    map_key: TypeInformation | None = None
    expires: bool = False
    layout: str | None = None
    opened: bool = False

    @staticmethod
    def of(descriptor: StateDescriptor) -> StateInfo:
        """Make the description of a state from its descriptor."""
        ttl = descriptor.ttl_config
        expires = ttl is not None and ttl.update_type is not StateTtlConfig.UpdateType.Disabled
        value, map_key = descriptor.type_info, None
        if isinstance(descriptor, MapStateDescriptor):
            value, map_key = descriptor.value_type_info, descriptor.key_type_info
        elif isinstance(value, ListTypeInfo) and descriptor.kind == "list":
            value = value.element_type
        return StateInfo(descriptor.name, descriptor.kind, value, map_key, expires)

    @staticmethod
    def own(name: str, layout: str | None = None) -> StateInfo:
        """A cell that an operator keeps for itself."""
        return StateInfo(name, "map" if name in OWN_MAPS else "value", layout=layout)

    @property
    def shape(self) -> str:
        """How content lies in rows."""
        return self.kind if self.kind in ("list", "map") else "value"

    def to_dict(self) -> dict[str, Any]:
        """This as JSON values."""
        types = {"value": self.value, "map_key": self.map_key}
        declared = {name: t.to_dict() for name, t in types.items() if t is not None}
        layout = {} if self.layout is None else {"layout": self.layout}
        opened = {"opened": True} if self.opened else {}
        return {
            "name": self.name,
            "kind": self.kind,
            "expires": self.expires,
            **declared,
            **layout,
            **opened,
        }

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> StateInfo:
        value, map_key = (_type(data.get(name)) for name in ("value", "map_key"))
        return StateInfo(
            data["name"],
            data["kind"],
            value,
            map_key,
            data["expires"],
            data.get("layout"),
            data.get("opened", False),
        )

    def __str__(self) -> str:
        shown = "any" if self.value is None else str(self.value)
        if self.kind == "map":
            key = "any" if self.map_key is None else str(self.map_key)
            return f"map of {key} to {shown}"
        return f"{self.kind} of {shown}"


def _type(data: Mapping[str, Any] | None) -> TypeInformation | None:
    return None if data is None else type_from_dict(data)
