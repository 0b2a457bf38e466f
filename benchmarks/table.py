"""The results as Markdown."""

from __future__ import annotations

from itertools import groupby

from targets import verdicts

MEBIBYTE = 2**20

EXPLANATION = """\
Each benchmark runs in a process of its own, never two at a time. Seconds are job time, from execute
to finished, with the start of the job but without the start of the JVM and the session, which has
its own column. Each run checks the number of its outputs and their checksum against the ones the
data generator predicts. Rates are the median of the runs, with the slowest and fastest in
parentheses; each line below says when it was measured, and how busy the machine was just before.
Peak memory is the resident size of all processes of a run added up (pages shared by
forked workers count once for each); the worker column is the largest single Python process beside
the one that was started. CPU is processor time of all processes, start and checks included.
Sums of windows and joins go by event time; `data.py` says what they are and how each system gets its
records in order.
A system marked with † is too slow for the full number of records: it ran on fewer, over the same
number of keys, and the time it would take for all of them is extrapolated from its rate.
"""


def render(machine: dict[str, str], results: list[dict], missing: list[str]) -> str:
    parts = ["# Benchmark results\n", _machine(machine), EXPLANATION]
    if missing:
        parts.append(f"Not measured, or stopped before the end: {', '.join(missing)}.\n")
    by_workload = sorted(results, key=lambda result: result["workload"])
    for workload, group in groupby(by_workload, key=lambda result: result["workload"]):
        members = sorted(group, key=lambda result: -result["records_per_second"])
        parts += [f"## {workload}\n", _rates(members), _ratios(members), _commands(members)]
    rows = verdicts({result["name"]: result for result in results})
    if rows:
        parts += ["## Targets\n", _table(["Target", "Aim", "Measured", "Verdict"], rows)]
    return "\n".join(part for part in parts if part)


def _machine(machine: dict[str, str]) -> str:
    return "".join(f"- {name}: {value}\n" for name, value in machine.items())


def _table(header: list[str], rows: list[list[str]]) -> str:
    rule = ["---", *["---:" for _ in header[1:]]]
    lines = ["| " + " | ".join(cells) + " |" for cells in [header, rule, *rows]]
    return "\n".join(lines) + "\n"


def _rates(members: list[dict]) -> str:
    header = [
        "Benchmark",
        "Version",
        "Records",
        "Keys",
        "Records/s",
        "Seconds for all",
        "Start-up s",
        "CPU s",
        "Peak MiB",
        "Worker MiB",
    ]
    return _table(header, [_rate_row(member) for member in members])


def _rate_row(member: dict) -> list[str]:
    runs = member["runs"]
    mark = " †" if member["extrapolated"] else ""
    spread = f" ({member['slowest']:,.0f} to {member['fastest']:,.0f})" if len(runs) > 1 else ""
    startups = [run["startup_seconds"] for run in runs if run["startup_seconds"] is not None]
    return [
        member["name"] + mark,
        f"{runs[0]['system']} {runs[0]['version']}",
        f"{member['records']:,}",
        f"{member['keys']:,}",
        f"{member['records_per_second']:,.0f}{spread}",
        f"{member['seconds_for_requested']:,.1f}{mark}",
        f"{min(startups):.1f}" if startups else "",
        f"{min(run['cpu_seconds'] for run in runs):,.0f}",
        f"{max(run['peak_rss'] for run in runs) / MEBIBYTE:,.0f}",
        f"{max(run['peak_worker_rss'] for run in runs) / MEBIBYTE:,.0f}",
    ]


def _ratios(members: list[dict]) -> str:
    """How many times as fast each benchmark (row) is as each baseline (column)."""
    baselines = [member for member in members if member["baseline"]]
    if len(members) < 2 or not baselines:
        return ""
    header = ["Times as fast as", *[baseline["name"] for baseline in baselines]]
    rows = []
    for member in members:
        rate = member["records_per_second"]
        ratios = [f"{rate / baseline['records_per_second']:.2f}" for baseline in baselines]
        rows.append([member["name"], *ratios])
    return _table(header, rows)


def _commands(members: list[dict]) -> str:
    lines = []
    for member in members:
        load = max(run["load_before"] for run in member["runs"])
        lines.append(
            f"- {member['name']}: `{member['command']}`; {member['runs'][0]['notes']}; "
            f"measured {member['measured_at']}, load average before {load:.1f}"
        )
    return "\n".join(lines) + "\n"
