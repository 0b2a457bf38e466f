"""Golden savepoints of single operators, one for each way to keep state, made and read without a JVM.

A file ``layouts-v<format>/<case>.zip`` holds a savepoint folder, and ``run.json``: the input of the job
that wrote it and what the job had given until then.
"""

from __future__ import annotations

import json
import random
import sys
import zipfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from millstream.checkpoint.key_types import key_types_of, record_types_of
from millstream.checkpoint.manifest import manifest_of
from millstream.checkpoint.savepoints import Savepoint, SavepointTable
from millstream.kernel.snapshot.job import JobState, operator_states
from millstream.plan.planner import JobPlan
from millstream.spark.savepoint.restore import time_from_json
from millstream.spark.savepoint.take import TableFile, folder_name, time_to_json  # type: ignore[attr-defined]
from millstream.testing.engine.local import LocalSavepoint
from tests.support.migration import key_cases
from tests.support.migration.key_cases import KEY_CASES
from tests.support.properties import savepoint_cases
from tests.support.properties.savepoint_cases import CASES, Case
from tests.support.properties.savepoint_runs import ORDERS, Input, Run, Setting, before, drawn_for

# Savepoints of format 1 have pickled objects of these modules, under the names that they had then.
sys.modules.update({"key_cases": key_cases, "savepoint_cases": savepoint_cases})

ALL_CASES = {case.name: case for cases in (CASES, *KEY_CASES.values()) for case in cases}
RUN = "run.json"


def file_name(case: Case) -> str:
    return case.name.replace(" ", "-").replace(",", "") + ".zip"


def setting_of(case: Case) -> Setting:
    """How the job of a case runs: half of them hold records back for other channels."""
    number = list(ALL_CASES).index(case.name)
    return Setting(slots=2 + number % 2, order=ORDERS[number % 2])


def shown(results: dict[str, list[list[Any]]]) -> list[str]:
    """All that a job has given, in an order of its own."""
    return sorted(
        f"{sink}: {record!r}" for sink, epochs in results.items() for e in epochs for record in e
    )


# -- writing ---------------------------------------------------------------------------------------


def make(case: Case, target: Path, folder: Path) -> None:
    """Run the job of a case until its savepoint, and keep that with all that a test needs."""
    setting = setting_of(case)
    data = drawn_for(case, setting, random.Random(case.name))
    run = before(case, data, setting)
    _write(run, setting, folder)
    content = {
        "left": data.left,
        "right": data.right,
        "epochs": [[[*place, n] for place, n in epoch.items()] for epoch in data.epochs],
        "taken": data.taken,
        "setting": asdict(setting),
        "given": shown(run.results),
    }
    (folder / RUN).write_text(json.dumps(content, indent=1))
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as file:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                # A fixed date: the same savepoint is the same file.
                info = zipfile.ZipInfo(str(path.relative_to(folder)), (2026, 11, 17, 0, 0, 0))
                file.writestr(info, path.read_bytes(), zipfile.ZIP_DEFLATED)


def _write(run: Run, setting: Setting, folder: Path) -> None:
    saved = run.job.savepoint()
    plan = JobPlan((run.job.component,))
    manifest = manifest_of(plan, run.job.options, "4.3.0")
    Savepoint(
        path=str(folder),
        id="golden",
        job_id="golden",
        name="golden",
        epoch=saved.epoch,
        created_ms=0,
        operators=manifest["details"],
        states={
            uid: {name: info.to_dict() for name, info in operator.states.items()}
            for uid, operator in saved.state.operators.items()
        },
        sources=_sources(saved),
        time=time_to_json(saved.state.time),
        tables=tuple(_tables(saved.state, folder)),
        channel_order=setting.order,
        versions=manifest["versions"],
        taken_of="stopped",
    ).write()


def _sources(saved: LocalSavepoint) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for (uid, channel), position in saved.positions.items():
        entry = found.setdefault(uid, {"source": "channels", "offset": {}})
        entry["offset"][str(channel)] = position
    return found


def _tables(state: JobState, folder: Path) -> list[SavepointTable]:
    found = []
    for name, tables in sorted(state.tables.items()):
        places = "/".join(map(folder_name, name))
        file = TableFile(str(folder), f"state/{places}/part-0.parquet", tables[0].schema)
        for table in tables:
            file.add(table)
        found.append(SavepointTable(*name, (file.close(),)))
    return found


# -- reading ---------------------------------------------------------------------------------------


def load(golden: Path, folder: Path) -> tuple[Input, Setting, LocalSavepoint, list[str]]:
    """The input of a golden savepoint's job, its setting, the savepoint, and what the job had given."""
    with zipfile.ZipFile(golden) as file:
        file.extractall(folder)
    content = json.loads((folder / RUN).read_text())
    left, right = ([[(*r,) for r in c] for c in content[side]] for side in ("left", "right"))
    epochs = [{(name, c): n for name, c, n in epoch} for epoch in content["epochs"]]
    data = Input(left, right, epochs, content["taken"])
    return data, Setting(**content["setting"]), _read(folder), content["given"]


def _read(folder: Path) -> LocalSavepoint:
    saved = Savepoint.load(str(folder))
    operators = operator_states(saved.states, key_types_of(saved.operators))  # type: ignore[arg-type]
    tables = {
        (table.uid, table.state): [
            pq.read_table(pa.BufferReader(saved.read(file))) for file in table.files
        ]
        for table in saved.tables
    }
    time = time_from_json(saved.time)
    hosted = {uid for uid, detail in saved.operators.items() if detail["hosted"]}
    offsets: dict[str, dict[str, int]] = {}
    for uid, detail in saved.operators.items():
        for timeline, offset in detail.get("offsets", {}).items():
            offsets.setdefault(timeline, {})[uid] = offset
    return LocalSavepoint(
        JobState({uid: o for uid, o in operators.items() if uid in hosted}, tables, time),
        {
            (uid, int(channel)): position
            for uid, source in saved.sources.items()
            for channel, position in source["offset"].items()
        },
        saved.numbers,
        saved.stored.layouts,
        offsets,
        saved.epoch,
        time.table.now_ms,
        {uid: kind for uid, kind in record_types_of(saved.operators).items() if kind is not None},
        saved.stored.as_panes,
    )
