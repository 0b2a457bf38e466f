"""Asks Flink for the tables of all programs and of some random queries, and records them.

    python -m tests.parity.record_programs [names...]
    python -m tests.parity.record_programs --sinks [names...]
    python -m tests.parity.record_programs --batch [names...]

Named programs take the place of their earlier results. All of them take about ten minutes, and PyFlink's
environment, see `tests/support/parity/flink_env.py`. ``--sinks``: those with sinks, zones and options.
``--batch``: in batch mode.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.support.parity.flink_sql import printed_by_flink
from tests.support.parity.recorded_programs import (
    BATCHES_RECORDED,
    RECORDED,
    SINKS_RECORDED,
    all_programs,
    batch_programs,
    recorded,
    recorded_batches,
    recorded_sinks,
)
from tests.support.parity.sink_programs import SINK_PROGRAMS
from tests.support.parity.sql_programs import for_flink


def main() -> int:
    names = sys.argv[1:]
    programs, known, target = all_programs(), recorded(), RECORDED
    if names[:1] == ["--sinks"]:
        names = names[1:]
        programs, known, target = SINK_PROGRAMS, recorded_sinks(), SINKS_RECORDED
    mode = "streaming"
    if names[:1] == ["--batch"]:
        names, mode = names[1:], "batch"
        programs, known, target = batch_programs(), recorded_batches(), BATCHES_RECORDED
    with TemporaryDirectory(prefix="programs-") as folder:
        chosen = names or list(programs)
        asked = {name: for_flink(programs[name], Path(folder) / name) for name in chosen}
        found = known | printed_by_flink(asked, mode=mode)
    if mode == "batch":
        found = {name: each for name, each in found.items() if "error" not in each}
    text = json.dumps(found, indent=0, ensure_ascii=False, sort_keys=True)
    target.write_text(text + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
