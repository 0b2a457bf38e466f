"""PyFlink's module of retry predicates; they are made in `async_functions`."""

from __future__ import annotations

from millstream.datastream.functions.asynchronous import (
    empty_result_predicate,
    exception_type_predicate,
    has_exception_predicate,
)

__all__ = ["empty_result_predicate", "exception_type_predicate", "has_exception_predicate"]
