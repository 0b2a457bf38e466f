"""Secrets: which names are taken as theirs, and where their values are masked."""

from __future__ import annotations

import pytest

from millstream.common.secrets import (
    MASK,
    Redactor,
    is_masked,
    is_secret,
    masked_code,
    masked_command,
    masked_settings,
    masked_statement,
    masked_uris,
)


@pytest.mark.parametrize(
    "key",
    [
        "password", "db.password", "DB_PASSWORD", "dbPassword", "passwd", "pwd", "passphrase",
        "secret", "client-secret", "clientSecret", "token", "auth_token", "accessToken", "credential",
        "credentials", "api-key", "apiKey", "API_KEY", "fs.s3a.access.key", "fs.s3a.secret.key",
        "ssl.private-key", "spark.hadoop.fs.azure.account.key", "sasl.jaas.config", "authorization",
        "some.key", "fs.azure.account.key.acc.dfs.core.windows.net", "db-pass", "DB_PASS",
        "encryption.key",
    ],
)  # fmt: skip
def test_names_of_secrets(key: str) -> None:
    assert is_secret(key)
    assert masked_settings({key: "v"}) == {key: MASK}


@pytest.mark.parametrize(
    "key",
    ["parallelism.default", "author", "millstream.key-order", "monkey", "tokenizer", "pipeline.name",
     "keyed.state", "compass", "execution.checkpointing.dir", "secretary",
     "password-file", "passwordFile", "token.ttl", "auth.type", "auth.enabled", "max-tokens",
     "--max-tokens", "credentials.provider", "bypass", "pass-through"],
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
    assert masked_command(command)[2:] == ("name", "-D", f"table.key={MASK}")
    assert (
        Redactor({"table.key": "name"}, command)("no file of that name") == "no file of that name"
    )


@pytest.mark.parametrize(
    "command",
    [
        ["--conf=spark.db.password=s3cret"],
        ["--conf", "spark.db.password=s3cret"],
        ["--opt=a=1,password=s3cret"],
        ["-D", "fs.azure.account.key.acc.dfs.core.windows.net=s3cret"],
        ["--db-pass", "s3cret"],
        ["DB_PASS=s3cret"],
        ["--config", '{"user": "me", "password": "s3cret"}'],
        ["--config", "{'password': 's3cret'}"],
        ["-H", "Authorization: Bearer s3cret"],
        ["pg://me:s3cret@more@host"],
        ["pg://me:a/s3cret@host/db"],
        ["jdbc:pg://host/db?user=me&password=s3cret"],
        ["sql", "-e", "CREATE TABLE t (a INT) WITH ('connector' = 'jdbc', 'password' = 's3cret')"],
    ],
)
def test_secrets_of_command_lines_are_masked_in_them_and_in_errors(command: list[str]) -> None:
    shown = masked_command(command)
    assert "s3cret" not in " ".join(shown)
    assert is_masked(shown)
    assert masked_command(shown) == shown
    assert "s3cret" not in Redactor({}, command)(f"cannot use {' '.join(command)}")


@pytest.mark.parametrize(
    "command",
    [
        ["--sort-key", "ts"],
        ["--key", "id"],
        ["--key=id"],
        ["--max-tokens", "512"],
        ["--password-file", "/run/password"],
        ["--token-ttl=60"],
        ["http://host:8080/@me/x"],
        ["--config", '{"key": "id", "auth.type": "plain"}'],
    ],
)
def test_other_options_are_shown_so_that_a_command_can_be_run_again(command: list[str]) -> None:
    assert masked_command(command) == tuple(command)


def test_secrets_within_settings_are_masked_in_errors() -> None:
    settings = {"db.url": "jdbc:pg://h/d?password=s3cret", "encryption.key": "k3y-of-all"}
    assert Redactor(settings)("s3cret, k3y-of-all") == f"{MASK}, {MASK}"


def test_what_stands_everywhere_is_not_masked_in_errors() -> None:
    settings = {
        "auth.type": "plain",
        "auth.enabled": "false",
        "token.ttl": "3600",
        "auth": "plain",
        "db.password": "1234",
        "other.password": "123456",
    }
    text = "plain: expected false or 3600, not 12345 or 1234567"
    assert Redactor(settings)(text) == text
    assert Redactor(settings)("login with 123456") == f"login with {MASK}"


def test_the_password_of_a_uri_ends_at_its_host() -> None:
    text = "from pg://me:p@ss@host/a@b and http://host:80/@me"
    assert masked_uris(text) == f"from pg://me:{MASK}@host/a@b and http://host:80/@me"


@pytest.mark.parametrize(
    "line",
    [
        """CREATE TABLE t (a INT) WITH ('connector' = 'jdbc', 'password' = 's3cret', 'x' = 'y')""",
        """  'properties.sasl.jaas.config' = 'a.Module required username="me" password="s3cret";',""",
        """'password' = 'it''s3cret'""",
        """'password' = 's3cret""",
        """env.login(user="me", password = "a\\"s3cret")""",
        """TableDescriptor.for_connector("jdbc").option("password", "s3cret").build()""",
        """builder.set_property('sasl.jaas.config', 'a.Module required password="s3cret";')""",
    ],
)
def test_secrets_in_lines_of_programs_and_of_statements_are_masked(line: str) -> None:
    assert "s3cret" not in masked_code(line)
    assert "s3cret" not in masked_statement(line)
    assert len(masked_statement(line)) == len(line)
    assert masked_code(masked_code(line)) == masked_code(line)


@pytest.mark.parametrize(
    "line",
    [
        """row.token == 'x'""",
        """SELECT token, user FROM t WHERE token = user AND pass <> 'b'""",
        """stream.key_by(lambda r: r["key"]).sum("n")""",
        """names = ["author", "secretary"]""",
    ],
)
def test_other_lines_are_shown_as_they_are(line: str) -> None:
    assert masked_code(line) == line
    assert masked_statement(line) == line
