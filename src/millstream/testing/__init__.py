"""Testing programs in milliseconds: no JVM, hand-driven time, epochs cut as you like."""

from millstream.testing.local import LocalJob

__all__ = ["LocalJob"]
