"""URLs of databases: the forms there are, and that no password is shown."""

from __future__ import annotations

import os
import pickle
from typing import Any

import pytest

from millstream.common.errors import PlanError
from millstream.connectors.databases import Database


@pytest.mark.parametrize(
    ("url", "address", "user", "password"),
    [
        ("postgresql://ada:pw@host:77/shop", "postgresql://ada@host:77/shop", "ada", "pw"),
        ("postgres://host/shop", "postgresql://host:5432/shop", None, None),
        ("jdbc:postgresql://host/shop?user=ada&password=pw", None, "ada", "pw"),
        ("mysql://ada@host/shop", "mysql://ada@host:3306/shop", "ada", None),
        ("jdbc:mysql://host:33/shop", "mysql://host:33/shop", None, None),
        ("jdbc:mariadb://host/shop", "mysql://host:3306/shop", None, None),
        ("mysql://a%40b:p%2Fw%40@host/shop", None, "a@b", "p/w@"),
        ("postgresql://ada:p@w@host/shop", None, "ada", "p@w"),
        ("postgresql://[::1]:77/shop", "postgresql://::1:77/shop", None, None),
    ],
)
def test_urls(url: str, address: str | None, user: str | None, password: str | None) -> None:
    database = Database(url)
    assert (database.user, database.password) == (user, password)
    assert address is None or database.address == address
    assert pickle.loads(pickle.dumps(database)) == database


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("sqlite:///folder/file.db", os.path.abspath("folder/file.db")),
        ("sqlite:////tmp/file.db", "/tmp/file.db"),
        ("jdbc:sqlite:/tmp/file.db", "/tmp/file.db"),
        ("jdbc:sqlite:file.db?timeout=5", os.path.abspath("file.db")),
    ],
)
def test_paths_of_sqlite(url: str, path: str) -> None:
    assert Database(url).name == path


def test_options_are_those_of_the_url_and_of_the_call() -> None:
    database = Database("postgresql://host/shop?sslmode=require&a=1", a="2")
    assert dict(database.options) == {"sslmode": "require", "a": "2"}


@pytest.mark.parametrize(
    "url",
    [
        *(
            "oracle://me:s3cret99@host/db",
            "postgresql://me:s3cret99@/db",
            "mysql://me:s3cret99@host",
        ),
        *("postgresql://me:s3cret99@host:many/db", "sqlite://", "sqlite:///:memory:", "", 5, None),
        "mysql://me:s3cret99@one/two/three",
    ],
)
def test_what_is_no_url_is_refused_without_showing_it(url: Any) -> None:
    with pytest.raises(PlanError, match="BAD_DATABASE") as caught:
        Database(url)
    assert "s3cret99" not in str(caught.value)


def test_secrets_are_masked() -> None:
    database = Database("postgresql://h/d", password="s3cret99", sslpassword="k3yk3y")
    assert database.masked("s3cret99 or k3yk3y") == "***** or *****"
    assert "s3cret99" not in repr(database)
    assert "k3yk3y" not in repr(database)
