"""The cost of a superstep, by the size of its workset: ``python benchmarks/iterations.py``.

- Connected components of a grid of 200 x 200, a graph with a long diameter, on the resident loop.
- Connected components of a random graph, on the resident loop and on the driver loop.

Processor time of a superstep: of a resident task, from the beginning of the superstep to that of the
next one, so with the exchange; of the driver loop, of all processes. ``--svg FILE`` writes the chart.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import time
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.process_tree import cpu_of_tree
from millstream.graph.kernel.minimum import ComponentsProgram
from millstream.iteration import (
    Aggregator,
    LoopInput,
    LoopJob,
    LoopOptions,
    LoopResult,
    Outbox,
    Task,
)
from millstream.iteration.kernel.body import Merged
from millstream.iteration.spark.driver import run_by_driver
from millstream.iteration.spark.running import run_on_spark, session_of

TASKS = 2
SMALL = 1_000
RESULT = pa.schema({"id": pa.int64(), "value": pa.int64()})
Points = list[tuple[int, float]]


class Measured(ComponentsProgram):
    """Components, and what each task has computed since the superstep before."""

    begun = 0.0

    def superstep(self, task: Task, inbox: Sequence[Any]) -> Outbox:
        now = time.process_time()
        spent, self.begun = now - self.begun, now
        outbox = super().superstep(task, inbox)
        outbox.aggregates = {**outbox.aggregates, "cpu": [spent]}
        return outbox

    def aggregators(self) -> Mapping[str, Aggregator]:
        return {**super().aggregators(), "cpu": Aggregator([], lambda left, right: left + right)}


def components(edges: Any, vertices: int, mode: Any) -> LoopJob:
    """Components of the edges."""
    table = pa.table({"source": edges[0], "target": edges[1]})
    inputs = {
        "out": LoopInput(table, key="source"),
        "vertices": LoopInput(pa.table({"id": np.arange(vertices)}), key="id"),
    }
    options = LoopOptions(mode=mode)
    return LoopJob("components", Measured(10_000), inputs, RESULT, 10_000, TASKS, options)


def grid(side: int) -> Any:
    """The edges of a grid."""
    at = np.arange(side * side).reshape(side, side)
    right, down = (at[:, :-1], at[:, 1:]), (at[:-1], at[1:])
    return [np.concatenate([a.ravel(), b.ravel()]) for a, b in zip(right, down, strict=True)]


def random_graph(vertices: int, edges: int) -> Any:
    """Edges between any two vertices."""
    return np.random.default_rng(7).integers(0, vertices, (2, edges))


def cpu_per_task(result: LoopResult) -> list[tuple[int, list[float]]]:
    """What was active in a superstep, and the milliseconds of each task: told in the next one."""
    steps = result.supersteps
    return [
        (now.active, [1000 * spent for spent in after.aggregates["cpu"]])
        for now, after in pairwise(steps[1:])
    ]


def resident(title: str, edges: Any, vertices: int) -> Points:
    """Run it twice: the first run starts the workers."""
    run_on_spark(components(edges, vertices, "resident"))
    cpu, wall = cpu_of_tree(os.getpid()), time.perf_counter()
    result = run_on_spark(components(edges, vertices, "resident"))
    wall, cpu = time.perf_counter() - wall, cpu_of_tree(os.getpid()) - cpu
    loop = sum(step.seconds for step in result.supersteps)
    per_task = cpu_per_task(result)
    small = sorted(max(each) for active, each in per_task if active < SMALL)
    print(
        f"{title}: {len(result.supersteps)} supersteps, loop {loop:.2f} s, all {wall:.1f} s wall, "
        f"{cpu:.1f} s CPU; below {SMALL} active: median {small[len(small) // 2]:.2f}, "
        f"most {small[-1]:.2f} ms CPU a task ({len(small)} supersteps)"
    )
    return [(active, sum(each)) for active, each in per_task]


def by_driver(title: str, edges: Any, vertices: int) -> Points:
    """The same as a job per superstep."""
    job = components(edges, vertices, "driver")
    spark = session_of(job)
    points: Points = []
    before = [cpu_of_tree(os.getpid())]

    def watch(merged: Merged, seconds: float) -> None:
        now = cpu_of_tree(os.getpid())
        points.append((merged.active, 1000 * (now - before[0])))
        before[0] = now

    wall = time.perf_counter()
    run_by_driver(spark, job, TASKS, watch=watch)
    wall = time.perf_counter() - wall
    points = points[2:]  # the first ones load, and link the tasks
    costs = sorted(cost for active, cost in points if active < SMALL)
    print(
        f"{title}: {len(points) + 2} supersteps, {wall:.1f} s wall; below {SMALL} active: median "
        f"{costs[len(costs) // 2]:,.0f}, least {costs[0]:,.0f} ms CPU, all processes"
    )
    return points


def chart(series: Mapping[str, Points]) -> str:
    """The cost against the workset, both on logarithmic scales."""
    width, height, left, right, bottom, top = 580, 320, 70, 40, 44, 40
    xs = [max(x, 1) for points in series.values() for x, _ in points]
    ys = [y for points in series.values() for _, y in points if y > 0]
    x_end = math.ceil(math.log10(max(xs)))
    y_begin, y_end = math.floor(math.log10(min(ys))), math.ceil(math.log10(max(ys)))

    def place(x: float, y: float) -> tuple[float, float]:
        across = math.log10(max(x, 1)) / x_end
        up = (math.log10(max(y, 10.0**y_begin)) - y_begin) / (y_end - y_begin)
        return left + across * (width - left - right), height - bottom - up * (
            height - bottom - top
        )

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        f'<text x="{left}" y="18" font-weight="bold">CPU milliseconds of a superstep, all tasks, '
        "by what is active</text>",
    ]
    for power in range(y_begin, y_end + 1):
        _, y = place(1, 10.0**power)
        parts.append(f'<path d="M{left} {y:.0f}H{width - right}" stroke="#ddd"/>')
        parts.append(
            f'<text x="{left - 8}" y="{y + 4:.0f}" text-anchor="end">{10.0**power:,g}</text>'
        )
    for power in range(x_end + 1):
        x, _ = place(10.0**power, 1)
        label = f"{10**power:,}"
        parts.append(f'<text x="{x:.0f}" y="{height - 24}" text-anchor="middle">{label}</text>')
    colours = ("#1668b8", "#2a9d55", "#b85c16")
    for number, ((title, points), colour) in enumerate(zip(series.items(), colours, strict=False)):
        for x, y in (place(*point) for point in points):
            parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="{colour}"/>')
        at = left + number * 160
        parts.append(f'<circle cx="{at + 5}" cy="{height - 8}" r="4" fill="{colour}"/>')
        parts.append(f'<text x="{at + 14}" y="{height - 4}">{title}</text>')
    return "".join([*parts, "</svg>\n"])


def main() -> None:
    """Run all, and draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--svg", type=Path)
    parser.add_argument("--side", type=int, default=200)
    parser.add_argument("--vertices", type=int, default=100_000)
    arguments = parser.parse_args()
    side, vertices = arguments.side, arguments.vertices
    edges = random_graph(vertices, 2 * vertices)
    series = {
        "grid, resident": resident("grid, resident", grid(side), side * side),
        "random, resident": resident("random, resident", edges, vertices),
        "random, driver": by_driver("random, driver", edges, vertices),
    }
    if arguments.svg is not None:
        arguments.svg.write_text(chart(series))


if __name__ == "__main__":
    main()
