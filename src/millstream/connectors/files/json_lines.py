"""JSON files: a line has an object, and its record the fields that the schema names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json

from millstream.connectors.files.json_values import DEEPEST, LONGEST_NUMBER, rows_of
from millstream.connectors.files.lines import blocks_of_lines, lines_of
from millstream.connectors.files.opening import Fragment

ARROW = {
    "string": pa.string(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
}
"""The types of columns that are read here, by Spark's names."""
FEW_LINES = 64
_LONG_NUMBER = rf"[0-9.eE+-]{{{LONGEST_NUMBER}}}"


@dataclass(frozen=True)
class JsonReader:
    """Reads rows of some columns.

    Arrow takes lines in which every value is what its column says. What it does not take, or could take
    differently, is read line by line.
    """

    by_ranges = True

    types: Mapping[str, str]

    def read(self, fragment: Fragment) -> Iterator[list[pa.Array]]:
        """The rows of the lines that begin in a fragment."""
        for block in blocks_of_lines(fragment):
            for columns in self._columns(lines_of(block)):
                if len(columns[0]):
                    yield columns

    def _options(self) -> pa.json.ParseOptions:
        schema = pa.schema([(name, ARROW[kind]) for name, kind in self.types.items()])
        return pa.json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")

    def _columns(self, lines: pa.Array) -> Iterator[list[pa.Array]]:
        columns = self._by_arrow(lines) if is_simple(lines) else None
        if columns is not None:
            yield columns
        elif len(lines) <= FEW_LINES:
            yield self._by_line(lines)
        else:
            half = len(lines) // 2
            yield from self._columns(lines[:half])
            yield from self._columns(lines[half:])

    def _by_arrow(self, lines: pa.Array) -> list[pa.Array] | None:
        whole = pa.ListArray.from_arrays(pa.array([0, len(lines)], pa.int32()), lines)
        data = pc.binary_join(whole, b"\n")[0].as_buffer()
        size = pa.json.ReadOptions(use_threads=False, block_size=data.size + 1)
        try:
            table = pa.json.read_json(pa.BufferReader(data), size, self._options())
        except pa.ArrowInvalid:
            return None
        if table.num_rows != len(lines):
            return None
        return [table.column(name).combine_chunks() for name in self.types]

    def _by_line(self, lines: pa.Array) -> list[pa.Array]:
        rows = [row for line in lines.to_pylist() for row in rows_of(line, self.types)]
        return [
            pa.array([row[place] for row in rows], ARROW[kind])
            for place, kind in enumerate(self.types.values())
        ]


def is_simple(lines: pa.Array) -> bool:
    """Whether each line can only be one object; what is long could be longer than Spark takes."""
    try:
        lines.cast(pa.string())
    except pa.ArrowInvalid:
        return False
    whole = pc.and_(pc.starts_with(lines, b"{"), pc.ends_with(lines, b"}"))
    if not pc.all(whole).as_py():
        return False
    lengths = pc.binary_length(lines)
    if (pc.max(lengths).as_py() or 0) < min(LONGEST_NUMBER, DEEPEST):
        return True
    long = lines.filter(pc.greater_equal(lengths, LONGEST_NUMBER))
    brackets = pc.add(pc.count_substring(long, b"{"), pc.count_substring(long, b"["))
    numbers = pc.match_substring_regex(long, _LONG_NUMBER)
    return not pc.any(pc.or_(numbers, pc.greater_equal(brackets, DEEPEST))).as_py()
