"""Cases whose answers Flink has given, by category; `answers.json` has the answers."""

from __future__ import annotations

from decimal import Decimal as D
from itertools import product
from typing import Any

from tests.support.functions.language import Column, F, Symbol, Typed

__all__ = ["GROUPS", "ROWS", "ROWS_TYPES"]

Cases = list[Any]
NULL_INT, NULL_STRING = Typed(None, "INT"), Typed(None, "STRING")
NULL_BOOLEAN = Typed(None, "BOOLEAN")


def _date(text: str) -> Typed:
    return Typed(text, "DATE")


def _time(text: str) -> Typed:
    return Typed(text, "TIME")


def _ts(text: str) -> Typed:
    return Typed(text, "TIMESTAMP")


def _calls(name: str, *lists: Any) -> Cases:
    """A call for each list of arguments; what is no tuple is the only argument."""
    return [F(name, *(each if isinstance(each, tuple) else (each,))) for each in lists]


def _numbers() -> list[Any]:
    return [
        Typed(1, "TINYINT"), Typed(-7, "SMALLINT"), 5, -2147483648, 9223372036854775807,
        D("1.5"), D("-12.345"), Typed(D("99.99"), "DECIMAL(10, 2)"), Typed(2.5, "FLOAT"), -3.25, NULL_INT,
    ]  # fmt: skip


def _comparison() -> Cases:
    pairs = [
        (1, 2), (2, 2), (NULL_INT, 1), (1, D("1.0")), (D("1.10"), 1.1), ("a", "b"), ("abc", "abc"),
        ("a", "A"), (True, False), (_date("2020-01-01"), _date("2020-01-02")),
        (_ts("2020-01-01 00:00:00"), _ts("2020-01-01 00:00:00.001")), ("é", "z"),
        (Typed("a", "CHAR(3)"), "a"), (_time("10:00:00"), _time("09:59:59")), (1.5, 2),
        (Typed(1, "BIGINT"), Typed(1.0, "FLOAT")), (_date("2020-01-01"), "2020-01-01"), ("1", 1),
        (F("ARRAY", 1, 2), F("ARRAY", 1, 2)), (b"\x01", b"\x02"), ("", ""), (NULL_STRING, ""),
        (_ts("2020-01-01 00:00:00"), _date("2020-01-01")), ("😀", "�"),
    ]  # fmt: skip
    operators = ["=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM", "IS NOT DISTINCT FROM"]
    found: Cases = [F(operator, *pair) for operator, pair in product(operators, pairs)]
    for value in (1, NULL_INT, "x", NULL_STRING, F("ARRAY", 1)):
        found += [F("IS NULL", value), F("IS NOT NULL", value)]
    triples = [
        (5, 1, 10), (5, 10, 1), (5, NULL_INT, 10), (5, 6, NULL_INT), (5, NULL_INT, 4), (NULL_INT, 1, 2),
        ("b", "a", "c"), (D("1.5"), 1, 2), (1.5, D("1.5"), D("1.5")),
        (_date("2020-06-01"), _date("2020-01-01"), _date("2020-12-31")),
    ]  # fmt: skip
    names = ["BETWEEN", "NOT BETWEEN", "BETWEEN SYMMETRIC", "NOT BETWEEN SYMMETRIC"]
    found += [F(name, *triple) for name, triple in product(names, triples)]
    lists = [
        (4, 1, 2, 3), (1, 1, 2, NULL_INT), (4, 1, 2, NULL_INT), (NULL_INT, 1, 2), ("a", "a", "b"),
        ("c", "a", "b"), (D("1.0"), 1, 2), (1.0, 1, D("2.5")), ("ab", Typed("ab", "CHAR(4)"), "x"),
    ]  # fmt: skip
    found += [F(name, *each) for name, each in product(["IN", "NOT IN"], lists)]
    likes = [
        ("abc", "a%"), ("abc", "_b_"), ("abc", "abc"), ("abc", "ab"), ("abc", "%c"), ("abc", "%b%"),
        ("a%c", "a\\%c"), ("abc", "a\\%c"), ("a%c", "a!%c", "!"), ("abc", "a!%c", "!"), ("a_c", "a!_c", "!"),
        ("", ""), ("", "%"), (NULL_STRING, "a"), ("a", NULL_STRING), ("a.c", "a.c"), ("abc", "a.c"),
        ("a\nb", "a%b"), ("a\nb", "a_b"), ("TE_ST", "%E&_S%", "&"), ("TE_ST", "%E\\_S%"), ("ABC", "abc"),
        ("a+b", "a+b"), ("[x]", "[_]"), ("(a", "(%"), ("日本", "日_"), ("abc", "%a%b%c%"), ("ab", "a__"),
        ("a\\b", "a\\b"), ("😀a", "_a"), ("abc", "a!b", "!"),
    ]  # fmt: skip
    found += [F(name, *each) for name, each in product(["LIKE", "NOT LIKE"], likes)]
    similar = [
        ("abc", "a(b|x)c"), ("abc", "a_c"), ("abc", "%"), ("abc", "[a-c]+"), ("abc", "(a|b|c){3}"),
        ("abc", "a.c"), ("a.c", "a.c"), ("abc", "b"), ("1234", "[0-9]*"), ("ab", "a?b"), ("", "a*"),
        (NULL_STRING, "a"), ("ABC", "[[:UPPER:]]+"), ("abc", "[^x]%"), ("a%c", "a!%c", "!"),
        ("abc", "a\\%c"), ("aab", "a{2}b"),
    ]  # fmt: skip
    found += [F(name, *each) for name, each in product(["SIMILAR TO", "NOT SIMILAR TO"], similar)]
    return found


def _logical() -> Cases:
    truths = [True, False, NULL_BOOLEAN]
    found: Cases = [F(name, *pair) for name in ("AND", "OR") for pair in product(truths, truths)]
    names = [
        "NOT",
        "IS TRUE",
        "IS NOT TRUE",
        "IS FALSE",
        "IS NOT FALSE",
        "IS UNKNOWN",
        "IS NOT UNKNOWN",
    ]
    return found + [F(name, truth) for name, truth in product(names, truths)]


def _arithmetic() -> Cases:
    numbers = _numbers()
    found: Cases = [
        F(operator, left, right)
        for operator in ("+", "-", "*", "/", "%")
        for left, right in product(numbers, numbers)
        if not (operator == "%" and isinstance(left, float) != isinstance(right, float))
    ]
    found += [
        F(name, number)
        for name, number in product(("NEGATE", "PLUS", "ABS", "SIGN"), numbers)
        if name != "NEGATE" or number != -2147483648  # which is the negative of a BIGINT
    ]
    overflows = [
        F("+", 2147483647, 1), F("-", -2147483648, 1), F("*", 2147483647, 2),
        F("+", Typed(127, "TINYINT"), Typed(1, "TINYINT")), F("*", 9223372036854775807, 2),
        F("+", 9223372036854775807, 1), F("ABS", -2147483648), F("ABS", Typed(-128, "TINYINT")),
        F("/", 7, 2), F("/", -7, 2), F("%", -7, 3), F("%", 7, -3), F("MOD", -7, 3), F("MOD", D("7.5"), 2),
        F("MOD", 7, D("2.5")), F("MOD", D("-7.5"), D("2.25")), F("/", 1, 0), F("/", 1.0, 0), F("/", D("1.0"), 0),
        F("%", 1, 0), F("MOD", Typed(5, "BIGINT"), 3), F("MOD", 5, Typed(3, "BIGINT")), F("MOD", NULL_INT, 3),
        F("/", D("2.0"), -3), F("/", D("1.0"), D("3.0")), F("*", D("12345678901234567890.5"), D("98765432109876543210.5")),
        F("+", D("99999999999999999999999999999999999999"), 1),
        F("/", Typed(D("12345678901234567890.123"), "DECIMAL(38, 10)"), Typed(D("0.000123"), "DECIMAL(38, 10)")),
        F("*", Typed(D("1.23"), "DECIMAL(38, 18)"), Typed(D("4.56"), "DECIMAL(38, 18)")),
        F("-", Typed(D("1.5"), "DECIMAL(20, 10)"), Typed(D("0.25"), "DECIMAL(10, 8)")),
    ]  # fmt: skip
    found += overflows
    doubles = [0.0, 1.0, -1.0, 0.5, 2.0, 10.0, 100.0, -2.5, 1e300, D("2.25"), 3, NULL_INT]
    names = (
        "SQRT", "LN", "LOG10", "LOG2", "LOG", "EXP", "SIN", "SINH", "COS", "TAN", "TANH", "COT", "ASIN", "ACOS",
        "ATAN", "COSH", "DEGREES", "RADIANS",
    )  # fmt: skip
    found += [F(name, number) for name, number in product(names, doubles)]
    found += _calls(
        "POWER",
        (2, 10),
        (2.0, 0.5),
        (D("1.5"), 2),
        (-8, 3),
        (0, 0),
        (-8.0, D("0.5")),
        (2, -1),
        (NULL_INT, 2),
    )
    found += _calls(
        "LOG",
        (2, 8),
        (10, 100),
        (2.0, 8.0),
        (D("3"), 9),
        (0.5, 4.0),
        (1, 5),
        (2, NULL_INT),
        (-2, 8),
    )
    found += _calls("ATAN2", (1, 2), (1.0, -1.0), (0, 0), (D("1.5"), D("2.5")), (NULL_INT, 1))
    found += _calls(
        "CEIL",
        1,
        -7,
        D("1.5"),
        D("-1.5"),
        2.3,
        -2.3,
        Typed(2.5, "FLOAT"),
        NULL_INT,
        D("99.99"),
    )
    found += _calls("CEILING", 1, D("1.5"), 2.3)
    found += _calls(
        "FLOOR",
        1,
        -7,
        D("1.5"),
        D("-1.5"),
        2.3,
        -2.3,
        Typed(2.5, "FLOAT"),
        NULL_INT,
        D("-99.99"),
    )
    rounds = [
        (D("1.255"), 2), (D("-1.255"), 2), (125, -1), (125, -2), (1.255, 2), (2.5, 0), (-2.5, 0), (D("1.5"),),
        (2.5,), (155,), (D("123.456"), -2), (D("123.456"), 5), (NULL_INT, 1), (12345, NULL_INT), (Typed(127, "TINYINT"), -1),
        (Typed(32767, "SMALLINT"), -2), (9223372036854775807, -3), (Typed(2.25, "FLOAT"), 1), (1e20, 2), (0.5, 0), (1.5, 0),
        (D("999.99"), 1), (646646, -1),
    ]  # fmt: skip
    found += [F("ROUND", *each) for each in rounds]
    found += [F("TRUNCATE", *each) for each in rounds]
    found += [F("PI"), F("E")]
    found += _calls(
        "BIN",
        4,
        12,
        0,
        -1,
        Typed(-12, "BIGINT"),
        NULL_INT,
        Typed(5, "TINYINT"),
        9223372036854775807,
    )
    found += _calls(
        "HEX",
        20,
        100,
        -1,
        "hello,world",
        "é",
        "",
        Typed(-1, "BIGINT"),
        NULL_INT,
        NULL_STRING,
        Typed(100, "TINYINT"),
    )
    found += _calls("UNHEX", "466C696E6B", "4D7", "", "zz", "7", NULL_STRING, "ff00")
    found += _calls("RAND", 1, 42, NULL_INT) + _calls(
        "RAND_INTEGER", (1, 10), (42, 100), (7, 16), (3, NULL_INT), (1, 1000000007)
    )
    return found


STRINGS = ["", "abc", "Hello World", "  pad ", "ÄÖß é", "日本語", "a😀b", "1,2,,3", NULL_STRING]


def _string() -> Cases:
    unary = (
        "CHAR_LENGTH", "CHARACTER_LENGTH", "UPPER", "LOWER", "LTRIM", "RTRIM", "TRIM", "BTRIM", "INITCAP", "REVERSE",
        "ASCII", "TO_BASE64", "MD5", "SHA1", "SHA224", "SHA256", "SHA384", "SHA512", "IS_ALPHA", "IS_DIGIT",
        "IS_DECIMAL", "URL_ENCODE", "URL_DECODE", "JSON_QUOTE", "HEX", "OCTET_LENGTH", "HASH_CODE", "QUOTE",
    )  # fmt: skip
    found: Cases = [F(name, text) for name, text in product(unary, STRINGS)]
    found += [
        F("||", *each)
        for each in (
            ("a", "b"),
            ("a", NULL_STRING),
            ("", ""),
            ("é", "😀"),
            (Typed("a", "CHAR(3)"), "b"),
        )
    ]
    found += _calls(
        "CONCAT",
        ("a", "b", "c"),
        ("a", NULL_STRING),
        ("a",),
        ("", "é"),
        ("x", Typed("y", "STRING")),
    )
    found += _calls(
        "CONCAT_WS",
        ("~", "AA", NULL_STRING, "BB", "", "CC"),
        (NULL_STRING, "a", "b"),
        ("", "a", "b"),
        (",", NULL_STRING),
        (", ", "x"),
    )
    found += _calls(
        "POSITION",
        ("b", "abc"),
        ("", "abc"),
        ("z", "abc"),
        ("b", NULL_STRING),
        ("本", "日本語"),
        ("b", "a😀b"),
    )
    found += _calls("POSITION", ("c", "abcabc"))
    for side in ("BOTH", "LEADING", "TRAILING"):
        found += _calls(
            "TRIM",
            (Symbol(side), "  x  ", " "),
            (Symbol(side), "xxabxx", "x"),
            (Symbol(side), "abcab", "ab"),
            (Symbol(side), NULL_STRING, "x"),
            (Symbol(side), "éaé", "é"),
        )
    for name in ("LTRIM", "RTRIM", "BTRIM"):
        found += _calls(
            name,
            ("abcddcba", "abc"),
            ("  x ", " "),
            ("www.apache.org", "wgro."),
            ("abc", ""),
            ("abc", NULL_STRING),
            (NULL_STRING, "a"),
            ("a😀", "😀"),
        )
    found += _calls(
        "REPEAT", ("ab", 3), ("ab", 0), ("ab", -1), (NULL_STRING, 2), ("ab", NULL_INT), ("é", 2)
    )
    replaces = [
        ("foobar", "oo|ar", ""), ("foobar", "(o+)", "<$1>"), ("abc", "", "-"), ("abc", "b", "\\$"), ("a.b", ".", "x"), ("a.b", "\\.", "x"),
        (NULL_STRING, "a", "b"), ("abc", NULL_STRING, "b"), ("abc", "b", NULL_STRING), ("abc", "(", "b"), ("100-200", "(\\d+)", "num"), ("aAbB", "(?i)a", "x"),
        ("abcabc", "(?<x>b)", "${x}${x}"), ("tab\there", "\\s", "_"), ("abc", "b", "$2"),
    ]  # fmt: skip
    found += [F("REGEXP_REPLACE", *each) for each in replaces]
    found += _calls(
        "OVERLAY",
        ("xxxxxtest", "xxxx", 6),
        ("xxxxxtest", "xxxx", 6, 2),
        ("abc", "X", 2),
        ("abc", "X", 10),
        ("abc", "X", 0),
        ("abc", "X", -1),
        ("abc", "X", 1, 0),
        ("abc", "XYZ", 2, 5),
        (NULL_STRING, "X", 1),
        ("abc", "X", 2, -1),
        ("日本語", "x", 2),
        ("It's a test", "is the", 6, 4),
    )
    for name in ("SUBSTRING", "SUBSTR"):
        found += _calls(
            name,
            ("hello", 2),
            ("hello", 2, 3),
            ("hello", -3),
            ("hello", -3, 2),
            ("hello", 0),
            ("hello", 0, 2),
            ("hello", 10),
            ("hello", 2, 0),
            ("hello", 2, -1),
            ("hello", 1, 100),
            (NULL_STRING, 1),
            ("hello", NULL_INT),
            ("a😀b", 2, 1),
            ("日本語", 2),
            ("", 1),
            ("hello", -10, 3),
            ("hello", 5, 2147483647),
        )
    found += _calls(
        "REPLACE",
        ("hello world", "world", "flink"),
        ("ababab", "abab", "z"),
        ("abc", "", "x"),
        ("abc", "b", ""),
        (NULL_STRING, "a", "b"),
        ("aaa", "a", "aa"),
        ("a.c", ".", "b"),
    )
    extracts = [
        ("foothebar", "foo(.*?)(bar)", 2), ("foothebar", "foo(.*?)(bar)", 1), ("foothebar", "foo(.*?)(bar)", 0), ("foothebar", "foo(.*?)(bar)"), ("abc", "x", 0), ("abc", "(b)", 2), ("abc", "(", 0), (NULL_STRING, "a", 0),
        ("abc", "b", -1), ("100-200", "(\\d+)-(\\d+)", 2), ("x", "(a)?x", 1), ("abc", "", 0),
    ]  # fmt: skip
    found += [F("REGEXP_EXTRACT", *each) for each in extracts]
    found += [F("REGEXP_EXTRACT_ALL", *each) for each in extracts]
    found += _calls(
        "REGEXP_EXTRACT_ALL",
        ("a1b22c333", "(\\d)(\\d*)"),
        ("a1b22c333", "(\\d)(\\d*)", 2),
        ("a1b22c333", "[a-z](\\d+)", 1),
    )
    pairs = [
        ("100-200", "(\\d+)"), ("abc", "b"), ("abc", "^b"), ("abc", ""), ("abc", "("), (NULL_STRING, "a"), ("abc", NULL_STRING), ("", ""), ("ab ab", "ab"), ("aaa", "a*"), ("x.y.z", "\\."), ("Steven Jones", "Ste(v|ph)en"),
    ]  # fmt: skip
    for name in ("REGEXP", "REGEXP_COUNT", "REGEXP_INSTR", "REGEXP_SUBSTR"):
        found += [F(name, *pair) for pair in pairs]
    for name in ("LPAD", "RPAD"):
        found += _calls(
            name,
            ("hi", 4, "??"),
            ("hi", 1, "??"),
            ("hi", 5, "abc"),
            ("hi", -1, "?"),
            ("hi", 0, "?"),
            ("hi", 4, ""),
            (NULL_STRING, 1, "x"),
            ("hi", 2, ""),
            ("é", 3, "日"),
            ("hi", NULL_INT, "x"),
            ("", 3, "ab"),
            ("a😀", 4, "b"),
        )
    found += _calls("FROM_BASE64", "aGVsbG8gd29ybGQ=", "", "aGVsbG8", "!!", NULL_STRING, "8J+YgA==")
    found += _calls("CHR", 97, 353, 0, 256, -10, 149, 255, NULL_INT, Typed(97, "BIGINT"), 65536)
    charsets = ["US-ASCII", "ISO-8859-1", "UTF-8", "UTF-16BE", "UTF-16LE", "UTF-16", "nope"]
    found += [F("ENCODE", text, charset) for text, charset in product(("aé", ""), charsets)]
    found += [
        F("DECODE", data, charset) for data, charset in product((b"a\xc3\xa9b", b""), charsets)
    ]
    found += _calls("ENCODE", (NULL_STRING, "UTF-8"), ("a", NULL_STRING)) + _calls(
        "DECODE", (Typed(None, "BYTES"), "UTF-8")
    )
    found += _calls(
        "INSTR",
        ("abcabc", "c"),
        ("abc", ""),
        ("abc", "z"),
        (NULL_STRING, "a"),
        ("abcabc", "a", 2),
        ("abcabc", "bc", 1, 2),
        ("abcabc", "c", -1),
    )
    for name in ("LEFT", "RIGHT"):
        found += _calls(
            name,
            ("hello", 2),
            ("hello", 0),
            ("hello", -1),
            ("hello", 10),
            (NULL_STRING, 1),
            ("a😀b", 2),
            ("hello", NULL_INT),
        )
    found += _calls(
        "LOCATE",
        ("b", "abcb"),
        ("b", "abcb", 3),
        ("z", "abc"),
        ("", "abc"),
        ("b", "abc", 0),
        ("b", "abc", -1),
        (NULL_STRING, "a"),
        ("b", "abc", 10),
    )
    url = "http://userinfo@facebook.com:80/path1/p.php?k1=v1&k2=v2#Ref1"
    for part in (
        "HOST",
        "PATH",
        "QUERY",
        "REF",
        "PROTOCOL",
        "AUTHORITY",
        "FILE",
        "USERINFO",
        "nope",
    ):
        found += _calls("PARSE_URL", (url, part), ("ftp://x/", part), ("no url", part))
    found += _calls(
        "PARSE_URL",
        (url, "QUERY", "k1"),
        (url, "QUERY", "k2"),
        (url, "QUERY", "k3"),
        (NULL_STRING, "HOST"),
        (url, "HOST", "k1"),
        ("https://flink.apache.org/news/?a=b%20c", "QUERY", "a"),
    )
    found += _calls(
        "SPLIT_INDEX",
        ("1,2,,3", ",", 0),
        ("1,2,,3", ",", 2),
        ("1,2,,3", ",", 9),
        ("1,2", ",", -1),
        (NULL_STRING, ",", 0),
        ("a;;b", ";;", 1),
        ("1,2", "", 0),
        ("", ",", 0),
        ("a1b", 49, 1),
        ("abc", ",", 0),
        ("a|b|c", "|", 2),
        ("", "", 0),
        (",", ",", 1),
    )
    found += _calls(
        "SPLIT",
        ("1,2,,3", ","),
        ("abc", ""),
        ("", ","),
        (NULL_STRING, ","),
        ("a..b", "."),
        ("abc", NULL_STRING),
        ("a,", ","),
        ("123ab456", "[a-z]+"),
    )
    found += _calls(
        "STR_TO_MAP",
        "a=1,b=2",
        "",
        "a",
        "a=1,a=2",
        "a=",
        NULL_STRING,
        ("a:1;b:2", ";", ":"),
        ("a=1=2,b", ",", "="),
        ("a1b2", "[0-9]", "x"),
        ("k1$$v1|k2$$ v2", "\\|", "\\$\\$"),
    )
    found += _calls(
        "STARTSWITH",
        ("abc", "ab"),
        ("abc", ""),
        ("abc", "b"),
        (NULL_STRING, "a"),
        (b"\x01\x02", b"\x01"),
    )
    found += _calls(
        "ENDSWITH",
        ("abc", "bc"),
        ("abc", ""),
        ("abc", "b"),
        ("abc", NULL_STRING),
        (b"\x01\x02", b"\x02"),
    )
    found += _calls(
        "ELT",
        (1, "a", "b"),
        (2, "a", "b"),
        (3, "a", "b"),
        (0, "a"),
        (-1, "a"),
        (NULL_INT, "a"),
        (1, NULL_STRING),
        (2, b"\x01", b"\x02"),
    )
    found += _calls(
        "PRINTF",
        ("%d-%s", 1, "a"),
        ("%5d|%-5d|%05d", 1, 2, 3),
        ("%.2f", 1.005),
        ("%s %s", "a"),
        (NULL_STRING, 1),
        ("%x", 255),
        ("%,d", 1234567),
        ("%e", 12345.678),
        ("%b", True),
        ("%%",),
        ("Hello %s, %s!", "a", NULL_STRING),
        ("%d", D("1.5")),
    )
    found += _calls(
        "TRANSLATE",
        ("abcabc", "ab", "xy"),
        ("abcabc", "ab", "x"),
        ("abc", "", "x"),
        (NULL_STRING, "a", "b"),
        ("abc", NULL_STRING, "b"),
        ("aab", "aa", "xy"),
        ("日本", "日", "x"),
        ("abc", "abc", ""),
    )
    found += _calls(
        "SHA2",
        ("abc", 224),
        ("abc", 256),
        ("abc", 384),
        ("abc", 512),
        ("abc", 1),
        (NULL_STRING, 256),
        ("abc", NULL_INT),
    )
    found += (
        _calls("IS_DECIMAL", "1", "1.5", "-2", "1e5", "abc", "1.", ".5", "0x1", 5)
        + _calls("IS_DIGIT", "123", "12a", "١٢", 5)
        + _calls("IS_ALPHA", "abc", "ab1", "é", "日", 5)
    )
    found += _calls("URL_ENCODE", "a b&c=d/é*-_.~") + _calls(
        "URL_DECODE", "a+b%26c%3Dd", "%zz", "%C3%A9", ("%zz", True), ("%", False)
    )
    found += _calls("URL_DECODE_RECURSIVE", "a%2520b")
    found += _calls("JSON_QUOTE", 'a"b', "\\", "\n\t", "\x01", "/", "é😀") + _calls(
        "JSON_UNQUOTE",
        '"abc"',
        "abc",
        '"a\\"b"',
        '"\\u0041"',
        '"bad',
        '"\\x"',
        NULL_STRING,
        "",
        '""',
        '"\\\\ud83d"',
        "[1]",
    )
    found += (
        _calls("SOUNDEX", "Robert")
        + _calls("INET_ATON", "127.0.0.1", "1.2", "x", NULL_STRING, "255.255.255.255")
        + _calls("INET_NTOA", 2130706433, NULL_INT, -1, Typed(4294967295, "BIGINT"))
    )
    return found


TIMESTAMPS = [
    _ts("1994-09-27 13:14:15.678"), _ts("2020-02-29 23:59:59.999"), _ts("1969-12-31 23:59:59"), _ts("0001-01-01 00:00:00"),
    _ts("2021-01-03 12:00:00"), _ts("2018-12-31 00:00:00.123456789"), Typed(None, "TIMESTAMP(3)"),
]  # fmt: skip
DATES = [
    _date("1994-09-27"),
    _date("2020-02-29"),
    _date("1969-12-31"),
    _date("2021-01-03"),
    _date("2018-12-31"),
    Typed(None, "DATE"),
]
TIMES = [_time("13:14:15"), _time("00:00:00"), _time("23:59:59.999")]


def _temporal() -> Cases:
    units = [
        "YEAR",
        "QUARTER",
        "MONTH",
        "WEEK",
        "DAY",
        "DOY",
        "DOW",
        "ISODOW",
        "ISOYEAR",
        "DECADE",
        "CENTURY",
        "MILLENNIUM",
        "EPOCH",
        "HOUR",
        "MINUTE",
        "SECOND",
        "MILLISECOND",
        "MICROSECOND",
        "NANOSECOND",
    ]
    moments = [*TIMESTAMPS, Typed("2020-03-08 10:30:00", "TIMESTAMP_LTZ(3)")]
    found: Cases = [
        F("EXTRACT", Symbol(unit), moment) for unit, moment in product(units, moments + DATES)
    ]
    found += [
        F("EXTRACT", Symbol(unit), time)
        for unit, time in product(("HOUR", "MINUTE", "SECOND", "MILLISECOND"), TIMES)
    ]
    found += [
        F("EXTRACT", Symbol(unit), Typed("3 04:05:06.789", "INTERVAL DAY TO SECOND"))
        for unit in ("DAY", "HOUR", "MINUTE", "SECOND")
    ]
    found += [
        F("EXTRACT", Symbol(unit), Typed("2-10", "INTERVAL YEAR TO MONTH"))
        for unit in ("YEAR", "MONTH")
    ]
    names = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAYOFYEAR", "DAYOFMONTH", "DAYOFWEEK")
    found += [F(name, date) for name, date in product(names, DATES[:3] + TIMESTAMPS[:2])]
    found += [
        F(name, moment)
        for name, moment in product(("HOUR", "MINUTE", "SECOND"), TIMESTAMPS[:3] + TIMES)
    ]
    rounded = [
        "YEAR",
        "QUARTER",
        "MONTH",
        "WEEK",
        "DAY",
        "HOUR",
        "MINUTE",
        "SECOND",
        "MILLENNIUM",
        "CENTURY",
        "DECADE",
        "MILLISECOND",
    ]
    found += [
        F(name, moment, Symbol(unit))
        for name, unit, moment in product(
            ("FLOOR", "CEIL"),
            rounded,
            [*TIMESTAMPS[:3], *TIMESTAMPS[4:5], Typed("2020-03-08 10:30:31", "TIMESTAMP_LTZ(3)")],
        )
    ]
    found += [
        F(name, date, Symbol(unit))
        for name, unit, date in product(("FLOOR", "CEIL"), rounded[:5], DATES)
    ]
    found += [
        F(name, time, Symbol(unit))
        for name, unit, time in product(("FLOOR", "CEIL"), rounded[5:8], TIMES)
    ]
    adds = ["YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND"]
    bases = [
        _ts("2020-01-31 10:00:00"),
        _date("2020-01-31"),
        _time("23:30:00"),
        Typed(None, "TIMESTAMP(3)"),
        Typed("2020-01-31 10:00:00", "TIMESTAMP_LTZ(3)"),
    ]
    found += [
        F("TIMESTAMPADD", Symbol(unit), count, base)
        for unit, count, base in product(adds, (1, -13), bases)
    ]
    ends = [
        (_ts("2020-01-31 10:00:00"), _ts("2020-02-29 09:59:59")), (_ts("2021-05-01 00:00:00"), _ts("2018-04-30 23:00:00")), (_date("2020-01-31"), _date("2021-03-01")),
        (_date("2020-01-31"), _ts("2020-03-01 12:00:00")), (Typed(None, "TIMESTAMP(3)"), _date("2020-01-01")), (_time("10:00:00"), _time("12:30:15")), (_ts("2020-01-01 00:00:00"), Typed("2020-01-02 00:00:00", "TIMESTAMP_LTZ(3)")),
    ]  # fmt: skip
    found += [F("TIMESTAMPDIFF", Symbol(unit), *pair) for unit, pair in product(adds, ends)]
    intervals = [
        Typed("1", "INTERVAL DAY"), Typed("10", "INTERVAL MINUTE"), Typed("1-2", "INTERVAL YEAR TO MONTH"), Typed("2", "INTERVAL MONTH"), Typed("1 02:03:04.005", "INTERVAL DAY TO SECOND"),
        Typed("-3", "INTERVAL HOUR"), Typed("1.5", "INTERVAL SECOND"), Typed("2", "INTERVAL WEEK"), Typed("1", "INTERVAL QUARTER"),
    ]  # fmt: skip
    found += intervals
    found += [
        F(operator, base, interval)
        for operator, base, interval in product(("+", "-"), bases, intervals[:6])
    ]
    found += [
        F("+", intervals[0], intervals[1]),
        F("-", intervals[0], intervals[1]),
        F("+", intervals[2], intervals[3]),
        F("*", intervals[0], 3),
        F("*", intervals[2], 2),
        F("NEGATE", intervals[0]),
    ]
    found += [F("<", intervals[0], intervals[1]), F("=", intervals[2], intervals[3])]
    found += [F("-", _ts("2020-01-02 00:00:00"), _ts("2020-01-01 00:00:00"))]
    patterns = [
        "yyyy-MM-dd HH:mm:ss", "yyyy/MM/dd", "dd MMM yyyy", "EEEE, d MMMM", "HH:mm:ss.SSS", "hh:mm a", "yy-M-d H:m:s", "D", "w", "yyyyMMddHHmmss", "'T'HH''mm", "E", "SSSSSS", "u", "Q", "e", "k K", "MMMMM", "yyyy-MM-dd'T'HH:mm:ss", "G", "", "bad",
    ]  # fmt: skip
    found += [
        F("DATE_FORMAT", moment, pattern)
        for moment, pattern in product((TIMESTAMPS[0], TIMESTAMPS[1], TIMESTAMPS[4]), patterns)
    ]
    found += _calls(
        "DATE_FORMAT",
        ("2020-02-29 10:11:12", "yyyy"),
        ("2020-02-29 10:11:12", "HH"),
        (NULL_STRING, "yyyy"),
        (TIMESTAMPS[0], NULL_STRING),
        (Typed("2020-03-08 10:30:00", "TIMESTAMP_LTZ(3)"), "yyyy-MM-dd HH:mm:ss"),
        ("junk", "yyyy"),
        (_date("2020-01-02"), "yyyy"),
        (_time("01:02:03"), "HH"),
    )
    found += _calls(
        "CONVERT_TZ",
        ("1970-01-01 00:00:00", "UTC", "America/Los_Angeles"),
        ("2020-03-08 02:30:00", "America/Los_Angeles", "UTC"),
        ("2020-01-01 00:00:00", "GMT-08:00", "UTC"),
        ("2020-01-01 00:00:00", "PST", "UTC"),
        ("junk", "UTC", "UTC"),
        (NULL_STRING, "UTC", "UTC"),
        ("2020-07-01 12:00:00", "Europe/Berlin", "Asia/Tokyo"),
        ("2020-07-01 12:00:00", "nope", "UTC"),
        ("2020-11-01 01:30:00", "America/Los_Angeles", "UTC"),
        ("2020-07-01 12:00:00", "UTC", "EST"),
    )
    found += _calls(
        "FROM_UNIXTIME",
        44,
        0,
        -1,
        1700000000,
        (1700000000, "yyyy/MM/dd HH"),
        (44, "bad"),
        NULL_INT,
        Typed(253402300799, "BIGINT"),
        (1700000000, "EEE, dd MMM"),
        D("1.5"),
        1.9,
    )
    found += _calls(
        "UNIX_TIMESTAMP",
        "2020-01-01 00:00:00",
        "1970-01-01 00:00:00",
        "junk",
        ("2020/01/01", "yyyy/MM/dd"),
        ("1970-01-01 08:00:01.001", "yyyy-MM-dd HH:mm:ss.SSS"),
        ("1970-01-01 08:00:01.001 +0800", "yyyy-MM-dd HH:mm:ss.SSS X"),
        ("1970-01-01 08:00:01.001 +0800", "yyyy-MM-dd HH:mm:ss.SSS"),
        ("1970-01-01 08:00:01.001", "yyyy-MM-dd HH:mm:ss.SSS X"),
        NULL_STRING,
        ("01 Feb 2021", "dd MMM yyyy"),
    )
    found += _calls(
        "TO_DATE",
        "2020-01-02",
        "2020-1-2",
        "2020-02-30",
        "junk",
        "2020-01-02 10:00:00",
        NULL_STRING,
        ("02/01/2020", "dd/MM/yyyy"),
        ("2020 Jan 02", "yyyy MMM dd"),
        ("20200102", "yyyyMMdd"),
        ("2020-13-01", "yyyy-MM-dd"),
        ("99-01-02", "yy-MM-dd"),
        "",
        "12345-01-01",
        ("2020-01-02", "bad"),
        "0001-01-01",
        "2020",
    )
    stamps = [
        "2020-01-02 03:04:05", "2020-01-02 03:04:05.123", "2020-01-02 03:04:05.123456789", "2020-01-02", "2020-01-02T03:04:05", "2020-01-02 03:04", "junk", NULL_STRING, "2020-02-30 00:00:00", "2020-01-02 25:00:00", "", "1969-12-31 23:59:59.5", "2020-1-2 3:4:5", "0001-01-01 00:00:00", "9999-12-31 23:59:59.999",
        ("02/01/2020 10", "dd/MM/yyyy HH"), ("2020-01-02", "yyyy-MM-dd"), ("20200102030405", "yyyyMMddHHmmss"), ("Jan 5, 2020 4:05 PM", "MMM d, yyyy h:mm a"), ("2020-01-02T03:04:05.678Z", "yyyy-MM-dd'T'HH:mm:ss.SSS'Z'"), ("2020-01-02 03:04:05.678901", "yyyy-MM-dd HH:mm:ss.SSSSSS"), ("03:04:05", "HH:mm:ss"), ("2020-02-30 00:00:00", "yyyy-MM-dd HH:mm:ss"), ("2020", "yyyy"), ("2020-01-02 03:04:05 extra", "yyyy-MM-dd HH:mm:ss"), ("2020-01-02 03:04:05", "bad pattern"), ("2020-06", "yyyy-MM"),
    ]  # fmt: skip
    found += _calls("TO_TIMESTAMP", *stamps)
    found += _calls("TO_TIMESTAMP_LTZ", *stamps)
    found += _calls(
        "TO_TIMESTAMP_LTZ",
        (100, 0),
        (100, 3),
        (1700000000123, 3),
        (-1, 0),
        (NULL_INT, 3),
        (100, 6),
        (1.5, 0),
        (D("1700000000.5"), 0),
        1700000000123,
        (1700000000, 1),
        ("2020-01-02 03:04:05", "yyyy-MM-dd HH:mm:ss", "Asia/Tokyo"),
        (253402300800, 0),
        ("2020-07-02 03:04:05 +09:00", "yyyy-MM-dd HH:mm:ss XXX"),
        ("2020-07-02 03:04:05", "yyyy-MM-dd HH:mm:ss", "America/Los_Angeles"),
    )
    overlaps = [
        (_time("2:55:00"), Typed("1", "INTERVAL HOUR"), _time("3:30:00"), Typed("2", "INTERVAL HOUR")), (_time("9:00:00"), _time("9:30:00"), _time("9:29:00"), _time("9:31:00")), (_time("9:00:00"), _time("10:00:00"), _time("10:15:00"), Typed("3", "INTERVAL HOUR")),
        (_ts("2011-03-10 05:02:02"), Typed("0", "INTERVAL DAY"), _ts("2011-03-10 05:02:02"), _ts("2011-03-10 05:02:02.001")), (_ts("2011-03-10 02:02:02.001"), Typed("0", "INTERVAL DAY"), _ts("2011-03-10 02:02:02.002"), _ts("2011-03-10 02:02:02.002")),
        (_date("2011-03-10"), _date("2011-03-12"), _date("2011-03-13"), _date("2011-03-14")), (_date("2011-03-12"), _date("2011-03-10"), _date("2011-03-09"), _date("2011-03-11")),
    ]  # fmt: skip
    found += [F("OVERLAPS", *each) for each in overlaps]
    return found


def _zoned() -> Cases:
    ltz = [
        Typed("2020-03-08 10:30:31", "TIMESTAMP_LTZ(3)"),
        Typed("2020-11-01 01:30:00", "TIMESTAMP_LTZ(3)"),
        F("TO_TIMESTAMP_LTZ", 1583661600000, 3),
        F("TO_TIMESTAMP_LTZ", 0, 0),
    ]
    found: Cases = list(ltz)
    found += [
        F("CAST", each, type=kind)
        for each, kind in product(
            ltz, ("STRING", "DATE", "TIME", "TIMESTAMP(3)", "TIMESTAMP_LTZ(6)")
        )
    ]
    found += [
        F("CAST", each, type="TIMESTAMP_LTZ(3)")
        for each in (
            _ts("2020-03-08 02:30:00"),
            _date("2020-03-08"),
            "2020-07-01 10:00:00",
            _time("10:00:00"),
        )
    ]
    found += [
        F("EXTRACT", Symbol(unit), each)
        for unit, each in product(("YEAR", "DAY", "HOUR", "WEEK", "EPOCH", "DOW"), ltz)
    ]
    found += [
        F(name, each, Symbol(unit))
        for name, unit, each in product(
            ("FLOOR", "CEIL"), ("DAY", "HOUR", "MONTH", "YEAR", "WEEK"), ltz
        )
    ]
    found += [
        F("TIMESTAMPADD", Symbol(unit), 1, each)
        for unit, each in product(("MONTH", "DAY", "HOUR"), ltz)
    ]
    found += [F("TIMESTAMPDIFF", Symbol(unit), ltz[0], ltz[1]) for unit in ("MONTH", "DAY", "HOUR")]
    found += [F("DATE_FORMAT", each, "yyyy-MM-dd HH:mm:ss") for each in ltz]
    found += _calls("FROM_UNIXTIME", 44, 1583661600, (1583661600, "yyyy/MM/dd HH")) + _calls(
        "UNIX_TIMESTAMP",
        "2020-03-08 02:30:00",
        "2020-11-01 01:30:00",
        ("1970-01-01 08:00:01.001 +0800", "yyyy-MM-dd HH:mm:ss.SSS X"),
    )
    found += _calls("TO_TIMESTAMP", "2020-03-08 02:30:00") + _calls(
        "TO_TIMESTAMP_LTZ", "2020-03-08 02:30:00", ("2020-07-02 03:04:05", "yyyy-MM-dd HH:mm:ss")
    )
    found += [F(operator, ltz[0], _ts("2020-03-08 10:30:31")) for operator in ("=", "<", ">")]
    found += [
        F("-", ltz[0], Typed("1", "INTERVAL DAY")),
        F("+", ltz[0], Typed("1", "INTERVAL MONTH")),
        F("YEAR", ltz[3]),
        F("HOUR", ltz[3]),
    ]
    return found


def _conditional() -> Cases:
    found: Cases = [
        F("CASE", F("=", 1, 1), "a", "bb"), F("CASE", F("=", 1, 2), "a", "bb"), F("CASE", F("=", 1, 2), "a"), F("CASE", NULL_BOOLEAN, 1, True, 2, 3),
        F("CASE", True, 1, D("2.5")), F("CASE", False, 1, 2.5), F("CASE", True, NULL_INT, 3), F("CASE", False, _date("2020-01-01"), True, _date("2020-01-02"), _date("2020-01-03")),
        F("CASE", True, D("1.25"), D("100.5")), F("CASE", False, Typed("a", "STRING"), "b"),
    ]  # fmt: skip
    found += _calls(
        "NULLIF",
        (5, 5),
        (5, 0),
        (NULL_INT, 1),
        ("a", "a"),
        ("a", "b"),
        (1, D("1.0")),
        (5, NULL_INT),
    )
    found += _calls(
        "COALESCE",
        (NULL_STRING, "default"),
        (NULL_INT, NULL_INT, 3),
        (1, NULL_INT),
        (NULL_INT, NULL_INT),
        (NULL_INT, D("1.5")),
        (1, 2.5),
        ("a", "bcd"),
        (D("1.5"), D("22.25")),
    )
    found += _calls(
        "IF",
        (F(">", 5, 3), 5, 3),
        (NULL_BOOLEAN, 1, 2),
        (False, "a", "bb"),
        (True, NULL_INT, 1),
        (True, 1, D("2.5")),
        (True, "a", NULL_STRING),
    )
    found += _calls(
        "IFNULL",
        (NULL_INT, 5),
        (1, 5),
        (NULL_STRING, "x"),
        (NULL_INT, D("1.5")),
        (NULL_INT, NULL_INT),
        ("a", "bbb"),
    )
    for name in ("GREATEST", "LEAST"):
        found += _calls(
            name,
            (1, 2, 3),
            (1, NULL_INT),
            (1,),
            ("a", "b"),
            (D("1.5"), 2),
            (1.5, 2, D("0.5")),
            (_date("2020-01-01"), _date("2020-01-02")),
            ("abc", "ab"),
            (Typed(1, "BIGINT"), 2),
        )
    return found


def _collection() -> Cases:
    a, s = F("ARRAY", 1, 2, 3, 2), F("ARRAY", "b", "a", "cc")
    n = F("ARRAY", 1, NULL_INT, 2)
    m = F("MAP", "a", 1, "b", 2)
    none, empty = Typed(None, "ARRAY<INT>"), F("ARRAY_REMOVE", F("ARRAY", 1), 1)
    found: Cases = [
        a,
        s,
        n,
        m,
        F("ROW", 1, "a"),
        F("ARRAY", D("1.5"), D("22.25")),
        F("MAP", 1, "x", 2, "yyy"),
        F("ARRAY", F("ARRAY", 1), F("ARRAY", 2, 3)),
        F("ARRAY", 1, D("2.5")),
        F("ROW", 1, NULL_STRING, True),
    ]
    for name in (
        "CARDINALITY",
        "ARRAY_DISTINCT",
        "ARRAY_REVERSE",
        "ARRAY_MAX",
        "ARRAY_MIN",
        "ARRAY_SORT",
    ):
        found += _calls(name, a, s, n, none, empty)
    found += [F("CARDINALITY", m), F("CARDINALITY", Typed(None, "MAP<STRING, INT>"))]
    found += _calls("ELEMENT", F("ARRAY", 5), none, empty, a, F("ARRAY", "x"))
    found += _calls(
        "ITEM",
        (a, 1),
        (a, 4),
        (a, 5),
        (a, 0),
        (none, 1),
        (m, "a"),
        (m, "z"),
        (a, NULL_INT),
        (Typed(None, "MAP<STRING, INT>"), "a"),
        (F("MAP", 1, "x"), 1),
    )
    for name in (
        "ARRAY_CONTAINS",
        "ARRAY_POSITION",
        "ARRAY_REMOVE",
        "ARRAY_APPEND",
        "ARRAY_PREPEND",
    ):
        found += _calls(
            name,
            (a, 2),
            (a, 9),
            (n, NULL_INT),
            (none, 1),
            (s, "a"),
            (empty, 1),
            (a, NULL_INT),
            (F("ARRAY", 1.5, 2.5), 2.5),
            (s, "dddd"),
        )
    for name in ("ARRAY_UNION", "ARRAY_EXCEPT", "ARRAY_INTERSECT", "ARRAY_CONCAT"):
        found += _calls(
            name,
            (a, F("ARRAY", 3, 4)),
            (n, F("ARRAY", NULL_INT, 5)),
            (none, a),
            (a, none),
            (s, F("ARRAY", "a", "z")),
            (a, empty),
        )
    found += _calls("ARRAY_CONCAT", (a,), (a, a, n))
    found += _calls(
        "ARRAY_JOIN",
        (s, ","),
        (F("ARRAY", "a", NULL_STRING, "b"), "-"),
        (F("ARRAY", "a", NULL_STRING, "b"), "-", "?"),
        (Typed(None, "ARRAY<STRING>"), ","),
        (s, NULL_STRING),
        (s, ""),
    )
    found += _calls(
        "ARRAY_SLICE",
        (a, 2),
        (a, 2, 3),
        (a, -2),
        (a, -3, -2),
        (a, 0),
        (a, 3, 1),
        (a, 10),
        (none, 1),
        (a, NULL_INT),
        (a, 1, 100),
        (a, 0, 2),
        (a, -100, 2),
        (a, 2, 0),
    )
    found += _calls(
        "ARRAY_SORT",
        (a, False),
        (n, True),
        (n, False),
        (n, True, False),
        (n, False, False),
        (n, True, True),
        (n, False, True),
        (s, False),
        (n, Typed(None, "BOOLEAN")),
    )
    found += (
        _calls("MAP_KEYS", m, Typed(None, "MAP<STRING, INT>"))
        + _calls("MAP_VALUES", m, Typed(None, "MAP<STRING, INT>"))
        + _calls("MAP_ENTRIES", m, Typed(None, "MAP<STRING, INT>"))
    )
    found += _calls(
        "MAP_FROM_ARRAYS",
        (F("ARRAY", "a", "b"), F("ARRAY", 1, 2)),
        (F("ARRAY", "a"), F("ARRAY", 1, 2)),
        (Typed(None, "ARRAY<STRING>"), F("ARRAY", 1)),
        (F("ARRAY", "a", "a"), F("ARRAY", 1, 2)),
    )
    found += _calls(
        "MAP_UNION",
        (m, F("MAP", "b", 9, "c", 3)),
        (m,),
        (m, Typed(None, "MAP<STRING, INT>")),
        (m, F("MAP", "dddd", 1)),
    )
    found += [
        F("JSON_STRING", a),
        F("JSON_STRING", m),
        F("JSON_STRING", F("ROW", 1, "a")),
        F("JSON_STRING", n),
    ]
    found += [
        F("CAST", each, type="STRING")
        for each in (
            a,
            s,
            n,
            m,
            F("ROW", 1, "a"),
            none,
            F("ARRAY", F("ARRAY", 1)),
            F("MAP", 1, _date("2020-01-01")),
        )
    ]
    found += [
        F("CAST", a, type="ARRAY<STRING>"),
        F("CAST", s, type="ARRAY<INT>"),
        F("CAST", m, type="MAP<STRING, BIGINT>"),
        F("CAST", F("ROW", 1, "a"), type="ROW<x STRING, y STRING>"),
        F("CAST", F("ARRAY", "1", "2"), type="ARRAY<INT>"),
        F("TRY_CAST", F("ARRAY", "1", "x"), type="ARRAY<INT>"),
    ]
    found += [F("FIELD", F("CAST", F("ROW", 1, "a"), type="ROW<x INT, y STRING>"), Symbol("y"))]
    return found


def _json() -> Cases:
    doc = '{"type": "account", "age": 42, "address": {"city": "Munich"}, "b": true, "n": null, "arr": [1, "two", 3.5, {"x": 1}], "a b": "s", "f": 1.50, "big": 12345678901234567890}'
    paths = [
        "$.type", "$.age", "lax $.age", "strict $.age", "$.address", "$.address.city", "$.b", "$.n", "$.arr", "$.arr[0]", "$.arr[1]", "$.arr[*]", "$.arr[3].x", "$.missing", "strict $.missing", "$['a b']", "$.['a b']", "$[\"a b\"]", "$", "$.arr[-1]", "$.arr[0,1]", "$.arr[0:2]", "$..x", "$.*", "$.f", "$.big", "bad path", "strict $.arr[9]", "lax $.arr[9]", "$.arr[?(@.x == 1)]", "$.arr.length()", "", "$.type.x", "strict $.type.x", "$.arr[*].x", "strict $.arr[*].x", "$.address['city','zip']", "$.arr[?(@ == 1)]", "$[0]",
    ]  # fmt: skip
    found: Cases = []
    for path in paths:
        found += [
            F("JSON_EXISTS", doc, path),
            F("JSON_VALUE", doc, path),
            F("JSON_QUERY", doc, path),
        ]
        found += [
            F("JSON_QUERY", doc, path, Symbol(wrapper))
            for wrapper in ("WITH CONDITIONAL", "WITH UNCONDITIONAL", "WITHOUT")
        ]
    texts = [
        "{}",
        "[]",
        "1",
        '"a"',
        "null",
        "true",
        "",
        "{bad",
        "[1,2]",
        '{"a":1,}',
        " [1] ",
        "1.0e5",
        "01",
        '{"a":1} x',
        "'a'",
        NULL_STRING,
        "NaN",
        '{"a":1,"a":2}',
        "abc",
    ]
    forms = (
        "IS JSON",
        "IS NOT JSON",
        "IS JSON VALUE",
        "IS JSON SCALAR",
        "IS JSON ARRAY",
        "IS JSON OBJECT",
        "IS NOT JSON SCALAR",
        "IS NOT JSON ARRAY",
        "IS NOT JSON OBJECT",
    )
    found += [F(form, text) for form, text in product(forms, texts)]
    for text in texts:
        found += [
            F("JSON_VALUE", text, "$.a"),
            F("JSON_QUERY", text, "$"),
            F("JSON_EXISTS", text, "$.a"),
            F("JSON_VALUE", text, "$"),
            F("JSON_EXISTS", text, "$"),
        ]
    found += [
        F("JSON_VALUE", doc, path, type=kind)
        for path, kind in product(
            ("$.age", "$.b", "$.type", "$.f", "$.n", "$.missing", "$.big"),
            ("STRING", "BOOLEAN", "INTEGER", "DOUBLE"),
        )
    ]
    null, error, default = Symbol("NULL"), Symbol("ERROR"), Symbol("DEFAULT")
    found += [
        F("JSON_VALUE", doc, "lax $.zz", default, "d", null, None), F("JSON_VALUE", doc, "strict $.zz", null, None, default, "e"), F("JSON_VALUE", doc, "lax $.zz", error, None, null, None), F("JSON_VALUE", doc, "strict $.zz", null, None, error, None),
        F("JSON_VALUE", doc, "$.address", null, None, default, "e"), F("JSON_VALUE", doc, "$.zz", default, 5, default, 6, type="INTEGER"), F("JSON_VALUE", doc, "$.type", default, 5, default, 6, type="INTEGER"), F("JSON_VALUE", "bad", "$.a", default, "d", default, "e"), F("JSON_VALUE", doc, "$.n", default, "d", default, "e"),
    ]  # fmt: skip
    found += [
        F("JSON_EXISTS", doc, "strict $.zz", Symbol(each))
        for each in ("TRUE", "FALSE", "UNKNOWN", "ERROR")
    ]
    found += [
        F("JSON_EXISTS", "bad", "$.zz", Symbol(each))
        for each in ("TRUE", "FALSE", "UNKNOWN", "ERROR")
    ]
    for path in ("lax $.zz", "strict $.zz", "$.age"):
        for choice in ("NULL", "EMPTY ARRAY", "EMPTY OBJECT", "ERROR"):
            found.append(
                F("JSON_QUERY", doc, path, Symbol("WITHOUT"), Symbol(choice), Symbol(choice))
            )
    found += [
        F("JSON_QUERY", doc, path, type="ARRAY<STRING>")
        for path in ("$.arr", "$.address", "$.zz", "$.type")
    ]
    absent, keep = Symbol("ABSENT ON NULL"), Symbol("NULL ON NULL")
    values = [
        1,
        "a",
        True,
        NULL_STRING,
        D("1.50"),
        2.5,
        1e20,
        _date("2020-01-01"),
        _ts("2020-01-01 10:00:00.123"),
        _time("10:00:00"),
        F("ARRAY", 1, 2),
        F("MAP", "k", 1),
        F("ROW", 1, "x"),
        b"\x01\x02",
        'q"\\\n/',
        "é😀",
        F("JSON_OBJECT", keep, "k", 1),
        F("JSON_ARRAY", keep, 1),
        Typed(1.1, "FLOAT"),
        Typed("2020-03-08 10:30:00", "TIMESTAMP_LTZ(3)"),
        F("JSON", '{"z": [1, 2]}'),
        D("100"),
        Typed("3 04:05:06", "INTERVAL DAY TO SECOND"),
    ]
    for value in values:
        found += [
            F("JSON_OBJECT", keep, "k", value),
            F("JSON_OBJECT", absent, "k", value),
            F("JSON_ARRAY", keep, value),
            F("JSON_ARRAY", absent, value),
            F("JSON_STRING", value),
        ]
    found += [
        F("JSON_OBJECT", keep),
        F("JSON_ARRAY", keep),
        F("JSON_OBJECT", keep, "a", 1, "b", "x"),
        F("JSON_ARRAY", keep, 1, "2", NULL_INT),
        F("JSON_OBJECT", keep, "a", 1, "a", 2),
    ]
    return found


def _casts() -> Cases:
    sources: list[Any] = [
        True, False, Typed(5, "TINYINT"), Typed(-300, "SMALLINT"), 123456, -2147483648, 9223372036854775807, D("1.5"), D("-12.345"), Typed(D("99999.99"), "DECIMAL(10, 2)"), Typed(1.5, "FLOAT"), Typed(3.4e38, "FLOAT"), -3.7, 1e10, 1e-5, 123456789.125, 1e300, 0.1,
        "", "abc", "12", " 12 ", "-12.7", "1e3", "true", "F", "yes", "2020-01-02", "2020-01-02 03:04:05.678", "03:04:05", "NaN", "1_000", "+5", "2020-01-02T03:04:05", "3:4:5", "9999999999", "0x10", "é", "2020-1-2",
        b"\x01\x02", b"abc", _date("2020-01-02"), _date("1969-12-31"), _time("03:04:05"), _ts("2020-01-02 03:04:05.678"), _ts("1969-12-31 23:59:59.999999"), Typed("2020-03-08 10:30:00", "TIMESTAMP_LTZ(3)"), Typed("2", "INTERVAL DAY"), Typed("1-2", "INTERVAL YEAR TO MONTH"), NULL_INT, NULL_STRING,
    ]  # fmt: skip
    targets = [
        "STRING",
        "CHAR(3)",
        "VARCHAR(2)",
        "BOOLEAN",
        "TINYINT",
        "SMALLINT",
        "INT",
        "BIGINT",
        "FLOAT",
        "DOUBLE",
        "DECIMAL(10, 2)",
        "DECIMAL(5, 0)",
        "DATE",
        "TIME",
        "TIMESTAMP(3)",
        "TIMESTAMP(6)",
        "TIMESTAMP_LTZ(3)",
        "BYTES",
        "BINARY(2)",
        "VARBINARY(3)",
    ]
    found: Cases = [
        F("TRY_CAST", source, type=target) for source, target in product(sources, targets)
    ]
    found += [
        F("CAST", source, type=target)
        for source, target in product(("abc", "12", 123456, D("-12.345"), 1e10), targets)
    ]
    doubles = [
        1.0,
        100.0,
        1e7,
        1.234e7,
        12345678.9,
        1e-3,
        9.999e-4,
        1.0e21,
        4.9e-324,
        123456789012.0,
        -0.0,
        1e15,
        1.1e16,
    ]
    found += [
        F("CAST", number, type=kind)
        for number, kind in product(doubles, ("STRING", "FLOAT", "DECIMAL(20, 5)"))
    ]
    found += [
        F("CAST", Typed(number, "FLOAT"), type=kind)
        for number, kind in product(
            (1.1, 1e10, 16777217.0, 1e-5, 3.0), ("STRING", "DOUBLE", "DECIMAL(20, 5)")
        )
    ]
    found += [
        F("CAST", Typed("3 04:05:06.789", "INTERVAL DAY TO SECOND"), type="STRING"),
        F("CAST", Typed("-1-2", "INTERVAL YEAR TO MONTH"), type="STRING"),
    ]
    found += [
        F("TYPEOF", value)
        for value in (
            1,
            "abc",
            D("1.50"),
            1.5,
            True,
            NULL_STRING,
            F("ARRAY", 1),
            F("MAP", "a", 1),
            F("ROW", 1, "a"),
            _ts("2020-01-01 00:00:00"),
            Typed("1", "INTERVAL DAY"),
            b"\x01",
        )
    ]
    return found


def _columns() -> Cases:
    c = Column
    found: Cases = [c(name) for name in ROWS_TYPES]
    found += [
        F(op, c("i"), c("j"))
        for op in (
            "+",
            "-",
            "*",
            "=",
            "<>",
            "<",
            "<=",
            ">",
            ">=",
            "IS DISTINCT FROM",
            "IS NOT DISTINCT FROM",
        )
    ]
    found += [F(op, c("i"), 3) for op in ("+", "-", "*", "/", "%", "<")]
    found += (
        [F(op, c("l"), c("i")) for op in ("+", "-", "*", "<")]
        + [F(op, c("d"), c("i")) for op in ("+", "-", "*", "/", "<")]
        + [F(op, c("x"), c("i")) for op in ("+", "-", "*", "/", "<")]
        + [F(op, c("d"), c("d")) for op in ("+", "-", "*", "/")]
        + [F("/", c("d"), 3), F("+", c("t"), c("t"))]
    )
    found += [F(name, c("b"), F(">", c("i"), 0)) for name in ("AND", "OR")] + [
        F("NOT", c("b")),
        F("IS TRUE", c("b")),
        F("IS NOT FALSE", c("b")),
    ]
    for name in (
        "UPPER",
        "LOWER",
        "CHAR_LENGTH",
        "TRIM",
        "LTRIM",
        "RTRIM",
        "REVERSE",
        "INITCAP",
        "MD5",
        "SHA256",
        "TO_BASE64",
        "IS_ALPHA",
        "IS_DIGIT",
        "ASCII",
        "JSON_QUOTE",
        "IS NULL",
        "IS NOT NULL",
    ):
        found.append(F(name, c("s")))
    found += [
        F("SUBSTRING", c("s"), c("i")),
        F("SUBSTRING", c("s"), 2, 3),
        F("CONCAT", c("s"), "-", c("s")),
        F("CONCAT_WS", ",", c("s"), c("s")),
        F("||", c("s"), c("s")),
        F("LIKE", c("s"), "%a%"),
        F("REPLACE", c("s"), "a", "A"),
        F("LPAD", c("s"), 6, "*"),
        F("REGEXP_REPLACE", c("s"), "[aeiou]", "_"),
        F("REGEXP_EXTRACT", c("s"), "([a-z])([a-z])", 2),
        F("SPLIT_INDEX", c("s"), "a", 0),
        F("POSITION", "a", c("s")),
        F("LOCATE", "a", c("s")),
        F("LEFT", c("s"), 2),
        F("RIGHT", c("s"), 2),
        F("REPEAT", c("s"), 2),
        F("STR_TO_MAP", c("s")),
        F("OVERLAY", c("s"), "##", 2),
    ]
    found += [
        F("CASE", F(">", c("i"), 0), c("s"), "none"),
        F("CASE", F("IS NULL", c("i")), 0, F(">", c("i"), 5), c("i")),
        F("COALESCE", c("s"), "x"),
        F("COALESCE", c("i"), c("j"), 0),
        F("COALESCE", c("i"), c("l")),
        F("NULLIF", c("i"), c("j")),
        F("IF", c("b"), c("i"), c("j")),
        F("IFNULL", c("i"), 0),
        F("GREATEST", c("i"), c("j")),
        F("LEAST", c("x"), 1.0),
    ]
    found += [
        F("IN", c("i"), 1, 2, 7),
        F("IN", c("s"), "abc", "x"),
        F("NOT IN", c("i"), 1, NULL_INT),
        F("BETWEEN", c("i"), 0, 5),
        F("NOT BETWEEN", c("d"), 0, 5),
    ]
    found += (
        [
            F(name, c("x"))
            for name in (
                "SQRT",
                "EXP",
                "SIN",
                "FLOOR",
                "CEIL",
                "ABS",
                "SIGN",
                "ROUND",
                "NEGATE",
                "DEGREES",
            )
        ]
        + [F(name, c("d")) for name in ("FLOOR", "CEIL", "ABS", "SIGN", "ROUND", "NEGATE", "SQRT")]
        + [
            F("ROUND", c("d"), 1),
            F("ROUND", c("x"), 1),
            F("TRUNCATE", c("d"), 1),
            F("POWER", c("x"), 2),
            F("MOD", c("i"), 3),
            F("LOG", 2, F("ABS", c("x"))),
        ]
    )
    found += (
        [
            F("EXTRACT", Symbol(unit), c("ts"))
            for unit in ("YEAR", "MONTH", "DAY", "HOUR", "DOY", "WEEK", "SECOND")
        ]
        + [
            F("EXTRACT", Symbol(unit), c("dt"))
            for unit in ("YEAR", "MONTH", "DAY", "DOW", "QUARTER")
        ]
        + [
            F(name, c("ts"), Symbol(unit))
            for name, unit in product(("FLOOR", "CEIL"), ("DAY", "HOUR", "MONTH"))
        ]
    )
    found += [
        F("DATE_FORMAT", c("ts"), "yyyy-MM-dd HH:mm"),
        F("TIMESTAMPADD", Symbol("DAY"), c("i"), c("ts")),
        F("TIMESTAMPADD", Symbol("MONTH"), 1, c("dt")),
        F("TIMESTAMPDIFF", Symbol("DAY"), c("ts"), _ts("2021-01-01 00:00:00")),
        F("TO_DATE", c("s")),
        F("TO_TIMESTAMP", c("s")),
        F("-", c("ts"), Typed("1", "INTERVAL DAY")),
        F("+", c("dt"), Typed("1", "INTERVAL MONTH")),
        F("FROM_UNIXTIME", c("l")),
        F("UNIX_TIMESTAMP", c("s")),
        F("TO_TIMESTAMP_LTZ", c("i"), 3),
    ]
    found += [
        F("TRY_CAST", c(source), type=target)
        for source, target in product(
            ("s", "i", "l", "d", "x", "b", "dt", "ts", "a", "m"),
            (
                "STRING",
                "INT",
                "BIGINT",
                "DOUBLE",
                "DECIMAL(10, 2)",
                "BOOLEAN",
                "DATE",
                "TIMESTAMP(3)",
            ),
        )
    ]
    found += [
        F("CARDINALITY", c("a")),
        F("ITEM", c("a"), 1),
        F("ITEM", c("m"), "k"),
        F("ARRAY_CONTAINS", c("a"), 2),
        F("ARRAY_DISTINCT", c("a")),
        F("ARRAY_REVERSE", c("a")),
        F("ARRAY_SORT", c("a")),
        F("ARRAY_MAX", c("a")),
        F("MAP_KEYS", c("m")),
        F("MAP_VALUES", c("m")),
        F("ARRAY_APPEND", c("a"), c("i")),
        F("ARRAY_SLICE", c("a"), 1, 2),
        F("ARRAY", c("i"), c("j")),
        F("MAP", "k", c("i")),
        F("ROW", c("i"), c("s")),
        F("ARRAY_JOIN", F("CAST", c("a"), type="ARRAY<STRING>"), "-"),
    ]
    found += [
        F("JSON_VALUE", c("js"), "$.a"),
        F("JSON_QUERY", c("js"), "$"),
        F("JSON_EXISTS", c("js"), "$.a"),
        F("IS JSON", c("js")),
        F("JSON_OBJECT", Symbol("NULL ON NULL"), "i", c("i"), "s", c("s")),
        F("JSON_ARRAY", Symbol("ABSENT ON NULL"), c("i"), c("s")),
        F("JSON_STRING", c("a")),
        F("JSON_STRING", c("d")),
        F("JSON_STRING", c("x")),
        F("JSON_UNQUOTE", c("js")),
    ]
    return found


def _aggregates() -> Cases:
    c = Column
    found: Cases = [
        F(name, c(column))
        for name, column in product(
            (
                "COUNT",
                "SUM",
                "AVG",
                "MIN",
                "MAX",
                "VAR_POP",
                "VAR_SAMP",
                "STDDEV_POP",
                "STDDEV_SAMP",
            ),
            ("i", "l", "t", "d", "x"),
        )
    ]
    found += [
        F(name, c(column))
        for name, column in product(
            ("COUNT", "MIN", "MAX", "FIRST_VALUE", "LAST_VALUE"), ("s", "dt", "ts")
        )
    ]
    found += [
        F("COUNT", c("i"), c("j")),
        F("LISTAGG", c("s")),
        F("LISTAGG", c("s"), "-"),
        F("ARRAY_AGG", c("i")),
        F("COLLECT", c("j")),
    ]
    found += [
        F("PERCENTILE", c("x"), 0.5),
        F("PERCENTILE", c("i"), 0.3),
        F("PERCENTILE", c("d"), F("ARRAY", 0.25, 0.75)),
    ]
    found += [
        F("SUM", F("/", c("i"), 3)),
        F("AVG", F("CAST", c("i"), type="DECIMAL(12, 2)")),
        F("SUM", Typed(None, "INT")),
        F("JSON_ARRAYAGG", c("i")),
    ]
    return found


ROWS_TYPES = {
    "i": "INT", "j": "INT", "l": "BIGINT", "t": "TINYINT", "d": "DECIMAL(10, 3)", "x": "DOUBLE", "b": "BOOLEAN", "s": "STRING",
    "dt": "DATE", "ts": "TIMESTAMP(3)", "a": "ARRAY<INT>", "m": "MAP<STRING, INT>", "js": "STRING",
}  # fmt: skip
ROWS: list[list[Any]] = [
    [1, 2, 100, 1, D("1.500"), 0.5, True, "abc", _date("2020-02-29"), _ts("2020-02-29 10:11:12.345"), F("ARRAY", 1, 2), F("MAP", "k", 1), '{"a": 1}'],
    [7, 7, -5, 127, D("-12.345"), -2.25, False, " Tab a ", _date("1969-12-31"), _ts("1969-12-31 23:59:59.999"), F("ARRAY", 3, 2, 2), F("MAP", "z", 2), '["a"]'],
    [None] * 13,
    [2147483647, 1, 9223372036854775807, -128, D("9999999.999"), 1e10, None, "", _date("2000-01-01"), _ts("2000-01-01 00:00:00"), None, None, "bad"],
    [-3, None, 0, 0, D("0.005"), 100.0, True, "2020-01-02", None, _ts("2024-12-30 12:00:00"), F("ARRAY", NULL_INT, 5), F("MAP", "k", NULL_INT), '"q"'],
]  # fmt: skip
GROUPS: dict[str, tuple[str, bool, Cases]] = {
    "comparison": ("UTC", False, _comparison()),
    "logical": ("UTC", False, _logical()),
    "arithmetic": ("UTC", False, _arithmetic()),
    "string": ("UTC", False, _string()),
    "temporal": ("UTC", False, _temporal()),
    "conditional": ("UTC", False, _conditional()),
    "collection": ("UTC", False, _collection()),
    "json": ("UTC", False, _json()),
    "columns": ("UTC", True, _columns()),
    "casts": ("UTC", False, _casts()),
    "aggregates": ("UTC", True, _aggregates()),
    "zoned": ("America/Los_Angeles", False, _zoned()),
}
