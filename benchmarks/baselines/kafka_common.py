"""Kafka's connector for Flink: where its jar is, and what the Kafka baselines share."""

from __future__ import annotations

import argparse
import subprocess
from pathlib import Path

import flink_common  # noqa: F401  puts benchmarks/ on the path

from data import DEFAULT_CACHE, open_cache

# Built for Flink 2.2; there is none for 2.3, and it runs there.
CONNECTOR = "org.apache.flink:flink-sql-connector-kafka:5.0.0-2.2"


def connector_jar(cache: Path = DEFAULT_CACHE) -> Path:
    """The jar, fetched by Maven once."""
    folder = open_cache(cache) / "jars"
    _, artifact, version = CONNECTOR.split(":")
    jar = folder / f"{artifact}-{version}.jar"
    if not jar.exists():
        goal = ["dependency:copy", f"-Dartifact={CONNECTOR}", f"-DoutputDirectory={folder}"]
        subprocess.run(["mvn", "-q", "-B", *goal], check=True)
    return jar


def parser(description: str | None) -> argparse.ArgumentParser:
    result = argparse.ArgumentParser(description=(description or "").partition("\n")[0])
    result.add_argument("--bootstrap", required=True)
    result.add_argument("--input", required=True, help="the topic with lines of key,number")
    result.add_argument("--output", required=True, help="the topic for lines of key,count")
    result.add_argument("--mode", choices=("thread", "process"), default="process")
    result.add_argument("--endless", action="store_true", help="go on until it is stopped")
    return result
