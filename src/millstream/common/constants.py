"""Numbers and names of PyFlink."""

from __future__ import annotations

__all__ = ["DEFAULT_OUTPUT_TAG", "MAX_LONG_VALUE", "MIN_LONG_VALUE"]

DEFAULT_OUTPUT_TAG = "(MAIN)"
MIN_LONG_VALUE = -(1 << 63)
MAX_LONG_VALUE = (1 << 63) - 1
