"""JSON functions with their clauses."""

from __future__ import annotations

from millstream.table.sql.call_parser import CallParser
from millstream.table.sql.expressions import (
    Expression,
    JsonBehavior,
    JsonCall,
    JsonPair,
    OrderItem,
    TypeName,
)
from millstream.table.sql.lexer import Token
from millstream.table.sql.nodes import Name

__all__ = ["JsonParser"]

_EVENTS = ("EMPTY", "ERROR")


class JsonParser(CallParser):
    """Reads JSON_VALUE, JSON_QUERY and their relatives."""

    def call_or_column(self) -> Expression:
        token = self.token
        reader = _READERS.get(token.text) if token.kind == "word" else None
        if reader is not None and self.ahead().text == "(":
            return reader(self, token)
        return super().call_or_column()

    def _document_and_path(
        self,
    ) -> tuple[tuple[Expression, ...], tuple[bool, ...], tuple[tuple[Expression, Name], ...]]:
        self._open()
        document = self.expression()
        formatted = self._format_json()
        self.expect(",")
        path = self.expression()
        passing: list[tuple[Expression, Name]] = []
        if self.accept("PASSING"):
            while True:
                value = self.expression()
                self.expect("AS")
                passing.append((value, self.name()))
                if not self.accept(","):
                    break
        return (document, path), (formatted,), tuple(passing)

    def _format_json(self) -> bool:
        if not self.accept("FORMAT", "JSON"):
            return False
        if self.accept("ENCODING"):
            self.expect_any("UTF8", "UTF16", "UTF32")
        return True

    def _returning(self) -> TypeName | None:
        if not self.accept("RETURNING"):
            return None
        found = self.type()
        self._format_json()
        return found

    def _behaviors(self, kinds: tuple[tuple[str, ...], ...]) -> tuple[JsonBehavior, ...]:
        """Behaviors for EMPTY and ERROR, in any order; Flink takes the last one of each."""
        found: list[JsonBehavior] = []
        while behavior := self._behavior(kinds, _EVENTS):
            found.append(behavior)
        return tuple(found)

    def _behavior(
        self, kinds: tuple[tuple[str, ...], ...], events: tuple[str, ...]
    ) -> JsonBehavior | None:
        start = self.token
        for words in kinds:
            if self.accept(*words):
                value = self.expression() if words == ("DEFAULT",) else None
                self.expect("ON")
                event = self.expect_any(*events)
                return JsonBehavior(event, " ".join(words), value, span=self.since(start))
        return None

    def _json_value(self, token: Token) -> Expression:
        arguments, formatted, passing = self._document_and_path()
        returning = self._returning()
        behaviors = self._behaviors((("ERROR",), ("NULL",), ("DEFAULT",)))
        self.expect(")")
        return JsonCall(
            token.text,
            arguments,
            returning,
            behaviors,
            passing=passing,
            formatted=formatted,
            span=self.since(token),
        )

    def _json_query(self, token: Token) -> Expression:
        arguments, formatted, passing = self._document_and_path()
        returning = self._returning()
        wrapper = self._wrapper()
        behaviors = self._behaviors(
            (("ERROR",), ("NULL",), ("EMPTY", "ARRAY"), ("EMPTY", "OBJECT"))
        )
        self.expect(")")
        return JsonCall(
            token.text,
            arguments,
            returning,
            behaviors,
            wrapper,
            passing=passing,
            formatted=formatted,
            span=self.since(token),
        )

    def _wrapper(self) -> str | None:
        if self.accept("WITHOUT"):
            self.accept("ARRAY")
            self.expect("WRAPPER")
            return "WITHOUT"
        if self.accept("WITH"):
            kind = self.accept_any("CONDITIONAL", "UNCONDITIONAL") or "UNCONDITIONAL"
            self.accept("ARRAY")
            self.expect("WRAPPER")
            return kind
        return None

    def _json_exists(self, token: Token) -> Expression:
        arguments, formatted, passing = self._document_and_path()
        found = self._behavior((("TRUE",), ("FALSE",), ("UNKNOWN",), ("ERROR",)), ("ERROR",))
        self.expect(")")
        return JsonCall(
            token.text,
            arguments,
            behaviors=(found,) if found else (),
            passing=passing,
            formatted=formatted,
            span=self.since(token),
        )

    def _on_null(self) -> str | None:
        for word in ("NULL", "ABSENT"):
            if self.accept(word, "ON", "NULL"):
                return word
        return None

    def _pair(self) -> JsonPair:
        start = self.token
        if self.at("KEY") and self.ahead().text not in (",", ":", "VALUE", ")"):
            self.advance()
        key = self.expression()
        if not self.accept(":"):
            self.expect("VALUE")
        value = self.expression()
        formatted = self._format_json()
        return JsonPair(key, value, formatted, span=self.since(start))

    def _json_object(self, token: Token) -> Expression:
        self._open()
        pairs: list[JsonPair] = []
        if not (self.at(")") or self.at_any("NULL", "ABSENT")):
            pairs.append(self._pair())
            while self.accept(","):
                pairs.append(self._pair())
        on_null = self._on_null()
        self.expect(")")
        return JsonCall(token.text, tuple(pairs), on_null=on_null, span=self.since(token))

    def _json_array(self, token: Token) -> Expression:
        self._open()
        items: list[Expression] = []
        formatted: list[bool] = []
        on_null = None
        if not self.at(")"):
            while True:
                items.append(self.expression())
                formatted.append(self._format_json())
                if not self.accept(","):
                    break
            on_null = self._on_null()
        self.expect(")")
        return JsonCall(
            token.text,
            tuple(items),
            on_null=on_null,
            formatted=tuple(formatted),
            span=self.since(token),
        )

    def _json_aggregate(self, token: Token) -> Expression:
        self._open()
        argument: Expression | JsonPair
        formatted = False
        order_by: tuple[OrderItem, ...] = ()
        if token.text == "JSON_OBJECTAGG":
            argument = self._pair()
        else:
            argument = self.expression()
            formatted = self._format_json()
            if self.accept("ORDER", "BY"):
                order_by = self.order_items()
        on_null = self._on_null()
        self.expect(")")
        if self.accept("WITHIN", "GROUP"):
            self.expect("(")
            self.expect("ORDER", "BY")
            order_by = self.order_items()
            self.expect(")")
        return JsonCall(
            token.text,
            (argument,),
            on_null=on_null,
            formatted=(formatted,),
            order_by=order_by,
            span=self.since(token),
        )


_READERS = {
    "JSON_VALUE": JsonParser._json_value,
    "JSON_QUERY": JsonParser._json_query,
    "JSON_EXISTS": JsonParser._json_exists,
    "JSON_OBJECT": JsonParser._json_object,
    "JSON_ARRAY": JsonParser._json_array,
    "JSON_OBJECTAGG": JsonParser._json_aggregate,
    "JSON_ARRAYAGG": JsonParser._json_aggregate,
}
