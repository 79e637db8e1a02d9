"""The 34 tables of the 2010 study with fewer of them: ``python -m benchmarks.table_ablation``.

Reconstructs a synthetic nation and, where there are some, real tracts from all 34 tables, from 32,
and from fewer, and counts the blocks that are proven to have no solution variability (relaxed, as
the study measured it). The pair of tables that the 32 lack is taken to be P8 and P10.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import polars as pl

from benchmarks.machine import ROOT, recon
from recon_cli.markdown import markdown_table
from recon_cli.schema import load_release

RELEASE = "sf1_2010"
#: What is left out of the 34. The tables of two or more races are those that the study's archive
#: says were missed at first.
LEFT_OUT: Mapping[str, tuple[str, ...]] = {
    "nothing": (),
    "P8, P10": ("P8", "P10"),
    "P8, P10, P12G, PCT12G, PCT12O": ("P8", "P10", "P12G", "PCT12G", "PCT12O"),
    "P12G, PCT12G, PCT12O": ("P12G", "PCT12G", "PCT12O"),
    "P6, P7": ("P6", "P7"),
    "P9, P11": ("P9", "P11"),
    "P12H, P12I": ("P12H", "P12I"),
    "P14": ("P14",),
}
SYNTHETIC = """\
release: {release}
work: truth
seed: {seed}
synth: {{people: {people}}}
tabulate: {{records: truth/persons, to: tables.parquet}}
"""
ATTACKED = """\
release: {release}
work: {work}
seed: {seed}
ingest: {{source: {source}, paths: ["{tables}"]}}
reconstruct: {{tables: [{chosen}]}}
solvar: {{intervals: propagation}}
"""


def attacked(folder: Path, source: str, tables: Path, seed: int) -> Iterator[tuple[object, ...]]:
    """A row for each choice of tables: what is left out, tables, blocks, proven, not, percents."""
    names = [table.name for table in load_release(RELEASE).tables]
    for number, (said, without) in enumerate(LEFT_OUT.items()):
        chosen = [name for name in names if name not in without]
        config = folder / f"{source}-{number}.yaml"
        config.write_text(
            ATTACKED.format(
                release=RELEASE,
                work=config.stem,
                seed=seed,
                source=source,
                tables=tables,
                chosen=", ".join(chosen),
            )
        )
        cost = recon("run", "-c", config, "--workers", 1)
        blocks = pl.read_parquet(
            folder / config.stem / "solvar" / "**/*.parquet", hive_partitioning=False
        ).filter(pl.col("population") > 0)
        none = blocks.filter(solvar_upper_pct=0)
        undecided = blocks.filter(pl.col("solvar_upper_pct") > 0, solvar_pct=0)
        yield (
            said,
            str(len(chosen)),
            f"{len(none):,} of {len(blocks):,}",
            f"{100 * len(none) / len(blocks):.1f}",
            f"{100 * int(none['population'].sum()) / int(blocks['population'].sum()):.1f}",
            str(len(undecided)),
            f"{cost.cpu_seconds:.0f}",
        )


def main() -> None:
    """Print a table for each population."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=30_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--real", type=Path, default=ROOT.parent / "shared" / "data" / "sf1")
    asked = parser.parse_args()
    header = ["left out", "tables", "blocks without variability", "%", "people %", "open", "CPU s"]
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        config = folder / "truth.yaml"
        config.write_text(SYNTHETIC.format(release=RELEASE, people=asked.people, seed=asked.seed))
        recon("run", "-c", config)
        populations = {"tidy": folder / "tables.parquet"}
        if asked.real.is_dir():
            populations["sf1-legacy"] = asked.real.resolve()
        for source, tables in populations.items():
            rows = [list(map(str, row)) for row in attacked(folder, source, tables, asked.seed)]
            sys.stdout.write(f"{source}\n\n{markdown_table(header, rows, 1)}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
