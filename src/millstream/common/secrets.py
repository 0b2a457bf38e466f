"""Passwords and the like: found by their names, and masked wherever they would be shown or kept."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

__all__ = [
    "MASK",
    "Redactor",
    "is_masked",
    "is_secret",
    "masked_code",
    "masked_command",
    "masked_settings",
    "masked_statement",
    "masked_uris",
    "masked_value",
]

MASK = "*****"
"""What stands in the place of a secret."""

_ENDS = r"""
    passw(?:or)?d | passphrase | secret | token | credential
    | (?:api|access|account|encryption|master|private|secret|shared|signing)[._-]?key
"""
_WORDS = r"pass(?![._-]?through) | pwd | sas | auth | authorization | jaas | bearer | signature"
# `db.password`, `PGPASSWORD` and `auth-token` are secrets, `author` and `secretary` are not.
_SECRET = re.compile(
    rf"(?:{_ENDS} | (?<![a-z])(?:{_WORDS}))s?(?![a-z])", re.VERBOSE | re.IGNORECASE
)
_ABOUT = re.compile(
    r"""(?:^|[._-])(?:class|dir|enabled|file|interval|length|limit|location|mechanism|method|path
    |provider|timeout|ttl|type|uri|url)$ | ^-*(?:max|min|num)[._-]""",
    re.VERBOSE | re.IGNORECASE,
)
"""Names of something about a secret: `password-file`, `auth.type`, `max-tokens`."""

_KEY = re.compile(r"(?:^|[._-])keys?$", re.IGNORECASE)
_HUMPS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
# A password may have an @ in it; one with a slash is told from a port and a path with an @.
_IN_URI = re.compile(
    r"""[A-Za-z][A-Za-z0-9+.-]*://[^/?\#\s:@"']*:
    (?P<secret>[^/?\#\s"']+ | (?!\d{1,5}/)[^\s"']+)@""",
    re.VERBOSE,
)
# A text in quotes; of one without an end, all that is left. SQL doubles a quote, others escape it.
_QUOTED = r"""(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|''|\\.)*'|["'].*)"""
# In a query, in JSON, in a header, or in a statement: `password=x`, `"password": "x"`,
# `Authorization: Bearer x`, `'password' = 'x'`.
_ASSIGNED = re.compile(
    rf"""(?P<name>[A-Za-z_][\w.-]*)["']?(?P<sign>=|\s*=\s*(?=["'])|\s*:(?!//)\s*)(?P<value>{_QUOTED}
    |(?<==)[^&;,\s]+|(?<!=)[^&;,}}\n"']+)""",
    re.VERBOSE,
)
# Two arguments of a call: `option("password", "x")`.
_ARGUMENTS = re.compile(
    rf"""["'](?P<name>[A-Za-z_][\w.-]*)["']\s*,\s*(?P<value>{_QUOTED})""", re.VERBOSE
)

_LEAST = 4
_LEAST_DIGITS = 6
"""Shorter values are not looked for in texts: they would be found everywhere."""

_COMMON = re.compile(
    "basic|bearer|default|digest|false|kerberos|none|null|oauth2?|password|plain|secret|simple|token|true",
    re.IGNORECASE,
)
"""Words that are not looked for in texts either."""

Span = tuple[int, int]
Names = Callable[[str], bool]
"""Which names are those of secrets."""


def is_secret(key: str) -> bool:
    """Whether the value of a setting or variable is a secret, by its name.

    Examples
    --------
    >>> [is_secret(key) for key in ("db.password", "API_KEY", "--authToken", "fs.s3a.secret.key")]
    [True, True, True, True]
    >>> [is_secret(key) for key in ("parallelism.default", "author", "password-file", "tokens")]
    [False, False, False, True]
    """
    return _is_surely_secret(key) or _KEY.search(_HUMPS.sub("-", key)) is not None


def _is_surely_secret(key: str) -> bool:
    """Whether a name means a secret; that of a key may also be the key of a sort or of a table."""
    name = _HUMPS.sub("-", key)
    return _SECRET.search(name) is not None and _ABOUT.search(name) is None


def masked_value(key: str, value: object) -> object:
    """The value of a setting as it may be shown."""
    if is_secret(key):
        return MASK
    return _masked(value, _spans(value)) if isinstance(value, str) else value


def masked_settings(settings: Mapping[str, object]) -> dict[str, object]:
    """Settings as they may be shown.

    Examples
    --------
    >>> masked_settings({"db.password": "s3cret", "db.url": "jdbc://me:s3cret@host/db"})
    {'db.password': '*****', 'db.url': 'jdbc://me:*****@host/db'}
    """
    return {key: masked_value(key, value) for key, value in settings.items()}


def masked_command(command: Sequence[str]) -> tuple[str, ...]:
    """A command line as it may be shown.

    Masked are ``-D key=value``, ``--name=value``, ``--name value`` and ``NAME=value`` where the name is
    that of a secret, passwords in URIs, and values with such names in queries, JSON and headers.
    ``--key`` may be the key of a table, and is shown.

    Examples
    --------
    >>> masked_command(["app.py", "-D", "db.password=x", "--api-key", "y", "--sort-key", "day"])
    ('app.py', '-D', 'db.password=*****', '--api-key', '*****', '--sort-key', 'day')
    """
    return tuple(_masked(word, spans) for word, spans in _spans_of(command))


def is_masked(command: Sequence[str]) -> bool:
    """Whether something of a command line was masked, so that it cannot be run again."""
    return any(MASK in word for word in command)


def masked_code(line: str) -> str:
    """A line of a program as it may be shown.

    Examples
    --------
    >>> masked_code('Database(url, user="ada", password="s3cret", key="id")')
    'Database(url, user="ada", password="*****", key="id")'
    >>> masked_code('builder.option("password", "s3cret")')
    'builder.option("password", "*****")'
    """
    return _masked(line, _spans_of_code(line))


def masked_statement(line: str) -> str:
    """A line of a statement as it may be shown, of the same length: what underlines a part of it fits.

    Examples
    --------
    >>> masked_statement("WITH ('password' = 's3cret', 'path' = '/in')")
    "WITH ('password' = '******', 'path' = '/in')"
    """
    for start, end in _spans_of_code(line):
        line = line[:start] + MASK[0] * (end - start) + line[end:]
    return line


def masked_uris(text: str) -> str:
    """A text without the passwords of the URIs in it.

    Examples
    --------
    >>> masked_uris("from pg://me:s3cret@host/db")
    'from pg://me:*****@host/db'
    """
    return _masked(text, [match.span("secret") for match in _IN_URI.finditer(text)])


# -- where secrets are -----------------------------------------------------------------------------


def _spans_of(
    command: Sequence[str], secret: Names = is_secret
) -> Iterator[tuple[str, list[Span]]]:
    """Each word of a command line, with the places of the secrets in it."""
    secret_follows = False
    for word in command:
        if secret_follows and not word.startswith("--"):
            secret_follows = False
            yield word, [(0, len(word))]
            continue
        name, equals, value = word.partition("=")
        option = word.startswith("-") and not word.startswith("-D")
        named = _is_surely_secret(name) if option else secret(name.removeprefix("-D"))
        secret_follows = named and not equals and option
        if named and value:
            yield word, [(len(name) + 1, len(word))]
        else:
            yield word, _spans(word, secret, len(name) + 1 if option else 0)


def _spans(text: str, secret: Names = is_secret, first: int = 0) -> list[Span]:
    """The places of secrets in a text: passwords of URIs, and from `first` on values of secret names."""
    found = [match.span("secret") for match in _IN_URI.finditer(text)]
    match = _ASSIGNED.search(text, first)
    while match is not None:
        start, end = match.span("value")
        named = secret if match["sign"].strip() == "=" else _is_surely_secret
        hidden = named(match["name"])
        if hidden:
            found.append(_within_quotes(text, start, end))
        # The value of another name may have assignments in it.
        match = _ASSIGNED.search(text, end if hidden else match.end("name") + 1)
    return found


def _spans_of_code(line: str) -> list[Span]:
    arguments = [
        _within_quotes(line, *match.span("value"))
        for match in _ARGUMENTS.finditer(line)
        if _is_surely_secret(match["name"])
    ]
    return _spans(line, _is_surely_secret) + arguments


def _within_quotes(text: str, start: int, end: int) -> Span:
    """The place of a value without its quotes; that at the end may be missing."""
    if text[start] not in "\"'":
        return start, end
    closed = end - start > 1 and text[end - 1] == text[start]
    return start + 1, end - closed


def _masked(text: str, spans: Iterable[Span]) -> str:
    parts, last = [], 0
    for start, end in sorted(spans):
        if start >= last:
            parts += [text[last:start], MASK]
        last = max(last, end)
    return "".join([*parts, text[last:]])


class Redactor:
    """Masks known secrets in any text, such as the message of an error.

    They are what `masked_settings` and `masked_command` mask, without what would be found everywhere:
    short values, short numbers and common words.

    Parameters
    ----------
    settings : mapping
        The settings of a job.
    command : sequence of str
        The command line that has started it.

    Examples
    --------
    >>> Redactor({"db.password": "s3cret"})("login as me/s3cret failed")
    'login as me/***** failed'
    """

    def __init__(self, settings: Mapping[str, object], command: Sequence[str] = ()) -> None:
        found = [(str(value), _spans(str(value), _is_surely_secret)) for value in settings.values()]
        found += _spans_of(command, _is_surely_secret)
        values = {text[start:end] for text, spans in found for start, end in spans}
        values |= {str(value) for key, value in settings.items() if _is_surely_secret(key)}
        # The longest first: one secret may be a part of another.
        known = sorted(filter(_is_special, values), key=len, reverse=True)
        patterns = (rf"(?<!\d){v}(?!\d)" if v.isdecimal() else re.escape(v) for v in known)
        self._secrets = re.compile("|".join(patterns)) if known else None

    def __call__(self, text: str) -> str:
        """The text with all secrets masked."""
        return text if self._secrets is None else self._secrets.sub(MASK, text)


def _is_special(value: str) -> bool:
    """Whether a value can be looked for in texts."""
    least = _LEAST_DIGITS if value.isdecimal() else _LEAST
    return len(value) >= least and not _COMMON.fullmatch(value) and value != MASK
