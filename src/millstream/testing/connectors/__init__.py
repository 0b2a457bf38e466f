"""A test kit for authors of connectors: does a source keep its contract, whatever happens?"""

from millstream.testing.connectors.contract import ContractError
from millstream.testing.connectors.sources import check_source

__all__ = ["ContractError", "check_source"]
