"""The connector ``delta``: Delta tables in a folder or an object store."""

from __future__ import annotations

import datetime
from collections.abc import Mapping

from millstream.connectors.lake.delta import DeltaSink
from millstream.connectors.lake.delta_source import DeltaSource
from millstream.connectors.sink import Sink
from millstream.datastream.stream_execution_environment import StreamExecutionEnvironment
from millstream.table.connectors.factory import CONNECTORS, Connector, ReadRows, stored_row
from millstream.table.connectors.fitting import fitted_rows
from millstream.table.connectors.options import Option, Options
from millstream.table.logical.entries import TableEntry
from millstream.table.physical.compiled import row_info
from millstream.table.types.arrow import arrow_type

__all__: list[str] = []


class _Delta(Connector):
    def options(self, given: Mapping[str, str]) -> tuple[Option, ...]:
        return (
            Option("table-path", required=True),
            Option("versionAsOf"),
            Option("timestampAsOf"),
            Option("commit-retries"),
            Option("table-property.", prefix=True),
            Option("storage.", prefix=True),
        )

    def prunes(self, options: Options) -> bool:
        return True

    def read(
        self, env: StreamExecutionEnvironment, entry: TableEntry, options: Options
    ) -> ReadRows:
        source = DeltaSource.of(
            options.text("table-path"),
            version=options.number("versionAsOf"),
            timestamp=_moment(options),
            columns=[each.name for each in entry.stored],
            storage_options=options.below("storage."),
        )
        read = env._source(entry.path.name, source, source.get_produced_type())
        return ReadRows(fitted_rows(env, read, row_info(stored_row(entry))))

    def write(self, entry: TableEntry, options: Options) -> Sink:
        columns = {each.name: arrow_type(each.type) for each in entry.written}
        path, retries = options.text("table-path"), options.number("commit-retries")
        if not entry.primary_key:
            return DeltaSink.append(
                path,
                partition_by=entry.partition_keys,
                column_types=columns,
                table_properties=options.below("table-property."),
                storage_options=options.below("storage."),
                commit_retries=10 if retries is None else retries,
            )
        return DeltaSink.upsert(
            path,
            keys=entry.primary_key,
            partition_by=entry.partition_keys,
            column_types=columns,
            table_properties=options.below("table-property."),
            storage_options=options.below("storage."),
            commit_retries=10 if retries is None else retries,
        )


def _moment(options: Options) -> datetime.datetime | None:
    text = options.given.get("timestampAsOf")
    if text is None:
        return None
    try:
        found = datetime.datetime.fromisoformat(text)
    except ValueError:
        hint = "write a timestamp such as '2024-01-31 12:00:00'"
        raise options.problem(f"has timestampAsOf = {text!r}", hint) from None
    return found if found.tzinfo is not None else found.replace(tzinfo=datetime.UTC)


CONNECTORS["delta"] = _Delta()
