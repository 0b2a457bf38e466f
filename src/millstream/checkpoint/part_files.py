"""Files of the rows that a restore has divided: parts of one table, each found by its number.

What one task divides many others need some of. Through Spark's exchange the rows would be copied and
converted six times on their way; as a file they are written once and read once.
"""

from __future__ import annotations

from functools import lru_cache

import pyarrow as pa

from millstream.checkpoint.folder import new_file, open_path

MOST_OPEN = 64
"""A task needs parts of all files there are, and may not have as many open."""


class PartFile:
    """A file of parts on its way.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = f"{folder.name}/parts.arrow"
    >>> with PartFile(path, pa.schema([("n", pa.int64())])) as file:
    ...     numbers = [file.add(pa.table({"n": [n]})) for n in (10, 20)]
    >>> numbers, PartFiles().read(path, 1).to_pylist()
    ([0, 1], [{'n': 20}])
    >>> folder.cleanup()
    """

    def __init__(self, path: str, schema: pa.Schema) -> None:
        self._stream = new_file(*open_path(path))
        self._writer = pa.ipc.new_file(self._stream, schema)
        self._parts = 0

    def add(self, rows: pa.Table) -> int:
        """Write a part; its number is returned."""
        batches = rows.to_batches()
        if len(batches) != 1:
            batches = rows.combine_chunks().to_batches()
        self._writer.write_batch(batches[0])
        self._parts += 1
        return self._parts - 1

    def __enter__(self) -> PartFile:
        return self

    def __exit__(self, *error: object) -> None:
        self._writer.close()
        self._stream.close()


class PartFiles:
    """Reads parts of files; some files stay open for the next one."""

    def __init__(self) -> None:
        self._open = lru_cache(MOST_OPEN)(_open)

    def read(self, path: str, number: int) -> pa.Table:
        """A part by its number."""
        return pa.Table.from_batches([self._open(path).get_batch(number)])


def _open(path: str) -> pa.ipc.RecordBatchFileReader:
    fs, inner = open_path(path)
    return pa.ipc.open_file(fs.open_input_file(inner))
