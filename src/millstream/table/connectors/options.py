"""Options of a table, checked: unknown names, missing ones and values that do not fit are refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from millstream.common.errors import PlanError
from millstream.common.secrets import masked_value
from millstream.common.time import to_millis

__all__ = ["Option", "Options"]


@dataclass(frozen=True)
class Option:
    """An option of a connector or format. ``prefix``: all names that begin with it are taken."""

    name: str
    required: bool = False
    choices: tuple[str, ...] = ()
    prefix: bool = False


class Options:
    """The options of one table.

    Parameters
    ----------
    table
        The name of the table, for messages.
    given
        What the statement has.
    """

    def __init__(self, table: str, given: Mapping[str, str]) -> None:
        self.table = table
        self.given = dict(given)

    def check(self, known: Sequence[Option]) -> None:
        """Refuse options that are unknown, missing, or have a value that is not offered."""
        names = [each.name for each in known if not each.prefix]
        prefixes = tuple(each.name for each in known if each.prefix)
        for name in self.given:
            if name in names or (prefixes and name.startswith(prefixes)):
                continue
            close = get_close_matches(name, names, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"options: {', '.join(names)}"
            raise self.problem(f"has the unknown option {name!r}", hint)
        for option in known:
            if option.required and option.name not in self.given:
                hint = f"add '{option.name}' = '...' to WITH (...)"
                raise self.problem(f"needs the option {option.name!r}", hint)
            value = self.given.get(option.name)
            if option.choices and value is not None and value not in option.choices:
                shown = self.shown(option.name)
                hint = f"use one of {', '.join(map(repr, option.choices))}"
                raise self.problem(f"has {option.name!r} = {shown!r}", hint)

    def text(self, name: str, default: str = "") -> str:
        """The value of an option."""
        return self.given.get(name, default)

    def number(self, name: str) -> int | None:
        """The value of an option as a whole number; None if it is not given."""
        if name not in self.given:
            return None
        try:
            return int(self.given[name])
        except ValueError:
            raise self.problem(
                f"has {name!r} = {self.shown(name)!r}", "write a whole number"
            ) from None

    def flag(self, name: str, default: bool = False) -> bool:
        """The value of an option that is true or false."""
        value = self.given.get(name)
        if value is None:
            return default
        if value.lower() not in ("true", "false"):
            raise self.problem(f"has {name!r} = {self.shown(name)!r}", "write 'true' or 'false'")
        return value.lower() == "true"

    def millis(self, name: str) -> int | None:
        """The value of an option as a duration in milliseconds; None if it is not given."""
        value = self.given.get(name)
        return None if value is None else to_millis(value)

    def below(self, prefix: str) -> dict[str, str]:
        """The options that begin with a prefix, without it."""
        found = {n: v for n, v in self.given.items() if n.startswith(prefix)}
        return {name.removeprefix(prefix): value for name, value in found.items()}

    def shown(self, name: str) -> str:
        """The value of an option as messages show it: secrets are masked."""
        return str(masked_value(name, self.given.get(name, "")))

    def problem(self, what: str, hint: str) -> PlanError:
        """An error about these options."""
        return PlanError("TABLE_OPTION", f"table {self.table} {what}", hint=hint)
