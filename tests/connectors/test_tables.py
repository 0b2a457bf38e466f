"""Tables of Kafka and of databases, on real servers."""

from __future__ import annotations

import datetime
import uuid
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from millstream.table.table_environment import TableEnvironment
from millstream.testing import Checkpoint, in_memory
from tests.support.databases import place_of

if TYPE_CHECKING:
    from tests.support.kafka import Topics
    from tools.servers import Kafka

pytestmark = pytest.mark.servers


def environment():
    t_env = TableEnvironment.create()
    t_env.create_temporary_view(
        "t", t_env.from_elements([(1, "a"), (2, "b"), (3, "a"), (4, "c")], "id INT, word STRING")
    )
    return t_env


def rows(t_env, query):
    with in_memory():
        return sorted(map(tuple, t_env.final_rows(t_env.sql_query(query))), key=repr)


def insert(t_env, query, target, **options):
    """Run an INSERT with a schedule."""
    with in_memory(**options):
        t_env.execute_sql(f"INSERT INTO {target} {query}")


def kafka_table(t_env, kafka, name, columns, options, connector="kafka"):
    topic = f"{name}-{uuid.uuid4().hex[:8]}"
    t_env.execute_sql(
        f"CREATE TABLE {name} ({columns}) WITH ('connector' = '{connector}', 'topic' = '{topic}', "
        f"'properties.bootstrap.servers' = '{kafka.bootstrap}', {options})"
    )
    return topic


BOUNDED = "'scan.startup.mode' = 'earliest-offset', 'scan.bounded.mode' = 'latest-offset'"


def test_rows_go_to_a_topic_and_come_back(kafka: Kafka, topics: Topics) -> None:
    t_env = environment()
    topic = kafka_table(
        t_env,
        kafka,
        "words",
        "word STRING, id INT, ts TIMESTAMP_LTZ(3) METADATA FROM 'timestamp', "
        "o BIGINT METADATA FROM 'offset' VIRTUAL, p INT METADATA FROM 'partition' VIRTUAL",
        "'key.format' = 'raw', 'key.fields' = 'word', 'value.format' = 'json', "
        f"'value.fields-include' = 'EXCEPT_KEY', {BOUNDED}",
    )
    topics.new(1, topic)
    insert(t_env, "SELECT word, id, TO_TIMESTAMP_LTZ(id * 1000, 3) FROM t", "words")
    found = rows(t_env, "SELECT word, id, ts, p FROM words")
    moment = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
    assert found == [
        (word, n, moment + datetime.timedelta(seconds=n), 0)
        for word, n in [("a", 1), ("a", 3), ("b", 2), ("c", 4)]
    ]
    assert [row[0] for row in rows(t_env, "SELECT o FROM words")] == [0, 1, 2, 3]


def test_upserts_and_tombstones(kafka: Kafka, topics: Topics) -> None:
    t_env = environment()
    topic = kafka_table(
        t_env,
        kafka,
        "totals",
        "word STRING, n BIGINT, PRIMARY KEY (word) NOT ENFORCED",
        "'key.format' = 'json', 'value.format' = 'json', 'scan.bounded.mode' = 'latest-offset'",
        "upsert-kafka",
    )
    topics.new(2, topic)
    query = "SELECT word, n FROM (SELECT word, COUNT(*) AS n FROM t GROUP BY word) WHERE n < 2"
    insert(t_env, query, "totals", epochs=1)
    assert rows(t_env, "SELECT * FROM totals") == [("b", 1), ("c", 1)]
    assert rows(t_env, "SELECT SUM(n) FROM totals") == [(2,)]


@pytest.mark.parametrize("restarts", [0, "every"])
def test_each_change_is_written_once(kafka: Kafka, topics: Topics, restarts) -> None:
    t_env = environment()
    topic = kafka_table(
        t_env,
        kafka,
        "changes",
        "word STRING, n BIGINT",
        "'format' = 'debezium-json', 'sink.delivery-guarantee' = 'exactly-once', "
        f"'sink.transactional-id-prefix' = 'tables', {BOUNDED}",
    )
    topics.new(1, topic)
    query = "SELECT word, COUNT(*) FROM t GROUP BY word"
    insert(t_env, query, "changes", epochs=1, restarts=restarts, checkpoint=Checkpoint())
    assert rows(t_env, "SELECT * FROM changes") == [("a", 2), ("b", 1), ("c", 1)]


@pytest.mark.parametrize("name", ["postgres", "mariadb"])
def test_tables_of_databases(name: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    place = place_of(name, request, tmp_path)
    totals = place.table("word varchar(100) primary key, n bigint", "totals")
    log = place.table("word varchar(100), d decimal(10, 2), ts timestamp", "log")
    t_env = environment()
    database = place.database
    at = f"'connector' = 'jdbc', 'url' = 'jdbc:{database.kind}://{database.host}:{database.port}/{database.name}'"
    at += f", 'username' = '{database.user}', 'password' = '{database.password or ''}'"
    t_env.execute_sql(
        "CREATE TABLE totals (word STRING, n BIGINT, PRIMARY KEY (word) NOT ENFORCED) "
        f"WITH ({at}, 'table-name' = '{totals}')"
    )
    t_env.execute_sql(
        f"CREATE TABLE log (word STRING, d DECIMAL(10, 2), ts TIMESTAMP(3)) "
        f"WITH ({at}, 'table-name' = '{log}')"
    )
    query = "SELECT word, n FROM (SELECT word, COUNT(*) AS n FROM t GROUP BY word) WHERE n < 2"
    insert(t_env, query, "totals", epochs=1, restarts="every", checkpoint=Checkpoint())
    assert rows(t_env, "SELECT * FROM totals") == [("b", 1), ("c", 1)]
    insert(
        t_env,
        "SELECT word, CAST(1.25 AS DECIMAL(10, 2)), TIMESTAMP '2020-01-01 00:00:01' FROM t",
        "log",
        epochs=1,
        restarts="every",
        checkpoint=Checkpoint(),
    )
    moment = datetime.datetime(2020, 1, 1, 0, 0, 1)
    assert rows(t_env, "SELECT * FROM log") == [
        (word, Decimal("1.25"), moment) for word in ("a", "a", "b", "c")
    ]
