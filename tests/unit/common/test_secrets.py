"""Secrets: which names are taken as theirs, and where their values are masked."""

from __future__ import annotations

import pytest

from millstream.common.secrets import (
    MASK,
    Redactor,
    is_masked,
    is_secret,
    masked_command,
    masked_settings,
)


@pytest.mark.parametrize(
    "key",
    [
        "password", "db.password", "DB_PASSWORD", "dbPassword", "passwd", "pwd", "passphrase",
        "secret", "client-secret", "clientSecret", "token", "auth_token", "accessToken", "credential",
        "credentials", "api-key", "apiKey", "API_KEY", "fs.s3a.access.key", "fs.s3a.secret.key",
        "ssl.private-key", "spark.hadoop.fs.azure.account.key", "sasl.jaas.config", "authorization",
        "some.key",
    ],
)  # fmt: skip
def test_names_of_secrets(key: str) -> None:
    assert is_secret(key)
    assert masked_settings({key: "v"}) == {key: MASK}


@pytest.mark.parametrize(
    "key",
    ["parallelism.default", "author", "millstream.key-order", "monkey", "tokenizer", "pipeline.name",
     "keyed.state", "compass", "execution.checkpointing.dir", "secretary"],
)  # fmt: skip
def test_names_of_other_things(key: str) -> None:
    assert not is_secret(key)
    assert masked_settings({key: "v"}) == {key: "v"}


def test_what_is_masked_of_a_command_line() -> None:
    command = [
        "python", "-m", "millstream.cli", "run", "-D", "db.password=a b", "-Dx.secret=y", "-D", "n=4",
        "--token", "t0k", "--api-key=k", "app.py", "--user", "me", "PGPASSWORD=pg", "--secret",
        "--verbose", "postgres://me:pw@host/db", "https://h/x?sig=1&token=abc&page=2",
    ]  # fmt: skip
    shown = masked_command(command)
    assert shown == (
        "python", "-m", "millstream.cli", "run", "-D", f"db.password={MASK}", f"-Dx.secret={MASK}",
        "-D", "n=4", "--token", MASK, f"--api-key={MASK}", "app.py", "--user", "me",
        f"PGPASSWORD={MASK}", "--secret", "--verbose", f"postgres://me:{MASK}@host/db",
        f"https://h/x?sig=1&token={MASK}&page=2",
    )  # fmt: skip
    assert is_masked(shown)
    assert masked_command(shown) == shown
    assert not is_masked(masked_command(["app.py", "-p", "4"]))


def test_known_secrets_are_masked_in_any_text() -> None:
    redact = Redactor(
        {"db.password": "hunter22", "db.url": "pg://me:s3same@h/d", "n.key": "1"},
        ["app.py", "--token", "t0ken", "-D", "x.secret=hunter22-more"],
    )
    text = "hunter22-more, hunter22, s3same and t0ken at 1"
    assert redact(text) == f"{MASK}, {MASK}, {MASK} and {MASK} at 1"


def test_what_may_be_the_key_of_a_table_is_masked_where_it_stands_only() -> None:
    command = ["app.py", "--sort-key", "name", "-D", "table.key=name"]
    assert masked_command(command)[2:] == (MASK, "-D", f"table.key={MASK}")
    assert (
        Redactor({"table.key": "name"}, command)("no file of that name") == "no file of that name"
    )
