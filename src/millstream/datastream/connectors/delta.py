"""Delta tables, by the package ``deltalake``: ``pip install 'millstream[delta]'``."""

from millstream.connectors.lake.delta import DeltaSink
from millstream.connectors.lake.delta_source import DeltaSource

__all__ = ["DeltaSink", "DeltaSource"]
