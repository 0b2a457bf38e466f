"""PyFlink's name for a future."""

from __future__ import annotations

from concurrent.futures import Future

__all__ = ["CompletableFuture"]

CompletableFuture = Future
"""What is done later: ``result()`` waits for it, ``done()`` asks, ``cancel()`` gives it up."""
