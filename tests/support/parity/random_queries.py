"""Random queries over random rows with NULLs and retractions, in SQL that Flink takes.

Results do not depend on the order in which rows arrive: floating-point numbers are multiples of a
quarter, so that sums are exact, and rows are ranked by all of their columns.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from random import Random
from typing import Any

from tests.support.parity.sql_programs import Change, Program, Rows

__all__ = ["Kind", "Queries", "random_program", "random_tables"]

Kind = str
"""int, big, text, dec, dbl, bool, time."""
COLUMNS: dict[str, tuple[str, Kind]] = {
    "a": ("INT", "int"),
    "b": ("BIGINT", "big"),
    "s": ("STRING", "text"),
    "d": ("DECIMAL(8, 2)", "dec"),
    "f": ("DOUBLE", "dbl"),
    "x": ("BOOLEAN", "bool"),
    "t": ("TIMESTAMP(3)", "time"),
}
NUMBERS = ("int", "big", "dec", "dbl")
TABLES = {"t1": "absdfxt", "t2": "abs", "t3": "asd"}
TEXTS = ["", "a", "b", "ab", "Ba", " c ", "1", "-2", "3.5", "x_y", "a%b"]


def random_value(random: Random, kind: Kind) -> Any:
    """A value, or None."""
    if random.random() < 0.15:
        return None
    make: dict[Kind, Callable[[], Any]] = {
        "int": lambda: random.randint(-2, 5),
        "big": lambda: random.choice([*range(-3, 8), 10**12]),
        "text": lambda: random.choice(TEXTS),
        "dec": lambda: Decimal(random.randint(-500, 500)) / 100,
        "dbl": lambda: random.randint(-20, 20) / 4,
        "bool": lambda: random.random() < 0.5,
        "time": lambda: (
            datetime.datetime(2024, 2, 28)
            + datetime.timedelta(milliseconds=random.randint(0, 3 * 10**8))
        ),
    }
    return make[kind]()


def random_changes(random: Random, kinds: list[Kind], count: int, updating: bool) -> list[Change]:
    """Insertions and, if ``updating``, updates and deletions of rows that are there."""
    found: list[Change] = []
    there: list[tuple[Any, ...]] = []
    for _ in range(count):
        row = tuple(random_value(random, kind) for kind in kinds)
        choice = random.random() if updating and there else 1.0
        if choice < 0.2:
            found.append(("-D", there.pop(random.randrange(len(there)))))
        elif choice < 0.4:
            place = random.randrange(len(there))
            found += [("-U", there[place]), ("+U", row)]
            there[place] = row
        else:
            found.append(("+I", row))
            there.append(row)
    return found


def random_tables(random: Random, count: int = 14) -> dict[str, Rows]:
    """The tables of a program; each of them is updated or not."""
    tables = {}
    for name, columns in TABLES.items():
        text = ", ".join(f"{each} {COLUMNS[each][0]}" for each in columns)
        kinds = [COLUMNS[each][1] for each in columns]
        changes = random_changes(random, kinds, count, random.random() < 0.5)
        tables[name] = Rows(text, tuple(changes))
    return tables


@dataclass(frozen=True)
class Relation:
    """A query in brackets or a name, with the kinds of its columns."""

    sql: str
    columns: dict[str, Kind]
    is_table: bool = False


class Queries:
    """Makes queries."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self._names = 0

    def query(self) -> str:
        """A query."""
        found = self.relation(self.random.choice([1, 2, 2, 3])).sql
        return found.removeprefix("(").removesuffix(")")

    def name(self, prefix: str = "c") -> str:
        self._names += 1
        return f"{prefix}{self._names}"

    def pick(self, *choices: Any) -> Any:
        return self.random.choice(choices)

    # Tables

    def relation(self, depth: int) -> Relation:
        """A query in brackets."""
        shapes = [self.calc, self.calc, self.grouped, self.grouped, self.joined, self.joined]
        if depth > 1:
            shapes += [
                self.sets,
                self.set_operation,
                self.top,
                self.distinct,
                self.filtered_by_query,
            ]
            shapes += [self.scalar, self.filtered_by_query]
        found: Relation = self.random.choice(shapes)(depth)
        return found

    def source(self, depth: int) -> Relation:
        """Something to read: a table, or a query over others."""
        if depth > 1 and self.random.random() < 0.6:
            return self.relation(depth - 1)
        name = self.pick(*TABLES)
        return Relation(name, {each: COLUMNS[each][1] for each in TABLES[name]}, True)

    def from_(self, source: Relation, prefix: str = "q") -> tuple[str, dict[str, Kind]]:
        alias = self.name(prefix)
        return f"{source.sql} AS {alias}", {f"{alias}.{n}": k for n, k in source.columns.items()}

    def calc(self, depth: int) -> Relation:
        text, columns = self.from_(self.source(depth))
        made = {self.name(): self.expression(columns, 2) for _ in range(self.pick(1, 2, 3))}
        items = ", ".join(f"{sql} AS {name}" for name, (sql, _) in made.items())
        where = self.where(columns)
        return Relation(
            f"(SELECT {items} FROM {text}{where})", {n: k for n, (_, k) in made.items()}
        )

    def where(self, columns: dict[str, Kind], chance: float = 0.6) -> str:
        if self.random.random() > chance:
            return ""
        return f" WHERE {self.condition(columns, 2)}"

    def grouped(self, depth: int) -> Relation:
        text, columns = self.from_(self.source(depth))
        keys = {self.name("k"): self.key(columns) for _ in range(self.pick(0, 1, 1, 2))}
        calls = {self.name("n"): self.aggregate(columns) for _ in range(self.pick(1, 2, 3))}
        items = [f"{sql} AS {name}" for name, (sql, _) in (keys | calls).items()]
        groups = ", ".join(dict.fromkeys(sql for sql, _ in keys.values()))
        by = f" GROUP BY {groups}" if keys else ""
        having = ""
        if keys and self.random.random() < 0.25:
            sql, kind = self.aggregate(columns)
            having = f" HAVING {self.comparison((sql, kind), columns=None)}"
        found = f"(SELECT {', '.join(items)} FROM {text}{self.where(columns, 0.4)}{by}{having})"
        return Relation(found, {n: k for n, (_, k) in (keys | calls).items()})

    def sets(self, depth: int) -> Relation:
        """GROUPING SETS, ROLLUP, CUBE."""
        text, columns = self.from_(self.source(depth))
        names = self.random.sample(sorted(columns), min(2, len(columns)))
        kind = self.pick("ROLLUP", "CUBE", "GROUPING SETS")
        inner = ", ".join(names)
        if kind == "GROUPING SETS":
            inner = f"({inner}), ({names[0]})" + self.pick("", ", ()")
        calls = {self.name("n"): self.aggregate(columns) for _ in range(self.pick(1, 2))}
        items = {self.name("k"): (name, columns[name]) for name in names} | calls
        if self.random.random() < 0.5:
            items[self.name("g")] = (f"GROUPING({names[0]})", "big")
        selected = ", ".join(f"{sql} AS {name}" for name, (sql, _) in items.items())
        found = f"(SELECT {selected} FROM {text} GROUP BY {kind} ({inner}))"
        return Relation(found, {n: k for n, (_, k) in items.items()})

    def key(self, columns: dict[str, Kind]) -> tuple[str, Kind]:
        name = self.pick(*columns)
        if columns[name] == "int" and self.random.random() < 0.3:
            return f"MOD({name}, 3)", "int"
        return name, columns[name]

    def joined(self, depth: int) -> Relation:
        left, left_columns = self.from_(self.source(depth), "l")
        right, right_columns = self.from_(self.source(depth), "r")
        kind = self.pick("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "CROSS JOIN")
        both = left_columns | right_columns
        on = ""
        if kind != "CROSS JOIN":
            pairs = [
                f"{one} = {other}"
                for one, k in left_columns.items()
                for other, m in right_columns.items()
                if k == m and k not in ("bool", "dbl")
            ]
            if not pairs:
                return self.calc(depth)
            on = f" ON {self.pick(*pairs)}"
            if self.random.random() < 0.35:
                on += f" AND {self.condition(both, 1)}"
        made = {self.name(): self.expression(both, 1) for _ in range(self.pick(2, 3))}
        items = ", ".join(f"{sql} AS {name}" for name, (sql, _) in made.items())
        found = f"(SELECT {items} FROM {left} {kind} {right}{on}{self.where(both, 0.3)})"
        return Relation(found, {n: k for n, (_, k) in made.items()})

    def set_operation(self, depth: int) -> Relation:
        kinds = [self.pick(*NUMBERS[:2], "text") for _ in range(self.pick(1, 2))]
        names = [self.name() for _ in kinds]
        operation = self.pick(
            "UNION", "UNION ALL", "INTERSECT", "INTERSECT ALL", "EXCEPT", "EXCEPT ALL"
        )
        parts = []
        for _ in range(2):
            text, columns = self.from_(self.source(depth))
            items = [
                f"{self.of(kind, columns, 1)} AS {name}"
                for kind, name in zip(kinds, names, strict=True)
            ]
            parts.append(f"SELECT {', '.join(items)} FROM {text}{self.where(columns, 0.4)}")
        found = f"(({parts[0]}) {operation} ({parts[1]}))"
        return Relation(f"(SELECT * FROM {found})", dict(zip(names, kinds, strict=True)))

    def distinct(self, depth: int) -> Relation:
        text, columns = self.from_(self.source(depth))
        made = {self.name(): self.key(columns) for _ in range(self.pick(1, 2))}
        items = ", ".join(f"{sql} AS {name}" for name, (sql, _) in made.items())
        return Relation(
            f"(SELECT DISTINCT {items} FROM {text})", {n: k for n, (_, k) in made.items()}
        )

    def top(self, depth: int) -> Relation:
        source = self.source(depth)
        names = list(source.columns)
        self.random.shuffle(names)
        order = ", ".join(f"{name} {self.pick('ASC', 'DESC')}" for name in names)
        if self.random.random() < 0.3:
            limit = f"ORDER BY {order} LIMIT {self.pick(1, 2, 4)}"
            text = f"(SELECT * FROM {source.sql} AS {self.name('q')} {limit})"
            return Relation(text, source.columns)
        by = f"PARTITION BY {self.pick(*source.columns)} " if self.random.random() < 0.8 else ""
        place = self.name("p")
        number = f"ROW_NUMBER() OVER ({by}ORDER BY {order}) AS {place}"
        bound = self.pick("<= 1", "<= 2", "= 2", "< 3", "BETWEEN 2 AND 3")
        kept = ", ".join(source.columns)
        columns = dict(source.columns)
        if self.random.random() < 0.4:
            kept, columns = f"{kept}, {place}", columns | {place: "big"}
        inner = f"SELECT *, {number} FROM {source.sql} AS {self.name('q')}"
        return Relation(f"(SELECT {kept} FROM ({inner}) WHERE {place} {bound})", columns)

    def filtered_by_query(self, depth: int) -> Relation:
        """IN, NOT IN, EXISTS, NOT EXISTS."""
        source = self.source(depth)
        text, columns = self.from_(source)
        inner, inner_columns = self.from_(self.source(1), "i")
        pairs = [
            (o, i) for o, k in columns.items() for i, m in inner_columns.items() if k == m != "bool"
        ]
        if not pairs:
            return self.calc(depth)
        outer, column = self.pick(*pairs)
        shape = self.pick("IN", "NOT IN", "EXISTS", "NOT EXISTS")
        where = self.where(inner_columns, 0.5)
        if shape in ("IN", "NOT IN"):
            if self.random.random() < 0.3:
                other, second = self.pick(*pairs)
                where += f"{' AND' if where else ' WHERE'} {second} = {other}"
            condition = f"{outer} {shape} (SELECT {column} FROM {inner}{where})"
        else:
            where += f"{' AND' if where else ' WHERE'} {column} = {outer}"
            condition = f"{shape} (SELECT * FROM {inner}{where})"
        if self.random.random() < 0.3:
            condition += f" AND {self.condition(columns, 1)}"
        return Relation(f"(SELECT * FROM {text} WHERE {condition})", source.columns)

    def scalar(self, depth: int) -> Relation:
        """A query of one value in a projection or condition."""
        source = self.source(depth)
        text, columns = self.from_(source)
        inner, inner_columns = self.from_(self.source(1), "i")
        sql, kind = self.aggregate(inner_columns, distinct=False)
        pairs = [
            (o, i) for o, k in columns.items() for i, m in inner_columns.items() if k == m != "bool"
        ]
        where = ""
        if pairs and self.random.random() < 0.5:
            outer, column = self.pick(*pairs)
            where = f" WHERE {column} = {outer}"
        value = f"(SELECT {sql} FROM {inner}{where})"
        if self.random.random() < 0.5:
            name = self.name()
            made = {self.name(): (each, k) for each, k in columns.items()}
            items = ", ".join(f"{each} AS {n}" for n, (each, _) in made.items())
            found = f"(SELECT {items}, {value} AS {name} FROM {text})"
            return Relation(found, {n: k for n, (_, k) in made.items()} | {name: kind})
        condition = f"{self.of(kind, columns, 1)} {self.pick('<', '>=', '=')} {value}"
        return Relation(f"(SELECT * FROM {text} WHERE {condition})", source.columns)

    # Aggregates

    def aggregate(self, columns: dict[str, Kind], distinct: bool = True) -> tuple[str, Kind]:
        call, kind = self._call(
            columns, "DISTINCT " if distinct and self.random.random() < 0.2 else ""
        )
        if self.random.random() < 0.2:
            call += f" FILTER (WHERE {self.condition(columns, 1)})"
        return call, kind

    def _call(self, columns: dict[str, Kind], distinct: str) -> tuple[str, Kind]:
        name = self.pick(*columns)
        kind = columns[name]
        function = self.pick("COUNT(*)", "COUNT", "SUM", "AVG", "MIN", "MAX", "SUM", "MIN")
        if function == "COUNT(*)":
            return function, "big"
        if function == "COUNT" or (function in ("SUM", "AVG") and kind not in NUMBERS):
            return f"COUNT({distinct}{name})", "big"
        if function in ("MIN", "MAX") and kind == "bool":
            return f"COUNT({distinct}{name})", "big"
        return f"{function}({distinct}{name})", kind

    # Expressions

    def expression(self, columns: dict[str, Kind], depth: int) -> tuple[str, Kind]:
        kind = self.pick(*columns.values(), "int", "text", "dec", "bool", "time")
        return self.of(kind, columns, depth), kind

    def of(self, kind: Kind, columns: dict[str, Kind], depth: int) -> str:
        """An expression of a kind."""
        own = [name for name, each in columns.items() if each == kind]
        if depth <= 0 or (own and self.random.random() < 0.4):
            return str(self.pick(*own)) if own else self.literal(kind)
        if self.random.random() < 0.15:
            return self.conditional(kind, columns, depth - 1)
        make: dict[Kind, Callable[[dict[str, Kind], int], str]] = {
            "int": self._int,
            "big": self._big,
            "text": self._text,
            "dec": self._decimal,
            "dbl": self._double,
            "bool": self.condition,
            "time": self._time,
        }
        return make[kind](columns, depth - 1)

    def literal(self, kind: Kind) -> str:
        value = random_value(self.random, kind)
        type_ = {k: t for t, k in COLUMNS.values()}[kind]
        if value is None:
            return f"CAST(NULL AS {type_})"
        if kind == "text":
            return f"'{value}'"
        if kind == "time":
            return f"TIMESTAMP '{value.strftime('%Y-%m-%d %H:%M:%S')}'"
        if kind in ("dbl", "big"):
            return f"CAST({value} AS {type_})"
        return f"({value})" if kind != "bool" else str(value).upper()

    def conditional(self, kind: Kind, columns: dict[str, Kind], depth: int) -> str:
        one, other = self.of(kind, columns, depth), self.of(kind, columns, depth)
        return str(
            self.pick(
                f"COALESCE({one}, {other})",
                f"NULLIF({one}, {other})",
                f"CASE WHEN {self.condition(columns, depth)} THEN {one} ELSE {other} END",
                f"CASE WHEN {self.condition(columns, depth)} THEN {one} END",
            )
        )

    def _int(self, columns: dict[str, Kind], depth: int) -> str:
        a, b = self.of("int", columns, depth), self.of("int", columns, depth)
        text, time = self.of("text", columns, depth), self.of("time", columns, depth)
        return str(
            self.pick(
                f"({a} + {b})",
                f"({a} - {b})",
                f"({a} * {b})",
                f"({a} / 2)",
                f"MOD({a}, 3)",
                f"ABS({a})",
                f"CHAR_LENGTH({text})",
                f"TRY_CAST({text} AS INT)",
                f"CAST({self.of('dec', columns, depth)} AS INT)",
                f"CAST(EXTRACT(DAY FROM {time}) AS INT)",
                f"POSITION('a' IN {text})",
                f"(- {a})",
                f"CAST({self.of('bool', columns, depth)} AS INT)",
            )
        )

    def _big(self, columns: dict[str, Kind], depth: int) -> str:
        a, b = self.of("big", columns, depth), self.of("int", columns, depth)
        return str(self.pick(f"({a} + {b})", f"({b} - {a})", f"CAST({b} AS BIGINT)", f"({a} / 3)"))

    def _text(self, columns: dict[str, Kind], depth: int) -> str:
        a, b = self.of("text", columns, depth), self.of("text", columns, depth)
        n = self.of("int", columns, depth)
        return str(
            self.pick(
                f"({a} || {b})",
                f"UPPER({a})",
                f"LOWER({a})",
                f"TRIM({a})",
                f"SUBSTRING({a}, {n})",
                f"SUBSTRING({a} FROM 1 FOR 2)",
                f"REPLACE({a}, 'a', {b})",
                f"CAST({n} AS STRING)",
                f"CAST({self.of('dec', columns, depth)} AS STRING)",
                f"REVERSE({a})",
                f"LEFT({a}, 1)",
                f"CAST({self.of('bool', columns, depth)} AS STRING)",
                f"CONCAT({a}, {b})",
                f"CONCAT_WS('-', {a}, {b})",
                f"CAST({self.of('time', columns, depth)} AS STRING)",
                f"CAST({self.of('dbl', columns, depth)} AS STRING)",
                f"LPAD({a}, 3, 'z')",
                f"INITCAP({a})",
                f"DATE_FORMAT({self.of('time', columns, depth)}, 'yyyy-MM')",
                f"SPLIT_INDEX({a}, 'a', 0)",
            )
        )

    def _decimal(self, columns: dict[str, Kind], depth: int) -> str:
        a, b, n = (self.of(kind, columns, depth) for kind in ("dec", "dec", "int"))
        return str(
            self.pick(
                f"({a} + {b})",
                f"({a} - {n})",
                f"({a} * {b})",
                f"({a} / 4)",
                f"ROUND({a}, 1)",
                f"FLOOR({a})",
                f"CAST({n} AS DECIMAL(6, 3))",
                f"CAST({a} AS DECIMAL(5, 1))",
                f"ABS({a})",
                f"MOD({a}, 2)",
            )
        )

    def _double(self, columns: dict[str, Kind], depth: int) -> str:
        a, n = self.of("dbl", columns, depth), self.of("int", columns, depth)
        return str(
            self.pick(
                f"({a} + {n})",
                f"({a} * 2)",
                f"({a} / 2)",
                f"CAST({n} AS DOUBLE)",
                f"FLOOR({a})",
                f"(- {a})",
            )
        )

    def _time(self, columns: dict[str, Kind], depth: int) -> str:
        a = self.of("time", columns, depth)
        return str(
            self.pick(
                f"({a} + INTERVAL '1' DAY)",
                f"FLOOR({a} TO HOUR)",
                f"TIMESTAMPADD(MINUTE, 5, {a})",
                f"CAST(CAST({a} AS DATE) AS TIMESTAMP(3))",
                f"({a} - INTERVAL '90' MINUTE)",
            )
        )

    def condition(self, columns: dict[str, Kind], depth: int) -> str:
        """A boolean expression."""
        if depth > 0 and self.random.random() < 0.4:
            one, other = self.condition(columns, depth - 1), self.condition(columns, depth - 1)
            return str(
                self.pick(
                    f"({one} AND {other})",
                    f"({one} OR {other})",
                    f"(NOT {one})",
                    f"({one} IS NOT TRUE)",
                )
            )
        name = self.pick(*columns)
        return self.comparison((name, columns[name]), columns)

    def comparison(self, value: tuple[str, Kind], columns: dict[str, Kind] | None) -> str:
        sql, kind = value
        if kind == "bool":
            return str(self.pick(sql, f"({sql} IS TRUE)", f"(NOT {sql})", f"({sql} IS NULL)"))
        other = self.literal(kind) if columns is None else self.of(kind, columns, 1)
        choices = [f"({sql} {operator} {other})" for operator in ("=", "<>", "<", ">=")]
        choices += [f"({sql} IS NULL)", f"({sql} IS NOT NULL)", f"({sql} IS DISTINCT FROM {other})"]
        choices.append(f"({sql} BETWEEN {self.literal(kind)} AND {other})")
        choices.append(
            f"({sql} {self.pick('IN', 'NOT IN')} ({self.literal(kind)}, {self.literal(kind)}))"
        )
        if kind == "text":
            choices += [f"({sql} LIKE '%a%')", f"({sql} LIKE '_')", f"(CHAR_LENGTH({sql}) > 1)"]
        return str(self.pick(*choices))


def _comparable(one: dict[str, Kind], other: dict[str, Kind]) -> list[tuple[str, str]]:
    return [(o, i) for o, k in one.items() for i, m in other.items() if k == m != "bool"]


def random_program(seed: int, tables: dict[str, Rows] | None = None) -> Program:
    """The program of a seed."""
    random = Random(seed)
    return Program(tables or random_tables(random), Queries(random).query())
