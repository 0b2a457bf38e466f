"""Differences between two savepoints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from millstream.checkpoint.savepoints import SavepointTable
from millstream.kernel.snapshot.tables import PANES, table_name
from millstream.spark.tasks.failures import readable
from millstream.state_processor.reader import SavepointReader
from millstream.state_processor.tasks import MARKS, TEXTS, Call, Files, Marking, listed
from millstream.state_processor.views import Identity

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Marks of the rows of a key cancel out only if both sides have the same rows: none has one twice.
_BY_KEY = """
select state, key,
    count_if(side = 0) as in_left, count_if(side = 1) as in_right,
    bit_xor(if(side = 0, mark, 0)) as left_mark, bit_xor(if(side = 1, mark, 0)) as right_mark{more}
from {{rows}} group by state, key
"""
_CHANGED = "in_left <> in_right or left_mark <> right_mark"
_TEXTS = """,
    max(key_text) as key_text,
    {left} as left_text, {right} as right_text"""
_ROWS = "collect_list(if(side = {side}, struct(position, text), null))"
_LINE = f"concat_ws(', ', transform(array_sort({_ROWS}), x -> x.text))"


def diff(
    spark: SparkSession,
    left: str | SavepointReader,
    right: str | SavepointReader,
    trusted: bool | None = None,
) -> list[dict[str, Any]]:
    """The states in which two savepoints differ, and how many of their keys do.

    Parameters
    ----------
    spark : SparkSession
        Where the comparison runs.
    left, right : str or SavepointReader
        The savepoints.
    trusted : bool, optional
        As in `SavepointReader.read`. Savepoints are compared without unpickling anything.

    Returns
    -------
    list of dict
        ``uid``, ``state``, ``change`` (added, removed or changed), ``rows_left`` and ``rows_right``,
        ``different``: the number of keys that are not the same. A source that stands elsewhere has no
        state and no numbers.

    Examples
    --------
    >>> from millstream.state_processor import diff
    >>> diff(None, "/there/is/none", "/nor/there")
    Traceback (most recent call last):
    ...
    millstream.common.errors.CheckpointError: [NO_SAVEPOINT] /there/is/none is no savepoint: ...
    """
    sides = _opened(spark, left, trusted), _opened(spark, right, trusted)
    tables = [{(t.uid, t.state): t for t in side.savepoint.tables if t.rows} for side in sides]
    names = sorted(tables[0].keys() | tables[1].keys())
    counts = _different(spark, sides, names)
    found = []
    for place, (uid, state) in enumerate(names):
        different = counts.get(place, 0)
        if different:
            rows = [None if t is None else t.rows for t in (s.get((uid, state)) for s in tables)]
            found.append(_entry(uid, state, rows[0], rows[1], different))
    return [*found, *_sources(sides)]


def diff_state(
    spark: SparkSession,
    left: str | SavepointReader,
    right: str | SavepointReader,
    uid: str,
    name: str,
    trusted: bool | None = None,
) -> DataFrame:
    """The keys of a state that differ: ``key``, ``change``, ``left`` and ``right`` as text.

    Parameters
    ----------
    spark, left, right, trusted
        As in `diff`.
    uid, name : str
        The operator and its state, by the name that `SavepointReader.operators` gives it.
    """
    sides = _opened(spark, left, trusted), _opened(spark, right, trusted)
    if all(side.savepoint.table(uid, name) is None for side in sides):
        name = table_name(name)
    left_line, right_line = (_LINE.format(side=side) for side in (0, 1))
    more = _TEXTS.format(left=left_line, right=right_line)
    marks = _marks(spark, sides, [(uid, name)], trusted, with_text=True)
    keys = spark.sql(_BY_KEY.format(more=more), rows=marks).where(_CHANGED)
    change = "if(in_left = 0, 'added', if(in_right = 0, 'removed', 'changed')) as change"
    shown = [
        "if(in_left = 0, null, left_text) as left",
        "if(in_right = 0, null, right_text) as right",
    ]
    return keys.selectExpr("key_text as key", change, *shown)


def _opened(
    spark: SparkSession, side: str | SavepointReader, trusted: bool | None
) -> SavepointReader:
    if isinstance(side, SavepointReader):
        return side
    return SavepointReader.read(spark, side, trusted=trusted)


Sides = tuple[SavepointReader, SavepointReader]


def _different(spark: SparkSession, sides: Sides, names: list[tuple[str, str]]) -> dict[int, int]:
    """How many keys of each table differ."""
    if not names:
        return {}
    marks = _marks(spark, sides, names, trusted=False, with_text=False)
    keys = spark.sql(_BY_KEY.format(more=""), rows=marks).where(_CHANGED)
    try:
        return {row["state"]: row["count"] for row in keys.groupBy("state").count().collect()}
    except Exception as error:
        raise readable(error) from None


def _marks(
    spark: SparkSession,
    sides: Sides,
    names: list[tuple[str, str]],
    trusted: bool | None,
    *,
    with_text: bool,
) -> DataFrame:
    files = [
        (side, place, file)
        for side, reader in enumerate(sides)
        for place, name in enumerate(names)
        for file in _table(reader, *name).files
    ]
    identities = tuple(
        (_identity(sides[0], *name, trusted), _identity(sides[1], *name, trusted)) for name in names
    )
    both = Files.of(sides[0].savepoint), Files.of(sides[1].savepoint)
    call = Call(Marking(both, identities, with_text), spark, travels=not with_text)
    return listed(spark, files).mapInArrow(call, TEXTS if with_text else MARKS)


def _table(reader: SavepointReader, uid: str, state: str) -> SavepointTable:
    return reader.savepoint.table(uid, state) or SavepointTable(uid, state, ())


def _identity(reader: SavepointReader, uid: str, state: str, trusted: bool | None) -> Identity:
    trusted = reader._trusted if trusted is None else trusted
    operator = reader._operators.get(uid)
    if operator is None or state == PANES:
        return Identity(None, trusted)
    return Identity(operator.table(state), trusted)


def _entry(
    uid: str, state: str | None, left: int | None, right: int | None, different: int | None
) -> dict[str, Any]:
    change = "added" if left is None else "removed" if right is None else "changed"
    return {
        "uid": uid,
        "state": state,
        "change": change,
        "rows_left": left,
        "rows_right": right,
        "different": different,
    }


def _sources(sides: Sides) -> list[dict[str, Any]]:
    left, right = (side.savepoint.sources for side in sides)
    found = []
    for uid in sorted(left.keys() | right.keys()):
        if left.get(uid, {}).get("offset") != right.get(uid, {}).get("offset"):
            entry = _entry(uid, None, None, None, None)
            change = "added" if uid not in left else "removed" if uid not in right else "changed"
            found.append(entry | {"change": change})
    return found
