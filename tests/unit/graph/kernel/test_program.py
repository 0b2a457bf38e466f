"""All programs go on from the state of any superstep, whatever order their inputs come in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from millstream.graph.kernel.labels import (
    CommunitiesProgram,
    FrequentLabelProgram,
    LabelPropagationProgram,
)
from millstream.graph.kernel.minimum import ComponentsProgram, LevelsProgram, PathsProgram
from millstream.graph.kernel.neighbours import CoresProgram, DegreesProgram
from millstream.graph.kernel.program import SETUP, GraphProgram
from millstream.graph.kernel.ranks import HitsProgram, PageRankProgram
from millstream.graph.kernel.similar import AdamicAdarProgram, JaccardProgram
from millstream.graph.kernel.summary import SummaryProgram, summary_schema
from millstream.graph.kernel.triangles import ClusteringProgram, TrianglesProgram
from millstream.iteration import LoopInput, LoopJob, LoopOptions, run_loop
from tests.support.graph_library import Case, id_kind, random_case, run_with_restarts
from tests.support.strategies import crossed

Make = Callable[[Case], GraphProgram]

PROGRAMS: dict[str, tuple[Make, int]] = {
    "components": (lambda case: ComponentsProgram(100), 100),
    "levels": (lambda case: LevelsProgram(case.vertices[0]), 100),
    "paths": (lambda case: PathsProgram(case.vertices[0], 1e9), 100),
    "pagerank": (lambda case: PageRankProgram(0.85, 7, None), SETUP + 7),
    "hits": (lambda case: HitsProgram(5, None), SETUP + 12),
    "labels": (lambda case: LabelPropagationProgram(4), SETUP + 4 + 6),
    "frequent": (lambda case: FrequentLabelProgram(4), SETUP + 4 + 6),
    "cores": (lambda case: CoresProgram(), 100),
    "degrees": (lambda case: DegreesProgram(), 100),
    "triangles": (lambda case: TrianglesProgram(), 100),
    "clustering": (lambda case: ClusteringProgram(True), 100),
    "jaccard": (lambda case: JaccardProgram(), 100),
    "adamic adar": (lambda case: AdamicAdarProgram(0.0, 0.0), 100),
    "summary": (lambda case: SummaryProgram(summary(case)), 100),
}


def summary(case: Case) -> pa.Schema:
    return summary_schema(id_kind(case.vertices), pa.int64(), pa.float64())


def inputs(case: Case, program: GraphProgram) -> dict[str, tuple[pa.Table, str]]:
    keys = {"out": "source", "in": "target"}
    found = {side: (case.edge_table(), keys[side]) for side in program.sides}
    values: Any = [n % 3 for n in range(len(case.vertices))]
    if isinstance(program, ComponentsProgram | LabelPropagationProgram):
        values = None
    return {**found, "vertices": (case.vertex_table(values), "id")}


def rounded(rows: list[dict[str, Any]]) -> list[str]:
    return sorted(
        str([round(x, 9) if isinstance(x, float) else x for x in row.values()]) for row in rows
    )


@pytest.mark.parametrize(("name", "seed"), crossed(PROGRAMS, range(20, 28)))
def test_a_restart_after_every_superstep_changes_nothing(name: str, seed: int) -> None:
    case = random_case(seed)
    make, limit = PROGRAMS[name]
    tasks = 1 + seed % 4
    program = make(case)
    found = run_with_restarts(program, inputs(case, program), tasks, limit)
    given = {name: LoopInput(table, key) for name, (table, key) in inputs(case, program).items()}
    schema = run_schema(program, case)
    options = LoopOptions(mode="memory")
    job = LoopJob(name, make(case), given, schema, limit, tasks, options)
    assert rounded(found) == rounded(run_loop(job).to_arrow().to_pylist())


def run_schema(program: GraphProgram, case: Case) -> pa.Schema:
    """The columns that a program returns."""
    if isinstance(program, SummaryProgram):
        return program.schema
    ids, whole, other = id_kind(case.vertices), pa.int64(), pa.float64()
    kinds: dict[type, dict[str, Any]] = {
        PageRankProgram: {"id": ids, "value": other},
        PathsProgram: {"id": ids, "value": other},
        HitsProgram: {"id": ids, "hub": other, "authority": other},
        DegreesProgram: {"id": ids, "degree": whole, "out": whole, "in": whole},
        ClusteringProgram: {"id": ids, "degree": whole, "triangles": whole},
        TrianglesProgram: {"id0": ids, "id1": ids, "id2": ids, "bitmask": whole},
        JaccardProgram: {"id0": ids, "id1": ids, "shared": whole, "distinct": whole},
        AdamicAdarProgram: {"id0": ids, "id1": ids, "score": other},
        LevelsProgram: {"id": ids, "value": whole},
        CoresProgram: {"id": ids, "value": whole},
    }
    return pa.schema(kinds.get(type(program), {"id": ids, "value": ids}))


@pytest.mark.parametrize("tasks", [1, 3])
def test_communities_go_on_from_their_state(tasks: int) -> None:
    case = random_case(3)
    program = CommunitiesProgram(6, 0.5)
    given = {
        "out": (case.edge_table(), "source"),
        "in": (case.edge_table(), "target"),
        "vertices": (case.vertex_table(list(case.vertices)), "id"),
    }
    found = run_with_restarts(program, given, tasks, SETUP + 6)
    schema = pa.schema({"id": pa.int64(), "value": pa.int64()})
    inputs = {name: LoopInput(table, key) for name, (table, key) in given.items()}
    options = LoopOptions(mode="memory")
    job = LoopJob("c", CommunitiesProgram(6, 0.5), inputs, schema, SETUP + 6, tasks, options)
    assert rounded(found) == rounded(run_loop(job).to_arrow().to_pylist())
