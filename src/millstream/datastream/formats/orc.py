"""ORC files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.common.absent import missing_name
from millstream.common.configuration import Configuration
from millstream.common.execution_config import accepted_without_effect
from millstream.common.typeinfo import RowTypeInfo
from millstream.datastream.connectors.file_formats import BulkWriterFactory
from millstream.datastream.formats.json import named_row_type

__all__ = ["OrcBulkWriters"]


class OrcBulkWriters:
    """How to write ORC files; give it to `FileSink.for_bulk_format`."""

    @staticmethod
    def for_row_type(
        row_type: RowTypeInfo,
        writer_properties: Configuration | None = None,
        hadoop_config: Configuration | None = None,
    ) -> BulkWriterFactory:
        """Return the way to write files with these columns.

        Parameters
        ----------
        row_type
            The columns.
        writer_properties
            ``orc.compress`` is known: NONE, SNAPPY, ZLIB, ZSTD or LZ4.
        hadoop_config
            Accepted: Arrow writes the files, not Hadoop.

        Examples
        --------
        >>> from millstream.common import Types
        >>> row_type = Types.ROW_NAMED(["word", "n"], [Types.STRING(), Types.LONG()])
        >>> properties = Configuration.from_dict({"orc.compress": "ZSTD"})
        >>> OrcBulkWriters.for_row_type(row_type, properties).options
        {'compression': 'zstd'}
        """
        options = {}
        for key, value in (
            {} if writer_properties is None else writer_properties.to_dict()
        ).items():
            if key == "orc.compress":
                options["compression"] = value.lower()
            else:
                accepted_without_effect(key, "Arrow writes ORC files with its own settings")
        if hadoop_config is not None:
            accepted_without_effect("hadoop_config", "Arrow writes ORC files, not Hadoop")
        return BulkWriterFactory("orc", options, named_row_type(row_type, "row_type"))


if not TYPE_CHECKING:
    __getattr__ = missing_name(__name__)
