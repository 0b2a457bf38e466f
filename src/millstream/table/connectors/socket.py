"""The connector ``socket``: lines that a TCP server sends; for trying things out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from millstream.common.typeinfo import Types
from millstream.connectors.sink import Changelog
from millstream.datastream.stream_execution_environment import StreamExecutionEnvironment
from millstream.kernel.records.columns import Columns, Values, as_list
from millstream.kernel.records.order import Ints
from millstream.kernel.steps.decode import Decoded
from millstream.plan.specs import SocketSpec
from millstream.table.connectors.factory import CONNECTORS, Connector, ReadRows, stored_row
from millstream.table.connectors.formats import chosen_format, format_options
from millstream.table.connectors.messages import MessageDecoder
from millstream.table.connectors.options import Option, Options
from millstream.table.logical.entries import TableEntry
from millstream.table.physical.compiled import row_info

__all__: list[str] = []


@dataclass(frozen=True)
class _Lines(MessageDecoder):
    """Makes rows of lines, which may come as objects."""

    def decode(self, values: Values, timestamps: Ints) -> Decoded:
        if not isinstance(values, Columns):
            text = Types.STRING()
            values = Columns(text, text.to_arrow_arrays(as_list(values)))
        return super().decode(values, timestamps)


class _Socket(Connector):
    def options(self, given: Mapping[str, str]) -> tuple[Option, ...]:
        return (
            Option("hostname", required=True),
            Option("port", required=True),
            Option("byte-delimiter"),
            Option("format", required=True),
            *format_options(given, "format"),
        )

    def changes(self, entry: TableEntry, options: Options) -> Changelog:
        return chosen_format(options).format.changes

    def read(
        self, env: StreamExecutionEnvironment, entry: TableEntry, options: Options
    ) -> ReadRows:
        if options.text("byte-delimiter", "10") != "10":
            raise options.problem("has another byte-delimiter than 10", "lines end with \\n")
        chosen, row = chosen_format(options), stored_row(entry)
        port = options.number("port")
        assert port is not None
        decoder = _Lines(
            row_info(row),
            tuple(("value", place) for place in range(len(row.fields))),
            chosen.codec(row),
            several=chosen.format.several,
            changes=chosen.format.changes != "append",
        )
        spec = SocketSpec(host=options.text("hostname"), port=port)
        return ReadRows(env._source(entry.path.name, spec, row_info(row), None, decoder))


CONNECTORS["socket"] = _Socket()
