"""Constraints of a table on the rows of an INSERT: NOT NULL, and lengths of texts and bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.common.errors import MillstreamError, PlanError
from millstream.kernel.steps.columns import ProjectStep, RowFilterStep
from millstream.kernel.tables.functions import Column
from millstream.plan.graph import JobGraph
from millstream.plan.tables import add_columns
from millstream.table.logical.entries import TableEntry
from millstream.table.types.logical import (
    ArrayType,
    LogicalType,
    MapType,
    MultisetType,
    RowType,
    StructuredType,
)

__all__ = ["add_constraints"]

NOT_NULL = "table.exec.sink.not-null-enforcer"
LENGTHS = "table.exec.sink.type-length-enforcer"
NESTED = "table.exec.sink.nested-constraint-enforcer"
_CHOICES = {
    NOT_NULL: ("ERROR", "DROP"),
    LENGTHS: ("IGNORE", "TRIM_PAD", "ERROR"),
    NESTED: ("IGNORE", "ROWS", "ROWS_AND_COLLECTIONS"),
}
"""The values of each option, the default first."""
Mask = np.ndarray


def add_constraints(
    graph: JobGraph, node: int, entry: TableEntry, option: Callable[[str], str | None]
) -> int:
    """Add what checks or fits the rows of a table. ``option``: the value of an option of the session."""
    info = graph[node].output_type
    not_null, lengths, nested = (_chosen(option, name) for name in _CHOICES)
    columns = tuple((place, each.name, each.type) for place, each in enumerate(entry.written))
    depth = _Depth(rows=nested != "IGNORE", collections=nested == "ROWS_AND_COLLECTIONS")
    required = tuple(each for each in columns if _requires(each[2], depth))
    if required:
        checked = _NotNull(required, depth, not_null == "DROP")
        step = RowFilterStep(checked, info, "NOT NULL")  # type: ignore[arg-type]
        node = add_columns(graph, "Not Null", node, step).id
    if lengths == "IGNORE" or not any(_limits(each[2], depth) for each in columns):
        return node
    if lengths == "TRIM_PAD" and depth.collections:
        raise PlanError(
            "TABLE_OPTION",
            f"values in arrays and maps cannot be cut: {LENGTHS} is TRIM_PAD, and {NESTED} is {nested}",
            hint=f"SET '{NESTED}' = 'ROWS', or '{LENGTHS}' = 'ERROR'",
        )
    functions = tuple(
        _Fitting(*each, depth, lengths == "ERROR") if _limits(each[2], depth) else Column(each[0])
        for each in columns
    )
    copied = tuple(n if isinstance(f, Column) else None for n, f in enumerate(functions))
    fitted = ProjectStep(functions, info, copied, "lengths")  # type: ignore[arg-type]
    return add_columns(graph, "Lengths", node, fitted).id


def _chosen(option: Callable[[str], str | None], name: str) -> str:
    found = (option(name) or _CHOICES[name][0]).upper()
    if found not in _CHOICES[name]:
        hint = f"use one of {', '.join(_CHOICES[name])}"
        raise PlanError("TABLE_OPTION", f"{name} cannot be {found!r}", hint=hint)
    return found


@dataclass(frozen=True)
class _Depth:
    """Where constraints count besides columns: in fields of rows, and in arrays and maps."""

    rows: bool
    collections: bool

    def parts(self, type_: LogicalType) -> list[tuple[str, LogicalType]]:
        """The types inside of a type that are looked at, with their names."""
        if isinstance(type_, RowType | StructuredType):
            return [(f".{f.name}", f.type) for f in type_.fields] if self.rows else []
        if not self.collections:
            return []
        if isinstance(type_, ArrayType):
            return [("[element]", type_.element)]
        if isinstance(type_, MultisetType):
            return [("[element]", type_.element)]
        return (
            [("[key]", type_.key), ("[value]", type_.value)] if isinstance(type_, MapType) else []
        )

    def values(self, array: pa.Array, type_: LogicalType) -> Iterator[tuple[pa.Array, Mask]]:
        """The values of each of `parts`, with the numbers of the rows that they are in."""
        if not self.parts(type_):
            return
        if isinstance(type_, RowType | StructuredType):
            there = np.flatnonzero(array.is_valid().to_numpy(zero_copy_only=False))
            for child in array.take(pa.array(there)).flatten():
                yield child, there
            return
        offsets = array.offsets.to_numpy()
        rows = np.repeat(np.arange(len(array)), np.diff(offsets))
        mapped = pa.types.is_map(array.type)
        for child in (array.keys, array.items) if mapped else (array.values,):
            yield child.slice(offsets[0], offsets[-1] - offsets[0]), rows


def _requires(type_: LogicalType, depth: _Depth) -> bool:
    return not type_.nullable or any(_requires(each, depth) for _, each in depth.parts(type_))


def _length(type_: LogicalType) -> int | None:
    found: int | None = getattr(type_, "length", None)
    return None if found is None or found >= 2**31 - 1 else found


def _limits(type_: LogicalType, depth: _Depth) -> bool:
    own = _length(type_) is not None
    return own or any(_limits(each, depth) for _, each in depth.parts(type_))


@dataclass(frozen=True)
class _NotNull:
    """The rows without NULL where it is forbidden; others are an error, or dropped."""

    columns: tuple[tuple[int, str, LogicalType], ...]
    depth: _Depth
    drops: bool

    def __call__(self, batch: pa.RecordBatch) -> pa.Array:
        there = np.ones(batch.num_rows, np.bool_)
        for place, name, type_ in self.columns:
            for where, missing in self._missing(batch.column(place), type_, name):
                if not missing.any():
                    continue
                if not self.drops:
                    raise MillstreamError(
                        "NOT_NULL_COLUMN",
                        f"column {where!r} is NOT NULL, and a row has NULL there",
                        hint=f"filter such rows, or SET '{NOT_NULL}' = 'DROP' to leave them out",
                    )
                there &= ~missing
        return pa.array(there)

    def _missing(
        self, array: pa.Array, type_: LogicalType, name: str
    ) -> Iterator[tuple[str, Mask]]:
        """For each NOT NULL the rows that have NULL there."""
        if not type_.nullable:
            yield name, array.is_null().to_numpy(zero_copy_only=False)
        parts = self.depth.parts(type_)
        found = self.depth.values(array, type_)
        for (inside, kind), (values, rows) in zip(parts, found, strict=False):
            for where, missing in self._missing(values, kind, name + inside):
                mask = np.zeros(len(array), np.bool_)
                mask[rows[missing]] = True
                yield where, mask


@dataclass(frozen=True)
class _Fitting:
    """Texts and bytes cut and padded to the length of the column, or an error if they do not fit."""

    place: int
    name: str
    type: LogicalType
    depth: _Depth
    fails: bool

    def __call__(self, batch: pa.RecordBatch) -> pa.Array:
        return self._fit(batch.column(self.place), self.type, self.name)

    def _fit(self, array: pa.Array, type_: LogicalType, name: str) -> pa.Array:
        if (length := _length(type_)) is not None:
            return self._cut(array, type_.root, length, name)
        parts = self.depth.parts(type_)
        if not any(_limits(kind, self.depth) for _, kind in parts):
            return array
        if not isinstance(type_, RowType | StructuredType):
            # Values in collections are only looked at.
            for (inside, kind), (values, _) in zip(
                parts, self.depth.values(array, type_), strict=False
            ):
                self._fit(values, kind, name + inside)
            return array
        children = [
            self._fit(child, kind, name + inside)
            for (inside, kind), child in zip(parts, array.flatten(), strict=True)
        ]
        return pa.StructArray.from_arrays(children, fields=list(array.type), mask=array.is_null())

    def _cut(self, column: pa.Array, root: str, length: int, name: str) -> pa.Array:
        is_text = pa.types.is_string(column.type)
        lengths = pc.utf8_length(column) if is_text else pc.binary_length(column)
        exact = root in ("CHAR", "BINARY")
        wrong = pc.not_equal(lengths, length) if exact else pc.greater(lengths, length)
        if not pc.any(wrong).as_py():
            return column
        if self.fails:
            value = column.filter(wrong.fill_null(False))[0].as_py()
            raise MillstreamError(
                "LENGTH_OF_COLUMN",
                f"column {name!r} is {root}({length}), and a row has {value!r:.99} there",
                hint=f"cut it in the query, or SET '{LENGTHS}' = 'TRIM_PAD'",
            )
        if not is_text:
            values = [None if v is None else _cut(v, length, exact) for v in column.to_pylist()]
            return pa.array(values, column.type)
        cut = pc.utf8_slice_codeunits(column, 0, length)
        return pc.utf8_rpad(cut, length, " ") if exact else cut


def _cut(value: bytes, length: int, exact: bool) -> bytes:
    return value[:length].ljust(length, b"\0") if exact else value[:length]
