"""Graphs from CSV files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from millstream.common.errors import FormatError, PlanError, short_repr, user_location
from millstream.common.typeinfo import TypeInformation, Types
from millstream.graph.graph import Graph

if TYPE_CHECKING:
    from millstream.dataset import DataSet, ExecutionEnvironment

__all__ = ["GraphCsvReader"]

_CLASSES: dict[Any, TypeInformation] = {
    int: Types.LONG(),
    float: Types.DOUBLE(),
    str: Types.STRING(),
    bool: Types.BOOLEAN(),
}


class GraphCsvReader:
    """Reads a graph from a CSV file of edges, and perhaps one of vertices.

    `Graph.from_csv_reader` makes it. Its settings return the reader, and one of the last four methods
    gives the graph. Types are those of `Types`, or ``int``, ``float``, ``str`` and ``bool``.

    Parameters
    ----------
    edges_path
        The file of edges, or a folder of files.
    vertices_path
        The file of vertices; None if the vertices are the ends of the edges.
    vertex_value_initializer
        A function of the id that gives the first value of a vertex.
    context
        The environment; without it the default one.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from millstream.graph import Graph
    >>> from millstream.testing import in_memory
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = Path(folder.name) / "edges.csv"
    >>> _ = path.write_text("1;2;0.5\\n2;3;1.5\\n")
    >>> with in_memory():
    ...     reader = Graph.from_csv_reader(str(path)).field_delimiter_edges(";")
    ...     sorted(reader.edge_types(int, float).get_edges().collect())
    [Edge(1, 2, 0.5), Edge(2, 3, 1.5)]
    >>> folder.cleanup()
    """

    def __init__(
        self,
        edges_path: str,
        vertices_path: str | None = None,
        vertex_value_initializer: Any = None,
        context: ExecutionEnvironment | None = None,
    ) -> None:
        self._edges = _File(edges_path)
        self._vertices = None if vertices_path is None else _File(vertices_path)
        self._initializer = vertex_value_initializer
        self._context = context

    def types(self, vertex_key: Any, vertex_value: Any, edge_value: Any) -> Graph[Any, Any, Any]:
        """Read a graph whose vertices and edges have values.

        Parameters
        ----------
        vertex_key, vertex_value, edge_value
            The types.
        """
        return self._graph("types", vertex_key, vertex_value, edge_value)

    def edge_types(self, vertex_key: Any, edge_value: Any) -> Graph[Any, None, Any]:
        """Read a graph whose edges have values; vertices have none, and are the ends of the edges."""
        edges = self._read_edges(vertex_key, edge_value)
        return Graph.from_data_set(edges, context=self._context)

    def key_type(self, vertex_key: Any) -> Graph[Any, None, None]:
        """Read a graph without values."""
        return Graph.from_data_set(self._read_edges(vertex_key, None), context=self._context)

    def vertex_types(self, vertex_key: Any, vertex_value: Any) -> Graph[Any, Any, None]:
        """Read a graph whose vertices have values; edges have none."""
        return self._graph("vertex_types", vertex_key, vertex_value, None)

    def _graph(
        self, method: str, key: Any, vertex_value: Any, edge_value: Any
    ) -> Graph[Any, Any, Any]:
        edges = self._read_edges(key, edge_value)
        if self._vertices is not None:
            kinds = [kind_of(key), kind_of(vertex_value)]
            vertices = self._vertices.read(self._context, kinds)
            return Graph.from_data_set(vertices, edges, context=self._context)
        if self._initializer is None:
            raise PlanError(
                "GRAPH_CSV",
                f"{method}() needs values of vertices: there is no file of vertices",
                location=user_location(),
                hint="give a file of vertices or an initializer, or use edge_types() or key_type()",
            )
        return Graph.from_data_set(edges, self._initializer, context=self._context)

    def _read_edges(self, key: Any, value: Any) -> DataSet:
        kinds = [kind_of(key), kind_of(key), *([] if value is None else [kind_of(value)])]
        return self._edges.read(self._context, kinds)

    def line_delimiter_edges(self, delimiter: str) -> GraphCsvReader:
        """Set the end of lines of edges; a newline is the default."""
        self._edges.line_delimiter = delimiter
        return self

    def line_delimiter_vertices(self, delimiter: str) -> GraphCsvReader:
        """Set the end of lines of vertices."""
        return self._of_vertices("line_delimiter", delimiter)

    def field_delimiter_edges(self, delimiter: str) -> GraphCsvReader:
        """Set the text between fields of edges; a comma is the default."""
        self._edges.field_delimiter = delimiter
        return self

    def field_delimiter_vertices(self, delimiter: str) -> GraphCsvReader:
        """Set the text between fields of vertices."""
        return self._of_vertices("field_delimiter", delimiter)

    def parse_quoted_strings_edges(self, quote_character: str) -> GraphCsvReader:
        """Accept Gelly's setting: quotes around fields of edges are always taken."""
        _only_double_quotes(quote_character)
        return self

    def parse_quoted_strings_vertices(self, quote_character: str) -> GraphCsvReader:
        """Accept Gelly's setting: quotes around fields of vertices are always taken."""
        _only_double_quotes(quote_character)
        return self

    def ignore_comments_edges(self, comment_prefix: str) -> GraphCsvReader:
        """Leave out lines of edges that begin with a text."""
        self._edges.comments = comment_prefix
        return self

    def ignore_comments_vertices(self, comment_prefix: str) -> GraphCsvReader:
        """Leave out lines of vertices that begin with a text."""
        return self._of_vertices("comments", comment_prefix)

    def include_fields_edges(self, *fields: Any) -> GraphCsvReader:
        """Choose the fields of edges: truth values, a text such as ``"1101"``, or the bits of a
        number.
        """
        self._edges.included = included(fields)
        return self

    def include_fields_vertices(self, *fields: Any) -> GraphCsvReader:
        """Choose the fields of vertices: truth values, a text such as ``"101"``, or the bits of a
        number.
        """
        return self._of_vertices("included", included(fields))

    def ignore_first_line_edges(self) -> GraphCsvReader:
        """Leave out the first line of edges."""
        self._edges.header = True
        return self

    def ignore_first_line_vertices(self) -> GraphCsvReader:
        """Leave out the first line of vertices."""
        return self._of_vertices("header", True)

    def ignore_invalid_lines_edges(self) -> GraphCsvReader:
        """Leave out lines of edges that cannot be read."""
        self._edges.lenient = True
        return self

    def ignore_invalid_lines_vertices(self) -> GraphCsvReader:
        """Leave out lines of vertices that cannot be read."""
        return self._of_vertices("lenient", True)

    def _of_vertices(self, name: str, value: Any) -> GraphCsvReader:
        # As in Gelly, without a file of vertices there is nothing to set.
        if self._vertices is not None:
            setattr(self._vertices, name, value)
        return self


def kind_of(given: Any) -> TypeInformation:
    """The type of a field, also where a class of Python stands for it.

    Examples
    --------
    >>> kind_of(int), kind_of(Types.STRING())
    (LONG, STRING)
    """
    kind = _CLASSES.get(given, given) if isinstance(given, type) else given
    if not isinstance(kind, TypeInformation):
        raise PlanError(
            "NOT_A_TYPE",
            f"a CSV file has no fields of {short_repr(given)}",
            location=user_location(),
            hint="use types such as Types.LONG(), or int, float, str and bool",
        )
    return kind


def included(fields: Sequence[Any]) -> list[int]:
    """The positions of the fields that are read.

    Examples
    --------
    >>> included([True, False, True]), included(["TFT"]), included([0b101])
    ([0, 2], [0, 2], [0, 2])
    """
    mask: Sequence[Any] = fields
    if len(fields) == 1 and isinstance(fields[0], str):
        mask = [character in "1Tt" for character in fields[0]]
    elif len(fields) == 1 and isinstance(fields[0], int) and not isinstance(fields[0], bool):
        mask = [bool(fields[0] >> bit & 1) for bit in range(fields[0].bit_length())]
    return [at for at, wanted in enumerate(mask) if wanted]


def _only_double_quotes(character: str) -> None:
    if character != '"':
        raise PlanError(
            "GRAPH_CSV",
            f'fields are quoted by ", not by {character!r}',
            location=user_location(),
            hint="read the lines with env.read_text() and make edges of them",
        )


class _File:
    """A file of CSV, and how it is read."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.line_delimiter, self.field_delimiter = "\n", ","
        self.header, self.lenient = False, False
        self.comments: str | None = None
        self.included: list[int] | None = None

    def read(self, context: Any, kinds: list[TypeInformation]) -> DataSet:
        from millstream.graph.operations.sides import context_of

        env = context_of(context)
        wanted = list(range(len(kinds))) if self.included is None else self.included
        if len(wanted) != len(kinds):
            raise PlanError(
                "GRAPH_CSV",
                f"{len(wanted)} fields of {self.path} are read, and there are {len(kinds)} types",
                location=user_location(),
                hint="include as many fields as there are ids and values",
            )
        every = [Types.STRING()] * (max(wanted) + 1)
        for place, kind in zip(wanted, kinds, strict=True):
            every[place] = kind
        if self.comments is None and not self.lenient:
            found = env.read_csv(
                self.path,
                every,
                self.line_delimiter,
                self.field_delimiter,
                ignore_first_line=self.header,
            )
        else:
            found = self._chosen_lines(env, every)
        return found if len(wanted) == len(every) else found.project(*wanted)

    def _chosen_lines(self, env: ExecutionEnvironment, kinds: list[TypeInformation]) -> DataSet:
        if self.line_delimiter != "\n" or (self.header and not self.lenient):
            raise PlanError(
                "GRAPH_CSV",
                "comments and invalid lines can be left out of lines that end with a newline, without "
                "a header of their own",
                location=user_location(),
                hint="let ignore_invalid_lines_edges() leave out the header, too",
            )
        reader = _LineReader(kinds, self.field_delimiter, self.comments, self.lenient)
        return env.read_text(self.path).flat_map(reader, Types.TUPLE(kinds))


class _LineReader:
    """The record in a line; none where the line is a comment or cannot be read."""

    def __init__(
        self, kinds: Sequence[TypeInformation], delimiter: str, comments: str | None, lenient: bool
    ) -> None:
        from millstream.dataset.plan.formats import FromCsv

        self.parse = FromCsv(kinds, delimiter)
        self.comments, self.lenient = comments, lenient

    def flat_map(self, line: str) -> Iterator[tuple[Any, ...]]:
        if self.comments and line.startswith(self.comments):
            return
        try:
            yield self.parse(line)
        except FormatError:
            if not self.lenient:
                raise
