"""The types of streams and of their fields, as far as they are known before a job runs."""

from __future__ import annotations

import difflib
import typing
from collections.abc import Callable, Sequence
from typing import Any

from millstream.common.errors import PlanError, short_repr, user_location
from millstream.common.typeinfo import (
    BasicArrayTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PickledBytesTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
    Types,
    infer_return_type,
    infer_type,
)
from millstream.common.typesystem.certainty import (
    Certainty,
    declared,
    inferred,
    is_declared,
    no_surer_than,
)
from millstream.datastream.building.fields import FieldKey, FieldsKey
from millstream.datastream.functions.checks import FunctionKind

__all__ = [
    "aggregate_type",
    "checked_field",
    "common_type",
    "declared_type",
    "key_of",
    "output_type_of",
    "projected_type",
]

_NUMBERS = frozenset({"BYTE", "SHORT", "INT", "LONG", "FLOAT", "DOUBLE", "BIG_INT", "BIG_DEC"})
_LISTS = (ListTypeInfo, ObjectArrayTypeInfo, BasicArrayTypeInfo, PrimitiveArrayTypeInfo)


def declared_type(found: Any) -> TypeInformation | None:
    """Return the type that a program declares, as type information or as a type hint.

    A list of types is a row without names, as in PyFlink.

    Examples
    --------
    >>> declared_type(Types.LONG()), declared_type(tuple[str, int]), declared_type([Types.INT()])
    (LONG, TUPLE(STRING, LONG), ROW(INT))
    """
    if isinstance(found, list) and found and all(isinstance(t, TypeInformation) for t in found):
        return RowTypeInfo(found)
    if found is None or isinstance(found, TypeInformation):
        return declared(found)
    if isinstance(found, type) or typing.get_origin(found) is not None or found is Any:
        return infer_type(found) or Types.PICKLED_BYTE_ARRAY()
    called = callable(found)
    raise PlanError(
        "NOT_A_TYPE",
        f"a type is needed, got {short_repr(found)}",
        location=user_location(),
        hint="call it, as in Types.LONG()" if called else "use Types, or a hint like list[int]",
    )


def output_type_of(output_type: Any, func: Any, kind: FunctionKind) -> TypeInformation | None:
    """Return the type of a function's results: as declared, or else as it is annotated.

    An annotation is not enforced, see `millstream.common.typesystem.certainty`.
    """
    if output_type is not None:
        return declared_type(output_type)
    method = getattr(func, kind.method) if isinstance(func, kind.base) else func
    return inferred(infer_return_type(method, elements=kind.yields))


def common_type(types: Sequence[TypeInformation | None]) -> TypeInformation | None:
    """Return the one type of several streams, None if one of them is unknown or they differ.

    Declared types must not differ.
    """
    known = [type_info for type_info in types if _is_known(type_info)]
    enforced = list(filter(is_declared, known))
    if any(type_info != enforced[0] for type_info in enforced):
        raise PlanError(
            "UNION_TYPES",
            f"union needs streams of one type, got {', '.join(map(str, enforced))}",
            location=user_location(),
            hint="map them to one type first",
        )
    if len(known) < len(types) or any(type_info != known[0] for type_info in known):
        return None
    return no_surer_than(known[0], *known)


def key_of(
    type_info: TypeInformation | None, fields: int | str | tuple[int | str, ...]
) -> tuple[Callable[[Any], Any], TypeInformation | None]:
    """Return the selector of a field, or of the tuple of several, as a key, and the key's type."""
    if not isinstance(fields, tuple):
        found, field_type = _resolve(type_info, fields, "key_by")
        return FieldKey(found), no_surer_than(field_type, type_info)
    if not fields:
        raise PlanError(
            "NO_FIELDS",
            "key_by needs at least one field",
            location=user_location(),
            hint='give positions or names, as in key_by(("user", "item"))',
        )
    parts = [_resolve(type_info, field, "key_by") for field in fields]
    types = [field_type for _, field_type in parts if field_type is not None]
    whole = TupleTypeInfo(types) if len(types) == len(parts) else None
    return FieldsKey(tuple(name for name, _ in parts)), no_surer_than(whole, type_info)


def projected_type(
    type_info: TypeInformation | None, fields: Sequence[int | str]
) -> tuple[tuple[int | str, ...], TypeInformation | None]:
    """Return the fields of a projection and the type of what it makes."""
    if not fields:
        raise PlanError(
            "NO_FIELDS",
            "project needs at least one field",
            location=user_location(),
            hint="give positions or names, as in project(0, 2)",
        )
    if _is_sure(type_info) and not isinstance(type_info, TupleTypeInfo | RowTypeInfo):
        raise PlanError(
            "NO_FIELDS",
            f"project needs tuples or rows, and this stream has {type_info}",
            location=user_location(),
            hint="map the records to tuples first",
        )
    found = [_resolve(type_info, field, "project") for field in fields]
    names = tuple(name for name, _ in found)
    types = [field_type for _, field_type in found if field_type is not None]
    if len(types) < len(names):
        return names, None
    return names, no_surer_than(_type_of_fields(type_info, names, types), type_info)


def _type_of_fields(
    type_info: TypeInformation | None, names: Sequence[int | str], types: list[TypeInformation]
) -> TypeInformation:
    if not isinstance(type_info, RowTypeInfo):
        return TupleTypeInfo(types)
    all_names = type_info.field_names
    if all_names is None:
        return RowTypeInfo(types)
    return RowTypeInfo(types, [n if isinstance(n, str) else all_names[n] for n in names])


def checked_field(
    type_info: TypeInformation | None, field: int | str, call: str, *, numbers: bool = False
) -> int | str:
    """Return a field if records of the type have it, and, with ``numbers``, if it can be summed.

    Examples
    --------
    >>> word_count = Types.ROW_NAMED(["word", "count"], [Types.STRING(), Types.LONG()])
    >>> checked_field(word_count, "count", "sum", numbers=True)
    'count'
    >>> checked_field(word_count, "cuont", "sum")
    Traceback (most recent call last):
    millstream.common.errors.PlanError: [UNKNOWN_FIELD] sum: there is no field 'cuont' in \
ROW_NAMED(word: STRING, count: LONG)
    ...
    """
    found, field_type = _resolve(type_info, field, call)
    is_sure = _is_sure(type_info) and _is_known(field_type)
    if numbers and is_sure and field_type is not None and field_type.kind not in _NUMBERS:
        raise PlanError(
            "NOT_A_NUMBER",
            f"{call} cannot add up field {field!r} of {type_info}, a {field_type}",
            location=user_location(),
            hint="choose a field of numbers, or use reduce(...)",
        )
    return found


def aggregate_type(
    type_info: TypeInformation | None, kind: str, field: int | str | None
) -> TypeInformation | None:
    """Return the type of an aggregate of a field, None if it is unknown.

    Examples
    --------
    >>> record = Types.TUPLE([Types.STRING(), Types.INT()])
    >>> [aggregate_type(record, kind, 1) for kind in ("count", "sum", "max", "avg")]
    [LONG, LONG, INT, DOUBLE]
    """
    if kind == "count" or field is None:
        return Types.LONG()
    _, found = _resolve(type_info, field, kind)
    if kind in ("min", "max") or found is None or found.kind == "BIG_DEC":
        return found
    if kind == "avg" or found.kind in ("FLOAT", "DOUBLE"):
        return Types.DOUBLE()
    return found if found.kind == "BIG_INT" else Types.LONG()


def _is_known(type_info: TypeInformation | None) -> typing.TypeGuard[TypeInformation]:
    return type_info is not None and not isinstance(type_info, PickledBytesTypeInfo)


def _is_sure(type_info: TypeInformation | None) -> bool:
    """Whether a program can be refused because of the type."""
    return _is_known(type_info) and type_info.certainty is not Certainty.GUESSED


def _resolve(
    type_info: TypeInformation | None, field: int | str, call: str
) -> tuple[int | str, TypeInformation | None]:
    """Return a field as it is to be asked for at run time, and its type if that is known."""
    if _is_sure(type_info) or not _is_known(type_info):
        return _found(type_info, field, call)
    try:
        return _found(type_info, field, call)
    except PlanError:
        return _found(None, field, call)


def _found(
    type_info: TypeInformation | None, field: int | str, call: str
) -> tuple[int | str, TypeInformation | None]:
    if isinstance(field, bool) or not isinstance(field, int | str):
        raise PlanError(
            "BAD_FIELD",
            f"{call} takes the position or the name of a field, got {short_repr(field)}",
            location=user_location(),
            hint=f'write {call}(1) or {call}("name")',
        )
    if not _is_known(type_info):
        if isinstance(field, int) and field < 0:
            raise _unknown_field(type_info, field, call, ())
        return field, None
    if isinstance(type_info, TupleTypeInfo | RowTypeInfo):
        return _in_fields(type_info, field, call)
    if isinstance(type_info, MapTypeInfo) and isinstance(field, str):
        return field, type_info.value_type
    if isinstance(type_info, _LISTS) and isinstance(field, int) and field >= 0:
        return field, type_info.element_type
    if field != 0 or isinstance(type_info, MapTypeInfo):
        raise _unknown_field(type_info, field, call, ())
    return field, type_info


def _in_fields(
    type_info: TupleTypeInfo | RowTypeInfo, field: int | str, call: str
) -> tuple[int | str, TypeInformation | None]:
    types = type_info.field_types
    named = type_info.field_names if isinstance(type_info, RowTypeInfo) else None
    names = named or [f"f{i}" for i in range(len(types))]
    if field in names:
        index = names.index(field)  # type: ignore[arg-type]
        return (field if named else index), types[index]
    if isinstance(field, int) and 0 <= field < len(types):
        return field, types[field]
    raise _unknown_field(type_info, field, call, names)


def _unknown_field(
    type_info: TypeInformation | None, field: int | str, call: str, names: Sequence[str]
) -> PlanError:
    where = "records of unknown type" if type_info is None else str(type_info)
    close = difflib.get_close_matches(field, names, 1) if isinstance(field, str) else []
    if close:
        hint = f"did you mean {close[0]!r}?"
    elif names:
        hint = f"fields are {', '.join(names)}, or 0 to {len(names) - 1}"
    else:
        hint = "such records have no such field; a plain number or string is its own field 0"
    return PlanError(
        "UNKNOWN_FIELD",
        f"{call}: there is no field {field!r} in {where}",
        parameters={"field": field, "fields": list(names)},
        location=user_location(),
        hint=hint,
    )
