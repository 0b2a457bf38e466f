"""A test kit for authors of connectors: does a source or a sink keep its contract, whatever fails?"""

from millstream.testing.connectors.contract import ContractError
from millstream.testing.connectors.sinks import check_sink
from millstream.testing.connectors.sources import check_source

__all__ = ["ContractError", "check_sink", "check_source"]
