"""Connected components and PageRank of R-MAT graphs: Millstream, loops over Spark SQL, GraphX.

Each way runs in a process of its own, which starts Spark, reads the edges, computes, and brings the
result to the driver. Processor time is that of the process and all below it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from benchmarks.machine import describe
from benchmarks.process_tree import cpu_of_tree

HERE = Path(__file__).resolve()
DAMPING, ITERATIONS = 0.85, 10
ALGORITHMS = ("components", "pagerank")
WAYS = ("millstream", "driver", "sql", "graphx")


def write_edges(folder: Path, edges: int, scale: int) -> None:
    """The edges of an R-MAT graph, as Parquet and as text."""
    from millstream.graph.generator import JDKRandomGeneratorFactory, RMatGraph
    from millstream.testing import in_memory

    with in_memory():
        rmat = RMatGraph(None, JDKRandomGeneratorFactory(), 1 << scale, edges)
        table = rmat.generate().edge_columns().select(["source", "target"])
    (folder / "parquet").mkdir()
    pq.write_table(table, folder / "parquet" / "edges.parquet", row_group_size=1 << 19)
    options = pacsv.WriteOptions(include_header=False, delimiter=" ")
    pacsv.write_csv(table, folder / "edges.txt", options)


def write_grid(folder: Path, size: int) -> None:
    """The edges of a grid, as Parquet."""
    from millstream.graph.generator import GridGraph
    from millstream.testing import in_memory

    with in_memory():
        grid = GridGraph(None).add_dimension(size, False).add_dimension(size, False).generate()
        table = grid.edge_columns().select(["source", "target"])
    # One edge of each pair: components go along edges and against them.
    table = table.filter(pa.array(table["source"].to_numpy() < table["target"].to_numpy()))
    (folder / "parquet").mkdir()
    pq.write_table(table, folder / "parquet" / "edges.parquet", row_group_size=1 << 15)


# -- one way, in a process of its own ---------------------------------------------------------------


def session(cores: int):
    """The session that Millstream starts; all ways have the same one."""
    from millstream.spark.session.session import get_session

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    conf = {"spark.sql.shuffle.partitions": str(cores), "spark.driver.memory": "4g"}
    return get_session(None, cores, conf)


def read(spark, folder: Path):
    # With the columns given, Spark need not run a job to find them.
    return spark.read.schema("source bigint, target bigint").parquet(str(folder / "parquet"))


def by_millstream(folder: Path, algorithm: str, cores: int, mode: str) -> dict:
    from millstream.graph import Graph
    from millstream.graph.library import ConnectedComponents, PageRank, base
    from millstream.iteration import LoopOptions, run_loop

    spark = session(cores)
    seen = []
    base.run_loop = lambda job: seen.append(run_loop(job)) or seen[-1]
    graph = Graph.from_dataframes(read(spark, folder))
    chosen = ConnectedComponents() if algorithm == "components" else PageRank(DAMPING, ITERATIONS)
    chosen.set_loop_options(LoopOptions(mode=mode))
    found = chosen.columns(graph).toArrow()
    steps = seen[0].supersteps
    loop = [round(step.seconds * 1000, 1) for step in steps]
    active = [step.active for step in steps]
    how = {"mode": seen[0].mode, "loop_ms": loop, "active": active}
    return {**summary(found["value"].to_numpy()), **how}


def summary(values) -> dict:
    if values.dtype.kind == "i":
        return {"components": len(np.unique(values)), "vertices": len(values)}
    return {"sum": float(values.sum()), "most": float(values.max()), "vertices": len(values)}


def by_sql(folder: Path, algorithm: str, cores: int) -> dict:
    spark = session(cores)
    edges = read(spark, folder)
    if algorithm == "components":
        return sql_components(edges)
    return sql_pagerank(edges)


def sql_components(edges) -> dict:
    """Labels go to all neighbours as long as some get smaller."""
    from pyspark.sql import functions as F

    both = edges.unionAll(edges.select(F.col("target"), F.col("source"))).localCheckpoint()
    labels = both.select(F.col("source").alias("id")).distinct()
    labels = labels.withColumn("label", F.col("id")).localCheckpoint()
    while True:
        heard = both.join(labels, both["source"] == labels["id"])
        heard = heard.groupBy("target").agg(F.min("label").alias("heard"))
        joined = labels.join(heard, labels["id"] == heard["target"], "left")
        less = F.col("heard") < F.col("label")
        new = joined.select(
            "id",
            F.least("label", "heard").alias("label"),
            F.coalesce(less, F.lit(False)).alias("new"),
        ).localCheckpoint()
        changed = new.where("new").count()
        labels = new.drop("new")
        if not changed:
            break
    return summary(labels.toArrow()["label"].to_numpy())


def sql_pagerank(edges) -> dict:
    from pyspark.sql import functions as F

    degrees = edges.groupBy("source").agg(F.count("*").alias("degree"))
    edges = edges.join(degrees, "source").localCheckpoint()
    ids = edges.select(F.col("source").alias("id")).union(edges.select("target")).distinct()
    ids = ids.join(degrees.withColumnRenamed("source", "id"), "id", "left").localCheckpoint()
    count = ids.count()
    ranks = ids.withColumn("rank", F.lit(1.0 / count)).localCheckpoint()
    for _ in range(ITERATIONS):
        stranded = ranks.where("degree is null").agg(F.sum("rank")).first()[0] or 0.0
        leaving = ((1 - DAMPING) + DAMPING * stranded) / count
        share = (F.col("rank") / F.col("degree")).alias("share")
        shares = ranks.select(F.col("id").alias("source"), share)
        sums = edges.join(shares, "source").groupBy("target").agg(F.sum("share").alias("sum"))
        joined = ids.join(sums, ids["id"] == sums["target"], "left")
        rank = F.lit(leaving) + DAMPING * F.coalesce(F.col("sum"), F.lit(0.0))
        ranks = joined.select("id", "degree", rank.alias("rank")).localCheckpoint()
    return summary(ranks.toArrow()["rank"].to_numpy())


def by_graphx(folder: Path, algorithm: str, cores: int) -> dict:
    spark = session(cores)
    jvm, context = spark._jvm, spark.sparkContext._jsc.sc()
    level = jvm.org.apache.spark.storage.StorageLevel.MEMORY_ONLY()
    graphx = jvm.org.apache.spark.graphx
    graph = graphx.GraphLoader.edgeListFile(
        context, str(folder / "edges.txt"), False, cores, level, level
    )
    tag = getattr(jvm, "scala.reflect.ClassTag$").__getattr__("MODULE$").Int()
    if algorithm == "components":
        found = graphx.lib.ConnectedComponents.run(graph, tag, tag)
    else:
        found = graphx.lib.PageRank.run(graph, ITERATIONS, 1 - DAMPING, tag, tag)
    return {"vertices": found.vertices().count()}


def one(arguments) -> None:
    """Start, compute once, and once more in the same session."""
    started = time.time()
    folder = Path(arguments.folder)
    way, algorithm, cores = arguments.one, arguments.algorithm, arguments.cores
    session(cores)
    spent = [cpu_of_tree(os.getpid())]
    for _ in range(2):
        if way in ("millstream", "driver"):
            mode = "resident" if way == "millstream" else "driver"
            found = by_millstream(folder, algorithm, cores, mode)
        elif way == "sql":
            found = by_sql(folder, algorithm, cores)
        else:
            found = by_graphx(folder, algorithm, cores)
        spent.append(cpu_of_tree(os.getpid()))
    start, first, second = spent
    cpu = {"start": start, "first": first - start, "second": second - first}
    found["cpu"] = {name: round(seconds, 1) for name, seconds in cpu.items()}
    found["wall"] = round(time.time() - started, 1)
    print("RESULT " + json.dumps(found), flush=True)


def measured(folder: Path, way: str, algorithm: str, cores: int, limit: float) -> dict:
    command = [sys.executable, str(HERE), "--one", way, "--algorithm", algorithm]
    command += ["--folder", str(folder), "--cores", str(cores)]
    folders = [*sys.path, str(HERE.parents[1])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(folders)}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=limit, env=environment
        )
    except subprocess.TimeoutExpired:
        return {"error": f"more than {limit:.0f} s"}
    lines = [line for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    if not lines:
        return {
            "error": (done.stderr.strip().splitlines() or ["?"])[-1],
            "stderr": done.stderr[-3000:],
        }
    return json.loads(lines[0][len("RESULT ") :])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--edges", type=int, default=1_000_000)
    parser.add_argument("--scale", type=int, default=17, help="2 to this power are the ids")
    parser.add_argument("--grid", type=int, help="a grid of this size instead")
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--algorithms", nargs="+", choices=ALGORITHMS, default=list(ALGORITHMS))
    parser.add_argument("--limit", type=float, default=900)
    parser.add_argument("--one", choices=WAYS, help=argparse.SUPPRESS)
    parser.add_argument("--algorithm", choices=ALGORITHMS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        one(arguments)
        return
    print(json.dumps(describe()), flush=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if arguments.grid:
            write_grid(folder, arguments.grid)
        else:
            write_edges(folder, arguments.edges, arguments.scale)
        for algorithm in arguments.algorithms:
            for way in arguments.ways:
                found = measured(folder, way, algorithm, arguments.cores, arguments.limit)
                print(algorithm, way, json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
