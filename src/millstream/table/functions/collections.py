"""Arrays, maps and rows: construction, access and functions."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from millstream.table.expressions import kinds
from millstream.table.expressions.context import Context
from millstream.table.expressions.kinds import LogicalType
from millstream.table.expressions.tree import Call, Expression
from millstream.table.expressions.vectors import Vector, build, each_value
from millstream.table.functions.registry import BindError, Infer, function, to_type, vectorised
from millstream.table.types.casts import can_cast_implicitly

__all__: list[str] = []

COLLECTION = "collection"
CONSTRUCTION = "value construction"


def _array_type(arguments: list[Expression]) -> tuple[list[Expression], LogicalType]:
    if not arguments:
        raise BindError("an array has at least one element")
    if kinds.is_mixed_days([each.type for each in arguments]):
        raise BindError("dates and timestamps are no elements of one array")
    element = kinds.chosen_type([each.type for each in arguments])
    if kinds.root(element) == "NULL":
        raise BindError("an array of NULLs alone has no type; write CAST(NULL AS ...)")
    kind = kinds.array_of(element)
    return [to_type(each, element) for each in arguments], kinds.not_null(kind)


@vectorised("ARRAY", CONSTRUCTION, "ARRAY[value1 [, value2]*]", _array_type)
def _array(call: Call, vectors: list[Vector], context: Context) -> pa.Array:
    """An array of the values."""
    return build(each_value(lambda *row: row, vectors, context.length, strict=False), call.type)


def _map_type(arguments: list[Expression]) -> tuple[list[Expression], LogicalType]:
    if not arguments or len(arguments) % 2:
        raise BindError("a map has keys and values in turn")
    key = kinds.chosen_type([each.type for each in arguments[::2]])
    value = kinds.chosen_type([each.type for each in arguments[1::2]])
    converted = [to_type(each, (key, value)[at % 2]) for at, each in enumerate(arguments)]
    return converted, kinds.not_null(kinds.map_of(key, value))


@vectorised("MAP", CONSTRUCTION, "MAP[key1, value1 [, key2, value2]*]", _map_type)
def _map(call: Call, vectors: list[Vector], context: Context) -> pa.Array:
    """A map of the pairs; of equal keys the last one counts."""

    def row(*values: Any) -> tuple[Any, ...]:
        return pairs_of(zip(values[::2], values[1::2], strict=True))

    return build(each_value(row, vectors, context.length, strict=False), call.type)


def pairs_of(pairs: Any) -> tuple[Any, ...]:
    """Pairs without equal keys; the last value of a key stays at the place of the first."""
    found: dict[Any, Any] = {}
    for key, value in pairs:
        found[key] = value
    return tuple(found.items())


def _row_type(arguments: list[Expression]) -> tuple[list[Expression], LogicalType]:
    names = [f"EXPR${at}" for at in range(len(arguments))]
    return arguments, kinds.not_null(kinds.row_of(names, [each.type for each in arguments]))


@vectorised("ROW", CONSTRUCTION, "ROW(value1 [, value2]*)", _row_type)
def _row(call: Call, vectors: list[Vector], context: Context) -> pa.Array:
    """A row of the values."""
    return build(each_value(lambda *row: row, vectors, context.length, strict=False), call.type)


@function("CARDINALITY", COLLECTION, "CARDINALITY(array or map)", "COLLECTION", "INT")
def _cardinality(values: Any) -> int:
    """The number of elements or pairs."""
    return len(values)


def _item_type(arguments: list[Expression]) -> tuple[list[Expression], LogicalType]:
    if len(arguments) != 2 or kinds.root(arguments[0].type) not in ("ARRAY", "MAP"):
        raise BindError("an array or map and a place are needed")
    collection, place = arguments
    if kinds.root(place.type) == "NULL":
        raise BindError("NULL is no place and no key; write CAST(NULL AS ...)")
    if kinds.root(collection.type) == "MAP":
        if kinds.is_numeric(place.type) and kinds.is_string(collection.type.children[0]):
            raise BindError(f"{place.type} is no key of {collection.type}")
        place = to_type(place, collection.type.children[0])
    elif kinds.root(place.type) not in (*kinds.INTEGERS, "NULL"):
        raise BindError("the place is an integer")
    return [collection, place], kinds.with_nullability(collection.type.children[-1], True)


@vectorised("ITEM", COLLECTION, "array[integer], map[key]", _item_type)
def _item(call: Call, vectors: list[Vector], context: Context) -> pa.Array:
    """The element at a place, from 1, or the value of a key; NULL if there is none."""
    is_map = kinds.root(vectors[0].type) == "MAP"

    def row(values: Any, place: Any) -> Any:
        if is_map:
            return next((value for key, value in values if key == place), None)
        if place < 1:
            raise ValueError("Array element access must start at index 1")
        return values[place - 1] if place <= len(values) else None

    return build(each_value(row, vectors, context.length), call.type)


def _ordered(kind: LogicalType) -> None:
    """Refuse arrays whose elements have no order."""
    if kind.children and kind.children[0].children:
        raise BindError(f"elements of {kind} have no order")


def _element_type(types: list[LogicalType]) -> LogicalType:
    _ordered(types[0])
    return kinds.with_nullability(types[0].children[0], True)


def _only_type(types: list[LogicalType]) -> LogicalType:
    element = types[0].children[0]
    return kinds.with_nullability(element, element.nullable or types[0].nullable)


@function("ELEMENT", COLLECTION, "ELEMENT(array)", "ARRAY", _only_type)
def _element(values: Any) -> Any:
    """The only element; NULL of an empty array, an error if there are more."""
    if len(values) > 1:
        raise ValueError("Array has more than one element.")
    return values[0] if values else None


def _with_element(result: str) -> Infer:
    """An array and an element: the result is the array's type, or another one."""

    def infer(arguments: list[Expression]) -> tuple[list[Expression], LogicalType]:
        if len(arguments) != 2 or kinds.root(arguments[0].type) != "ARRAY":
            raise BindError("an array and an element are needed")
        array, needle = arguments
        common = kinds.common_type([array.type.children[0], needle.type])
        nullable_element = kinds.with_nullability(array.type.children[0], True)
        if not can_cast_implicitly(needle.type, nullable_element):
            raise BindError(f"{needle.type} does not become {nullable_element} by itself")
        element = kinds.with_nullability(array.type.children[0], common.nullable)
        nullable = array.type.nullable or needle.type.nullable
        kind = kinds.with_nullability(kinds.array_of(element), nullable)
        converted = [to_type(array, kind), to_type(needle, element)]
        if result == "append":
            return converted, kind
        if result == "array":
            return [array, converted[1]], array.type
        nullable = array.type.nullable or (result == "INT" and needle.type.nullable)
        return converted, kinds.with_nullability(kinds.parse_type(result), nullable)

    return infer


def _declare_needle(name: str, result: str, words: str, code: Any, strict: bool = False) -> None:
    def run(call: Call, vectors: list[Vector], context: Context) -> pa.Array:
        def row(values: Any, needle: Any) -> Any:
            return None if values is None else code(values, needle)

        return build(each_value(row, vectors, context.length, strict=strict), call.type)

    run.__doc__ = words
    vectorised(name, COLLECTION, f"{name}(array, element)", _with_element(result))(run)


_declare_needle(
    "ARRAY_CONTAINS",
    "BOOLEAN",
    "TRUE if the array has the element, which may be NULL.",
    lambda values, needle: needle in values,
)
_declare_needle(
    "ARRAY_POSITION",
    "INT",
    "The place, from 1, of the first such element; 0 if there is none.",
    lambda values, needle: values.index(needle) + 1 if needle in values else 0,
    strict=True,
)
_declare_needle(
    "ARRAY_REMOVE",
    "array",
    "The array without all such elements.",
    lambda values, needle: tuple(each for each in values if each != needle),
)
_declare_needle(
    "ARRAY_APPEND",
    "append",
    "The array with the element at its end.",
    lambda values, needle: (*values, needle),
)
_declare_needle(
    "ARRAY_PREPEND",
    "append",
    "The array with the element at its beginning.",
    lambda values, needle: (needle, *values),
)


def _same(types: list[LogicalType]) -> LogicalType:
    return types[0]


def _unique(values: Any) -> tuple[Any, ...]:
    return tuple(dict.fromkeys(values))


@function("ARRAY_DISTINCT", COLLECTION, "ARRAY_DISTINCT(array)", "ARRAY", _same)
def _distinct(values: Any) -> tuple[Any, ...]:
    """The array without repeated elements."""
    return _unique(values)


@function("ARRAY_REVERSE", COLLECTION, "ARRAY_REVERSE(array)", "ARRAY", _same)
def _reverse(values: Any) -> tuple[Any, ...]:
    """The elements in the other order."""
    return tuple(values[::-1])


@function("ARRAY_MAX", COLLECTION, "ARRAY_MAX(array)", "ARRAY", _element_type)
def _max(values: Any) -> Any:
    """The greatest element that is not NULL."""
    return max((each for each in values if each is not None), default=None)


@function("ARRAY_MIN", COLLECTION, "ARRAY_MIN(array)", "ARRAY", _element_type)
def _min(values: Any) -> Any:
    """The least element that is not NULL."""
    return min((each for each in values if each is not None), default=None)


def _sorted_type(types: list[LogicalType]) -> LogicalType:
    _ordered(types[0])
    return types[0].with_nullability(any(kind.nullable for kind in types))


@function(
    "ARRAY_SORT",
    COLLECTION,
    "ARRAY_SORT(array [, ascending [, nulls first]])",
    "ARRAY BOOLEAN? BOOLEAN?",
    _sorted_type,
)
def _sort(values: Any, ascending: bool = True, nulls_first: bool | None = None) -> tuple[Any, ...]:
    """The elements in order; NULLs come first if the order ascends, unless the third argument says
    otherwise.
    """
    known = sorted((each for each in values if each is not None), reverse=not ascending)
    missing = [None] * (len(values) - len(known))
    first = ascending if nulls_first is None else nulls_first
    return tuple(missing + known) if first else tuple(known + missing)


@function(
    "ARRAY_SLICE",
    COLLECTION,
    "ARRAY_SLICE(array, start [, end])",
    "ARRAY SMALL SMALL?",
    lambda types: types[0].with_nullability(any(t.nullable for t in types)),
)
def _slice(values: Any, start: int, end: int | None = None) -> tuple[Any, ...]:
    """The elements from a place to another, both from 1, negative ones from the end."""
    size = len(values)
    if size == 0:
        return ()
    first = max(start + size if start < 0 else max(start - 1, 0), 0)
    last = (
        size if end is None else (end + size + 1 if end < 0 else max(end, 1) if end == 0 else end)
    )
    return tuple(values[first : max(min(last, size), 0)]) if first < last else ()


def _several_arrays(arguments: list[Expression]) -> tuple[list[Expression], LogicalType]:
    if not arguments or any(kinds.root(each.type) != "ARRAY" for each in arguments):
        raise BindError("arrays are needed")
    kind = kinds.common_type([each.type for each in arguments])
    return [to_type(each, kind) for each in arguments], kind


def _declare_arrays(name: str, words: str, code: Any) -> None:
    def run(call: Call, vectors: list[Vector], context: Context) -> pa.Array:
        return build(each_value(code, vectors, context.length), call.type)

    run.__doc__ = words
    vectorised(name, COLLECTION, f"{name}(array1, array2)", _several_arrays)(run)


def _except(left: Any, right: Any) -> tuple[Any, ...]:
    return _unique(each for each in left if each not in right)


_declare_arrays(
    "ARRAY_UNION", "The elements of both arrays, each once.", lambda a, b: _unique((*a, *b))
)
_declare_arrays("ARRAY_EXCEPT", "The elements of the first array that the second has not.", _except)
_declare_arrays(
    "ARRAY_INTERSECT",
    "The elements that both arrays have, each once.",
    lambda a, b: _unique(each for each in a if each in b),
)
_declare_arrays(
    "ARRAY_CONCAT",
    "All elements of all arrays.",
    lambda *arrays: tuple(each for array in arrays for each in array),
)


@function(
    "ARRAY_JOIN",
    COLLECTION,
    "ARRAY_JOIN(array, delimiter [, replacement of NULL])",
    "ARRAY STRING STRING?",
    "STRING",
)
def _join(values: Any, delimiter: str, null: str | None = None) -> str:
    """The texts of an array in one; NULLs are left out or replaced."""
    texts = [each if each is not None else null for each in values]
    return delimiter.join(text for text in texts if text is not None)


def _of_map(at: int) -> Any:
    return lambda types: kinds.with_nullability(
        kinds.array_of(types[0].children[at]), types[0].nullable
    )


@function("MAP_KEYS", COLLECTION, "MAP_KEYS(map)", "MAP", _of_map(0))
def _keys(pairs: Any) -> tuple[Any, ...]:
    """The keys of a map."""
    return tuple(key for key, _ in pairs)


@function("MAP_VALUES", COLLECTION, "MAP_VALUES(map)", "MAP", _of_map(1))
def _values(pairs: Any) -> tuple[Any, ...]:
    """The values of a map."""
    return tuple(value for _, value in pairs)


def _entry_type(types: list[LogicalType]) -> LogicalType:
    row = kinds.row_of(("key", "value"), types[0].children)
    return kinds.with_nullability(kinds.array_of(row), types[0].nullable)


@function("MAP_ENTRIES", COLLECTION, "MAP_ENTRIES(map)", "MAP", _entry_type)
def _entries(pairs: Any) -> tuple[Any, ...]:
    """The pairs of a map as rows."""
    return tuple(pairs)


def _from_arrays_type(types: list[LogicalType]) -> LogicalType:
    kind = kinds.map_of(types[0].children[0], types[1].children[0])
    return kinds.with_nullability(kind, any(each.nullable for each in types))


@function(
    "MAP_FROM_ARRAYS", COLLECTION, "MAP_FROM_ARRAYS(keys, values)", "ARRAY ARRAY", _from_arrays_type
)
def _from_arrays(keys: Any, values: Any) -> tuple[Any, ...]:
    """A map of keys and values at equal places."""
    if len(keys) != len(values):
        raise ValueError("the arrays of keys and of values must have one length")
    return pairs_of(zip(keys, values, strict=True))


def _union_type(arguments: list[Expression]) -> tuple[list[Expression], LogicalType]:
    if not arguments or any(kinds.root(each.type) != "MAP" for each in arguments):
        raise BindError("maps are needed")
    kind = kinds.common_type([each.type for each in arguments])
    return [to_type(each, kind) for each in arguments], kind


@vectorised("MAP_UNION", COLLECTION, "MAP_UNION(map1, ...)", _union_type)
def _map_union(call: Call, vectors: list[Vector], context: Context) -> pa.Array:
    """The pairs of all maps; of equal keys the last one counts."""

    def row(*maps: Any) -> tuple[Any, ...]:
        return pairs_of(pair for pairs in maps for pair in pairs)

    return build(each_value(row, vectors, context.length), call.type)
