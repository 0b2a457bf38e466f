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

from millstream.checkpoint.folder import open_path
from millstream.common.errors import CheckpointError

SCHEMA = pa.schema([("name", pa.string()), ("value", pa.binary())])
BATCH_BYTES = 4 << 20


class ValueFile:
    """A file of named values on its way.

    Examples
    --------
    >>> import tempfile
    >>> file = ValueFile(f"{tempfile.mkdtemp()}/values.arrow")
    >>> file.add("a", b"1")
    >>> list(read_values(file.close()))
    [('a', b'1')]
    """

    def __init__(self, path: str) -> None:
        self.path = path
        fs, inner = open_path(path)
        fs.create_dir(inner.rpartition("/")[0], recursive=True)
        self._stream = fs.open_output_stream(inner)
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
        """Finish the file; what is returned is all that `read_values` has to know."""
        self._flush()
        self._writer.close()
        self._stream.close()
        return json.dumps({"path": self.path, "crc32": self._checksum}).encode()

    def _flush(self) -> None:
        data = b"".join(self._values)
        self._checksum = zlib.crc32(data, self._checksum)
        ends = np.cumsum([0, *map(len, self._values)], dtype=np.int32)
        buffers = [None, pa.py_buffer(ends), pa.py_buffer(data)]
        values = pa.Array.from_buffers(pa.binary(), len(self._values), buffers)
        arrays = [pa.array(self._names, pa.string()), values]
        self._writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=SCHEMA))
        self._names, self._values, self._waiting = [], [], 0


def read_values(reference: bytes) -> Iterator[tuple[str, bytes]]:
    """The values of a file, one by one; the error of a damaged file comes at its end at the latest."""
    known = json.loads(reference)
    fs, inner = open_path(known["path"])
    checksum = 0
    try:
        with fs.open_input_stream(inner) as stream, pa.ipc.open_stream(stream) as reader:
            for batch in reader:
                names, values = batch.columns
                checksum = zlib.crc32(_content(values), checksum)
                yield from zip(names.to_pylist(), values.to_pylist(), strict=True)
    except (OSError, pa.ArrowInvalid) as error:
        raise _damaged(known["path"]) from error
    if checksum != known["crc32"]:
        raise _damaged(known["path"])


def _content(values: pa.BinaryArray) -> memoryview:
    """The bytes of all values, one after the other; an array without any may have no buffer."""
    data = values.buffers()[2]
    return memoryview(b"" if data is None else data)


def _damaged(path: str) -> CheckpointError:
    return CheckpointError(
        "CHECKPOINT_DAMAGED",
        f"{path} is missing, cut short, or is not what was restored",
        hint="start from the savepoint again, with an empty checkpoint directory",
    )
