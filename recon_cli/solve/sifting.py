"""The linear relaxation of a wide program, most of whose variables are never written down.

A vertex has no more variables above zero than the program has rows. So the engine holds a few
times as many; the duals price all others at once, and those that would lower the cost enter, until
there is none: sifting (Bixby et al. 1992). What was there for one cost is there for the next.

See *sifting* in docs/glossary.md.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from recon_cli.arrays import FloatArray, IntArray
from recon_cli.model.constraints import LinearConstraints
from recon_cli.model.program import IntegerProgram
from recon_cli.solve.linear_relaxation import LinearRelaxation, Vertex

#: A reduced cost this small is none.
_TOLERANCE = 1e-7
#: Variables for each row, and some more, up to which all are held.
_FEW = 4
#: Variables that enter at a time: as many as half the rows, and so many more.
_ENTER = 100
#: Deterministic seconds to price one coefficient.
_PRICED = 2e-9


class SiftedRelaxation:
    """The relaxation of one program, for one cost after the other.

    Like `recon_cli.solve.linear_relaxation.LinearRelaxation`, over the variables that matter.
    """

    def __init__(self, program: IntegerProgram, variables: IntArray) -> None:
        """Nothing is solved yet.

        Args:
            program: Its variables that are not held are at their least, which is 0.
            variables: Those to begin with, under which there is a point of the relaxation; those
                whose least value is above 0 are held, too.
        """
        self._by_variable = sparse.csr_array(program.constraints.A.T.astype(np.float64))
        self._upper = program.upper
        self._is_held = program.lower > 0
        self._is_held[variables] = True
        rows, width = program.shape
        self._is_held |= width <= _FEW * rows + _ENTER
        self._held: IntArray = np.flatnonzero(self._is_held)
        self._relaxation = LinearRelaxation(_over(program, self._held))

    def solve(self, cost: FloatArray, limit: float) -> Vertex:
        """A vertex with the least ``cost @ x``.

        Args:
            cost: A cost of each variable.
            limit: Deterministic seconds.
        """
        elapsed = 0.0
        while True:
            vertex = self._relaxation.solve(cost[self._held], limit - elapsed)
            elapsed += vertex.deterministic_time + _PRICED * self._by_variable.nnz
            if not len(vertex.values):
                return Vertex(np.empty(0), np.empty(0), round(elapsed, 9))
            reduced = cost - self._by_variable @ vertex.duals
            paying = np.flatnonzero((reduced < -_TOLERANCE) & ~self._is_held & (self._upper > 0))
            if not len(paying):
                values = np.zeros(len(cost))
                values[self._held] = vertex.values
                return Vertex(values, vertex.duals, round(elapsed, 9))
            most = self._by_variable.shape[1] // 2 + _ENTER
            if len(paying) > most:
                paying = paying[np.argpartition(reduced[paying], most)[:most]]
            self._enter(np.sort(paying))

    def _enter(self, variables: IntArray) -> None:
        self._relaxation.append(self._by_variable[variables], self._upper[variables])
        self._is_held[variables] = True
        self._held = np.concatenate([self._held, variables])


def _over(program: IntegerProgram, variables: IntArray) -> IntegerProgram:
    """All rows of a program, over some variables."""
    rows = program.constraints
    kept = LinearConstraints(sparse.csr_array(rows.A[:, variables]), rows.least, rows.most)
    return IntegerProgram(kept, program.lower[variables], program.upper[variables])
