"""Other doors to a simplex than scipy's private one: ``python -m benchmarks.doors``.

Audits and reconstructs sixty schools, and measures the exact variability of the toy county, in a
process for each door, and adds up what the linear programs take that
`recon_cli.solve.linear_relaxation` meets there. ``scipy`` is the door of the program; ``highspy``
has the same engine behind a public one; its 1.15 cannot be loaded beside ortools, 1.16 can. For
GLOP, HiGHS and PDLP through MathOpt of ortools every tenth program is solved again from scratch:
MathOpt keeps no basis where bounds change.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import numpy as np

import recon_cli as recon
from benchmarks.machine import ROOT
from recon_cli.arrays import FloatArray
from recon_cli.model.program import IntegerProgram
from recon_cli.solve import linear_relaxation
from recon_cli.solve.linear_relaxation import LinearRelaxation, Vertex

#: Programs that are recorded: each n-th one of those solved from scratch.
EVERY: Final = 10
MATHOPT: Final = ("GLOP", "HIGHS", "PDLP")
DOORS: Final = ("scipy", "highspy", *MATHOPT)


def schools(home: Path) -> None:
    """Audit the shipped workbook of sixty schools."""
    workbook = ROOT / "fixtures" / "offices" / "schools.xlsx"
    drafted = recon.draft(workbook, to=home / "schools.yaml", yes=True)
    recon.run_config(
        drafted.path, work=home / "schools", only=("ingest", "audit", "reconstruct", "solvar")
    )


def county(home: Path) -> None:
    """Measure the exact variability of the toy county, and its intervals."""
    recon.run_config(
        ROOT / "configs" / "toy.yaml",
        *("solvar.mode=exact", "solvar.intervals=exact", "claims={}"),
        work=home / "county",
        only=("ingest", "reconstruct", "solvar", "claims"),
    )


@contextmanager
def door_of_highspy() -> Iterator[None]:
    """Let the program use highspy."""
    import highspy

    core = SimpleNamespace(_Highs=highspy.Highs, HighsModelStatus=highspy.HighsModelStatus)
    before = linear_relaxation.highs_core
    linear_relaxation.highs_core = lambda: core  # type: ignore[assignment]
    try:
        yield
    finally:
        linear_relaxation.highs_core = before


class Watch:
    """Counts and times the relaxations that are solved, and keeps some of them."""

    def __init__(self) -> None:
        self.solves = self.scratch = 0
        self.seconds = 0.0
        self.kept: list[tuple[IntegerProgram, FloatArray, float]] = []

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Watch `LinearRelaxation.solve` in the block."""
        solve = LinearRelaxation.solve

        def watched(self_: Any, cost: FloatArray, limit: float, ceiling: float = np.inf) -> Vertex:
            from_scratch = not vars(self_)["_has_vertex"]
            begun = time.process_time()
            vertex = solve(self_, cost, limit, ceiling)
            took = time.process_time() - begun
            self.seconds += took
            self.solves += 1
            self.scratch += from_scratch
            chosen = from_scratch and self.scratch % EVERY == 0
            if chosen and ceiling == np.inf and len(vertex.values):
                self.kept.append((vars(self_)["_program"], cost.copy(), took))
            return vertex

        LinearRelaxation.solve = watched  # type: ignore[method-assign, assignment]
        try:
            yield
        finally:
            LinearRelaxation.solve = solve  # type: ignore[method-assign]


@dataclass(frozen=True)
class Solved:
    """A relaxation that MathOpt solved: CPU seconds, those of the engine alone, what came."""

    seconds: float
    engine: float
    is_optimal: bool
    is_whole: bool


def by_mathopt(program: IntegerProgram, cost: FloatArray, name: str) -> Solved:
    """Solve a relaxation through MathOpt; the time in which the model is built does not count."""
    from ortools.math_opt.python import mathopt

    rows = program.constraints
    model = mathopt.Model()
    x = [
        model.add_variable(lb=float(low), ub=float(high))
        for low, high in zip(program.lower, program.upper, strict=True)
    ]
    A = rows.A
    for row in range(A.shape[0]):
        at = slice(A.indptr[row], A.indptr[row + 1])
        terms = zip(A.indices[at].tolist(), A.data[at].tolist(), strict=True)
        expression = mathopt.LinearSum(float(a) * x[j] for j, a in terms)
        model.add_linear_constraint(
            lb=float(rows.least[row]), ub=float(rows.most[row]), expr=expression
        )
    model.minimize(mathopt.LinearSum(float(c) * v for c, v in zip(cost, x, strict=True) if c))
    begun = time.process_time()
    result = mathopt.solve(model, getattr(mathopt.SolverType, name))
    took = time.process_time() - begun
    engine = result.solve_stats.solve_time.total_seconds()
    if result.termination.reason != mathopt.TerminationReason.OPTIMAL:
        return Solved(took, engine, is_optimal=False, is_whole=False)
    values = np.array(result.variable_values(x))
    is_whole = bool(np.allclose(values, np.rint(values)))
    return Solved(took, engine, is_optimal=True, is_whole=is_whole)


def measure(door: str) -> dict[str, Any]:
    """Measure one door in this process."""
    found: dict[str, Any] = {}
    for work in (schools, county):
        watch = Watch()
        with tempfile.TemporaryDirectory() as home, watch.watching():
            begun = time.process_time()
            if door == "highspy":
                with door_of_highspy():
                    work(Path(home))
            else:
                work(Path(home))
            total = time.process_time() - begun
        name = work.__name__
        if door in MATHOPT:
            found[name] = _again(watch, door)
        else:
            found[name] = {"solves": watch.solves, "seconds": watch.seconds, "total": total}
    return found


def _again(watch: Watch, name: str) -> dict[str, Any]:
    """Solve the programs that were kept again, through MathOpt."""
    solved = [by_mathopt(program, cost, name) for program, cost, _ in watch.kept]
    return {
        "solves": len(solved),
        "seconds": sum(each.seconds for each in solved),
        "engine": sum(each.engine for each in solved),
        "ours": sum(took for *_, took in watch.kept),
        "whole": sum(each.is_whole for each in solved),
        "failed": sum(not each.is_optimal for each in solved),
    }


def main() -> None:
    """Measure every door in a process of its own."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--door", choices=DOORS, action="append")
    parser.add_argument("--here", choices=DOORS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.here:
        sys.stdout.write(json.dumps(measure(options.here)) + "\n")
        return
    for door in options.door or DOORS:
        command = [sys.executable, "-m", "benchmarks.doors", "--here", door]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        sys.stdout.write(f"{door}: {done.stdout or done.stderr.splitlines()[-1]}")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
