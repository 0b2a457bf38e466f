"""The base class of all types."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Generic

from millstream.common.errors import PlanError, short_repr, user_location
from millstream.common.type_variables import T
from millstream.common.typesystem.certainty import Certainty

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]


class TypeInformation(ABC, Generic[T]):
    """The type of the records of a stream, of a key, or of state.

    The parameter is the class of the values in Python, for type checkers: ``Types.LONG()`` is a
    ``TypeInformation[int]``.

    Types are immutable, can be compared and used as dict keys. Make them with `Types`.

    Examples
    --------
    >>> from millstream.common.typeinfo import Types
    >>> pair = Types.TUPLE([Types.STRING(), Types.LONG()])
    >>> pair
    TUPLE(STRING, LONG)
    >>> pair.check(("a", "b"))
    'field 1: expected int, got str'
    >>> columns = pair.to_arrow_arrays([("a", 1), ("b", 2)])
    >>> pair.from_arrow_arrays(columns)
    [('a', 1), ('b', 2)]
    """

    __slots__ = ()

    certainty = Certainty.DECLARED
    """Who says that values have this type; it does not count when types are compared."""

    @property
    @abstractmethod
    def kind(self) -> str:
        """The name of the type without its parts, such as ``LONG`` or ``TUPLE``."""

    @property
    @abstractmethod
    def is_immutable(self) -> bool:
        """True if no value of the type can ever be changed, so that it needs no copy."""

    @abstractmethod
    def _misfit(self, value: Any) -> str | None:
        """Why a value that is not None does not fit."""

    def check(self, value: object) -> str | None:
        """Say why a value does not fit the type.

        Parameters
        ----------
        value : object
            Any value; None fits every type.

        Returns
        -------
        str or None
            A short reason, or None if the value fits.

        Examples
        --------
        >>> from millstream.common.typeinfo import Types
        >>> Types.BYTE().check(300)
        '300 is outside the range of BYTE, -128 to 127'
        >>> Types.BYTE().check(30)
        """
        return None if value is None else self._misfit(value)

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """The type as JSON values; `type_from_dict` reads it back."""

    def to_arrow(self) -> pa.DataType:
        """The Arrow type that values are stored as.

        Examples
        --------
        >>> from millstream.common.typeinfo import Types
        >>> Types.TUPLE([Types.STRING(), Types.LONG()]).to_arrow()
        StructType(struct<f0: string, f1: int64>)
        """
        from millstream.common.typesystem.arrow_types import arrow_type

        return arrow_type(self)

    @staticmethod
    def from_arrow(data_type: pa.DataType) -> TypeInformation:
        """The type whose values an Arrow type holds; see `typeinfo.from_arrow`."""
        from millstream.common.typesystem.arrow_types import from_arrow

        return from_arrow(data_type)

    def to_arrow_arrays(self, values: Sequence[Any]) -> list[pa.Array]:
        """Turn values into Arrow columns.

        One column, or one per field for tuples and rows. If a tuple or row is None (or has no
        fields), a last column of booleans says which of them exist.

        Parameters
        ----------
        values : sequence
            The values, each of this type or None.

        Raises
        ------
        TypeMismatchError
            A value does not fit: the error names its index and the reason.

        Examples
        --------
        >>> from millstream.common.typeinfo import Types
        >>> [column.to_pylist() for column in Types.TUPLE([Types.LONG()]).to_arrow_arrays([(1,)])]
        [[1]]
        """
        from millstream.common.typesystem.arrow_encode import encode_columns

        return encode_columns(self, values)

    def from_arrow_arrays(self, arrays: Iterable[pa.Array]) -> list[Any]:
        """Turn the columns that `to_arrow_arrays` made back into values.

        Parameters
        ----------
        arrays : iterable of pyarrow.Array
            The columns, with the column of booleans if there is one.

        Examples
        --------
        >>> from millstream.common.typeinfo import Types
        >>> pair = Types.TUPLE([Types.LONG(), Types.LONG()])
        >>> pair.from_arrow_arrays(pair.to_arrow_arrays([(1, 2), None]))
        [(1, 2), None]
        """
        from millstream.common.typesystem.arrow_decode import decode_columns

        return decode_columns(self, list(arrays))

    def __repr__(self) -> str:
        return self.kind


def require_type(value: object, what: str) -> TypeInformation:
    """The value, if it is a type; otherwise an error that says what was meant."""
    if isinstance(value, TypeInformation):
        return value
    call = "call it, as in Types.LONG()" if callable(value) else "use a type from Types"
    raise PlanError(
        "NOT_A_TYPE",
        f"{what} needs a type, got {short_repr(value)}",
        location=user_location(),
        hint=call,
    )


def got(value: object, expected: str) -> str:
    """The reason for a value of a wrong class."""
    return f"expected {expected}, got {type(value).__name__}"
