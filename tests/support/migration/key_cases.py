"""State under keys of every supported type, for golden savepoints: encodings of keys may change."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from typing import Any
from zoneinfo import ZoneInfo

from millstream.common import Row, Types
from millstream.datastream import KeyedProcessFunction
from millstream.datastream.state import ListStateDescriptor, MapStateDescriptor
from tests.support.properties.savepoint_cases import TUMBLING, Case, Everything, Listed, added

LETTERS = "abcde"
MOMENT = dt.datetime(2026, 3, 4, 5, 6, 7, 89)


class Colour(Enum):
    a = 1
    b = 2
    c = 3
    d = 4
    e = 5


@dataclass(frozen=True)
class User:
    name: str
    number: int


def place(letter: str) -> int:
    return LETTERS.index(letter)


KEYS: dict[str, Callable[[str], Any]] = {
    "int": place,
    "negative int": lambda c: -(10**30) * place(c) - 1,
    "float": lambda c: place(c) + 0.5,
    "whole float": lambda c: float(place(c)),
    "bool": lambda c: c < "c",
    "bytes": lambda c: c.encode() * 3,
    "text": lambda c: c * 5,
    "tuple": lambda c: (c, place(c), None, (place(c) / 4, c)),
    "decimal": lambda c: Decimal(place(c)) / 8 + Decimal("0.1"),
    "long decimal": lambda c: Decimal("1." + "0" * 29 + str(place(c))),
    "row": lambda c: Row(c, place(c)),
    "named row": lambda c: Row(name=c, number=place(c)),
    "enum": lambda c: Colour[c],
    "dataclass": lambda c: User(c, place(c)),
    "date": lambda c: dt.date(2026, 1, 1 + place(c)),
    "time": lambda c: dt.time(12, place(c), 3, 4),
    "time of a zone": lambda c: dt.time(12, place(c), tzinfo=dt.UTC),
    "timedelta": lambda c: dt.timedelta(days=place(c), milliseconds=7),
    "datetime": lambda c: MOMENT + dt.timedelta(hours=place(c)),
    "datetime of a zone": lambda c: (MOMENT + dt.timedelta(hours=place(c))).replace(
        tzinfo=ZoneInfo("Europe/Berlin")
    ),
    "uuid": lambda c: uuid.UUID(int=place(c) + 1),
    # Whole numbers: the text of a set of strings differs from process to process.
    "frozenset": lambda c: frozenset((place(c), place(c) + 10)),
}


class Large(KeyedProcessFunction):
    """A list and a map per key that are too large for a page, and a timer."""

    def open(self, runtime_context: Any) -> None:
        text = Types.STRING()
        self.texts = runtime_context.get_list_state(ListStateDescriptor("texts", text))
        self.by_number = runtime_context.get_map_state(
            MapStateDescriptor("by number", Types.LONG(), text)
        )

    def process_element(self, value: Any, ctx: Any) -> Any:
        _, number, ts = value
        self.texts.add(f"{value[0]}{number}" * 3_000)
        for part in range(20):
            self.by_number.put(number * 20 + part, f"{value[0]}{part}" * 300)
        ctx.timer_service().register_event_time_timer(ts + 7)
        texts = tuple(text[:2] for text in self.texts.get())
        yield "record", ctx.get_current_key(), texts, len(list(self.by_number.keys()))

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        texts = tuple(text[:2] for text in self.texts.get())
        values = sorted({text[0] for text in self.by_number.values()})
        yield "timer", ctx.get_current_key(), timestamp, texts, values


def _keyed(of: Callable[[str], Any]) -> Callable[[Any], Any]:
    return lambda stream: stream.key_by(lambda record: of(record[0]))


def _cases(kind: str, of: Callable[[str], Any]) -> list[Case]:
    keyed = _keyed(of)
    # Format 1 mixed the large state of Decimals that differ after 28 digits: no such savepoint is right.
    large = Case(f"key {kind}, large state", lambda s, _: keyed(s).process(Large()))
    return [
        *([] if kind == "long decimal" else [large]),
        Case(f"key {kind}, state", lambda s, _: keyed(s).process(Everything())),
        Case(f"key {kind}, window", lambda s, _: keyed(s).window(TUMBLING).process(Listed())),
        Case(f"key {kind}, reduce", lambda s, _: keyed(s).reduce(added), rolling=True),
    ]


KEY_CASES = {kind: _cases(kind, of) for kind, of in KEYS.items()}
"""The cases of each type of keys."""
