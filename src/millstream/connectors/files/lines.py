"""The lines of a fragment, as Hadoop's reader cuts them: at ``\\n``, ``\\r`` and ``\\r\\n``."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from millstream.connectors.files.opening import ByteStream, Fragment, opened, stream_of

BLOCK_BYTES = 1 << 20
MARK = b"\xef\xbb\xbf"
"""What may stand at the beginning of a text, and is no part of it."""
_LINE_END = re.compile(rb"\r\n|[\r\n]")
_BLANK = bytes(range(33))


def blocks_of_lines(fragment: Fragment, block_bytes: int = BLOCK_BYTES) -> Iterator[bytes]:
    """The lines that begin in a fragment, many at a time; all of them end with ``\\n``.

    The line in which a fragment begins belongs to the fragment before it, and the last one may end
    behind the fragment.
    """
    start = max(fragment.start - 1, 0)
    with stream_of(Fragment(fragment.path, start)) as stream:
        blocks = _whole_lines(stream, block_bytes)
        at = start
        for number, block in enumerate(blocks):
            data = block
            if number == 0:
                data = block.removeprefix(MARK) if start == fragment.start else _after_line(block)
            if fragment.stop is not None and at + len(block) > fragment.stop:
                # One line more than what ends before the border.
                skipped = len(block) - len(data)
                data = data[: max(_line_end(block, fragment.stop - at - 1) - skipped, 0)]
            if data:
                yield _with_plain_ends(data)
            at += len(block)
            if fragment.stop is not None and at >= fragment.stop:
                return


def _whole_lines(stream: ByteStream, block_bytes: int) -> Iterator[bytes]:
    """Blocks that end where a line does, or the file."""
    rest, size = b"", block_bytes
    while data := bytes(stream.read(size)):
        block = rest + data
        end = block.rfind(b"\n") + 1
        # Behind a last \r there may be a \n.
        end = max(end, block.rfind(b"\r", end, -1) + 1)
        # A line of many blocks is not copied once for each of them.
        size = block_bytes if end else 2 * size
        if end:
            yield block[:end]
        rest = block[end:]
    if rest:
        yield rest


def _line_end(data: bytes, at: int) -> int:
    """Where the line ends that has, or ends with, the byte at some place."""
    found = [place for end in (b"\n", b"\r") if (place := data.find(end, at)) >= 0]
    return min(found) + 1 if found else len(data)


def _after_line(data: bytes) -> bytes:
    """The data behind the line in which it begins."""
    end = _line_end(data, 0)
    return data[end + 1 :] if data[end - 1 : end + 1] == b"\r\n" else data[end:]


def _with_plain_ends(data: bytes) -> bytes:
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return data if data.endswith(b"\n") else data + b"\n"


def lines_of(block: bytes) -> pa.Array:
    """The lines of a block, as bytes."""
    return pc.split_pattern(pa.array([block[:-1]], pa.binary()), b"\n").flatten()


def border_after(path: str, start: int, count: int, *, header: bool = False) -> int | None:
    """Where so many of the lines end that begin at a place or behind it; None: the file has no more.

    ``header``: the first line of the file that is not blank is none of them, nor are those before it.
    """
    # As in `blocks_of_lines`, the end of the line before shows whether a line begins at the start.
    at, missing, before = max(start - 1, 0), count + (start > 0), header and start == 0
    with opened(path) as file:
        file.seek(at)
        while data := file.read(BLOCK_BYTES):
            while data.endswith(b"\r") and (more := file.read(1)):
                data += more  # \r\n is one end, also where a block ends between both
            if not before and b"\r" not in data and (ends := data.count(b"\n")) < missing:
                missing -= ends
                at += len(data)
                continue
            begin = 0
            for end in _LINE_END.finditer(data):
                if before:
                    before = not data[begin : end.start()].strip(_BLANK)
                    begin = end.end()
                    continue
                missing -= 1
                if missing == 0:
                    return at + end.end()
            at += len(data)
    return None
