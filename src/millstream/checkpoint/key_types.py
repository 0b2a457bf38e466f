"""The state of operators in a manifest: the types of keys and records, and the layout.

State is found by the keys, so their types must not change.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from millstream.common.typeinfo import TypeInformation, type_from_dict
from millstream.kernel.state.compatibility import other_keys
from millstream.plan.physical import Stored


def is_key_type(data: object) -> bool:
    """Whether something read from a file says a type of keys, or that it is not known.

    Examples
    --------
    >>> [is_key_type(data) for data in (None, {"type": "LONG"}, {"type": "NONE"}, 5)]
    [True, True, False, False]
    """
    if data is None:
        return True
    try:
        return isinstance(data, dict) and type_from_dict(data) is not None
    except Exception:
        return False


def key_types_of(
    operators: Mapping[str, Mapping[str, Any]],
) -> dict[str, TypeInformation | None]:
    """The types of operators' keys, by uid, as a manifest says them."""
    return _types_of(operators, "key_type")


def record_types_of(
    operators: Mapping[str, Mapping[str, Any]],
) -> dict[str, TypeInformation | None]:
    """The types of the records that operators read, by uid, as a manifest says them."""
    return _types_of(operators, "records")


def _types_of(
    operators: Mapping[str, Mapping[str, Any]], name: str
) -> dict[str, TypeInformation | None]:
    found = {uid: operator.get(name) for uid, operator in operators.items()}
    return {uid: None if data is None else type_from_dict(data) for uid, data in found.items()}


def stored_of(
    operators: Mapping[str, Mapping[str, Any]],
    *,
    converts: bool,
    levels: Mapping[str, int] | None = None,
) -> Stored:
    """How operators keep their state, as a manifest says it. ``converts``, ``levels``: see `Stored`."""
    layouts, as_panes = (
        {uid: one[name] for uid, one in operators.items() if one.get(name) is not None}
        for name in ("layout", "as_panes")
    )
    return Stored(layouts, as_panes, converts, levels or {})


def describe_key_types(
    old: Mapping[str, Mapping[str, Any]], new: Mapping[str, Mapping[str, Any]]
) -> list[str]:
    """Operators whose keys have another type now, a line each: no record would find its state.

    Examples
    --------
    >>> from millstream.common import Types
    >>> describe_key_types({"count": {"key_type": Types.STRING().to_dict()}},
    ...                    {"count": {"key_type": Types.LONG().to_dict()}})
    ["~ operator 'count': its keys were STRING, and are LONG"]
    """
    return other_keys(key_types_of(old), key_types_of(new))
