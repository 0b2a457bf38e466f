"""Calling user functions on many values, with errors that name the value."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from operator import itemgetter, length_hint
from typing import Any

import numpy as np

from millstream.common.errors import MillstreamError
from millstream.common.recognition import fields_read_by
from millstream.kernel.calls.context import OperatorInfo
from millstream.kernel.keys.encoding import KeyEncodingError
from millstream.kernel.keys.hashing import hash_strings, stable_hash


def apply_each(
    function: Callable[[Any], Any],
    values: list[Any],
    failure: Callable[[BaseException, Any], MillstreamError],
) -> list[Any]:
    """``[function(v) for v in values]``; a failure names the value that caused it."""
    rest = iter(values)
    try:
        return [function(value) for value in rest]
    except MillstreamError:
        raise
    except Exception as error:
        # The iterator knows how far it came, so the loop need not count.
        raise failure(error, values[len(values) - length_hint(rest) - 1]) from error


def select_each(
    selector: Callable[[Any], Any],
    values: list[Any],
    failure: Callable[[BaseException, Any], MillstreamError],
) -> list[Any]:
    """The keys of values; where they are fields of tuples, without a call for each.

    Examples
    --------
    >>> select_each(lambda pair: pair[1], [("a", 1), ("b", 2)], RuntimeError)
    [1, 2]
    """
    fields = fields_read_by(selector)
    places = fields if isinstance(fields, tuple) else (fields,)
    if set(map(type, values)) == {tuple} and set(map(type, places)) == {int}:
        try:
            columns = [list(map(itemgetter(place), values)) for place in places]
        except IndexError:
            pass  # the call says of which value
        else:
            return list(zip(*columns, strict=True)) if isinstance(fields, tuple) else columns[0]
    return apply_each(selector, values, failure)


@contextmanager
def located(info: OperatorInfo) -> Iterator[None]:
    """Give errors that do not know where they belong the name and the line of an operator."""
    try:
        yield
    except MillstreamError as error:
        if error.location is None:
            error.message = f"operator {info.name!r}: {error.message}"
            error.location = info.location
        raise


def hash_keys(keys: list[Any], cache: dict[Any, int], info: OperatorInfo) -> Any:
    """Hashes of keys, with an error that names the operator if a key is no key."""
    if set(map(type, keys)) == {str}:
        return hash_strings(keys)
    try:
        try:
            return np.fromiter(map(cache.__getitem__, keys), np.uint32, len(keys))
        except TypeError:
            # A list, or what has one in it, has no Python hash, but an encoding.
            return np.fromiter(map(stable_hash, keys), np.uint32, len(keys))
    except KeyEncodingError as error:
        error.message = f"operator {info.name!r}: {error.message}"
        error.location = error.location or info.location
        raise
