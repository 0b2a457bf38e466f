"""Messages of wrong statements, as a person reads them."""

from __future__ import annotations

import pickle

import pytest

from millstream.common.errors import MillstreamError
from millstream.table.sql.errors import SqlError
from millstream.table.sql.parser import parse

MESSAGES = {
    "SELECT a, FROM t": """\
[SQL_SYNTAX] something is missing before FROM
  line 1, column 11:
    SELECT a, FROM t
              ^^^^
  what to do: remove the comma before it, or write what is missing behind the comma""",
    "SELECT a\nFROM t\nGROUP BY": """\
[SQL_END] the statement ends too early: an expression is missing
  line 3, column 9:
    GROUP BY
            ^""",
    "SELCT a FROM t": """\
[SQL_SYNTAX] SELCT is unexpected here; expected is a statement
  line 1, column 1:
    SELCT a FROM t
    ^^^^^
  what to do: is SELECT meant?""",
    "SELECT a FORM t": """\
[SQL_SYNTAX] t is unexpected here; expected is the end of the statement, or another clause
  line 1, column 15:
    SELECT a FORM t
                  ^
  what to do: is FROM meant instead of FORM?""",
    "SELECT value FROM t": """\
[SQL_RESERVED_WORD] value is a reserved word and stands where a name is expected
  line 1, column 8:
    SELECT value FROM t
           ^^^^^
  what to do: quote it if it is a name: `value`""",
    'SELECT "a" FROM t': """\
[SQL_CHARACTER] the character '"' has no meaning here
  line 1, column 8:
    SELECT "a" FROM t
           ^
  what to do: write texts in single quotes: 'text'; and names in backticks: `name`""",
    "SELECT 'a FROM t": """\
[SQL_UNCLOSED] a text in quotes is not closed
  line 1, column 8:
    SELECT 'a FROM t
           ^
  what to do: close it with ', and write '' for a quote inside""",
    "CREATE TABLE t (a INT, b)": """\
[SQL_SYNTAX] ) is unexpected here; expected is a type
  line 1, column 25:
    CREATE TABLE t (a INT, b)
                            ^""",
    "DROP TABEL t": """\
[SQL_SYNTAX] TABEL is unexpected here; expected is TABLE
  line 1, column 6:
    DROP TABEL t
         ^^^^^
  what to do: is TABLE meant?""",
    "SELECT a FROM t WHERE a == 1": """\
[SQL_SYNTAX] = is unexpected here; expected is an expression
  line 1, column 26:
    SELECT a FROM t WHERE a == 1
                             ^
  what to do: write one =""",
    "SELECT a::INT FROM t": """\
[SQL_SYNTAX] : is unexpected here; expected is the end of the statement, or another clause
  line 1, column 9:
    SELECT a::INT FROM t
            ^
  what to do: write CAST(value AS type)""",
    "CREATE TABLE t (a INT b INT)": """\
[SQL_SYNTAX] b is unexpected here; expected is )
  line 1, column 23:
    CREATE TABLE t (a INT b INT)
                          ^
  what to do: is a comma or a bracket missing before it?""",
    "SELECT a FROM t WHERE a != 1": """\
[SQL_SYNTAX] Flink does not know !=
  line 1, column 25:
    SELECT a FROM t WHERE a != 1
                            ^^
  what to do: write <>""",
    "INSERT INTO t SELCT 1": """\
[SQL_SYNTAX] SELCT is unexpected here; expected is a query
  line 1, column 15:
    INSERT INTO t SELCT 1
                  ^^^^^
  what to do: is SELECT meant?""",
    "SET a = b": """\
[SQL_SYNTAX] a is unexpected here; expected is an option such as 'key' = 'value'
  line 1, column 5:
    SET a = b
        ^""",
    "USE a; USE b": """\
[SQL_SEVERAL] the text has several statements
  line 1, column 8:
    USE a; USE b
           ^^^
  what to do: run statements one by one, or as a script""",
}


@pytest.mark.parametrize("text", MESSAGES)
def test_messages(text: str) -> None:
    with pytest.raises(SqlError) as info:
        parse(text)
    assert str(info.value) == MESSAGES[text]


def test_a_long_line_is_cut_around_the_place() -> None:
    text = "SELECT " + ", ".join(f"column_{i}" for i in range(100)) + " FROM t WHERE"
    with pytest.raises(SqlError) as info:
        parse(text)
    first, second = info.value.excerpt.splitlines()
    assert len(first) <= 120
    assert first.endswith("WHERE")
    assert len(second) == len(first) + 1


def test_tabs_stay_tabs_under_the_line() -> None:
    with pytest.raises(SqlError) as info:
        parse("SELECT\t\tFROM t")
    assert info.value.excerpt.splitlines()[1] == "      \t\t^^^^"


def test_an_error_crosses_processes() -> None:
    with pytest.raises(SqlError) as info:
        parse("SELECT")
    again = pickle.loads(pickle.dumps(info.value))
    assert str(again) == str(info.value)
    assert isinstance(MillstreamError.from_dict(info.value.to_dict()), SqlError)


def test_the_line_that_is_shown_has_no_secrets() -> None:
    with pytest.raises(SqlError) as refused:
        parse("CREATE TABLE t (a INT) WITH ('password' = 's3cret', 'path' '/in')")
    assert str(refused.value).splitlines()[2:4] == [
        "    CREATE TABLE t (a INT) WITH ('password' = '******', 'path' '/in')",
        "                                                                    ^",
    ]
