"""Types whose values are whole numbers underneath: how to count in them, and their columns.

Points in time count milliseconds, days count days, decimal numbers count units of their last digit.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millstream.common.errors import PlanError, short_repr, user_location
from millstream.common.time import Instant, to_millis
from millstream.common.typeinfo import TypeInformation

Int64s = npt.NDArray[np.int64]

_BITS = {"BYTE": 8, "SHORT": 16, "INT": 32, "LONG": 64}
_EXACT = {"FLOAT": 24, "DOUBLE": 53}
_EPOCH = datetime(1970, 1, 1)
_LAST_MS = (datetime.max - _EPOCH).days * 86_400_000 + 86_399_999
_FIRST_MS = (datetime.min - _EPOCH).days * 86_400_000
_LIMITS = {
    "SQL_TIMESTAMP": (_FIRST_MS, _LAST_MS),
    "INSTANT": (_FIRST_MS, _LAST_MS),
    "SQL_DATE": (_FIRST_MS // 86_400_000, _LAST_MS // 86_400_000),
    "SQL_TIME": (0, 86_399_999),
    "BIG_DEC": (-(1 << 63), (1 << 63) - 1),
    "STRING": (-(1 << 63), (1 << 63) - 1),
}


def bad_field(message: str, hint: str) -> PlanError:
    """The error for a field that cannot be made."""
    return PlanError("BAD_FIELD_GENERATOR", message, location=user_location(), hint=hint)


@dataclass(frozen=True)
class Countable:
    """A type with a first and a last value, between which one can count.

    Examples
    --------
    >>> from millstream.common import Types
    >>> prices = Countable(Types.BIG_DEC(), scale=2)
    >>> prices.number(Decimal("1.5")), prices.column(np.array([150])).to_pylist()
    (150, [Decimal('1.50')])
    """

    type_info: TypeInformation
    scale: int = 0

    @staticmethod
    def has(type_info: TypeInformation) -> bool:
        """Whether one can count in a type."""
        return type_info.kind in (*_BITS, *_EXACT, *_LIMITS)

    @property
    def limits(self) -> tuple[int, int]:
        """The first and the last number."""
        kind = self.type_info.kind
        if kind in _BITS:
            return -(1 << (_BITS[kind] - 1)), (1 << (_BITS[kind] - 1)) - 1
        if kind in _EXACT:
            return -(1 << _EXACT[kind]), 1 << _EXACT[kind]
        return _LIMITS[kind]

    def number(self, value: Any) -> int:
        """The number of a value, or of a number itself."""
        found = self._number(value)
        first, last = self.limits
        if found is None or not first <= found <= last:
            raise bad_field(
                f"{short_repr(value)} is no value of {self.type_info}",
                "give a value that the type can have"
                + (
                    f", with at most {self.scale} digits"
                    if self.type_info.kind == "BIG_DEC"
                    else ""
                ),
            )
        return found

    def _number(self, value: Any) -> int | None:
        kind = self.type_info.kind
        if isinstance(value, bool):
            return None
        if kind == "BIG_DEC" and isinstance(value, int | float | str | Decimal):
            return _whole(Decimal(str(value)).scaleb(self.scale))
        if kind in ("SQL_TIMESTAMP", "INSTANT"):
            return _millis(value)
        if kind == "SQL_DATE" and isinstance(value, date):
            return (value - _EPOCH.date()).days
        if kind == "SQL_TIME" and isinstance(value, time):
            seconds = (value.hour * 60 + value.minute) * 60 + value.second
            return seconds * 1_000 + value.microsecond // 1_000
        return _whole(value) if isinstance(value, int | float | Decimal) else None

    def step(self, value: Any) -> int:
        """The number of a distance between two values."""
        kind = self.type_info.kind
        if kind in ("SQL_TIMESTAMP", "INSTANT", "SQL_TIME"):
            return to_millis(value, "step", allow_negative=True)
        if kind == "BIG_DEC":
            return self.number(value)
        if isinstance(value, bool) or not isinstance(value, int):
            raise bad_field(f"the step {short_repr(value)} is no whole number", "give step=1 or so")
        return value

    def column(self, numbers: Int64s) -> pa.Array:
        """The values of some numbers."""
        kind = self.type_info.kind
        if kind == "BIG_DEC":
            return _decimals(numbers, self.scale)
        if kind == "STRING":
            return pa.array(numbers).cast(pa.string())
        wanted = self.type_info.to_arrow()
        if kind in ("SQL_TIMESTAMP", "INSTANT", "SQL_TIME"):
            return pa.array(numbers * 1_000).view(wanted)
        if kind == "SQL_DATE":
            return pa.array(numbers.astype(np.int32)).view(wanted)
        return pa.array(numbers.astype(wanted.to_pandas_dtype()))


def _whole(value: int | float | Decimal) -> int | None:
    try:
        found = int(value)
    except (ValueError, OverflowError):
        return None
    return found if found == value else None


def _millis(value: Any) -> int | None:
    if isinstance(value, int):
        return value
    if isinstance(value, Instant):
        return value.to_epoch_milli()
    if isinstance(value, datetime):
        plain = value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)
        distance = plain - _EPOCH
        return (
            distance.days * 86_400_000 + distance.seconds * 1_000 + distance.microseconds // 1_000
        )
    return None


def _decimals(numbers: Int64s, scale: int) -> pa.Array:
    """Decimal numbers of 128 bits: the lower half is the number, the upper half its sign."""
    halves = np.stack([numbers, numbers >> 63], axis=1)
    data = pa.py_buffer(np.ascontiguousarray(halves))
    return pa.Array.from_buffers(pa.decimal128(38, scale), len(numbers), [None, data])
