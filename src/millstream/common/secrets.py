"""Passwords and the like: found by their names, and masked wherever they would be shown or kept."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

__all__ = [
    "MASK",
    "Redactor",
    "is_masked",
    "is_secret",
    "masked_command",
    "masked_settings",
    "masked_uris",
    "masked_value",
]

MASK = "*****"
"""What stands in the place of a secret."""

_ENDS = (
    r"passw(?:or)?d | passphrase | secret | token | credential | (?:api|access|private)[._-]?key"
)
_WORDS = r"pwd | sas | auth | authorization | jaas | bearer | signature"
# `db.password`, `PGPASSWORD` and `auth-token` are secrets, `author` and `secretary` are not.
_SECRET = re.compile(
    rf"(?:{_ENDS} | (?<![a-z])(?:{_WORDS}))s?(?![a-z])", re.VERBOSE | re.IGNORECASE
)
_KEY = re.compile(r"(?:^|[._-])keys?$", re.IGNORECASE)
_HUMPS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_IN_URI = re.compile(r"(?P<before>[A-Za-z][A-Za-z0-9+.-]*://[^/?#\s:@]*):(?P<secret>[^/?#\s@]+)@")
_IN_QUERY = re.compile(r"(?P<name>[A-Za-z][\w.-]*)=(?P<value>[^&;\s]+)")
_LEAST = 4
"""Shorter values are not looked for in texts: they would be found everywhere."""


def is_secret(key: str) -> bool:
    """Whether the value of a setting or option is a secret, by its name.

    Examples
    --------
    >>> [is_secret(key) for key in ("db.password", "API_KEY", "--authToken", "fs.s3a.secret.key")]
    [True, True, True, True]
    >>> [is_secret(key) for key in ("parallelism.default", "author", "millstream.key-order", "tokens")]
    [False, False, False, True]
    """
    return _is_surely_secret(key) or _KEY.search(_HUMPS.sub("-", key)) is not None


def _is_surely_secret(key: str) -> bool:
    """Whether a name means a secret; that of a key may also be the key of a sort or of a table."""
    return _SECRET.search(_HUMPS.sub("-", key)) is not None


def masked_value(key: str, value: object) -> object:
    """The value of a setting as it may be shown."""
    if is_secret(key):
        return MASK
    return _without_inner_secrets(value) if isinstance(value, str) else value


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
    that of a secret, passwords in URIs, and values of queries with such names.

    Examples
    --------
    >>> masked_command(["app.py", "-D", "db.password=x", "--api-key", "y", "--user", "me"])
    ('app.py', '-D', 'db.password=*****', '--api-key', '*****', '--user', 'me')
    """
    found = []
    secret_follows = False
    for word in command:
        name, equals, value = word.partition("=")
        if secret_follows and not word.startswith("--"):
            found.append(MASK)
            secret_follows = False
            continue
        named = is_secret(name.removeprefix("-D"))
        secret_follows = named and not equals and word.startswith("-")
        if named and equals and value:
            found.append(f"{name}={MASK}")
        else:
            found.append(_without_inner_secrets(word))
    return tuple(found)


def is_masked(command: Sequence[str]) -> bool:
    """Whether something of a command line was masked, so that it cannot be run again."""
    return any(MASK in word for word in command)


def masked_uris(text: str) -> str:
    """A text without the passwords of the URIs in it.

    Examples
    --------
    >>> masked_uris("from pg://me:s3cret@host/db")
    'from pg://me:*****@host/db'
    """
    return _IN_URI.sub(lambda match: f"{match['before']}:{MASK}@", text)


def _without_inner_secrets(text: str) -> str:
    """A text without the passwords of URIs and the values of secret names in it."""
    text = masked_uris(text)

    def masked(match: re.Match[str]) -> str:
        return f"{match['name']}={MASK}" if is_secret(match["name"]) else match[0]

    return _IN_QUERY.sub(masked, text)


class Redactor:
    """Masks known secrets in any text, such as the message of an error.

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
        values = {str(value) for key, value in settings.items() if _is_surely_secret(key)}
        values |= set(_secrets_of(command))
        for text in (*map(str, settings.values()), *command):
            values |= {match["secret"] for match in _IN_URI.finditer(text)}
        # The longest first: one secret may be a part of another.
        self._secrets = sorted((v for v in values if len(v) >= _LEAST), key=len, reverse=True)

    def __call__(self, text: str) -> str:
        """The text with all secrets masked."""
        for secret in self._secrets:
            text = text.replace(secret, MASK)
        return text


def _secrets_of(command: Sequence[str]) -> Iterable[str]:
    """The values of a command line that are masked and surely secrets."""
    before = ""
    for word, shown in zip(command, masked_command(command), strict=True):
        name, _, value = word.partition("=")
        if shown == MASK and _is_surely_secret(before):
            yield word
        elif shown == f"{name}={MASK}" and _is_surely_secret(name):
            yield value
        before = word
