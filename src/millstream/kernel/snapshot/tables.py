"""The tables of a snapshot: which columns the state of an operator has.

Every row has the key it belongs to and the key's hash, by which slots and pages are found. A list has a
row for each element, a map one for each entry; what expires has the time of its last use.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from millstream.common.typeinfo import TypeInformation, Types
from millstream.kernel.snapshot.fields import Field
from millstream.kernel.state.info import BROADCAST, StateInfo

HASH = pa.field("hash", pa.int64())
POSITION = pa.field("position", pa.int64())
LAST_USED = pa.field("last_used", pa.int64())

TIMERS = "timers"
PANES = "panes"
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
class StateTable:
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
class TimerTable(StateTable):
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
