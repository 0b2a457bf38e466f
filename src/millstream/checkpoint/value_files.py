"""Files of the values that slots begin with: a restore writes them, the first epoch reads them.

Beside the rows of an epoch, gigabytes would pass Spark's exchange and three conversions. So what
travels there is a reference, and the values stay in files of the run.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from millstream.checkpoint.folder import new_file, open_path
from millstream.common.errors import CheckpointError

SCHEMA = pa.schema([("name", pa.string()), ("value", pa.binary())])
BATCH_BYTES = 4 << 20


class ValueFile:
    """A file of named values on its way.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> file = ValueFile(f"{folder.name}/values.arrow")
    >>> file.add("a", b"1")
    >>> list(read_values(file.close()))
    [('a', b'1')]
    >>> folder.cleanup()
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._stream = new_file(*open_path(path))
        self._writer = pa.ipc.new_stream(self._stream, SCHEMA)
        self._names: list[str] = []
        self._values: list[bytes] = []
        self._waiting = 0
        self._checksum = 0

    def add(self, name: str, value: bytes) -> None:
        self._names.append(name)
        self._values.append(value)
        self._waiting += len(value)
        if self._waiting >= BATCH_BYTES:
            self._flush()

    def close(self) -> bytes:
        """Finish the file; return everything that `read_values` needs."""
        self._flush()
        self._writer.close()
        self._stream.close()
        return json.dumps({"path": self.path, "crc32": self._checksum}).encode()

    def _flush(self) -> None:
        # Arrow's own way from a list copies the values several times.
        ends = np.cumsum([0, *map(len, self._values)], dtype=np.int32)
        buffers = [None, pa.py_buffer(ends), pa.py_buffer(b"".join(self._values))]
        values = pa.Array.from_buffers(pa.binary(), len(self._values), buffers)
        arrays = [pa.array(self._names, pa.string()), values]
        batch = pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)
        self._checksum = _checksum(batch, self._checksum)
        self._writer.write_batch(batch)
        self._names, self._values, self._waiting = [], [], 0


def read_values(reference: bytes) -> Iterator[tuple[str, bytes]]:
    """The values of a file, one by one; the error of a damaged file comes at its end at the latest."""
    known = json.loads(reference)
    fs, inner = open_path(known["path"])
    checksum = 0
    try:
        with fs.open_input_stream(inner) as stream, pa.ipc.open_stream(stream) as reader:
            for batch in reader:
                batch.validate(full=True)
                checksum = _checksum(batch, checksum)
                yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)
    except (OSError, pa.ArrowInvalid) as error:
        raise _damaged(known["path"]) from error
    if checksum != known["crc32"]:
        raise _damaged(known["path"])


def _checksum(batch: pa.RecordBatch, before: int) -> int:
    """The checksum of names and values, and of where each of them ends, behind that of others."""
    for column in batch.columns:
        for buffer in filter(None, column.buffers()):
            before = zlib.crc32(buffer, before)
    return before


def _damaged(path: str) -> CheckpointError:
    return CheckpointError(
        "CHECKPOINT_DAMAGED",
        f"{path} is missing, cut short, or is not what was restored",
        hint="start from the savepoint again, with an empty checkpoint directory",
    )
