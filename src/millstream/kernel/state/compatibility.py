"""Which types of state may take the place of which: those that hold every value of the other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from millstream.common.errors import CheckpointError
from millstream.common.typeinfo import (
    ListTypeInfo,
    MapTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
    Types,
)
from millstream.kernel.state.info import StateInfo

_WIDER = (("BYTE", "SHORT", "INT", "LONG", "BIG_INT"), ("FLOAT", "DOUBLE"), ("CHAR", "STRING"))


def holds(wider: TypeInformation | None, stored: TypeInformation | None) -> bool:
    """Whether a type holds every value of another; what has no type may be anything.

    Examples
    --------
    >>> holds(Types.LONG(), Types.INT()), holds(Types.INT(), Types.LONG())
    (True, False)
    >>> holds(Types.TUPLE([Types.LONG()]), Types.TUPLE([Types.INT()]))
    True
    """
    anything = (None, Types.PICKLED_BYTE_ARRAY())
    if wider in anything or wider == stored:
        return True
    if stored in anything:
        return False
    assert wider is not None and stored is not None
    if isinstance(wider, TupleTypeInfo) and isinstance(stored, TupleTypeInfo):
        return _all_hold(wider.field_types, stored.field_types)
    if isinstance(wider, RowTypeInfo) and isinstance(stored, RowTypeInfo):
        same = wider.field_names == stored.field_names
        return same and _all_hold(wider.field_types, stored.field_types)
    if isinstance(wider, ListTypeInfo) and isinstance(stored, ListTypeInfo):
        return holds(wider.element_type, stored.element_type)
    if isinstance(wider, MapTypeInfo) and isinstance(stored, MapTypeInfo):
        pairs = (wider.key_type, stored.key_type), (wider.value_type, stored.value_type)
        return all(holds(*pair) for pair in pairs)
    return any(
        stored.kind in row and wider.kind in row and row.index(stored.kind) < row.index(wider.kind)
        for row in _WIDER
    )


def _all_hold(wider: tuple[TypeInformation, ...], stored: tuple[TypeInformation, ...]) -> bool:
    return len(wider) == len(stored) and all(map(holds, wider, stored))


def column_holds(wider: pa.DataType, stored: pa.DataType) -> bool:
    """The same for columns of tables: each value keeps its meaning and its place among the others.

    Units of time may differ: a value that does not fit is refused when it is converted.

    Examples
    --------
    >>> column_holds(pa.int64(), pa.int32()), column_holds(pa.string(), pa.int32())
    (True, False)
    >>> column_holds(pa.struct({"b": pa.int32()}), pa.struct({"a": pa.int32()}))
    False
    """
    kinds = pa.types
    if wider == stored or kinds.is_null(stored):
        return True
    if kinds.is_struct(wider) and kinds.is_struct(stored):
        same = [field.name for field in wider] == [field.name for field in stored]
        return same and all(
            column_holds(a.type, b.type) for a, b in zip(wider, stored, strict=True)
        )
    if kinds.is_map(wider) and kinds.is_map(stored):
        return column_holds(wider.key_type, stored.key_type) and column_holds(
            wider.item_type, stored.item_type
        )
    if _is_list(wider) and _is_list(stored):
        return column_holds(wider.value_type, stored.value_type)
    if kinds.is_timestamp(wider) and kinds.is_timestamp(stored):
        return (wider.tz is None) == (stored.tz is None)
    if kinds.is_decimal(wider) and kinds.is_decimal(stored):
        whole = wider.precision - wider.scale >= stored.precision - stored.scale
        return bool(whole and wider.scale >= stored.scale)
    if _is_number(wider) and _is_number(stored):
        same = kinds.is_integer(wider) == kinds.is_integer(stored)
        return same and bool(wider.bit_width > stored.bit_width)
    return any(one(wider) and one(stored) for one in (_is_text, _is_bytes, kinds.is_time))


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_signed_integer(kind) or pa.types.is_floating(kind))


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _is_bytes(kind: pa.DataType) -> bool:
    binary = pa.types.is_binary(kind) or pa.types.is_large_binary(kind)
    return bool(binary or pa.types.is_fixed_size_binary(kind))


def other_keys(
    stored: Mapping[str, TypeInformation | None], asked: Mapping[str, TypeInformation | None]
) -> list[str]:
    """The operators whose keys have another type than before, a line each, if both are known."""
    return [
        f"~ operator {uid!r}: its keys were {stored[uid]}, and are {asked[uid]}"
        for uid in sorted(stored.keys() & asked.keys())
        if stored[uid] is not None and not holds(asked[uid], stored[uid])
    ]


def keys_changed(changes: list[str], where: str) -> CheckpointError:
    """The error of keys of another type: no record would find the state of its key."""
    return CheckpointError(
        "KEY_TYPE_CHANGED",
        f"the program does not fit {where}:\n  " + "\n  ".join(changes),
        hint="key by the same type, or give the operator another uid to start empty",
    )


def layout_changed(uid: str, was: str, now: str, location: Any = None) -> CheckpointError:
    """The error of an operator that cannot take over its state."""
    return CheckpointError(
        "STATE_LAYOUT_CHANGED",
        f"operator {uid!r} kept its state as {was}, and keeps it as {now} in this program",
        parameters={"uid": uid, "was": was, "is": now},
        location=location,
        hint="let it work on the same types and windows as before, or give it another uid to start "
        "empty, and allow non-restored state",
    )


def renamed(gone: list[str], new: list[str], operator: object) -> CheckpointError:
    """The error of a function that asks for other states in the place of those that it had."""
    uid, location = getattr(operator, "uid", ""), getattr(operator, "location", None)
    was, now = (", ".join(map(repr, names)) for names in (gone, new))
    return CheckpointError(
        "STATE_RENAMED",
        f"operator {uid!r} has state {was}, which its function does not ask for in open any more; "
        f"instead it asks for {now}, which would begin empty",
        parameters={"uid": uid, "was": gone, "is": new},
        location=location,
        hint="give the state its name again, rename it in a savepoint with the state processor, or set "
        "execution.state-recovery.ignore-unclaimed-state to true to go on without it",
    )


def refuse_other_type(stored: StateInfo, asked: StateInfo, operator: object) -> None:
    """Refuse a state that cannot take over what is stored under its name."""
    uid, location = getattr(operator, "uid", ""), getattr(operator, "location", None)
    if stored.layout and asked.layout and stored.layout != asked.layout:
        raise layout_changed(uid, stored.layout, asked.layout, location)
    if stored.layout is not None and stored.layout == asked.layout:
        return  # an operator's own cell: it reads what it has written, of whatever type
    fits = (
        stored.kind == asked.kind
        and stored.expires == asked.expires
        and holds(asked.value, stored.value)
        and holds(asked.map_key, stored.map_key)
    )
    if fits:
        return
    ttl = {True: ", with a time to live", False: ""}
    raise CheckpointError(
        "STATE_TYPE_CHANGED",
        f"state {asked.name!r} of operator {uid!r} was a {stored}{ttl[stored.expires]}, and the program "
        f"asks for a {asked}{ttl[asked.expires]}",
        location=location,
        hint="a type may only become wider; give the state another name to start empty, or change it "
        "in a savepoint",
    )
