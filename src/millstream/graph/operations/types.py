"""The types of vertices, edges and triplets: tuples whose fields travel as columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from millstream.common.typeinfo import (
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
    Types,
    infer_return_type,
)
from millstream.graph.elements import Edge, Triplet, Vertex

__all__ = [
    "EdgeTypeInfo",
    "TripletTypeInfo",
    "VertexTypeInfo",
    "is_known",
    "parts_of",
    "produced",
    "tuple_of",
    "type_of_edges",
    "type_of_vertices",
]

_UNKNOWN: TypeInformation = Types.PICKLED_BYTE_ARRAY()


class _Elements(TupleTypeInfo):
    """Tuples that come back as elements of graphs."""

    element: ClassVar[type[Any]]

    def from_arrow_arrays(self, arrays: Iterable[Any]) -> list[Any]:
        """The elements in columns."""
        element = self.element
        return [element(*record) for record in super().from_arrow_arrays(arrays)]


class VertexTypeInfo(_Elements):
    """The type of vertices, by the types of their fields.

    Examples
    --------
    >>> VertexTypeInfo([Types.LONG(), Types.STRING()])
    TUPLE(LONG, STRING)
    """

    element = Vertex


class EdgeTypeInfo(_Elements):
    """The type of edges, by the types of their fields.

    Examples
    --------
    >>> EdgeTypeInfo([Types.LONG(), Types.LONG(), Types.DOUBLE()])
    TUPLE(LONG, LONG, DOUBLE)
    """

    element = Edge


class TripletTypeInfo(_Elements):
    """The type of triplets, by the types of their fields.

    Examples
    --------
    >>> TripletTypeInfo([Types.LONG()] * 5).element.__name__
    'Triplet'
    """

    element = Triplet


def is_known(type_info: TypeInformation) -> bool:
    """Whether values of a type are more than any Python value.

    Examples
    --------
    >>> is_known(Types.LONG()), is_known(Types.PICKLED_BYTE_ARRAY())
    (True, False)
    """
    return type_info.kind != _UNKNOWN.kind


def parts_of(type_info: TypeInformation, count: int) -> list[TypeInformation]:
    """The types of the fields of records, unknown ones where nothing is said.

    Examples
    --------
    >>> parts_of(Types.TUPLE([Types.LONG(), Types.STRING()]), 2)
    [LONG, STRING]
    >>> parts_of(Types.LONG(), 2)
    [PICKLED_BYTE_ARRAY, PICKLED_BYTE_ARRAY]
    """
    found: list[TypeInformation] = []
    if isinstance(type_info, TupleTypeInfo | RowTypeInfo):
        found = list(type_info.field_types)[:count]
    return found + [_UNKNOWN] * (count - len(found))


def tuple_of(kind: type[TupleTypeInfo], parts: Sequence[TypeInformation]) -> TypeInformation:
    """A type of tuples; of any value if nothing is known of the parts.

    Examples
    --------
    >>> tuple_of(VertexTypeInfo, [Types.LONG(), Types.PICKLED_BYTE_ARRAY()])
    TUPLE(LONG, PICKLED_BYTE_ARRAY)
    >>> tuple_of(VertexTypeInfo, [Types.PICKLED_BYTE_ARRAY()] * 2)
    PICKLED_BYTE_ARRAY
    """
    return kind(parts) if any(map(is_known, parts)) else _UNKNOWN


def type_of_vertices(type_info: TypeInformation) -> TypeInformation:
    """The type of vertices that are made of records of a type.

    Examples
    --------
    >>> type(type_of_vertices(Types.TUPLE([Types.LONG(), Types.LONG()]))).__name__
    'VertexTypeInfo'
    """
    return tuple_of(VertexTypeInfo, parts_of(type_info, 2))


def type_of_edges(type_info: TypeInformation) -> TypeInformation:
    """The type of edges that are made of records of a type.

    Examples
    --------
    >>> type_of_edges(Types.TUPLE([Types.LONG(), Types.LONG()]))
    TUPLE(LONG, LONG, PICKLED_BYTE_ARRAY)
    """
    return tuple_of(EdgeTypeInfo, parts_of(type_info, 3))


def produced(
    function: Any, methods: Sequence[str], declared: TypeInformation | None
) -> TypeInformation:
    """The type of what a function returns: declared, by its annotations, or unknown.

    Examples
    --------
    >>> produced(len, ["map"], Types.INT())
    INT
    >>> produced(lambda n: n, ["map"], None)
    PICKLED_BYTE_ARRAY
    """
    if declared is not None:
        return declared
    queried = getattr(function, "get_produced_type", None)
    if callable(queried):
        return queried()  # type: ignore[no-any-return]
    found = next((m for name in methods if callable(m := getattr(function, name, None))), function)
    return infer_return_type(found) or _UNKNOWN
