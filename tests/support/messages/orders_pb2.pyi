from typing import Any

# The names of the module are made when it is imported.
def __getattr__(name: str) -> Any: ...
