"""Types as they are written in DDL, casts and RETURNING."""

from __future__ import annotations

from millstream.table.sql.cursor import Cursor
from millstream.table.sql.expressions import IntervalQualifier, TypeName
from millstream.table.sql.lexer import Token
from millstream.table.sql.nodes import Name

__all__ = ["TypeParser"]

# The units of an interval, and the last units that may follow behind TO.
_UNITS = {
    "YEAR": ("MONTH",),
    "QUARTER": (),
    "MONTH": (),
    "WEEK": (),
    "DAY": ("HOUR", "MINUTE", "SECOND"),
    "HOUR": ("MINUTE", "SECOND"),
    "MINUTE": ("SECOND",),
    "SECOND": (),
}
_SINGULAR = {f"{unit}S": unit for unit in _UNITS} | {unit: unit for unit in _UNITS}
_PLAIN = {
    "BOOLEAN": "BOOLEAN",
    "INTEGER": "INT",
    "INT": "INT",
    "TINYINT": "TINYINT",
    "SMALLINT": "SMALLINT",
    "BIGINT": "BIGINT",
    "REAL": "REAL",
    "FLOAT": "FLOAT",
    "DATE": "DATE",
    "ANY": "ANY",
    "STRING": "STRING",
    "BYTES": "BYTES",
    "UUID": "UUID",
    "VARIANT": "VARIANT",
    "BITMAP": "BITMAP",
}
_ZONES = {
    "WITHOUT": ("WITHOUT", "TIME", "ZONE"),
    "WITH": ("WITH", "TIME", "ZONE"),
    "LOCAL": ("WITH", "LOCAL", "TIME", "ZONE"),
}


class TypeParser(Cursor):
    """Reads types and the units of intervals."""

    # In SQL, an interval is a type in CAST only; NULL and types with their own zone are none.
    all_types = False

    def nullable_type(self) -> TypeName:
        """A type with NULL or NOT NULL behind it, also behind elements of postfix collections."""
        start = self.token
        found = self._type_name()
        nullable = self._nullability()
        while kind := self.accept_any("ARRAY", "MULTISET"):
            found = self._with_nullability(found, nullable)
            found = TypeName(kind, items=(found,), span=self.since(start))
            nullable = self._nullability()
        return self._with_nullability(found, nullable)

    def type(self) -> TypeName:
        """A type without nullability, as in a CAST."""
        start = self.token
        found = self._type_name()
        while kind := self.accept_any("ARRAY", "MULTISET"):
            found = TypeName(kind, items=(found,), span=self.since(start))
        return found

    def cast_type(self) -> TypeName:
        """A type, or an interval."""
        return self._interval_type() if self.at("INTERVAL") else self.type()

    def _interval_type(self) -> TypeName:
        start = self.expect("INTERVAL")
        qualifier = self.interval_qualifier()
        return TypeName("INTERVAL", interval=qualifier, span=self.since(start))

    def interval_qualifier(self) -> IntervalQualifier:
        """``DAY(3) TO SECOND(6)``."""
        start = self.token
        first = self._unit()
        precision = fraction = last = None
        if self.accept("("):
            precision = self.unsigned_integer()
            if first == "SECOND" and self.accept(","):
                fraction = self.unsigned_integer()
            self.expect(")")
        if _UNITS[first] and self.accept("TO"):
            last = self.expect_any(*_UNITS[first], *(f"{unit}S" for unit in _UNITS[first]))
            last = _SINGULAR[last]
            if last == "SECOND" and self.accept("("):
                fraction = self.unsigned_integer()
                self.expect(")")
        return IntervalQualifier(first, last, precision, fraction, span=self.since(start))

    def single_unit(self) -> IntervalQualifier:
        """One unit, as behind a computed interval."""
        start = self.token
        return IntervalQualifier(self._unit(), span=self.since(start))

    def at_unit(self) -> bool:
        """Whether a unit of time comes next."""
        return self.token.kind == "word" and self.token.text in _SINGULAR

    def _unit(self) -> str:
        token = self.token
        unit = _SINGULAR.get(token.text) if token.kind == "word" else None
        if unit is None:
            self.fail("a unit of time, such as DAY or SECOND,")
        self.advance()
        return unit

    def _nullability(self) -> bool | None:
        if self.accept("NOT", "NULL"):
            return False
        return True if self.accept("NULL") else None

    def _with_nullability(self, found: TypeName, nullable: bool | None) -> TypeName:
        if nullable is None:
            return found
        changed = {
            name: getattr(found, name)
            for name in (
                "name", "arguments", "items", "fields", "comments", "texts", "interval", "identifier"
            )
        }  # fmt: skip
        return TypeName(**changed, nullable=nullable, span=self.since(found.span))

    def _type_name(self) -> TypeName:
        token = self.token
        if self.all_types:
            if self.accept("NULL"):
                return TypeName("NULL", span=self.since(token))
            if self.at("INTERVAL"):
                return self._interval_type()
        if token.kind == "word":
            special = _SPECIAL.get(token.text)
            if special is not None:
                with self.nested():
                    return special(self, token)
            if token.text in _PLAIN:
                self.advance()
                return TypeName(_PLAIN[token.text], span=self.since(token))
        if self.at_name():
            name = self.identifier()
            return TypeName("USER", identifier=name, span=name.span)
        if token.kind == "word":
            self.reserved(token)
        self.fail("a type")

    def _numbers(self, most: int) -> tuple[int, ...]:
        if not self.accept("("):
            return ()
        numbers = [self.unsigned_integer()]
        while len(numbers) < most and self.accept(","):
            numbers.append(self.unsigned_integer())
        self.expect(")")
        return tuple(numbers)

    def _character(self, token: Token) -> TypeName:
        self.advance()
        name = "CHAR"
        if token.text == "VARCHAR" or self.accept("VARYING"):
            name = "VARCHAR"
        numbers = self._numbers(1)
        if self.accept("CHARACTER", "SET"):
            self.identifier()
        return TypeName(name, numbers, span=self.since(token))

    def _bytes(self, token: Token) -> TypeName:
        self.advance()
        varying = token.text == "VARBINARY" or self.accept("VARYING")
        name = "VARBINARY" if varying else "BINARY"
        return TypeName(name, self._numbers(1), span=self.since(token))

    def _decimal(self, token: Token) -> TypeName:
        self.advance()
        return TypeName("DECIMAL", self._numbers(2), span=self.since(token))

    def _double(self, token: Token) -> TypeName:
        self.advance()
        self.accept("PRECISION")
        return TypeName("DOUBLE", span=self.since(token))

    def _time(self, token: Token) -> TypeName:
        self.advance()
        numbers, name = self._numbers(1), token.text
        if self.accept(*_ZONES["LOCAL"]):
            name += " WITH LOCAL TIME ZONE"
        elif self.all_types and self.accept(*_ZONES["WITH"]):
            name += " WITH TIME ZONE"
        else:
            self.accept(*_ZONES["WITHOUT"])
        return TypeName(name, numbers, span=self.since(token))

    def _local_time(self, token: Token) -> TypeName:
        self.advance()
        name = "TIMESTAMP WITH LOCAL TIME ZONE"
        return TypeName(name, self._numbers(1), span=self.since(token))

    def _collection_type(self, token: Token) -> TypeName:
        self.advance()
        self.expect("<")
        element = self._type_name()
        element = self._with_nullability(element, self._nullability())
        self.expect(">")
        return TypeName(token.text, items=(element,), span=self.since(token))

    def _map(self, token: Token) -> TypeName:
        if not (self.ahead().text == "<" and self.ahead().kind == "sign"):
            name = self.identifier()
            return TypeName("USER", identifier=name, span=name.span)
        self.advance()
        self.expect("<")
        key = self.nullable_type()
        self.expect(",")
        value = self.nullable_type()
        self.expect(">")
        return TypeName("MAP", items=(key, value), span=self.since(token))

    def _raw(self, token: Token) -> TypeName:
        self.advance()
        self.expect("(")
        name = self.string_literal().value
        self.expect(",")
        snapshot = self.string_literal().value
        self.expect(")")
        return TypeName("RAW", texts=(name, snapshot), span=self.since(token))

    def _row_type(self, token: Token) -> TypeName:
        self.advance()
        if self.accept("<>"):
            return TypeName("ROW", span=self.since(token))
        closing = ")" if self.expect_any("(", "<") == "(" else ">"
        names, types, comments = self._fields(closing)
        self.expect(closing)
        return TypeName("ROW", items=types, fields=names, comments=comments, span=self.since(token))

    def _structured(self, token: Token) -> TypeName:
        self.advance()
        self.expect("<")
        name = self.string_literal().value
        names: tuple[Name, ...] = ()
        types: tuple[TypeName, ...] = ()
        comments: tuple[str | None, ...] = ()
        if self.accept(","):
            names, types, comments = self._fields(">")
        self.expect(">")
        return TypeName(
            "STRUCTURED",
            items=types,
            fields=names,
            comments=comments,
            texts=(name,),
            span=self.since(token),
        )

    def _fields(
        self, closing: str
    ) -> tuple[tuple[Name, ...], tuple[TypeName, ...], tuple[str | None, ...]]:
        names: list[Name] = []
        types: list[TypeName] = []
        comments: list[str | None] = []
        if not self.at(closing):
            while True:
                names.append(self.name("the name of a field"))
                types.append(self.nullable_type())
                comments.append(self.plain_string() if self.at_kind("string") else None)
                if not self.accept(","):
                    break
        return tuple(names), tuple(types), tuple(comments)


_SPECIAL = {
    "CHAR": TypeParser._character,
    "CHARACTER": TypeParser._character,
    "VARCHAR": TypeParser._character,
    "BINARY": TypeParser._bytes,
    "VARBINARY": TypeParser._bytes,
    "DECIMAL": TypeParser._decimal,
    "DEC": TypeParser._decimal,
    "NUMERIC": TypeParser._decimal,
    "DOUBLE": TypeParser._double,
    "TIME": TypeParser._time,
    "TIMESTAMP": TypeParser._time,
    "TIMESTAMP_LTZ": TypeParser._local_time,
    "ARRAY": TypeParser._collection_type,
    "MULTISET": TypeParser._collection_type,
    "MAP": TypeParser._map,
    "RAW": TypeParser._raw,
    "ROW": TypeParser._row_type,
    "STRUCTURED": TypeParser._structured,
}
