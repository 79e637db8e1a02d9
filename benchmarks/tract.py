"""A tract of wide tables, every count rounded: ``python -m benchmarks.tract``.

5,469 synthetic people in 86 blocks, the 34 person tables of SF1, each count rounded to base 3 by
``recon protect round``. Reconstructed, measured and audited as three releases, each of which says
more than the one before: the block tables of blocks, those of all levels, and all tables of all
levels. Each command is a process of its own on one core; CPU seconds include start-up. A record
that is called certain and is nobody's ends the run, and so does a true count out of its interval.
Beside them stands what an engine needs for one block after the other, the first release as integer
programs over all histogram cells that are possible.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from benchmarks.machine import (
    REFERENCE,
    RESULTS,
    ROOT,
    Record,
    as_record,
    circumstances,
    keep,
    loop_seconds,
    recon,
    say,
)
from recon_cli.model.bounds import propagate
from recon_cli.model.components import split_components
from recon_cli.model.counts import arrange_counts
from recon_cli.model.planning import make_interval_plan
from recon_cli.model.system import build_systems
from recon_cli.schema import load_release
from recon_cli.solve.cp_sat import Effort, find_feasible
from recon_cli.store.protection import read_published

#: People of the nation that the tract is of, its seed, and the tract.
_PEOPLE, _SEED, _TRACT = 100_000, 63, "01842000600"


@dataclass(frozen=True)
class Rounded:
    """A release of the tract.

    Attributes:
        tables: In use, as `reconstruct.tables` says it.
        of_blocks: Whether only blocks publish.
        mark: CPU seconds of a reconstruction that are aimed at, on a quiet core.
    """

    tables: str
    of_blocks: bool
    mark: float


RELEASES: Final = {
    "block tables of blocks": Rounded("block", of_blocks=True, mark=20),
    "block tables of all levels": Rounded("block", of_blocks=False, mark=20),
    "all tables of all levels": Rounded("block+tract", of_blocks=False, mark=80),
}
_KEY = ["geoid_block", "sex", "agebin", "race", "hispanic"]
#: Deterministic seconds of CP-SAT for a block.
_ENGINE: Final = 20.0


def write(folder: Path) -> Record:
    """Make the tract and its releases, each with a config of its own."""
    (folder / "nation.yaml").write_text(
        f"release: sf1_2010\nwork: nation\nseed: {_SEED}\nsynth: {{people: {_PEOPLE}}}\n"
    )
    recon("data", "synth", "-c", folder / "nation.yaml", "--workers", "1")
    people = pl.read_parquet(folder / "nation" / "persons" / "**" / "*.parquet")
    people = people.filter(pl.col("geoid_block").str.starts_with(_TRACT))
    people.write_parquet(folder / "records.parquet")
    people.select("geoid_block").unique(maintain_order=True).write_csv(folder / "blocks.csv")
    (folder / "round.yaml").write_text(
        "release: sf1_2010\nwork: made\n"
        f"round: {{records: records.parquet, study_seed: {_SEED}, geounits: blocks.csv}}\n"
    )
    recon("protect", "round", "-c", folder / "round.yaml", "--workers", "1")
    rounded = folder / "made" / "rounded"
    counts = pl.read_parquet(rounded / "**" / "*.parquet")
    counts.filter(pl.col("geoid").str.len_chars() == len("000000000000000")).write_parquet(
        folder / "blocks.parquet"
    )
    for at, release in enumerate(RELEASES.values()):
        path = "blocks.parquet" if release.of_blocks else "made/rounded"
        (folder / f"{at}.yaml").write_text(
            f"release: sf1_2010\nwork: work{at}\n"
            f"ingest: {{source: tidy, paths: [{path}], geounits: made/rounded/geounits.txt, "
            "protection: made/rounded/protection.yaml}\n"
            f"reconstruct: {{tables: {release.tables}}}\nsolvar:\n"
            f"audit: {{tables: {release.tables}}}\n"
        )
    return {
        "people": people.height,
        "blocks": people["geoid_block"].n_unique(),
        "counts": counts.height,
    }


def reconstruct(folder: Path, at: int) -> Record:
    """Reconstruct: how many blocks are proven likeliest, or only solved."""
    cost = recon("reconstruct", "-c", folder / f"{at}.yaml", "--workers", "1")
    units = pl.read_parquet(folder / f"work{at}" / "blocks" / "**" / "*.parquet")
    return {**as_record(cost), **dict(units["status"].value_counts().sort("status").iter_rows())}


def solvar(folder: Path, at: int) -> Record:
    """Measure variability: who is certain.

    Raises:
        SystemExit: Somebody is not there, or a true count is out of its interval.
    """
    cost = recon("solvar", "-c", folder / f"{at}.yaml", "--workers", "1")
    work = folder / f"work{at}"
    truth = _true_cells(folder)
    flagged = pl.read_parquet(work / "certainty" / "**" / "*.parquet").filter("certain")
    certain = flagged.with_columns(pl.col("race").cast(pl.Int64)).group_by(_KEY).len("certain")
    both = certain.join(truth, on=_KEY, how="left")
    if (both["certain"] > both["count"].fill_null(0)).any():
        raise SystemExit("wrong: a record that is called certain is nobody's")
    ends = pl.read_parquet(work / "intervals" / "**" / "*.parquet")
    ends = ends.with_columns(pl.col("race").cast(pl.Int64)).join(
        truth, on=_KEY, how="full", coalesce=True
    )
    # A cell that is not listed is empty in every solution.
    inside = (
        pl.col("count")
        .fill_null(0)
        .is_between(
            pl.col("lower").fill_null(0),
            pl.when(pl.col("lower").is_null()).then(0).otherwise(pl.col("upper").fill_null(2**31)),
        )
    )
    if not ends.select(inside.all()).item():
        raise SystemExit("wrong: a true count is out of its interval")
    units = pl.read_parquet(work / "solvar" / "**" / "*.parquet")
    return {
        **as_record(cost),
        "certain": int(units["certain_records"].sum()),
        **dict(units["status"].value_counts().sort("status").iter_rows()),
    }


def audit(folder: Path, at: int) -> Record:
    """Audit every count.

    Raises:
        SystemExit: A true count is out of its interval.
    """
    cost = recon("audit", "-c", folder / f"{at}.yaml", "--workers", "1")
    found = pl.read_parquet(folder / f"work{at}" / "audit" / "**" / "*.parquet")
    exact = folder / "exact.parquet"
    if not exact.exists():
        recon(
            "data", "tabulate", folder / "records.parquet", "--release", "sf1_2010", "--to", exact
        )
    truth = pl.read_parquet(exact).select("geoid", "table", "cell", "count")
    both = found.join(truth, on=["geoid", "table", "cell"], how="left")
    count = pl.col("count").fill_null(0)
    if not both.select(count.is_between("least", pl.col("greatest").fill_null(2**31)).all()).item():
        raise SystemExit("wrong: a true count is out of its interval")
    return {
        **as_record(cost),
        **dict(found["status"].value_counts().sort("status").iter_rows()),
    }


def _true_cells(folder: Path) -> pl.DataFrame:
    """How many people each histogram cell of each block has."""
    release = load_release("sf1_2010")
    groups = release.column_groups("agebin")
    ages = release.features[release.feature_index[groups.feature]]
    of_age: dict[Any, Any] = {
        age: label
        for age, at in ages.position.items()
        for label, mask in zip(groups.labels, groups.masks, strict=True)
        if mask >> at & 1
    }
    people = pl.read_parquet(folder / "records.parquet")
    types = {name: release.column_groups(name).dtype for name in ("sex", "hispanic")}
    return (
        people.with_columns(
            pl.col("race").cast(pl.Int64),
            *(pl.col(name).cast(dtype) for name, dtype in types.items()),
            agebin=pl.col("age").replace_strict(of_age, return_dtype=groups.dtype),
        )
        .group_by(_KEY)
        .len("count")
    )


def engine(folder: Path) -> Record:
    """CP-SAT on each block of the first release, with all possible histogram cells as variables."""
    started = time.process_time()
    release = load_release("sf1_2010")
    tables = release.select_tables("block")
    published = read_published(folder / "work0", release, _TRACT[:5])
    plan = make_interval_plan(release, tables, published.coverage)
    counts = arrange_counts(plan, published)
    solved = blocks = columns = 0
    for system in build_systems(plan, counts, 1, whole_regions=False):
        blocks += 1
        bounds = propagate(system.rows)
        columns += int(np.count_nonzero(bounds.free))
        parts = split_components(system.rows, bounds, system.regions[system.candidates.unit])
        found = [find_feasible(part.program, Effort(1, _ENGINE)) for part in parts]
        solved += all(len(each.values) > 0 for each in found)
    seconds = round(time.process_time() - started, 1)
    return {"seconds": seconds, "blocks": blocks, "solved": solved, "variables": columns}


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and keep the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--engine", type=Path, help="only the engine, on a folder that was made")
    parser.add_argument("--reference", action="store_true", help="keep the figures in git")
    options = parser.parse_args(arguments)
    if options.engine:
        json.dump(engine(options.engine), sys.stdout)
        return
    facts = {**circumstances(), "loop_seconds": loop_seconds()}
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    commands: dict[str, Record] = {}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        made = write(folder)
        for at, name in enumerate(RELEASES):
            recon("ingest", "-c", folder / f"{at}.yaml")
            for command in (reconstruct, solvar, audit):
                found = commands[f"{name}: {command.__name__}"] = command(folder, at)
                cost = (float(str(found[each])) for each in ("cpu_seconds", "peak_mb"))
                say(f"{name}: {command.__name__}", *cost)
        words = [sys.executable, "-m", "benchmarks.tract", "--engine", str(folder)]
        done = subprocess.run(words, cwd=ROOT, check=True, capture_output=True)
    figures: Record = {"tract": made, "commands": commands, "engine": json.loads(done.stdout)}
    keep("tract", facts, figures, folder=REFERENCE if options.reference else RESULTS)


if __name__ == "__main__":
    main()
