"""Asks Flink for the columns of queries; for PyFlink's own environment.

python run_schemas.py questions.json answers.json
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pyflink.table import EnvironmentSettings, TableEnvironment


def main(questions, answers):
    table_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    for statement in questions["tables"]:
        table_env.execute_sql(statement)
    found = {}
    for query in questions["queries"]:
        found[query] = _columns(table_env, query)
    Path(answers).write_text(json.dumps(found, indent=0, ensure_ascii=False), "utf-8")


def _columns(table_env, query):
    try:
        schema = table_env.sql_query(query)._j_table.getResolvedSchema()
        return [
            [each.getName(), each.getDataType().getLogicalType().asSummaryString()]
            for each in schema.getColumns()
        ]
    except Exception as error:
        cause = getattr(error, "java_exception", None)
        text = str(error)
        while cause is not None:
            text = cause.toString()
            cause = cause.getCause()
        return "!" + text[:200]


if __name__ == "__main__":
    main(json.loads(Path(sys.argv[1]).read_text("utf-8")), sys.argv[2])
