"""Asks Flink for the tables of all programs and of some random queries, and records them.

    python -m tests.parity.record_programs [names...]

Named programs take the place of their earlier results. All of them take about ten minutes, and PyFlink's
environment, see `tests/support/parity/flink_env.py`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.support.parity.flink_sql import printed_by_flink
from tests.support.parity.recorded_programs import RECORDED, all_programs, recorded
from tests.support.parity.sql_programs import for_flink


def main() -> int:
    names = sys.argv[1:] or list(all_programs())
    with TemporaryDirectory(prefix="programs-") as folder:
        asked = {name: for_flink(all_programs()[name], Path(folder) / name) for name in names}
        found = recorded() | printed_by_flink(asked)
    text = json.dumps(found, indent=0, ensure_ascii=False, sort_keys=True)
    RECORDED.write_text(text + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
