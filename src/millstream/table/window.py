"""Windows of the Table API: groups of time, and frames around rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal

from millstream.table.expression import Expression

__all__ = [
    "GroupWindow",
    "Over",
    "OverWindow",
    "OverWindowPartitioned",
    "OverWindowPartitionedOrdered",
    "OverWindowPartitionedOrderedPreceding",
    "Session",
    "SessionWithGap",
    "SessionWithGapOnTime",
    "Slide",
    "SlideWithSize",
    "SlideWithSizeAndSlide",
    "SlideWithSizeAndSlideOnTime",
    "TimesOfWindow",
    "Tumble",
    "TumbleWithSize",
    "TumbleWithSizeOnTime",
]


@dataclass(frozen=True, eq=False)
class GroupWindow:
    """A window with a name; ``sizes`` are its arguments in SQL behind the time."""

    kind: Literal["TUMBLE", "HOP", "SESSION"]
    sizes: tuple[Expression, ...]
    time: Expression
    name: str


class TimesOfWindow:
    """Start, end and other times of a window in expressions, which become columns before these run.

    Examples
    --------
    >>> from millstream.table.expressions import col
    >>> times = TimesOfWindow([col("w").start.alias("s"), col("n")])
    >>> times.columns(), times.replaced(col("w").start.alias("s"))
    ([as(start(w), 'w$START')], as(w$START, 's'))
    """

    def __init__(self, fields: Iterable[Any]) -> None:
        self._found: dict[str, Expression] = {}
        for each in fields:
            self._note(each)

    def _note(self, value: Any) -> None:
        if isinstance(value, Expression) and value._kind == "window":
            self._found.setdefault(_time_name(value), value)
        elif isinstance(value, Expression):
            for part in value._parts:
                self._note(part)

    def columns(self) -> list[Expression]:
        """The times, each under its name."""
        return [each.alias(name) for name, each in self._found.items()]

    def replaced(self, field: Expression) -> Expression:
        """A field over these columns; a time itself keeps the name that it would have had."""
        if field._kind != "window":
            return _over_columns(field)
        place = list(self._found).index(_time_name(field))
        return _over_columns(field).alias(f"EXPR${place}")


def _time_name(value: Expression) -> str:
    return f"{value._parts[0]._name}${value._name}"


def _over_columns(value: Expression) -> Expression:
    if value._kind == "window":
        return Expression("column", name=_time_name(value))
    parts = tuple(_over_columns(p) if isinstance(p, Expression) else p for p in value._parts)
    found = Expression(value._kind, parts, name=value._name, names=value._names, data=value._data)
    found._shown = value._shown
    return found


@dataclass(frozen=True, eq=False)
class TumbleWithSizeOnTime:
    """A window that needs its name."""

    kind: Literal["TUMBLE", "HOP", "SESSION"]
    sizes: tuple[Expression, ...]
    time: Expression

    def alias(self, alias: str | Expression) -> GroupWindow:
        """The window under a name, for `group_by` and `select`."""
        name = alias._name if isinstance(alias, Expression) else alias
        return GroupWindow(self.kind, self.sizes, self.time, name)


SessionWithGapOnTime = TumbleWithSizeOnTime
SlideWithSizeAndSlideOnTime = TumbleWithSizeOnTime


@dataclass(frozen=True, eq=False)
class TumbleWithSize:
    """A window that needs its time column."""

    kind: Literal["TUMBLE", "HOP", "SESSION"]
    sizes: tuple[Expression, ...]

    def on(self, time_field: Expression) -> TumbleWithSizeOnTime:
        """The window on a time column."""
        return TumbleWithSizeOnTime(self.kind, self.sizes, time_field)


SessionWithGap = TumbleWithSize
SlideWithSizeAndSlide = TumbleWithSize


class Tumble:
    """Windows of one size, one behind the other.

    Examples
    --------
    >>> from millstream.table.expressions import col, lit
    >>> Tumble.over(lit(10).minutes).on(col("ts")).alias("w").name
    'w'
    """

    @classmethod
    def over(cls, size: Expression) -> TumbleWithSize:
        """Windows of this size."""
        return TumbleWithSize("TUMBLE", (size,))


class Session:
    """Windows that end when nothing comes for a while."""

    @classmethod
    def with_gap(cls, gap: Expression) -> SessionWithGap:
        """Windows that end after this gap."""
        return TumbleWithSize("SESSION", (gap,))


@dataclass(frozen=True, eq=False)
class SlideWithSize:
    """A sliding window that needs its slide."""

    size: Expression

    def every(self, slide: Expression) -> SlideWithSizeAndSlide:
        """Start a window after each slide."""
        return TumbleWithSize("HOP", (slide, self.size))


class Slide:
    """Windows of one size that begin at each slide, and may overlap."""

    @classmethod
    def over(cls, size: Expression) -> SlideWithSize:
        """Windows of this size."""
        return SlideWithSize(size)


@dataclass(frozen=True, eq=False)
class OverWindow:
    """The rows around each row. Without bounds all rows up to the row."""

    partition: tuple[Expression, ...]
    order: Expression
    before: Expression | None = None
    behind: Expression | None = None
    name: str = ""


@dataclass(frozen=True, eq=False)
class OverWindowPartitionedOrderedPreceding:
    """A frame that may get its end, and needs its name."""

    window: OverWindow

    def alias(self, alias: str | Expression) -> OverWindow:
        """The frame under a name, for `over`."""
        name = alias._name if isinstance(alias, Expression) else alias
        return replace(self.window, name=name)

    def following(self, following: Expression) -> OverWindowPartitionedOrderedPreceding:
        """Set the end of the frame: rows or time behind the row."""
        return type(self)(replace(self.window, behind=following))


@dataclass(frozen=True, eq=False)
class OverWindowPartitionedOrdered(OverWindowPartitionedOrderedPreceding):
    """An order that may get a frame, and needs its name."""

    def preceding(self, preceding: Expression) -> OverWindowPartitionedOrderedPreceding:
        """Set the begin of the frame: rows or time before the row."""
        return OverWindowPartitionedOrderedPreceding(replace(self.window, before=preceding))


@dataclass(frozen=True, eq=False)
class OverWindowPartitioned:
    """Partitions that need an order."""

    partition: tuple[Expression, ...]

    def order_by(self, order_by: Expression) -> OverWindowPartitionedOrdered:
        """Order rows by a time column."""
        return OverWindowPartitionedOrdered(OverWindow(self.partition, order_by))


class Over:
    """Aggregates of the rows around each row."""

    @classmethod
    def order_by(cls, order_by: Expression) -> OverWindowPartitionedOrdered:
        """Order all rows by a time column."""
        return OverWindowPartitioned(()).order_by(order_by)

    @classmethod
    def partition_by(cls, *partition_by: Expression) -> OverWindowPartitioned:
        """Divide rows by values."""
        return OverWindowPartitioned(partition_by)
