"""Which windows can be computed by column, and how. `plan/rolling.py` says it of rolling aggregates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from millstream.common.recognition import Fields, fields_read_by
from millstream.common.typeinfo import TypeInformation
from millstream.common.typesystem.certainty import Certainty, is_declared
from millstream.kernel.records.columns import field_index, field_types
from millstream.kernel.records.key_columns import KeyColumns
from millstream.kernel.steps.routing import Place
from millstream.kernel.windows.aggregates import PaneAggregate
from millstream.kernel.windows.contents import Aggregated, Reduced
from millstream.kernel.windows.pane_layout import PaneContent, PaneLayout
from millstream.kernel.windows.panes import Panes
from millstream.kernel.windows.spec import WindowSpec
from millstream.plan.graph import KeyedNode

WHOLE_NUMBERS = frozenset({"BYTE", "SHORT", "INT", "LONG"})
KEYS = WHOLE_NUMBERS | {"STRING", "CHAR", "BOOLEAN", "SQL_DATE", "SQL_TIMESTAMP"}
"""Types whose equal values look alike. Of 0.0 and -0.0, which are one key, functions see the first, and
partial sums do not know which that is."""
AGGREGATES = frozenset({"sum", "min", "max", "min_by", "max_by"})
"""Of whole numbers only, see `PaneAggregate`."""


@dataclass(frozen=True)
class ByColumn:
    """The columns that an operator works on: the type of its records, and the fields that are the key.

    ``aggregate``: what a window makes of fields, None if it keeps the records. ``panes``: those of its
    windows, None if they merge. ``layout``: how it keeps its state by column. ``place``: the field that
    a rolling aggregate is of.
    """

    type_info: TypeInformation
    key: KeyColumns
    aggregate: PaneAggregate | None = None
    panes: Panes | None = None
    layout: str | None = None
    place: int | None = None


def columnar_window(node: KeyedNode, type_info: TypeInformation | None) -> ByColumn | None:
    """How a window operator over records of a type is computed by column, None if it cannot be."""
    spec: WindowSpec = node.function
    if type_info is None or spec.alignment is None or not _is_aligned(spec):
        return None
    key, aggregate = _key_columns(node, type_info), None
    if key is None:
        return None
    if spec.counts:
        aggregate = PaneAggregate.of_fields([], [("count", 0)], key, type_info)
    elif spec.summarizes:
        aggregate = _summary(spec, key, type_info)
    elif spec.emits_fold:
        aggregate = _field_aggregate(spec, key, type_info)
    if aggregate is None:
        return None
    return _by_pane(spec, key, type_info, aggregate)


def kept_window(node: KeyedNode, type_info: TypeInformation | None) -> ByColumn | None:
    """How a window operator keeps its records by column, None if it cannot."""
    spec: WindowSpec = node.function
    if spec.fold is not None or node.second is not None or not _is_aligned(spec):
        return None
    key = _key_columns(node, type_info)
    if key is None or type_info is None or spec.alignment is None:
        return None
    return _by_pane(spec, key, type_info, None)


def session_aggregate(node: KeyedNode, type_info: TypeInformation | None) -> ByColumn | None:
    """How sessions add up runs of records by column, None if they cannot."""
    spec: WindowSpec = node.function
    key = _key_columns(node, type_info)
    if type_info is None or key is None or not spec.plain_sessions():
        return None
    aggregate = _field_aggregate(spec, key, type_info)
    return None if aggregate is None else ByColumn(type_info, key, aggregate)


def pane_equivalent(node: KeyedNode, type_info: TypeInformation | None) -> str | None:
    """The layout by column that the windows of an operator in pages have the content of.

    Only windows that do not overlap are like panes, and only records of a declared type surely fit.
    """
    spec: WindowSpec = node.function
    align = spec.alignment
    if align is None or align.size != align.slide or node.second is not None:
        return None
    if type_info is None or not is_declared(type_info) or not field_types(type_info):
        return None
    if spec.fold is not None and not spec.counts:
        is_known = spec.summarizes and _folded_fields(spec, type_info) is not None
        is_known |= spec.emits_fold and _aggregated_field(spec, type_info) is not None
        if not is_known:
            return None
    return _layout(spec, type_info, _key_fields(node))


def _by_pane(
    spec: WindowSpec, key: KeyColumns, type_info: TypeInformation, aggregate: PaneAggregate | None
) -> ByColumn:
    assert spec.alignment is not None
    layout = _layout(spec, type_info, key.places[0] if key.alone else key.places)
    return ByColumn(type_info, key, aggregate, Panes.of(spec.alignment), layout)


def _layout(spec: WindowSpec, type_info: TypeInformation, key: Fields | None) -> str:
    """How windows keep their state by pane."""
    assert spec.alignment is not None
    of = str(type_info)
    tuple_of = len(key) if isinstance(key, tuple) else None
    if spec.counts:
        return str(PaneLayout("counts", of, spec.alignment, None, tuple_of))
    if spec.summarizes:
        folds = str(spec.fold.function)  # type: ignore[union-attr]
        return str(PaneLayout("aggregates", of, spec.alignment, folds, tuple_of))
    # The key is among the fields of the records that are kept.
    content: PaneContent = "columns" if spec.fold is None else "partial sums"
    return str(PaneLayout(content, of, spec.alignment))


def _is_aligned(spec: WindowSpec) -> bool:
    """Whether windows are aligned, fire once by the default trigger, and only count late records."""
    if spec.alignment is None or spec.alignment.slide > spec.alignment.size:
        return False  # a record between two windows may be late too: the window operator knows
    return not spec.allowed_lateness_ms and spec.late_tag is None and spec.lateness == "channel"


def _key_fields(node: KeyedNode) -> Fields | None:
    return None if isinstance(node.selector, Place) else fields_read_by(node.selector)


def _key_columns(node: KeyedNode, type_info: TypeInformation | None) -> KeyColumns | None:
    if type_info is not None and type_info.certainty is Certainty.GUESSED:
        return None  # a value that does not fit has no place in a column
    key = KeyColumns.of(_key_fields(node), type_info)
    return key if key is not None and all(kind.kind in KEYS for kind in key.kinds) else None


def _field_aggregate(
    spec: WindowSpec, key: KeyColumns, type_info: TypeInformation
) -> PaneAggregate | None:
    """The aggregate of a field that a window operator computes, if the library declares it."""
    place = _aggregated_field(spec, type_info)
    if place is None or place in key.places:
        return None
    return PaneAggregate.of_field(spec.fold.function.kind, place, key, type_info)  # type: ignore[union-attr]


def _aggregated_field(spec: WindowSpec, type_info: TypeInformation) -> int | None:
    """The column of whole numbers that a declared aggregate is of."""
    function: Any = spec.fold.function if isinstance(spec.fold, Reduced) else None
    if getattr(function, "kind", None) not in AGGREGATES:
        return None
    return _numbers(function.field, type_info)


def _summary(spec: WindowSpec, key: KeyColumns, type_info: TypeInformation) -> PaneAggregate | None:
    """Several aggregates of fields, if all of them are of whole numbers."""
    folded = _folded_fields(spec, type_info)
    if folded is None:
        return None
    summary: Any = spec.fold.function  # type: ignore[union-attr]
    folds = [(kind, place) for (kind, _), place in zip(summary.folds, folded, strict=True)]
    return PaneAggregate.of_fields(folds, summary.results, key, type_info)


def _folded_fields(spec: WindowSpec, type_info: TypeInformation) -> list[int] | None:
    """The columns of whole numbers that several aggregates are of."""
    summary: Any = spec.fold.function if isinstance(spec.fold, Aggregated) else None
    found = [_numbers(field, type_info) for _, field in summary.folds]
    places = [place for place in found if place is not None]
    return places if len(places) == len(found) else None


def _numbers(field: int | str, type_info: TypeInformation) -> int | None:
    """The place of a field of whole numbers."""
    place = field_index(type_info, field)
    is_number = place is not None and field_types(type_info)[place].kind in WHOLE_NUMBERS
    return place if is_number else None
