"""CSV files: a line has the fields of a record.

The rows are those of Spark's reader. Arrow cuts the lines; a number that Arrow and Java might read
differently is read as Java does, and a line with quotes in odd places as Spark's parser does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from millstream.connectors.files.csv_quotes import QUOTE, fields_of
from millstream.connectors.files.java_texts import KINDS, WHITE, valid_text
from millstream.connectors.files.lines import MARK, blocks_of_lines, lines_of
from millstream.connectors.files.opening import Fragment

_VISIBLE = bytes(range(33, 256)) + b"\n"


@dataclass(frozen=True)
class CsvReader:
    """Reads rows: the names of the fields' types, what is between fields, a header or not.

    ``used``: the places of the fields that anybody looks at; the others are null.

    Examples
    --------
    >>> words = CsvReader(("string", "int"), ",", header=False)
    >>> [column.to_pylist() for column in words.columns(b'to,2\\n \\n"to, be",x\\n')]
    [['to', 'to, be'], [2, None]]
    """

    by_ranges = True

    types: tuple[str, ...]
    separator: str
    header: bool
    used: frozenset[int] | None = None

    def read(self, fragment: Fragment) -> Iterator[list[pa.Array]]:
        """The rows of the lines that begin in a fragment."""
        # Where a file begins, its header comes before the first record.
        with_header = self.header and fragment.start == 0
        for block in blocks_of_lines(fragment):
            data = block
            if with_header:
                data = without_blanks(block)
                with_header = not data
                data = data[data.find(b"\n") + 1 :]
            columns = self.columns(data) if data else None
            if columns and len(columns[0]):
                yield columns

    def columns(self, block: bytes) -> list[pa.Array]:
        """The fields of some lines, column by column; all lines end with ``\\n``."""
        data = without_blanks(block) if self._blanks_look_like_rows else block
        if b'"' in data:
            data = self._well_formed(data)
        texts = self._cut_lines(data)
        return [
            KINDS[name].column(texts.column(str(place)).combine_chunks())
            if place in self._cut
            else pa.nulls(texts.num_rows, KINDS[name].arrow)
            for place, name in enumerate(self.types)
        ]

    def _cut_lines(self, data: bytes) -> pa.Table:
        """The fields as texts. Arrow refuses wrong numbers of fields, and bytes that are no text."""
        with suppress(pa.ArrowInvalid):
            return self._texts(data)
        data = without_blanks(data)
        if not data:
            return pa.table({str(place): pa.array([], pa.string()) for place in self._cut})
        with suppress(pa.ArrowInvalid):
            return self._texts(data)
        return self._texts(self._complete(data))

    @property
    def _blanks_look_like_rows(self) -> bool:
        """Whether a line of white space has as many fields as are wanted.

        Otherwise Arrow leaves it out if it is empty, and refuses it if it is not.
        """
        return len(self.types) == 1 or self.separator in WHITE

    @cached_property
    def _cut(self) -> list[int]:
        """The places of the fields that are made into columns, at least one: they say how many rows."""
        places = range(len(self.types))
        return [place for place in places if self.used is None or place in self.used] or [0]

    def _texts(self, data: bytes) -> pa.Table:
        names = [str(i) for i in range(len(self.types))]
        # Arrow takes a mark away with which the input begins: a line to skip comes before it.
        marked = data.startswith(MARK)
        data = b"\n" + data if marked else data
        return pa.csv.read_csv(
            pa.BufferReader(data),
            pa.csv.ReadOptions(
                use_threads=False, block_size=len(data), skip_rows=int(marked), column_names=names
            ),
            # With one column an empty line can be a record: what is left of one that had more fields.
            pa.csv.ParseOptions(delimiter=self.separator, ignore_empty_lines=len(self.types) > 1),
            pa.csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()),
                include_columns=[str(place) for place in self._cut],
                null_values=[""],
                strings_can_be_null=True,
            ),
        )

    @cached_property
    def _field(self) -> str:
        """A field that has quotes only around it, and doubled ones within."""
        return rf'(?:[^"{re.escape(self.separator)}]*|"(?:[^"]|"")*")'

    def _well_formed(self, data: bytes) -> bytes:
        """The lines, with those that have quotes in odd places written in the simple way."""
        lines = lines_of(data).view(pa.string())
        try:
            lines.validate(full=True)
        except pa.ArrowInvalid:
            data = valid_text(data)
            lines = lines_of(data).view(pa.string())
        simple = rf"\A{self._field}(?:{re.escape(self.separator)}{self._field})*\z"
        fits = pc.match_substring_regex(lines, simple)
        if b"\0" in data:
            # Spark's parser leaves such characters out of some texts.
            fits = pc.and_not(fits, pc.match_substring(lines, "\0"))
        odd = pc.and_not(pc.match_substring(lines, QUOTE), fits)
        if not pc.any(odd).as_py():
            return data
        places = set(pc.indices_nonzero(odd).to_pylist())
        texts = lines.to_pylist()
        found = (self._again(line) if n in places else line for n, line in enumerate(texts))
        return "".join(f"{line}\n" for line in found).encode()

    def _again(self, line: str) -> str:
        fields = [field.replace(QUOTE, QUOTE + QUOTE) for field in fields_of(line, self.separator)]
        return self.separator.join(f"{QUOTE}{field}{QUOTE}" for field in fields)

    def _complete(self, data: bytes) -> bytes:
        """Lines with as many fields as are wanted: missing ones are null, and nobody asked for more."""
        wanted, separator = len(self.types), self.separator
        field = re.compile(f"({self._field})({re.escape(separator)}|\\Z)", re.DOTALL)
        found = []
        for line in valid_text(data).decode().split("\n")[:-1]:
            fields = _fields(field, line) if QUOTE in line else line.split(separator)
            found.append(separator.join(fields[:wanted] + [""] * (wanted - len(fields))))
        return "".join(f"{line}\n" for line in found).encode()


def _fields(field: re.Pattern[str], line: str) -> list[str]:
    """The fields of a line, quoted as they are there."""
    found = []
    for match in field.finditer(line):
        found.append(match[1])
        if not match[2]:
            break
    return found


def without_blanks(block: bytes) -> bytes:
    """The lines that are records, or a header: those that are more than white space."""
    if not _may_have_blanks(block):
        return block
    lines = block.split(b"\n")[:-1]
    return b"".join(line + b"\n" for line in lines if line.strip(WHITE.encode()))


def _may_have_blanks(block: bytes) -> bool:
    if block[:1] <= b" " or b"\n\n" in block:
        return True
    white = set(block.translate(None, _VISIBLE))
    return any(b"\n%c" % character in block for character in white)
