"""Asks Flink for the types and values of expressions; for PyFlink's own environment.

    python run_functions.py questions.json answers.json

Questions are groups of expressions with a time zone and, perhaps, a table. Many expressions share a
query. A query that fails is cut in two until the expressions that fail are alone.
"""

from __future__ import annotations

import json
import sys
from decimal import Decimal
from pathlib import Path

from py4j.java_collections import JavaArray, JavaMap
from py4j.java_gateway import JavaObject
from pyflink.table import EnvironmentSettings, TableEnvironment

CHUNK = 60


def main(questions, answers):
    table_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    config = table_env.get_config()
    config.set("parallelism.default", "1")
    config.set("restart-strategy.type", "none")
    config.set("table.exec.resource.default-parallelism", "1")
    found = {}
    for name, group in questions.items():
        config.set("table.local-time-zone", group["zone"])
        source = ""
        if group["table"]:
            table_env.execute_sql(f"CREATE TEMPORARY VIEW {name}_rows AS {group['table']}")
            source = f" FROM {name}_rows"
        found[name] = _answers(table_env, group["expressions"], source)
        print(name, len(found[name]), flush=True)
        Path(answers).write_text(json.dumps(found, indent=0, ensure_ascii=False), "utf-8")


def _answers(table_env, expressions, source):
    found, valid = {}, []
    for text in expressions:
        kind = _type(table_env, text, source)
        found[text] = [kind, {"error": "invalid"}]
        if not kind.startswith("!"):
            valid.append(text)
    for start in range(0, len(valid), CHUNK):
        _values(table_env, valid[start : start + CHUNK], source, found)
    return found


def _type(table_env, text, source):
    try:
        query = table_env.sql_query(f"SELECT {text} AS c0{source}")
        return query._j_table.getResolvedSchema().getColumnDataTypes().get(0).toString()
    except Exception as error:
        return "!" + _cause(error)


def _values(table_env, texts, source, found):
    try:
        columns = ", ".join(f"{text} AS c{at}" for at, text in enumerate(texts))
        result = table_env.execute_sql(f"SELECT {columns}{source}")
        rows = []
        iterator = result._j_table_result.collect()
        while iterator.hasNext():
            row = iterator.next()
            rows.append([_plain(row.getField(at)) for at in range(len(texts))])
        iterator.close()
        for at, text in enumerate(texts):
            values = [row[at] for row in rows]
            found[text][1] = values if source else values[0]
    except Exception as error:
        if len(texts) == 1:
            found[texts[0]][1] = {"error": "runtime", "cause": _cause(error)}
            return
        half = len(texts) // 2
        _values(table_env, texts[:half], source, found)
        _values(table_env, texts[half:], source, found)


def _cause(error):
    cause = getattr(error, "java_exception", None)
    text = str(error)
    while cause is not None:
        text = cause.toString()
        cause = cause.getCause()
    return text[:160]


def _plain(value):
    """A value in JSON."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return {"double": repr(value)}
    if isinstance(value, Decimal):
        return {"decimal": f"{value:f}"}
    if isinstance(value, bytes | bytearray):
        return {"bytes": bytes(value).hex()}
    if isinstance(value, JavaArray):
        return [_plain(each) for each in value]
    if isinstance(value, JavaMap):
        return {"map": [[_plain(key), _plain(value[key])] for key in value]}
    if isinstance(value, JavaObject):
        name = value.getClass().getName()
        if name.endswith(".Row"):
            return {"row": [_plain(value.getField(at)) for at in range(value.getArity())]}
        if name.endswith(".Duration"):
            return {"millis": value.toMillis()}
        if name.endswith(".Period"):
            return {"months": value.toTotalMonths()}
        return {"text": value.toString()}
    return {"text": str(value)}


if __name__ == "__main__":
    main(json.loads(Path(sys.argv[1]).read_text("utf-8")), sys.argv[2])
