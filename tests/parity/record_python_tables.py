"""Records what Flink returns for programs of its Table API.

    python -m tests.parity.record_python_tables [name ...]

Without names it runs those that have no answer yet. It takes about four seconds for each job.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.support.parity.flink_env import flink_python
from tests.support.parity.python_tables import ANSWERS, ORIGINALS, program_names


def main() -> None:
    known = json.loads(ANSWERS.read_text(encoding="utf-8")) if ANSWERS.exists() else {}
    wanted = sys.argv[1:] or [name for name in program_names() if name not in known]
    with TemporaryDirectory(prefix="python-tables-") as folder:
        target = Path(folder) / "answers.json"
        script = ORIGINALS / "run_python_tables.py"
        subprocess.run([flink_python(), script, target, *wanted], check=True)
        known |= json.loads(target.read_text(encoding="utf-8"))
    kept = {name: known[name] for name in sorted(program_names()) if name in known}
    text = json.dumps(kept, indent=1, ensure_ascii=False)
    ANSWERS.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
