"""PyFlink's data types: `DataTypes` and the classes of what its methods give.

Each wraps a logical type; equal types are equal. `DataType.logical` is what the planner works with.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any, Self, cast

from millstream.common.errors import PlanError
from millstream.table.types import logical
from millstream.table.types.logical import MAX_LENGTH, LogicalType
from millstream.table.types.parsing import parse_logical_type

__all__ = [
    "ArrayType",
    "AtomicType",
    "BigIntType",
    "BinaryType",
    "BooleanType",
    "CharType",
    "DataType",
    "DataTypes",
    "DateType",
    "DayTimeIntervalType",
    "DecimalType",
    "DoubleType",
    "FloatType",
    "FractionalType",
    "IntType",
    "IntegralType",
    "ListViewType",
    "LocalZonedTimestampType",
    "MapType",
    "MapViewType",
    "MultisetType",
    "NullType",
    "NumericType",
    "RawType",
    "Resolution",
    "RowField",
    "RowType",
    "SmallIntType",
    "TimeType",
    "TimestampType",
    "TinyIntType",
    "UserDefinedType",
    "VarBinaryType",
    "VarCharType",
    "YearMonthIntervalType",
    "ZonedTimestampType",
    "data_type",
    "logical_of",
]


class DataType:
    """The base of all data types."""

    def __init__(self, nullable: bool = True) -> None:
        self._nullable = nullable

    @property
    def logical(self) -> LogicalType:
        """The logical type."""
        return self._make().with_nullability(self._nullable)

    def _make(self) -> LogicalType:
        raise PlanError("UNKNOWN_SQL_TYPE", f"{type(self).__name__} is no type of columns")

    def not_null(self) -> Self:
        """The same type without NULL."""
        return self._with(False)

    def nullable(self) -> Self:
        """The same type with NULL."""
        return self._with(True)

    def _with(self, nullable: bool) -> Self:
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__)
        made._nullable = nullable
        return made

    @classmethod
    def type_name(cls) -> str:
        """The name of the class without Type, in capitals."""
        return cls.__name__[:-4].upper()

    def bridged_to(self, conversion_cls: str) -> DataType:
        """The type itself: there are no classes of Java to convert to."""
        return self

    def need_conversion(self) -> bool:
        """Whether `to_sql_type` gives something else than the value."""
        return _storing().is_converted(self)  # type: ignore[no-any-return]

    def to_sql_type(self, obj: Any) -> Any:
        """A value as PyFlink sends it to Java; Millstream sends none.

        Examples
        --------
        >>> import datetime
        >>> DataTypes.DATE().to_sql_type(datetime.date(1970, 1, 3))
        2
        """
        return None if obj is None else _storing().stored(self, obj)

    def from_sql_type(self, obj: Any) -> Any:
        """The value of what `to_sql_type` gave."""
        return None if obj is None else _storing().loaded(self, obj)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash(repr(self))

    def _shown(self) -> list[str]:
        return []

    def __str__(self) -> str:
        return self.type_name()

    def __repr__(self) -> str:
        parts = [*self._shown(), str(self._nullable).lower()]
        return f"{type(self).__name__}({', '.join(parts)})"


def _storing() -> Any:
    # Late: it has a function for each of the types below.
    return import_module("millstream.table.types.storing")


class AtomicType(DataType):
    """A type that has no types inside."""

    _logical: type[LogicalType] = LogicalType

    def _make(self) -> LogicalType:
        return self._logical()


class NumericType(AtomicType):
    """A type of numbers."""


class IntegralType(NumericType):
    """A type of whole numbers."""


class FractionalType(NumericType):
    """A type of numbers with a fraction."""


class NullType(AtomicType):
    """The type of NULL."""

    _logical = logical.NullType

    def __init__(self) -> None:
        super().__init__(True)


class _Long(AtomicType):
    """A type with a length."""

    _logical: type[
        logical.CharType | logical.VarCharType | logical.BinaryType | logical.VarBinaryType
    ]

    def __init__(self, length: int = 1, nullable: bool = True) -> None:
        super().__init__(nullable)
        self.length = length

    def _make(self) -> LogicalType:
        return self._logical(self.length)

    def _shown(self) -> list[str]:
        return [str(self.length)]


class CharType(_Long):
    """``CHAR(n)``."""

    _logical = logical.CharType


class VarCharType(_Long):
    """``VARCHAR(n)``."""

    _logical = logical.VarCharType


class BinaryType(_Long):
    """``BINARY(n)``."""

    _logical = logical.BinaryType


class VarBinaryType(_Long):
    """``VARBINARY(n)``."""

    _logical = logical.VarBinaryType


class BooleanType(AtomicType):
    """``BOOLEAN``."""

    _logical = logical.BooleanType


class TinyIntType(IntegralType):
    """``TINYINT``."""

    _logical = logical.TinyIntType


class SmallIntType(IntegralType):
    """``SMALLINT``."""

    _logical = logical.SmallIntType


class IntType(IntegralType):
    """``INT``."""

    _logical = logical.IntType


class BigIntType(IntegralType):
    """``BIGINT``."""

    _logical = logical.BigIntType


class FloatType(FractionalType):
    """``FLOAT``."""

    _logical = logical.FloatType


class DoubleType(FractionalType):
    """``DOUBLE``."""

    _logical = logical.DoubleType


class DecimalType(FractionalType):
    """``DECIMAL(p, s)``."""

    def __init__(self, precision: int = 10, scale: int = 0, nullable: bool = True) -> None:
        super().__init__(nullable)
        self.precision = precision
        self.scale = scale
        self._make()  # refuses numbers out of range

    def _make(self) -> LogicalType:
        return logical.DecimalType(self.precision, self.scale)

    def _shown(self) -> list[str]:
        return [str(self.precision), str(self.scale)]


class DateType(AtomicType):
    """``DATE``."""

    _logical = logical.DateType


class _Seconds(AtomicType):
    """A type with digits behind the second."""

    _logical: type[
        logical.TimeType
        | logical.TimestampType
        | logical.LocalZonedTimestampType
        | logical.ZonedTimestampType
    ]

    def __init__(self, precision: int = 6, nullable: bool = True) -> None:
        super().__init__(nullable)
        self.precision = precision
        self._make()  # refuses a number out of range

    def _make(self) -> LogicalType:
        return self._logical(self.precision)

    def _shown(self) -> list[str]:
        return [str(self.precision)]


class TimeType(_Seconds):
    """``TIME(p)``."""

    _logical = logical.TimeType

    def __init__(self, precision: int = 0, nullable: bool = True) -> None:
        super().__init__(precision, nullable)


class TimestampType(_Seconds):
    """``TIMESTAMP(p)``."""

    _logical = logical.TimestampType


class LocalZonedTimestampType(_Seconds):
    """``TIMESTAMP_LTZ(p)``."""

    _logical = logical.LocalZonedTimestampType


class ZonedTimestampType(_Seconds):
    """``TIMESTAMP(p) WITH TIME ZONE``."""

    _logical = logical.ZonedTimestampType


class Resolution:
    """A unit of intervals with its digits."""

    def __init__(self, unit: str, precision: int = -1) -> None:
        self.unit = unit
        self.precision = precision

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Resolution) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        return self.unit if self.precision < 0 else f"{self.unit}({self.precision})"

    __repr__ = __str__


class _Interval(AtomicType):
    """An interval between two units."""

    def __init__(self, upper: Resolution, lower: Resolution | None, nullable: bool = True) -> None:
        super().__init__(nullable)
        self.upper = upper
        self.lower = lower

    def _make(self) -> LogicalType:
        parts = [str(each) for each in (self.upper, self.lower) if each is not None]
        return parse_logical_type("INTERVAL " + " TO ".join(parts))


class YearMonthIntervalType(_Interval):
    """``INTERVAL YEAR(p) TO MONTH`` and its parts."""


class DayTimeIntervalType(_Interval):
    """``INTERVAL DAY(p) TO SECOND(q)`` and its parts."""


class _Element(DataType):
    """A type of several elements."""

    _logical: type[logical.ArrayType | logical.MultisetType]

    def __init__(self, element_type: DataType, nullable: bool = True) -> None:
        super().__init__(nullable)
        self.element_type = element_type

    def _make(self) -> LogicalType:
        return self._logical(logical_of(self.element_type))

    def _shown(self) -> list[str]:
        return [repr(self.element_type)]


class ArrayType(_Element):
    """``ARRAY<t>``."""

    _logical = logical.ArrayType


class MultisetType(_Element):
    """``MULTISET<t>``."""

    _logical = logical.MultisetType


class ListViewType(_Element):
    """The type of a `ListView` in an accumulator."""

    _logical = logical.ArrayType

    def __init__(self, element_type: DataType) -> None:
        super().__init__(element_type)


class MapType(DataType):
    """``MAP<k, v>``."""

    def __init__(self, key_type: DataType, value_type: DataType, nullable: bool = True) -> None:
        super().__init__(nullable)
        self.key_type = key_type
        self.value_type = value_type

    def _make(self) -> LogicalType:
        return logical.MapType(logical_of(self.key_type), logical_of(self.value_type))

    def _shown(self) -> list[str]:
        return [repr(self.key_type), repr(self.value_type)]


class MapViewType(MapType):
    """The type of a `MapView` in an accumulator."""

    def __init__(self, key_type: DataType, value_type: DataType) -> None:
        super().__init__(key_type, value_type)


class RowField:
    """A field of a row."""

    def __init__(self, name: str, data_type: DataType, description: str | None = None) -> None:
        self.name = name
        self.data_type = data_type
        self.description = description

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RowField) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash(repr(self))

    def __str__(self) -> str:
        return f"RowField({self.name}, {self.data_type})"

    def __repr__(self) -> str:
        return f"RowField({self.name}, {self.data_type!r}, {self.description or '...'})"


class RowType(DataType):
    """``ROW<a INT, ...>``.

    Examples
    --------
    >>> DataTypes.ROW([DataTypes.FIELD("a", DataTypes.INT())]).field_names()
    ['a']
    """

    def __init__(self, fields: Sequence[RowField] | None = None, nullable: bool = True) -> None:
        super().__init__(nullable)
        self.fields = list(fields or [])

    @property
    def names(self) -> list[str]:
        """The names of the fields."""
        return [each.name for each in self.fields]

    def add(self, field: RowField | str, data_type: DataType | None = None) -> RowType:
        """Add a field; give the row."""
        if isinstance(field, str):
            if data_type is None:
                message = f"the field {field} has no type"
                raise PlanError("MISSING_TYPE", message, hint="give add(name, data_type)")
            field = RowField(field, data_type)
        self.fields.append(field)
        return self

    def field_names(self) -> list[str]:
        """The names of the fields."""
        return self.names

    def field_types(self) -> list[DataType]:
        """The types of the fields."""
        return [each.data_type for each in self.fields]

    def __iter__(self) -> Iterator[RowField]:
        return iter(self.fields)

    def __len__(self) -> int:
        return len(self.fields)

    def __getitem__(self, key: str | int | slice) -> Any:
        if isinstance(key, str):
            return next((each for each in self.fields if each.name == key), None) or _missing(key)
        return RowType(self.fields[key]) if isinstance(key, slice) else self.fields[key]

    def _make(self) -> LogicalType:
        return logical.RowType(
            tuple(
                logical.RowField(each.name, logical_of(each.data_type), each.description)
                for each in self.fields
            )
        )

    def _shown(self) -> list[str]:
        return [repr(each) for each in self.fields]

    def __repr__(self) -> str:
        return f"RowType({','.join(self._shown())})"


def _missing(name: str) -> RowField:
    raise KeyError(f"the row has no field {name}")


class RawType(DataType):
    """A type of objects that no function looks into; they are pickled."""

    def _make(self) -> LogicalType:
        return logical.RawType("python", "")


class UserDefinedType(DataType):
    """A type of the user over a type of SQL: ``sql_type``, ``serialize`` and ``deserialize``."""

    @classmethod
    def sql_type(cls) -> DataType:
        """The type of SQL that the values are kept in."""
        raise NotImplementedError("a UserDefinedType must have sql_type()")

    def serialize(self, obj: Any) -> Any:
        """A value as SQL keeps it."""
        raise NotImplementedError("a UserDefinedType must have serialize()")

    def deserialize(self, datum: Any) -> Any:
        """The value of what SQL keeps."""
        raise NotImplementedError("a UserDefinedType must have deserialize()")

    def _make(self) -> LogicalType:
        return logical_of(type(self).sql_type())


class _Given(DataType):
    """A logical type that no class of PyFlink has."""

    def __init__(self, given: LogicalType) -> None:
        super().__init__(given.nullable)
        self.given = given

    def _make(self) -> LogicalType:
        return self.given


class DataTypes:
    """The types of columns.

    Examples
    --------
    >>> logical_of(DataTypes.DECIMAL(10, 2).not_null()).as_summary()
    'DECIMAL(10, 2) NOT NULL'
    """

    @staticmethod
    def NULL() -> NullType:
        """The type of NULL."""
        return NullType()

    @staticmethod
    def CHAR(length: int, nullable: bool = True) -> CharType:
        """Texts of exactly this length."""
        return CharType(length, nullable)

    @staticmethod
    def VARCHAR(length: int, nullable: bool = True) -> VarCharType:
        """Texts of at most this length."""
        return VarCharType(length, nullable)

    @staticmethod
    def STRING(nullable: bool = True) -> VarCharType:
        """Texts."""
        return VarCharType(MAX_LENGTH, nullable)

    @staticmethod
    def BOOLEAN(nullable: bool = True) -> BooleanType:
        """TRUE or FALSE."""
        return BooleanType(nullable)

    @staticmethod
    def BINARY(length: int, nullable: bool = True) -> BinaryType:
        """Exactly so many bytes."""
        return BinaryType(length, nullable)

    @staticmethod
    def VARBINARY(length: int, nullable: bool = True) -> VarBinaryType:
        """At most so many bytes."""
        return VarBinaryType(length, nullable)

    @staticmethod
    def BYTES(nullable: bool = True) -> VarBinaryType:
        """Bytes."""
        return VarBinaryType(MAX_LENGTH, nullable)

    @staticmethod
    def DECIMAL(precision: int, scale: int, nullable: bool = True) -> DecimalType:
        """Exact numbers."""
        return DecimalType(precision, scale, nullable)

    @staticmethod
    def TINYINT(nullable: bool = True) -> TinyIntType:
        """Integers of 8 bits."""
        return TinyIntType(nullable)

    @staticmethod
    def SMALLINT(nullable: bool = True) -> SmallIntType:
        """Integers of 16 bits."""
        return SmallIntType(nullable)

    @staticmethod
    def INT(nullable: bool = True) -> IntType:
        """Integers of 32 bits."""
        return IntType(nullable)

    @staticmethod
    def BIGINT(nullable: bool = True) -> BigIntType:
        """Integers of 64 bits."""
        return BigIntType(nullable)

    @staticmethod
    def FLOAT(nullable: bool = True) -> FloatType:
        """Floating point numbers of 32 bits."""
        return FloatType(nullable)

    @staticmethod
    def DOUBLE(nullable: bool = True) -> DoubleType:
        """Floating point numbers of 64 bits."""
        return DoubleType(nullable)

    @staticmethod
    def DATE(nullable: bool = True) -> DateType:
        """Days."""
        return DateType(nullable)

    @staticmethod
    def TIME(precision: int = 0, nullable: bool = True) -> TimeType:
        """Times of the day."""
        return TimeType(precision, nullable)

    @staticmethod
    def TIMESTAMP(precision: int = 6, nullable: bool = True) -> TimestampType:
        """Days and times without a time zone."""
        return TimestampType(precision, nullable)

    @staticmethod
    def TIMESTAMP_WITH_LOCAL_TIME_ZONE(
        precision: int = 6, nullable: bool = True
    ) -> LocalZonedTimestampType:
        """Instants, shown in the time zone of the session."""
        return LocalZonedTimestampType(precision, nullable)

    @staticmethod
    def TIMESTAMP_LTZ(precision: int = 6, nullable: bool = True) -> LocalZonedTimestampType:
        """Instants, shown in the time zone of the session."""
        return LocalZonedTimestampType(precision, nullable)

    @staticmethod
    def ARRAY(element_type: DataType, nullable: bool = True) -> ArrayType:
        """Lists."""
        return ArrayType(element_type, nullable)

    @staticmethod
    def LIST_VIEW(element_type: DataType) -> ListViewType:
        """A `ListView` in an accumulator."""
        return ListViewType(element_type)

    @staticmethod
    def MAP(key_type: DataType, value_type: DataType, nullable: bool = True) -> MapType:
        """Maps."""
        return MapType(key_type, value_type, nullable)

    @staticmethod
    def MAP_VIEW(key_type: DataType, value_type: DataType) -> MapViewType:
        """A `MapView` in an accumulator."""
        return MapViewType(key_type, value_type)

    @staticmethod
    def MULTISET(element_type: DataType, nullable: bool = True) -> MultisetType:
        """Elements and how often each is there."""
        return MultisetType(element_type, nullable)

    @staticmethod
    def ROW(row_fields: Sequence[Any] = (), nullable: bool = True) -> RowType:
        """Rows of fields; types alone get the names f0, f1, ..."""
        fields = [
            each if isinstance(each, RowField) else RowField(f"f{at}", each)
            for at, each in enumerate(row_fields)
        ]
        return RowType(fields, nullable)

    @staticmethod
    def FIELD(name: str, data_type: DataType, description: str | None = None) -> RowField:
        """A field of a row."""
        return RowField(name, data_type, description)

    @staticmethod
    def SECOND(precision: int = 6) -> Resolution:
        """Seconds as the unit of an interval."""
        return Resolution("SECOND", precision)

    @staticmethod
    def MINUTE() -> Resolution:
        """Minutes as the unit of an interval."""
        return Resolution("MINUTE")

    @staticmethod
    def HOUR() -> Resolution:
        """Hours as the unit of an interval."""
        return Resolution("HOUR")

    @staticmethod
    def DAY(precision: int = 2) -> Resolution:
        """Days as the unit of an interval."""
        return Resolution("DAY", precision)

    @staticmethod
    def MONTH() -> Resolution:
        """Months as the unit of an interval."""
        return Resolution("MONTH")

    @staticmethod
    def YEAR(precision: int = 2) -> Resolution:
        """Years as the unit of an interval."""
        return Resolution("YEAR", precision)

    @staticmethod
    def INTERVAL(
        upper_resolution: Resolution, lower_resolution: Resolution | None = None
    ) -> DayTimeIntervalType | YearMonthIntervalType:
        """Intervals of one unit, or from one to a smaller one."""
        if upper_resolution.unit in ("YEAR", "MONTH"):
            return YearMonthIntervalType(upper_resolution, lower_resolution)
        return DayTimeIntervalType(upper_resolution, lower_resolution)


def logical_of(given: DataType | LogicalType | str) -> LogicalType:
    """The logical type of a data type or of a text."""
    if isinstance(given, LogicalType):
        return given
    if isinstance(given, str):
        return parse_logical_type(given)
    return given.logical


_PLAIN: dict[str, type[DataType]] = {
    "BOOLEAN": BooleanType,
    "TINYINT": TinyIntType,
    "SMALLINT": SmallIntType,
    "INTEGER": IntType,
    "BIGINT": BigIntType,
    "FLOAT": FloatType,
    "DOUBLE": DoubleType,
    "DATE": DateType,
}
_SIZED: dict[str, type[DataType]] = {
    "CHAR": CharType,
    "VARCHAR": VarCharType,
    "BINARY": BinaryType,
    "VARBINARY": VarBinaryType,
    "TIME_WITHOUT_TIME_ZONE": TimeType,
    "TIMESTAMP_WITHOUT_TIME_ZONE": TimestampType,
    "TIMESTAMP_WITH_LOCAL_TIME_ZONE": LocalZonedTimestampType,
    "TIMESTAMP_WITH_TIME_ZONE": ZonedTimestampType,
}


def data_type(given: LogicalType) -> DataType:
    """The data type of a logical type.

    Examples
    --------
    >>> data_type(logical_of("ARRAY<INT>"))
    ArrayType(IntType(true), true)
    """
    nullable = given.nullable
    if given.root in _PLAIN:
        return _PLAIN[given.root](nullable)
    if given.root in _SIZED:
        size = getattr(given, "length", getattr(given, "precision", None))
        return cast(DataType, cast(Any, _SIZED[given.root])(size, nullable))
    if isinstance(given, logical.DecimalType):
        return DecimalType(given.precision, given.scale, nullable)
    if isinstance(given, logical.ArrayType):
        return ArrayType(data_type(given.element), nullable)
    if isinstance(given, logical.MultisetType):
        return MultisetType(data_type(given.element), nullable)
    if isinstance(given, logical.MapType):
        return MapType(data_type(given.key), data_type(given.value), nullable)
    if isinstance(given, (logical.RowType, logical.StructuredType)):
        fields = [RowField(each.name, data_type(each.type), each.comment) for each in given.fields]
        return RowType(fields, nullable)
    if isinstance(given, logical.NullType):
        return NullType()
    return _Given(given)
