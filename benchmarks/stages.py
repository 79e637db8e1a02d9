"""People a second and peak memory of each stage: ``make bench``.

Every stage runs as a user runs it, in its own process, start-up included; "stage s" is its own
wall time, from its manifest. "plan" and "attack" take the reconstruction apart in this process:
what is made once a run, and what grows with the people. Inputs are the real Summary File 1 zips
beside the checkout when they are there, else the shipped toy; name others on the command line.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

from rich.console import Console
from rich.table import Table

from recon_cli.attack.reconstruct import reconstruct_plan
from recon_cli.model.plan import make_plan
from recon_cli.schema import load_release
from recon_cli.store import read_published
from recon_cli.store.published import open_published

ROOT = Path(__file__).resolve().parents[1]
MODES = ("block", "block+tract")
RESULTS = ROOT / "benchmarks" / "results"


@dataclass(frozen=True)
class Measure:
    """One stage of one run.

    Attributes:
        mode: The tables used.
        workers: Processes.
        stage: Its name.
        people: People in the input.
        wall_seconds: Of the whole command, start-up included.
        stage_seconds: Of the stage alone.
        cpu_seconds: Of the command and its workers.
        peak_mb: Largest resident memory of any process.
    """

    mode: str
    workers: int
    stage: str
    people: int
    wall_seconds: float
    stage_seconds: float
    cpu_seconds: float
    peak_mb: float


def measure(config: Path, work: Path, mode: str, workers: int, stage: str) -> Measure:
    """Run one stage in a process of its own."""
    arguments = [stage, "-c", config, "--work", work, "--workers", workers, "-q"]
    if stage == "reconstruct":
        arguments += ["--tables", mode]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-m", "recon_cli", *map(str, arguments)])
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - started
    if status:
        raise SystemExit(f"recon {stage} failed")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    folder = "microdata" if stage in {"reconstruct", "verify"} else "tables"
    manifest = json.loads((work / folder / "_manifest.json").read_text())
    own = wall if stage == "verify" else manifest["run"]["wall_seconds"]
    peak = max(usage.ru_maxrss / 1024, 0 if stage == "verify" else worker_peak(manifest))
    return Measure(mode, workers, stage, manifest["totals"]["people"], wall, own, cpu, peak)


def measure_attack(work: Path, mode: str) -> list[Measure]:
    """The plan, made once a run, and the attack itself, without start-up, files or verifier."""
    release = load_release("sf1_2010")
    tables, _ = open_published(work, release)
    parts = [read_published(work, release, name) for name in tables.partitions]
    started = time.perf_counter()
    plan = make_plan(release, release.select_tables(mode), parts[0].coverage)
    planned = time.perf_counter()
    people = sum(len(reconstruct_plan(plan, part, seed=0).microdata) for part in parts)
    done = time.perf_counter()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return [
        Measure(mode, 1, name, people, seconds, seconds, seconds, peak)
        for name, seconds in (("plan", planned - started), ("attack", done - planned))
    ]


def worker_peak(manifest: dict[str, dict[str, float]]) -> float:
    """Largest resident memory of a worker, in MB, as the manifest has it."""
    return float(manifest["run"].get("worker_peak_mb") or 0)


def inputs(paths: list[str]) -> list[Path]:
    """The zips to run on."""
    shared = ROOT.parent / "shared" / "data" / "sf1"
    found = [Path(path).resolve() for path in paths] or sorted(shared.glob("*.zip"))
    return found or [ROOT / "fixtures" / "toy2010.sf1.zip"]


def main() -> None:
    """Measure, print, and keep the result as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("zips", nargs="*", help="Summary File 1 zips")
    zips = inputs(parser.parse_args().zips)
    measures: list[Measure] = []
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "bench.yaml"
        config.write_text(
            "release: sf1_2010\n"
            f"ingest: {{source: sf1-legacy, paths: [{', '.join(map(str, zips))}]}}\n"
        )
        for mode in MODES:
            for workers in (1, 2):
                work = Path(folder) / f"{mode}-{workers}"
                measures += [
                    measure(config, work, mode, workers, stage)
                    for stage in ("ingest", "reconstruct", "verify")
                ]
        # Last: a child's peak memory starts at its parent's, and this one grows here.
        for mode in MODES:
            measures += measure_attack(Path(folder) / f"{mode}-1", mode)
    show(measures, zips)
    keep(measures, zips)


def show(measures: list[Measure], zips: list[Path]) -> None:
    """Print the measures as a table."""
    table = Table(box=None, title=f"{measures[0].people:,} people in {len(zips)} file(s)")
    for column in ("tables", "workers", "stage", "wall s", "stage s", "people/s", "CPU s", "MB"):
        table.add_column(column, justify="left" if column in {"tables", "stage"} else "right")
    for m in measures:
        table.add_row(
            m.mode,
            str(m.workers),
            m.stage,
            f"{m.wall_seconds:.2f}",
            f"{m.stage_seconds:.2f}",
            f"{m.people / m.stage_seconds:,.0f}",
            f"{m.cpu_seconds:.2f}",
            f"{m.peak_mb:,.0f}",
        )
    Console().print(table)


def keep(measures: list[Measure], zips: list[Path]) -> None:
    """Write the measures with machine and versions to ``benchmarks/results``."""
    RESULTS.mkdir(exist_ok=True)
    record = {
        "date": time.strftime("%Y-%m-%d"),
        "machine": {"processor": platform.machine(), "cores": os.cpu_count()},
        "versions": {name: version(name) for name in ("recon-cli", "polars", "numpy", "ortools")},
        "inputs": [path.name for path in zips],
        "measures": [asdict(m) for m in measures],
    }
    path = RESULTS / "stages.json"
    path.write_text(json.dumps(record, indent=2) + "\n")
    Console().print(f"kept in {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
