"""The study's program by each engine, beside ours, in one run: ``python -m benchmarks.engines``.

`recon reconstruct` with each `reconstruct.engine`, and from block tables with each
`reconstruct.within`, on the toy county, on real tracts of six states (where their zips lie beside
the checkout), on synthetic tracts of 1,000 to 8,000 people and on a synthetic nation, from block
and tract tables (Eq. 4.4) and from block tables (Eq. 4.5). On record: whole processes on one core,
cells verified, how each unit was solved, and how many records agree with the truth; with real
tracts, with the Census Bureau's own reconstruction. A wrong answer fails the run, a long time never
does.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.machine import (
    REFERENCE,
    RESULTS,
    ROOT,
    Record,
    as_record,
    circumstances,
    keep,
    measure,
    module,
    recon,
    say,
)
from benchmarks.manifests import counts_of

#: Tracts of the Census Bureau's extract, which lie beside the checkout or nowhere.
REAL = ROOT.parent / "shared" / "data"
STATES = ("al", "ca", "il", "nd", "pa", "tx")
TRACTS = (1_000, 2_000, 4_000, 8_000)
TABLES = {"block+tract": "rHDF_bt", "block": "rHDF_b"}
#: Who finds the solution, and which year where the tables tell a group.
WAYS = {
    "auto": ("auto", "lowest"),
    "auto, random year": ("auto", "random"),
    "auto, middle year": ("auto", "middle"),
    "CP-SAT": ("cp-sat", "lowest"),
    "HiGHS": ("highs", "lowest"),
    "SCIP": ("scip", "lowest"),
}
#: Wall seconds after which a command is stopped, the code of one that was, and of an engine whose
#: own limit was too small.
CAP, STOPPED, UNDECIDED = 900, 124, 8


@dataclass(frozen=True)
class Case:
    """Some tracts.

    Attributes:
        kind: ``toy``, ``real``, ``tract`` or ``nation``.
        people: Of a synthetic tract or nation.
        state: Of real ones.
    """

    name: str
    kind: str
    people: int = 0
    state: str = ""

    def prepare(self, folder: Path) -> Path:
        """Write the config of a case, and ingest its tables; return the records to compare with."""
        source: str = "{source: sf1-legacy, paths: [%s]}"
        truth, is_synthetic = folder / "truth.parquet", self.kind in {"tract", "nation"}
        size = f"people: {self.people or 1}"
        size += f", people_per_tract: {self.people}" if self.kind == "tract" else ""
        if is_synthetic:
            tables = folder / "tables.study.parquet"
            source = f"{{source: tidy, paths: [{tables.name}]}}"
        elif self.kind == "real":
            source %= REAL / "sf1" / f"{self.state}2010.sf1.zip"
        else:
            source %= ROOT / "fixtures" / "toy2010.sf1.zip"
        config = folder / "case.yaml"
        config.write_text(
            "release: sf1_2010\nwork: work\nseed: 1\n"
            f"synth: {{{size}}}\nswap: {{setting: targeted, study_seed: 1}}\n"
            f"ingest: {source}\nreconstruct:\n"
        )
        if is_synthetic:
            recon("data", "synth", "-c", config)
            recon("protect", "swap", "-c", config)
            truth = folder / "work" / "hdf"
            recon("data", "tabulate", truth, "--release", "sf1_2010", "--to", tables)
        elif self.kind == "real":
            truth = REAL / "published_records.parquet"
        else:
            module("engines.toy", truth)
        recon("ingest", "-c", config)
        return truth


def cases(tracts: Sequence[int], nation: int) -> Iterator[Case]:
    """The toy county, real tracts where they are there, synthetic ones."""
    yield Case("the toy county", "toy")
    for state in STATES:
        if (REAL / "sf1" / f"{state}2010.sf1.zip").exists():
            yield Case(f"real tracts, {state.upper()}", "real", state=state)
    for people in tracts:
        yield Case(f"a tract of {people:,} people", "tract", people)
    if nation:
        yield Case(f"a nation of {nation:,} people", "nation", nation)


def try_case(case: Case, folder: Path) -> Record:
    """Every way on one case, from both choices of tables."""
    truth, found = case.prepare(folder), Record()
    for tables, name in TABLES.items():
        # Tracts publish single years.
        ways = [way for way, (_, within) in WAYS.items() if within == "lowest" or name == "rHDF_b"]
        answers = {way: solve(folder, truth, tables, way) for way in ways}
        found[name] = answers
        proven = {json.dumps(_proven(each)) for each in answers.values() if each["solved"]}
        if len(proven) > 1:
            raise SystemExit(f"{case.name}, {name}: what is proven depends on the engine: {proven}")
    return found


def solve(folder: Path, truth: Path, tables: str, way: str) -> dict[str, Any]:
    """One way on one case, and how much of it agrees."""
    engine, within = WAYS[way]
    words = ["reconstruct", "-c", folder / "case.yaml", "--workers", 1, "--force", "-q"]
    for key, value in (("tables", tables), ("engine", engine), ("within", within)):
        words += ["--set", f"reconstruct.{key}={value}"]
    command = ["timeout", CAP, sys.executable, "-m", "recon_cli", *words]
    cost = measure(command, accept=(0, UNDECIDED, STOPPED))
    say(f"  {TABLES[tables]}, {way}", cost.wall_seconds, cost.peak_mb)
    if cost.exit_code:
        return {**as_record(cost), "solved": False}
    out = folder / "agreement.json"
    module("engines.agreement", folder / "work" / "microdata", truth, out)
    blocks: Any = counts_of(folder / "work", ("blocks",))["blocks"]
    agreed = json.loads(out.read_text())
    return {**as_record(cost), "solved": True, "blocks": blocks, **agreed}


def _proven(found: Mapping[str, Any]) -> Mapping[str, int]:
    """Select the columns of blocks/ that no engine may change."""
    names = (
        "unique",
        "people_in_unique",
        "certain",
        "free",
        "candidates",
        "people",
        "cells_compared",
    )
    return {name: found["blocks"][name] for name in names}


def main(arguments: Sequence[str] | None = None) -> None:
    """Try every case, and keep the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tracts", nargs="*", type=int, default=TRACTS)
    parser.add_argument("--nation", type=int, default=100_000, help="its people; 0 for none")
    parser.add_argument("--reference", action="store_true", help="keep the figures in git")
    options = parser.parse_args(arguments)
    facts, figures = circumstances(), Record()
    for case in cases(options.tracts, options.nation):
        sys.stdout.write(f"{case.name}\n")
        with tempfile.TemporaryDirectory() as scratch:
            figures[case.name] = {"kind": case.kind, **try_case(case, Path(scratch))}
    where = REFERENCE if options.reference else RESULTS
    keep("engines", facts, {"cap_seconds": CAP, "cases": figures}, folder=where)


if __name__ == "__main__":
    main()
