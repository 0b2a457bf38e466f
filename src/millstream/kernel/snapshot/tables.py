"""The tables of a snapshot: which columns the state of an operator has.

Every row has the key it belongs to and the key's hash, by which slots and pages are found. A list has a
row for each element, a map one for each entry; what expires has the time of its last use.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from millstream.common.state import MapStateDescriptor, StateDescriptor, StateTtlConfig
from millstream.common.typeinfo import ListTypeInfo, TypeInformation, Types, type_from_dict
from millstream.kernel.snapshot.fields import Field

HASH = pa.field("hash", pa.int64())
POSITION = pa.field("position", pa.int64())
LAST_USED = pa.field("last_used", pa.int64())
OWN_MAPS = frozenset({"windows"})
"""Cells that operators keep for themselves and that are maps; the others are values."""

TIMERS = "timers"
PANES = "panes"
BROADCAST = "broadcast"
HELD = "held"
STATE = "state"


def table_name(state: str) -> str:
    """The table of a state: its name, unless that means something else here.

    Examples
    --------
    >>> table_name("total"), table_name("timers")
    ('total', 'state/timers')
    """
    taken = state in (TIMERS, PANES) or state.partition("/")[0] in (BROADCAST, STATE)
    return f"{STATE}/{state}" if taken else state


def state_name(table: str) -> str:
    """The state whose table it is."""
    return table.removeprefix(f"{STATE}/")


def is_broadcast(table: str) -> bool:
    """Whether it is the table of a map that all slots have."""
    return table.startswith(f"{BROADCAST}/")


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


@dataclass(frozen=True)
class Table:
    """The rows of one state of one operator, or of its timers."""

    uid: str
    state: StateInfo
    key_type: TypeInformation | None = None

    @property
    def key(self) -> Field:
        return Field.of("key", self.key_type)

    @property
    def fields(self) -> list[Field]:
        """The fields of a row besides key, hash and position."""
        value = Field.of("value", self.state.value)
        if self.state.shape == "map":
            return [Field.of("map_key", self.state.map_key), value]
        return [value]

    @property
    def numbers(self) -> list[pa.Field]:
        """Columns of whole numbers behind the others."""
        found = [] if self.state.shape == "value" else [POSITION]
        return [*found, LAST_USED] if self.state.expires else found

    def schema(self) -> pa.Schema:
        columns = [column for field in [self.key, *self.fields] for column in field.schema()]
        return pa.schema([HASH, *columns, *self.numbers])


TIMER_INFO = StateInfo(TIMERS, "list", Types.LONG())
DOMAIN = pa.field("domain", pa.string())
DETAIL = Field("detail")


@dataclass(frozen=True)
class TimerTable(Table):
    """The timers of an operator: ``value`` is when they are due."""

    def schema(self) -> pa.Schema:
        return pa.schema([*super().schema(), DOMAIN, *DETAIL.schema()])


ORDER = ("ts", "stamp", "born", "channel", "frag", "pos")
PANE_COLUMNS = [
    HASH,
    pa.field("pane", pa.int64()),
    *(pa.field(name, pa.int64()) for name in ORDER),
    pa.field("path", pa.binary()),
]


def pane_schema(values: pa.Schema) -> pa.Schema:
    """The columns of records that wait for their windows, in front of those of their values."""
    own = [pa.field(f"field_{i}", field.type) for i, field in enumerate(values)]
    return pa.schema([*PANE_COLUMNS, *own])


HELD_SCHEMA = pa.schema(
    [
        ("edge", pa.string()),
        ("header", pa.binary()),
        ("payload", pa.binary()),
        # Every slot has the broadcast records; one slot speaks for all.
        ("whole", pa.bool_()),
    ]
)


def waits_before(edge: str) -> str:
    """The uid of the operator that the records of an edge wait for.

    Examples
    --------
    >>> waits_before("my:count:0:1")
    'my:count'
    """
    return edge.rsplit(":", 2)[0]
