"""Streams that several jobs use."""

from __future__ import annotations

from typing import Any, NoReturn

from millstream.common.errors import PlanError, user_location
from millstream.common.type_variables import T
from millstream.datastream.streams.data_stream import DataStream

__all__ = ["CachedDataStream"]


class CachedDataStream(DataStream[T]):
    """A stream for several jobs, see `DataStream.cache`; it is not an operator to be set up."""

    def invalidate(self) -> None:
        """Do nothing: each job computes the stream again."""

    def _change(self, setting: str, **changes: object) -> NoReturn:
        raise PlanError(
            "NOT_AN_OPERATOR",
            f"{setting} cannot be called on a cached stream, which is not an operator",
            location=user_location(),
            hint=f"call {setting} before cache()",
        )

    def get_name(self) -> Any:
        """Refuse: a cached stream is not an operator."""
        self._change("get_name")
