"""The base of the tree: places in a text, names, and what all nodes have."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field, fields

__all__ = ["Identifier", "Name", "Node", "Source", "Span", "quoted_name"]


@dataclass(frozen=True, slots=True)
class Span:
    """A part of a text: offsets, and lines and columns from 1. The last column belongs to it."""

    start: int
    stop: int
    line: int
    column: int
    end_line: int
    end_column: int

    def to(self, other: Span) -> Span:
        """The part from the beginning of this one to the end of another one."""
        return Span(
            self.start, other.stop, self.line, self.column, other.end_line, other.end_column
        )


class Source:
    """A text, and where its lines begin.

    Examples
    --------
    >>> Source("SELECT\\n  a").span(9, 10).line
    2
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._starts = [0]
        for offset, character in enumerate(text):
            if character == "\n":
                self._starts.append(offset + 1)

    def span(self, start: int, stop: int) -> Span:
        """The lines and columns of a part of the text."""
        line, column = self._place(start)
        end_line, end_column = self._place(max(start, stop - 1))
        return Span(start, stop, line, column, end_line, end_column)

    def line_text(self, line: int) -> str:
        """A line, without its end."""
        return self.text.split("\n")[line - 1].rstrip("\r")

    def _place(self, offset: int) -> tuple[int, int]:
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1


@dataclass(frozen=True)
class Node:
    """A part of a statement. Nodes are equal if they say the same, wherever they stand."""

    span: Span = field(compare=False, kw_only=True, repr=False)

    def children(self) -> Iterator[Node]:
        """The nodes directly below, in the order of the fields."""
        for each in fields(self):
            yield from _nodes(getattr(self, each.name))

    def walk(self) -> Iterator[Node]:
        """This node and all below it, each before those below it."""
        # A long chain of AND is a deep tree, too deep for recursion.
        waiting: list[Node] = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting.extend(reversed(list(node.children())))


def _nodes(value: object) -> Iterator[Node]:
    if isinstance(value, Node):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _nodes(item)


@dataclass(frozen=True)
class Name(Node):
    """One name. It is `quoted` if it was written in backticks."""

    text: str
    quoted: bool = field(default=False, compare=False)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Identifier(Node):
    """A name with its qualifiers: ``catalog.database.table``, ``table.column.field``."""

    parts: tuple[Name, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(part.text for part in self.parts)

    def __str__(self) -> str:
        return ".".join(self.names)


def quoted_name(name: str) -> str:
    """A name in backticks.

    Examples
    --------
    >>> quoted_name("a`b")
    '`a``b`'
    """
    return "`" + name.replace("`", "``") + "`"
