"""Asks Flink's own parser which statements it takes; it parses only, and looks nothing up.

    python parse_sql.py statements.json verdicts.json

The first file is a list of texts, the second one a list of true and false. It runs in PyFlink's
environment.
"""

import json
import sys
from pathlib import Path

from py4j.protocol import Py4JJavaError
from pyflink.table import EnvironmentSettings, TableEnvironment


def main(statements, verdicts):
    environment = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    # The parser that the planner itself calls, before anything is validated.
    parser = environment._j_tenv.getPlanner().createFlinkPlanner().parser()

    def takes(text):
        try:
            return parser.parseSqlList(text).size() == 1
        except Py4JJavaError:
            return False

    texts = json.loads(Path(statements).read_text(encoding="utf-8"))
    found = [takes(text) for text in texts]
    Path(verdicts).write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
