"""The study's program through one engine, from published counts to records."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.peer.formulation import Program, formulate
from benchmarks.peer.laps import Laps
from benchmarks.peer.tract import COUNTED, RELEASE, read_tract
from recon_cli.schema import load_release


@dataclass(frozen=True)
class Answer:
    """What an engine came to.

    Attributes:
        status: In its own words.
        chosen: The binaries that are 1; None without a solution.
    """

    status: str
    chosen: npt.NDArray[np.intp] | None


@dataclass(frozen=True)
class Limits:
    """What an engine may use: threads, and seconds of wall time."""

    threads: int
    seconds: float


Engine = Callable[[Program, Limits, Laps], Answer]


def run(engine: Engine, about: str | None) -> None:
    """Read, formulate, solve, and leave the records beside the times."""
    laps = Laps()
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("work", type=Path)
    parser.add_argument("tract")
    parser.add_argument("out", type=Path)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    options = parser.parse_args()
    release = load_release(RELEASE)
    published = read_tract(options.work, release, options.tract)
    laps.lap("read")
    program = formulate(release, published, release.tables, COUNTED)
    laps.lap("formulate")
    answer = engine(program, Limits(options.threads, options.seconds), laps)
    if answer.chosen is not None:
        records = program.records(release, answer.chosen)
        records.write_parquet(options.out.with_suffix(".parquet"))
        laps.lap("records")
    laps.write(
        options.out,
        status=answer.status,
        solved=answer.chosen is not None,
        binaries=len(program.kind),
        rows=len(program.counts),
        nonzeros=len(program.rows),
    )
