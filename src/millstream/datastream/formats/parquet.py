"""Parquet files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from millstream.common.absent import missing_name
from millstream.common.configuration import Configuration
from millstream.common.execution_config import accepted_without_effect
from millstream.common.typeinfo import RowTypeInfo
from millstream.datastream.connectors.file_formats import BulkFormat, BulkWriterFactory, row_format
from millstream.datastream.formats.json import named_row_type

__all__ = ["ParquetBulkWriters", "ParquetColumnarRowInputFormat"]

_OF_SPARK = "set spark.hadoop.* and spark.sql.parquet.* in the configuration"


class ParquetColumnarRowInputFormat(BulkFormat):
    """How to read Parquet files; give it to `FileSource.for_bulk_file_format`.

    Parameters
    ----------
    row_type
        The columns to read.
    hadoop_config, batch_size, is_utc_timestamp, is_case_sensitive
        Accepted: Spark's settings say the same.

    Examples
    --------
    >>> from millstream.common import Types
    >>> row_type = Types.ROW_NAMED(["word", "n"], [Types.STRING(), Types.LONG()])
    >>> ParquetColumnarRowInputFormat(row_type).schema
    '`word` STRING, `n` BIGINT'
    """

    def __init__(
        self,
        row_type: RowTypeInfo,
        hadoop_config: Configuration | None = None,
        batch_size: int = 2048,
        is_utc_timestamp: bool = False,
        is_case_sensitive: bool = True,
    ) -> None:
        known: Any = row_format(BulkFormat, "parquet", named_row_type(row_type, "row_type"), {})
        super().__init__(known.format, known.options, known.schema, known.row_type)
        if hadoop_config is not None:
            accepted_without_effect("hadoop_config", _OF_SPARK)


class ParquetBulkWriters:
    """How to write Parquet files; give it to `FileSink.for_bulk_format`."""

    @staticmethod
    def for_row_type(
        row_type: RowTypeInfo,
        hadoop_config: Configuration | None = None,
        utc_timestamp: bool = False,
    ) -> BulkWriterFactory:
        """Return the way to write files with these columns."""
        if hadoop_config is not None:
            accepted_without_effect("hadoop_config", _OF_SPARK)
        return BulkWriterFactory("parquet", {}, named_row_type(row_type, "row_type"))


if not TYPE_CHECKING:
    __getattr__ = missing_name(__name__)
