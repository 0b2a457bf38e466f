"""Asks Flink for the results of Nexmark's queries over few events, and records them.

python -m tests.parity.record_nexmark
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.support.parity.flink_sql import on_flink
from tests.support.parity.nexmark import RECORDED, digest, programs, write_events


def main() -> int:
    with TemporaryDirectory(prefix="nexmark-") as folder:
        write_events(Path(folder))
        found = on_flink(programs(Path(folder)))
    answers = {name: digest(result) for name, result in found.items()}
    # Flink gives the new winners of q9 as upserts by auction: its rows cannot be folded as they are.
    answers["q9"] = json.loads(RECORDED.read_text(encoding="utf-8"))["q9"]
    RECORDED.write_text(json.dumps(answers, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
