"""The options of Flink's table connector ``datagen``, as generators of fields."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

from millstream.common.errors import PlanError, user_location
from millstream.common.typeinfo import TypeInformation, Types
from millstream.connectors.datagen.fields import FieldGenerator

PER_SECOND = 10_000
"""Rows per second if no option says so, as in Flink."""
_OF_SOURCE = ("connector", "rows-per-second", "number-of-rows", "seed", "parallelism")
_OF_KIND = {
    "random": ("min", "max", "length", "var-len", "null-rate"),
    "sequence": ("start", "end"),
}
_WHOLE = ("BYTE", "SHORT", "INT", "LONG", "STRING")


def fields_of(
    columns: Mapping[str, TypeInformation], options: Mapping[str, str]
) -> dict[str, FieldGenerator]:
    """Return the generators of columns, by the options ``fields.#.kind`` and so on.

    Examples
    --------
    >>> fields_of({"n": Types.INT()}, {"fields.n.min": "1", "fields.n.max": "6"})
    {'n': random INT from 1 to 6}
    """
    given = _by_field(options)
    unknown = next((name for name in given if name not in columns), None)
    if unknown is not None:
        raise bad_option(
            f"fields.{unknown}", "there is no such column", f"columns: {', '.join(columns)}"
        )
    return {name: _field(name, kind, given.get(name, {})) for name, kind in columns.items()}


def number(options: Mapping[str, str], name: str) -> int | None:
    """The whole number of an option of the source."""
    if name not in options:
        return None
    text = str(options[name]).strip()
    if not text.isdecimal():
        raise bad_option(name, f"{text!r} is no whole number", "give digits only")
    return int(text)


def bad_option(name: str, what: str, hint: str) -> PlanError:
    """The error for an option that cannot be followed."""
    return PlanError(
        "BAD_DATAGEN_OPTION", f"option {name!r}: {what}", location=user_location(), hint=hint
    )


def _by_field(options: Mapping[str, str]) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for option, value in options.items():
        if option.startswith("fields."):
            name, _, rest = option.removeprefix("fields.").rpartition(".")
            found.setdefault(name, {})[rest] = str(value)
        elif option not in _OF_SOURCE:
            raise bad_option(option, "it is unknown", f"use fields.#... or {', '.join(_OF_SOURCE)}")
    return found


def _field(name: str, type_info: TypeInformation, options: dict[str, str]) -> FieldGenerator:
    kind = options.pop("kind", "random")
    allowed = _OF_KIND.get(kind)
    if allowed is None:
        raise bad_option(f"fields.{name}.kind", f"there is no kind {kind!r}", "random or sequence")
    for option in options:
        if option not in allowed:
            hint = f"kind {kind!r} has {', '.join(allowed)}"
            raise bad_option(f"fields.{name}.{option}", f"it is none of kind {kind!r}", hint)
    if kind == "sequence":
        return _sequence(name, type_info, options)
    return FieldGenerator.random(
        type_info,
        _value(name, "min", type_info, options),
        _value(name, "max", type_info, options),
        length=_value(name, "length", Types.INT(), options) or 100,
        variable_length=options.get("var-len", "false").lower() == "true",
        null_rate=_value(name, "null-rate", Types.DOUBLE(), options) or 0.0,
    )


def _sequence(name: str, type_info: TypeInformation, options: dict[str, str]) -> FieldGenerator:
    missing = next((option for option in ("start", "end") if option not in options), None)
    if missing is not None:
        raise bad_option(f"fields.{name}.{missing}", "a sequence needs it", "give start and end")
    start, end = (_value(name, option, type_info, options) for option in ("start", "end"))
    return FieldGenerator.sequence(start, end, type_info=type_info)


def _value(name: str, option: str, type_info: TypeInformation, options: dict[str, str]) -> Any:
    """The value of an option, read by the type of the column."""
    text = options.get(option)
    if text is None:
        return None
    try:
        return _read(text.strip(), type_info.kind)
    except (ValueError, ArithmeticError):
        where = f"fields.{name}.{option}"
        raise bad_option(where, f"{text!r} is no {type_info}", "give one") from None


def _read(text: str, kind: str) -> Any:
    if kind in _WHOLE:
        return int(text)
    if kind == "BIG_DEC":
        return Decimal(text)
    if kind in ("SQL_TIMESTAMP", "INSTANT"):
        return datetime.fromisoformat(text)
    if kind == "SQL_DATE":
        return date.fromisoformat(text)
    return time.fromisoformat(text) if kind == "SQL_TIME" else float(text)
