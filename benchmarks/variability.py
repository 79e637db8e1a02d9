"""Blocks a second of solution variability on a made-up nation: part of ``make bench``.

A population of ``recon synth`` is tabulated, ingested and reconstructed; then every mode of
``recon solvar`` runs in a process of its own, on one core, start-up included.
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

import polars as pl
from rich.console import Console
from rich.table import Table

MODES: dict[str, list[str]] = {
    "relaxed": [],
    "relaxed, intervals by propagation": ["--set", "solvar.intervals=propagation"],
    "exact": ["--mode", "exact"],
    "exact, intervals by propagation": ["--mode", "exact", "--set", "solvar.intervals=propagation"],
}


def recon(*arguments: object) -> tuple[float, float]:
    """Run a command; its wall seconds and peak memory in MB."""
    started = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "recon_cli", *map(str, arguments), "-q"],
        env={**os.environ, "POLARS_MAX_THREADS": "1"},
    )
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"recon {arguments[0]} failed")
    return time.perf_counter() - started, usage.ru_maxrss / 1024


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=50_000)
    people = parser.parse_args().people
    table = Table(box=None, title=f"{people:,} made-up people, one core")
    for column in ("mode", "blocks", "zero", "proven", "certain %", "s", "blocks/s", "MB"):
        table.add_column(column, justify="left" if column == "mode" else "right")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        config = folder / "recon.yaml"
        config.write_text(
            f"release: sf1_2010\nwork: work\nsynth: {{people: {people}}}\n"
            "ingest: {source: tidy, paths: [tables.parquet]}\n"
        )
        shared = ("-c", config, "--workers", 1)
        recon("synth", *shared)
        persons = pl.scan_parquet(folder / "work/persons/**/*.parquet", hive_partitioning=False)
        columns = ["geoid_block", "sex", "age", "race", "hispanic"]
        persons.select(columns).collect().write_parquet(folder / "persons.parquet")
        records = f"tabulate.records={folder / 'persons.parquet'}"
        recon("tabulate", *shared, "--set", records, "--to", folder / "tables.parquet")
        recon("run", *shared)
        for mode, options in MODES.items():
            seconds, peak = recon("solvar", *shared, *options)
            text = (folder / "work/solvar/_manifest.json").read_text()
            manifest = json.loads(text)
            totals, statuses = manifest["totals"], manifest["statuses"]
            table.add_row(
                mode,
                f"{totals['units']:,}",
                f"{totals['zero']:,}",
                f"{statuses.get('proven', 0):,}",
                f"{100 * totals['certain'] / totals['people']:.1f}",
                f"{seconds:.1f}",
                f"{totals['units'] / seconds:,.0f}",
                f"{peak:,.0f}",
            )
    Console().print(table)


if __name__ == "__main__":
    main()
