"""Text files: a record is a line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from millstream.connectors.files.lines import BLOCK_BYTES, blocks_of_lines, lines_of
from millstream.connectors.files.opening import Fragment


@dataclass(frozen=True)
class TextReader:
    """Reads lines. ``block_bytes``: how many at a time; more pay off where all stay in columns."""

    by_ranges = True

    block_bytes: int = BLOCK_BYTES

    def read(self, fragment: Fragment) -> Iterator[list[pa.Array]]:
        """The lines that begin in a fragment, as one column."""
        for block in blocks_of_lines(fragment, self.block_bytes):
            # Bytes that are no text fail where somebody looks at them, as those of Spark's reader do.
            yield [lines_of(block).view(pa.string())]
