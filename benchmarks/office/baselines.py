"""What else could find an office's intervals: ``python -m benchmarks.office.baselines FOLDER``.

One linear program, or one search of CP-SAT, for each count and direction, over joint histograms
or over clique tables; and each table by itself. The joint ones, and CP-SAT, are run on a sample.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from scipy import sparse

from recon_cli.capabilities.audit.cells import IntervalCells
from recon_cli.capabilities.audit.ends import DistinctFunctionals
from recon_cli.capabilities.reconstruct.cliques import CliqueForm, CliqueSystem
from recon_cli.model.bounds import Bounds, propagate, propagate_signed
from recon_cli.model.components import Component, split_components
from recon_cli.model.counts import arrange_counts
from recon_cli.model.planning import make_interval_plan
from recon_cli.model.program import IntegerProgram
from recon_cli.model.system import build_system
from recon_cli.publication import Publication
from recon_cli.schema import Release, Table, load_release
from recon_cli.solve.cp_sat import Effort, maximize
from recon_cli.solve.linear_relaxation import LinearRelaxation
from recon_cli.store.protection import read_published
from recon_cli.store.published import open_published

#: No limit.
_ALL: Final = 1e9
#: Deterministic seconds of CP-SAT for one count and direction.
_ENGINE: Final = 20.0
#: What floating point may miss an end by.
_ROUNDING: Final = 1e-6


@dataclass(frozen=True)
class Question:
    """An integer program, and the counts of which the ends are asked.

    Attributes:
        program: What propagation leaves open.
        functionals: Sparse (distinct counts × variables).
        build: CPU seconds to get here.
    """

    program: IntegerProgram
    functionals: sparse.csr_array
    build: float

    @classmethod
    def of(cls, part: Component, counts: sparse.csr_array, started: float) -> Question:
        """What a component adds to some counts."""
        here = sparse.csr_array(sparse.csc_array(counts)[:, part.columns])
        asked = sparse.csr_array(here[np.flatnonzero(np.diff(here.indptr))])
        distinct = DistinctFunctionals.of(part.program, asked)
        return cls(part.program, distinct.coefficients, time.process_time() - started)


def joint(release: Release, published: Publication) -> Question:
    """Over the joint histograms of all units."""
    started = time.process_time()
    plan = make_interval_plan(release, release.tables, published.coverage)
    counts = arrange_counts(plan, published)
    system = build_system(plan, counts, slice(0, len(counts.units)))
    cells = IntervalCells.of(plan, counts, system)
    regions = system.regions[system.candidates.unit]
    (part,) = split_components(system.rows, propagate(system.rows), regions, pack=2**31)
    return Question.of(part, cells.coefficients, started)


def cliques(release: Release, published: Publication, tables: Sequence[Table]) -> Question:
    """Over the clique tables of some tables' features."""
    started = time.process_time()
    plan = make_interval_plan(release, tables, published.coverage)
    counts = arrange_counts(plan, published)
    everything = slice(0, len(counts.units))
    system = CliqueSystem.of(CliqueForm.of(plan), counts, everything)
    bounds = propagate_signed(system.rows, system.ceiling)
    nothing = np.zeros(len(bounds.lower), dtype=bool)
    plain = Bounds(bounds.lower, bounds.upper, nothing, bounds.conflict)
    regions = np.zeros(len(bounds.lower), dtype=np.int64)
    (part,) = split_components(system.rows, plain, regions, pack=2**31)
    open_rows = system.separators + np.flatnonzero(
        (system.rows.least < system.rows.most)[system.separators :]
    )
    return Question.of(part, sparse.csr_array(system.rows.A[open_rows]), started)


def linear_programs(question: Question, sample: int) -> dict[str, float]:
    """A warm simplex for each count and direction: CPU seconds, and vertices that are whole."""
    relaxation = LinearRelaxation(question.program)
    started = time.process_time()
    relaxation.solve(np.ones(question.program.shape[1]), _ALL)
    first = time.process_time() - started
    chosen, whole = _chosen(question, sample), 0
    started = time.process_time()
    for k in chosen:
        cost = question.functionals[[k]].toarray()[0].astype(np.float64)
        for sign in (1, -1):
            values = relaxation.solve(sign * cost, _ALL).values
            whole += bool(np.abs(values - np.rint(values)).max(initial=0) < _ROUNDING)
    each = (time.process_time() - started) / max(2 * len(chosen), 1)
    return _record(question, len(chosen), question.build + first, each) | {"whole": whole}


def engine(question: Question, sample: int) -> dict[str, float]:
    """CP-SAT for each count and direction."""
    chosen = _chosen(question, sample)
    started = time.process_time()
    for k in chosen:
        objective = question.functionals[[k]].toarray()[0].astype(np.int64)
        for sign in (1, -1):
            maximize(question.program, sign * objective, Effort(0, _ENGINE))
    each = (time.process_time() - started) / max(2 * len(chosen), 1)
    return _record(question, len(chosen), question.build, each)


def _chosen(question: Question, sample: int) -> list[int]:
    number = question.functionals.shape[0]
    order = np.random.default_rng(0).permutation(number)
    return [int(k) for k in order[: sample or number]]


def _record(question: Question, asked: int, once: float, each: float) -> dict[str, float]:
    counts = question.functionals.shape[0]
    return {
        "counts": counts,
        "asked": asked,
        "milliseconds_each": round(1000 * each, 2),
        "seconds": round(once + 2 * counts * each, 2),
    }


def measure(folder: Path, sample: int) -> dict[str, dict[str, float]]:
    """All of them on one office that has been ingested."""
    release = load_release(str(folder / "schema.yaml"))
    _, geounits = open_published(folder / "work", release)
    (partition,) = geounits.partitions
    published = read_published(folder / "work", release, partition)
    by_joint = joint(release, published)
    by_cliques = cliques(release, published, release.tables)
    alone = [cliques(release, published, [table]) for table in release.tables]
    found = {
        "joint, linear programs": linear_programs(by_joint, sample),
        "joint, CP-SAT": engine(by_joint, max(sample // 20, 1)),
        "cliques, linear programs": linear_programs(by_cliques, 0),
        "cliques, CP-SAT": engine(by_cliques, max(sample // 4, 1)),
    }
    each = [linear_programs(question, 0) for question in alone]
    found["each table alone, linear programs"] = {
        "counts": sum(one["counts"] for one in each),
        "seconds": round(sum(one["seconds"] for one in each), 2),
    }
    return found


def main() -> None:
    """Print the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sample", type=int, default=80)
    options = parser.parse_args()
    json.dump(measure(options.folder, options.sample), sys.stdout, indent=1)


if __name__ == "__main__":
    main()
