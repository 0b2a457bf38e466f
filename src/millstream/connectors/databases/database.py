"""The address of a database, and who asks. Passwords are never shown."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from millstream.common.errors import short_repr
from millstream.common.secrets import MASK, is_secret
from millstream.connectors.databases.errors import bad_argument

__all__ = ["Database"]

_KINDS = {
    "sqlite": "sqlite",
    "postgresql": "postgresql",
    "postgres": "postgresql",
    "mysql": "mysql",
    "mariadb": "mysql",
}
_PORTS = {"postgresql": 5432, "mysql": 3306}
_FORMS = (
    "sqlite:///folder/file.db, postgresql://user@host:5432/name or mysql://user@host:3306/name, with "
    "or without jdbc: before it"
)


@dataclass(frozen=True, init=False, repr=False)
class Database:
    """Database to write to or to read from, by its URL.

    Parameters
    ----------
    url
        ``sqlite:///file.db`` (four slashes for an absolute path), ``postgresql://user@host:5432/name``,
        ``mysql://user@host:3306/name``, also for MariaDB; or the same as JDBC writes it,
        ``jdbc:postgresql://host/name?user=me``.
    user, password
        Who asks, if the URL does not say so. The password is never shown.
    **options
        What else the driver takes: those of ``psycopg.connect``, ``pymysql.connect`` or
        ``sqlite3.connect``, such as ``sslmode="require"``. They may also be in the URL.

    Examples
    --------
    >>> Database("postgresql://ada:s3cret@db.example/shop")
    Database('postgresql://ada@db.example:5432/shop')
    """

    kind: str
    host: str
    port: int
    name: str
    """The name of the database; of an SQLite database the absolute path of the file."""
    user: str | None
    password: str | None
    options: tuple[tuple[str, Any], ...]
    is_jdbc: bool = field(compare=False)
    """Whether the URL is one for JDBC: then its options may be ones that only JDBC knows."""

    def __init__(
        self, url: str, *, user: str | None = None, password: str | None = None, **options: Any
    ) -> None:
        found = _parsed(url)
        inside = dict(found.pop("options"))
        user = user or found.pop("user") or inside.pop("user", None)
        password = password or found.pop("password") or inside.pop("password", None)
        chosen = {**inside, **options}
        values = found | {"options": tuple(sorted(chosen.items()))}
        for key, value in {**values, "user": user, "password": password}.items():
            object.__setattr__(self, key, value)

    def __repr__(self) -> str:
        return f"Database({self.address!r})"

    @property
    def address(self) -> str:
        """The URL without its secrets."""
        if self.kind == "sqlite":
            return f"sqlite:///{self.name}"
        user = f"{self.user}@" if self.user else ""
        return f"{self.kind}://{user}{self.host}:{self.port}/{self.name}"

    def masked(self, text: str) -> str:
        """Return a text in which the secrets of this database are masked."""
        secrets = [self.password, *(str(v) for k, v in self.options if is_secret(k))]
        for secret in secrets:
            if secret:
                text = text.replace(secret, MASK)
        return text

    @staticmethod
    def of(database: Database | str) -> Database:
        """Return a `Database`: make it from a URL, or pass on the object."""
        if isinstance(database, Database):
            return database
        return Database(database)


def _parsed(url: Any) -> dict[str, Any]:
    if not isinstance(url, str):
        raise bad_argument(f"a database is given by its URL, not by {short_repr(url)}", _FORMS)
    is_jdbc = url.startswith("jdbc:")
    scheme, _, rest = url.removeprefix("jdbc:").partition(":")
    kind = _KINDS.get(scheme.lower())
    if kind is None:
        # The URL is not shown: nobody knows where it has its password.
        raise bad_argument(f"there is no dialect for URLs that begin with {scheme!r}", _FORMS)
    if kind == "sqlite":
        path, _, query = rest.removeprefix("//").partition("?")
        return {
            "kind": kind,
            "host": "",
            "port": 0,
            "name": _file(path if is_jdbc else path.removeprefix("/")),
            "user": None,
            "password": None,
            "options": _options(query),
            "is_jdbc": is_jdbc,
        }
    return {"kind": kind, "is_jdbc": is_jdbc, **_server(kind, f"{kind}:{rest}")}


def _server(kind: str, url: str) -> dict[str, Any]:
    try:
        parts = urlsplit(url)
        port = parts.port or _PORTS[kind]
    except ValueError:
        raise bad_argument("the URL of the database has no valid port", _FORMS) from None
    name = unquote(parts.path.removeprefix("/"))
    if not parts.hostname or not name or "/" in name:
        raise bad_argument(
            f"the URL of the {kind} database does not name a host and a database", _FORMS
        )
    return {
        "host": parts.hostname,
        "port": port,
        "name": name,
        "user": unquote(parts.username) if parts.username else None,
        "password": unquote(parts.password) if parts.password else None,
        "options": _options(parts.query),
    }


def _file(path: str) -> str:
    """The file of a database; absolute, because workers run in other folders."""
    if not path or path == ":memory:":
        raise bad_argument(
            "an SQLite database in memory belongs to one connection, and tasks have their own",
            "give the path of a file: sqlite:///folder/file.db",
        )
    return os.path.abspath(unquote(path))


def _options(query: str) -> Mapping[str, str]:
    return dict(parse_qsl(query, keep_blank_values=True))
