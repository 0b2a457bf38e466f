"""A savepoint of each way to keep state, and of keys of each type, is restored for ever."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from millstream.checkpoint.savepoints import FORMAT
from millstream.common.configuration import Configuration
from millstream.common.output_tag import OutputTag
from millstream.datastream import StreamExecutionEnvironment
from millstream.kernel.tables.rolling import IN_COLUMNS
from millstream.kernel.windows.pane_layout import IN_PAGES, PaneLayout
from millstream.plan.operators import REDUCED_IN_PAGES
from tests.support.migration.golden import ALL_CASES, file_name, load, shown
from tests.support.migration.key_cases import KEY_CASES
from tests.support.properties.savepoint_cases import (
    CASES,
    RECORD,
    SESSIONS,
    SLIDING,
    TUMBLING,
    Applied,
    Case,
    Listed,
    again,
    bounded,
    by_key,
    custom,
    pair_of_function,
    summary,
    untyped,
)
from tests.support.properties.savepoint_runs import before, going_on, rest
from tests.support.strategies import crossed, sampled, thinned

GOLDEN = Path(__file__).parent
FOLDERS = sorted(GOLDEN.glob("layouts-v*"))
TRIED = [*CASES, *(case for kind, cases in KEY_CASES.items() for case in sampled(cases, kind))]
"""All cases; `make check` takes one of each type of keys, and of all these every third."""


def test_every_format_has_its_golden_savepoints() -> None:
    assert [folder.name for folder in FOLDERS] == [f"layouts-v{n}" for n in range(1, FORMAT + 1)]
    for folder in FOLDERS:
        assert {path.name for path in folder.glob("*.zip")} >= {
            file_name(case) for case in ALL_CASES.values()
        }


@pytest.mark.parametrize(
    ("name", "version"),
    crossed(thinned((case.name for case in TRIED), "goes on"), [folder.name for folder in FOLDERS]),
)
def test_a_job_goes_on_from_a_golden_savepoint(name: str, version: str, tmp_path: Path) -> None:
    """Together with what the job had given before, all is as if it had run to its end today.

    Compared as a multiset: the order of results of one instant is not a part of the state.
    """
    case = ALL_CASES[name]
    data, setting, savepoint, given = load(GOLDEN / version / file_name(case), tmp_path)
    whole = before(case, data, setting)
    rest(whole, data, setting)
    for later in sampled((1, 3), name):
        run = going_on(case, data, replace(setting, later_slots=later), savepoint)
        rest(run, data, setting)
        assert sorted([*given, *shown(run.results)]) == shown(whole.results)


LATE = OutputTag("late")
OTHER_OPERATORS = {
    "sums by column": Case("", lambda s, _: untyped(s).window(TUMBLING).sum(1)),
    "sliding sums by column": Case(
        "", lambda s, _: by_key(s).window(SLIDING).side_output_late_data(LATE).max_by(1)
    ),
    "counts by column": Case("", lambda s, _: untyped(s).window(SLIDING).count()),
    "kept columns, process": Case("", lambda s, _: untyped(s).window(SLIDING).process(Listed())),
    "kept columns, apply": Case(
        "", lambda s, _: by_key(s).window(TUMBLING).side_output_late_data(LATE).apply(Applied())
    ),
    "own watermarks and windows": Case(
        "", lambda s, _: untyped(s).window(SLIDING).sum(1), strategy=custom
    ),
    "own watermarks behind a key": Case("", lambda s, _: untyped(again(s)).window(TUMBLING).sum(1)),
    "tumbling": Case("", lambda s, _: by_key(s).window(TUMBLING).process(Listed())),
    "sliding": Case("", lambda s, _: by_key(s).window(SLIDING).process(Listed())),
    "sliding sum": Case("", lambda s, _: by_key(s).window(SLIDING).sum(1)),
    "minimum of tumbling": Case("", lambda s, _: by_key(s).window(TUMBLING).min_by(1)),
    "sums by a function": Case("", lambda s, _: by_key(s).window(TUMBLING).sum(1)),
    "records by a function": Case("", lambda s, _: by_key(s).window(TUMBLING).process(Listed())),
    "sums of sessions": Case("", lambda s, _: untyped(s).window(SESSIONS).sum(1)),
    "several aggregates": Case(
        "", lambda s, _: untyped(s).window(SLIDING).summarize(("avg", 1), ("max", 2))
    ),
    "several aggregates by pairs": Case(
        "", lambda s, _: summary(pair_of_function(s).window(TUMBLING))
    ),
    "counts by pairs": Case("", lambda s, _: pair_of_function(s).window(SLIDING).count()),
    "sums by pairs": Case("", lambda s, _: pair_of_function(s).window(TUMBLING).sum(2)),
    "kept columns by pairs": Case(
        "", lambda s, _: pair_of_function(s).window(SLIDING).process(Listed())
    ),
}
"""Programs that mean the same, and have another operator if the planner is free to choose."""
BECOME_COLUMNS = {"sums by a function", "records by a function"}
"""Tumbling windows of records that surely fit columns: later versions say so in their savepoints."""


@pytest.mark.parametrize(
    ("name", "policy"), crossed(thinned(OTHER_OPERATORS, "other"), ["fail", "skip"])
)
def test_another_operator_goes_on_from_a_golden_savepoint(
    name: str, policy: str, tmp_path: Path
) -> None:
    """Sums and columns become windows of single records; those stay, unless they surely fit columns."""
    case, other = ALL_CASES[name], OTHER_OPERATORS[name]
    if policy == "skip":
        build = other.build
        other = replace(other, build=lambda s, t: build(s, t).on_error("skip"))
    data, setting, savepoint, given = load(FOLDERS[0] / file_name(case), tmp_path)
    whole = before(case, data, setting)
    rest(whole, data, setting)
    for later in sampled((1, 3), name):
        run = going_on(other, data, replace(setting, later_slots=later), savepoint)
        (choice,) = (
            choice
            for node_id, choice in run.job.component.choices.items()
            if run.job.component.uids[node_id] == "case"
        )
        assert (choice.layout == IN_PAGES) == (name not in BECOME_COLUMNS)
        rest(run, data, setting)
        assert sorted([*given, *shown(run.results)]) == shown(whole.results)


def test_every_layout_of_windows_has_a_golden_savepoint(tmp_path: Path) -> None:
    found = set()
    for number, name in enumerate(OTHER_OPERATORS):
        _, _, savepoint, _ = load(FOLDERS[0] / file_name(ALL_CASES[name]), tmp_path / str(number))
        panes = PaneLayout.read(savepoint.layouts["case"])
        found.add(IN_PAGES if panes is None else panes.content)
    assert found == {"partial sums", "counts", "aggregates", "columns", IN_PAGES}


ROLLING = {
    "rolling sum": (IN_COLUMNS, lambda s, _: by_key(s).sum(1)),
    "rolling sum by column": (REDUCED_IN_PAGES, lambda s, _: untyped(s).sum(1)),
    "rolling maximum by pairs": (REDUCED_IN_PAGES, lambda s, _: pair_of_function(s).max_by(2)),
}
"""Golden savepoints of rolling aggregates, the other layout, and an operator that has it."""


@pytest.mark.parametrize("name", ROLLING)
def test_rows_become_cells_and_cells_rows(name: str, tmp_path: Path) -> None:
    case, (layout, build) = ALL_CASES[name], ROLLING[name]
    data, setting, savepoint, given = load(FOLDERS[0] / file_name(case), tmp_path)
    assert {savepoint.layouts["case"], layout} == {IN_COLUMNS, REDUCED_IN_PAGES}
    whole = before(case, data, setting)
    rest(whole, data, setting)
    run = going_on(Case("", build, rolling=True), data, setting, savepoint)
    assert layout in [choice.layout for choice in run.job.component.choices.values()]
    rest(run, data, setting)
    assert sorted([*given, *shown(run.results)]) == shown(whole.results)


def test_explain_reads_the_savepoint_that_a_job_would_go_on_from(tmp_path: Path) -> None:
    name = "minimum of tumbling"
    load(FOLDERS[0] / file_name(ALL_CASES[name]), tmp_path)
    env = StreamExecutionEnvironment.get_execution_environment()
    source = env.from_collection([("a", 1, 1)], type_info=RECORD)
    stream = source.assign_timestamps_and_watermarks(bounded())
    results = by_key(stream).window(TUMBLING).min_by(1).uid("case")
    assert "windows: by column" in str(results.explain())
    env.configure(Configuration.from_dict({"execution.state-recovery.path": str(tmp_path)}))
    assert "but the stored state has windows of single records" in str(results.explain())
