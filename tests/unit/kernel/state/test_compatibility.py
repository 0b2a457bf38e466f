"""Which types of state may take the place of which."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from millstream.common.errors import CheckpointError
from millstream.common.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from millstream.common.typeinfo import TypeInformation, Types
from millstream.kernel.calls.context import OperatorInfo
from millstream.kernel.snapshot.tables import is_broadcast, state_name, table_name
from millstream.kernel.state.compatibility import holds, refuse_other_type
from millstream.kernel.state.info import StateInfo

BYTE, INT, LONG, BIG = Types.BYTE(), Types.INT(), Types.LONG(), Types.BIG_INT()
FLOAT, DOUBLE, TEXT, CHAR = Types.FLOAT(), Types.DOUBLE(), Types.STRING(), Types.CHAR()
ANY = Types.PICKLED_BYTE_ARRAY()


@pytest.mark.parametrize(
    ("wider", "stored", "fits"),
    [
        (LONG, LONG, True),
        (LONG, INT, True),
        (BIG, BYTE, True),
        (INT, LONG, False),
        (DOUBLE, FLOAT, True),
        (FLOAT, DOUBLE, False),
        (DOUBLE, INT, False),
        (LONG, FLOAT, False),
        (TEXT, CHAR, True),
        (CHAR, TEXT, False),
        (TEXT, LONG, False),
        (LONG, Types.BOOLEAN(), False),
        (ANY, LONG, True),
        (None, LONG, True),
        (LONG, ANY, False),
        (LONG, None, False),
        (None, None, True),
        (ANY, None, True),
        (None, ANY, True),
        (Types.TUPLE([LONG, TEXT]), Types.TUPLE([INT, CHAR]), True),
        (Types.TUPLE([LONG]), Types.TUPLE([LONG, LONG]), False),
        (Types.TUPLE([INT]), Types.TUPLE([LONG]), False),
        (Types.TUPLE([LONG]), Types.ROW([LONG]), False),
        (Types.TUPLE([ANY]), Types.TUPLE([LONG]), True),
        (Types.ROW([LONG]), Types.ROW([INT]), True),
        (Types.ROW_NAMED(["a"], [LONG]), Types.ROW_NAMED(["a"], [INT]), True),
        (Types.ROW_NAMED(["a"], [LONG]), Types.ROW_NAMED(["b"], [LONG]), False),
        (Types.ROW_NAMED(["a"], [LONG]), Types.ROW([LONG]), False),
        (Types.LIST(LONG), Types.LIST(INT), True),
        (Types.LIST(INT), Types.LIST(LONG), False),
        (Types.LIST(LONG), Types.BASIC_ARRAY(LONG), False),
        (Types.MAP(TEXT, LONG), Types.MAP(CHAR, INT), True),
        (Types.MAP(TEXT, INT), Types.MAP(TEXT, LONG), False),
        (Types.MAP(INT, LONG), Types.MAP(LONG, LONG), False),
        (Types.SQL_TIMESTAMP(), Types.SQL_DATE(), False),
    ],
    ids=str,
)
def test_a_type_may_become_wider(
    wider: TypeInformation | None, stored: TypeInformation | None, fits: bool
) -> None:
    assert holds(wider, stored) is fits


def expiring(descriptor: Any) -> Any:
    descriptor.enable_time_to_live(StateTtlConfig.new_builder(5).build())
    return descriptor


OPERATOR = OperatorInfo("count", "the-uid")


@pytest.mark.parametrize(
    ("stored", "asked"),
    [
        (ValueStateDescriptor("s", INT), ValueStateDescriptor("s", LONG)),
        (ListStateDescriptor("s", INT), ListStateDescriptor("s", LONG)),
        (MapStateDescriptor("s", TEXT, INT), MapStateDescriptor("s", TEXT, LONG)),
        (ValueStateDescriptor("s", INT), ValueStateDescriptor("s")),
        (expiring(ValueStateDescriptor("s", INT)), expiring(ValueStateDescriptor("s", INT))),
    ],
)
def test_states_that_take_over(stored: Any, asked: Any) -> None:
    refuse_other_type(StateInfo.of(stored), StateInfo.of(asked), OPERATOR)


@pytest.mark.parametrize(
    ("stored", "asked", "message"),
    [
        (ValueStateDescriptor("s", LONG), ValueStateDescriptor("s", INT), "value of LONG"),
        (ValueStateDescriptor("s", LONG), ListStateDescriptor("s", LONG), "list of LONG"),
        (MapStateDescriptor("s", LONG, LONG), MapStateDescriptor("s", INT, LONG), "map of INT"),
        (
            ValueStateDescriptor("s", LONG),
            expiring(ValueStateDescriptor("s", LONG)),
            "value of LONG, with a time to live",
        ),
        (
            ValueStateDescriptor("s", LONG),
            ReducingStateDescriptor("s", max, LONG),
            "reducing of LONG",
        ),
    ],
)
def test_states_that_do_not(stored: Any, asked: Any, message: str) -> None:
    with pytest.raises(CheckpointError, match=message) as caught:
        refuse_other_type(StateInfo.of(stored), StateInfo.of(asked), OPERATOR)
    assert caught.value.code == "STATE_TYPE_CHANGED"
    assert "'the-uid'" in str(caught.value)


def test_another_layout_of_an_operators_own_cells() -> None:
    with pytest.raises(CheckpointError, match=r"STATE_LAYOUT_CHANGED.*'the-uid'"):
        refuse_other_type(StateInfo.own("w", "a"), StateInfo.own("w", "b"), OPERATOR)
    refuse_other_type(StateInfo.own("w"), StateInfo.own("w", "b"), OPERATOR)


@pytest.mark.parametrize(
    "info",
    [
        StateInfo.of(MapStateDescriptor("m", TEXT, Types.LIST(LONG))),
        StateInfo.of(expiring(ListStateDescriptor("l", LONG))),
        StateInfo.of(ValueStateDescriptor("v")),
        StateInfo.own("windows", "values"),
        replace(StateInfo.own("cell"), expires=True),
    ],
)
def test_what_is_known_of_a_state_as_json(info: StateInfo) -> None:
    assert StateInfo.from_dict(info.to_dict()) == info


def test_names_of_tables() -> None:
    """No state of a user's is taken for something else."""
    names = [
        "total",
        "timers",
        "panes",
        "broadcast/x",
        "state/timers",
        "state/total",
        "held",
        "a/b",
    ]
    tables = [table_name(name) for name in names]
    assert list(map(state_name, tables)) == names
    assert len(set(tables) | {"timers", "panes", "broadcast/x"}) == len(names) + 3
    assert not any(map(is_broadcast, tables))
