"""Which fields of a source's records anybody looks at: files need not be read further than that."""

from __future__ import annotations

from typing import Any

from millstream.common.recognition import Fields, fields_read_by, fields_returned_by
from millstream.common.typeinfo import TypeInformation
from millstream.kernel.records.columns import field_places, field_types
from millstream.plan.graph import KeyedNode, Node, SourceNode, StatelessNode, TimestampsNode
from millstream.plan.planner import Component


class _Whole(Exception):
    """Somebody gets the whole record, or could."""


def used_fields(
    component: Component, source: SourceNode, type_info: TypeInformation | None = None
) -> frozenset[int] | None:
    """The places of the fields that are read; None if somebody sees whole records.

    Field reads in timestamp assigners, ``map`` and ``filter``, and windows by column that emit no
    records, say what they read. Everything else may look at all of a record.
    """
    known = type_info or source.output_type
    if not field_types(known):
        return None
    try:
        found = _Walk(component, known).after(source)
        return frozenset(found | _Walk(component, known).of_strategy(source.strategy))
    except _Whole:
        return None


class _Walk:
    """Follows records of a type along the readers of a node."""

    def __init__(self, component: Component, type_info: TypeInformation | None) -> None:
        self.component = component
        self.type_info = type_info

    def after(self, node: Node) -> set[int]:
        found: set[int] = set()
        for reader, _ in self.component.consumers(node.id):
            found |= self._of_reader(reader)
        return found

    def _of_reader(self, reader: Node) -> set[int]:
        if isinstance(reader, KeyedNode):
            return self._of_window(reader)
        if reader.id in self.component.hosted:
            raise _Whole
        if isinstance(reader, TimestampsNode):
            return self.of_strategy(reader.strategy) | self.after(reader)
        if isinstance(reader, StatelessNode) and reader.kind in ("map", "filter"):
            found = self._places(fields_returned_by(reader.function))
            return found | self.after(reader) if reader.kind == "filter" else found
        raise _Whole

    def of_strategy(self, strategy: Any) -> set[int]:
        if strategy is None or strategy.kind == "none":
            return set()
        if strategy.kind == "custom":
            raise _Whole
        return (
            set() if strategy.assigner is None else self._places(fields_read_by(strategy.assigner))
        )

    def _of_window(self, node: KeyedNode) -> set[int]:
        by_column = self.component.choices[node.id].by_column
        if by_column is None or by_column.aggregate is None or by_column.panes is None:
            raise _Whole
        return {field for field in by_column.aggregate.taken if field is not None}

    def _places(self, fields: Fields | None) -> set[int]:
        places = field_places(fields, self.type_info)
        if places is None:
            raise _Whole
        return set(places)
