"""A test kit for authors of connectors: does a sink keep its contract, whatever fails?"""

from millstream.testing.connectors.sink_trial import ContractError
from millstream.testing.connectors.sinks import check_sink

__all__ = ["ContractError", "check_sink"]
