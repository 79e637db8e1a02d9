"""The study's program through HiGHS: ``python -m benchmarks.peer.highs WORK TRACT OUT …``.

Its own process, because highspy and ortools cannot be imported into one.
"""

from __future__ import annotations

import highspy
import numpy as np

from benchmarks.peer.engine import Answer, Limits, run
from benchmarks.peer.formulation import Program
from benchmarks.peer.laps import Laps


def solve(program: Program, limits: Limits, laps: Laps) -> Answer:
    """Any solution: no objective, every row an equality."""
    highs = highspy.Highs()  # type: ignore[no-untyped-call]
    highs.setOptionValue("output_flag", False)
    highs.setOptionValue("threads", limits.threads)
    highs.setOptionValue("time_limit", limits.seconds)
    binaries = len(program.kind)
    counts = program.counts.astype(np.float64)
    highs.passModel(
        binaries,
        len(counts),
        len(program.rows),
        int(highspy.MatrixFormat.kColwise),
        int(highspy.ObjSense.kMinimize),
        0.0,
        np.zeros(binaries),
        np.zeros(binaries),
        np.ones(binaries),
        counts,
        counts,
        program.starts,
        program.rows,
        program.weights.astype(np.float64),
        np.full(binaries, int(highspy.HighsVarType.kInteger), np.int32),
    )
    laps.lap("pass")
    highs.run()
    laps.lap("solve")
    status = highs.getModelStatus()
    words = highs.modelStatusToString(status).lower()
    if status != highspy.HighsModelStatus.kOptimal:
        return Answer(words, None)
    return Answer(words, np.flatnonzero(np.round(highs.getSolution().col_value)))


if __name__ == "__main__":
    run(solve, __doc__)
