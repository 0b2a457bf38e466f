"""Iceberg tables, by the package ``pyiceberg``: ``pip install 'millstream[iceberg]'``."""

from millstream.connectors.lake.iceberg import IcebergSink
from millstream.connectors.lake.iceberg_source import IcebergSource

__all__ = ["IcebergSink", "IcebergSource"]
