"""Least and greatest values of many functionals: solutions first, then proofs.

In this order, from cheap to expensive: vertices of the linear relaxation for random costs, each of
which moves many functionals at once; a proof for all that none of them moved; duals for the ends
that are left, one functional of each connected part at a time; and for functionals of which it is
still unknown whether they are constant, bound tightening by two engines.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy import sparse

from recon_cli.arrays import IntArray
from recon_cli.model.ledger import Ledger, OnLedger, ignore_ledger
from recon_cli.model.program import ConnectedParts, IntegerProgram
from recon_cli.solve.cp_sat import Effort
from recon_cli.solve.ends import EndSearch

#: Share of the effort that ends may take; the rest is for what is not known to be constant.
_ENDS = 0.5


def find_ends(
    program: IntegerProgram,
    functionals: sparse.csr_array,
    known: IntArray,
    effort: Effort,
    watch: OnLedger = ignore_ledger,
) -> Ledger:
    """The least and the greatest value of each functional: Eq. (ends).

    Where the effort ends before, what the ledger has are valid bounds.

    Args:
        functionals: Sparse (functionals × variables), each over one connected part, none empty.
        known: A solution.
        effort: Its limit is for everything together.
        watch: Is shown the ledger after every step.
    """
    ledger = Ledger(program, functionals, [known])
    search = EndSearch(ledger, effort, ConnectedParts.of(program))
    # First all open ends; then those that no solution has moved yet, which would not be worth what
    # others cost.
    for step in (
        partial(search.move, lambda: ledger.is_open_anywhere),
        partial(search.move, lambda: ledger.is_undecided),
        search.prove_constants,
        partial(search.bound_widest, lambda: ledger.is_undecided, 0.0),
    ):
        step()
        watch(ledger)
    search.bound_widest(lambda: ledger.is_open_anywhere, search.left * (1 - _ENDS))
    watch(ledger)
    search.tighten(np.flatnonzero(ledger.is_undecided))
    return ledger


def find_settled(
    program: IntegerProgram,
    functionals: sparse.csr_array,
    known: IntArray,
    effort: Effort,
    watch: OnLedger = ignore_ledger,
) -> Ledger:
    """Which functionals have one value in all solutions; as `find_ends`, without their ends."""
    ledger = Ledger(program, functionals, [known])
    search = EndSearch(ledger, effort, ConnectedParts.of(program))
    search.move(lambda: ledger.is_undecided)
    search.prove_constants()
    watch(ledger)
    search.bound_widest(lambda: ledger.is_undecided, search.left * (1 - _ENDS))
    search.tighten(np.flatnonzero(ledger.is_undecided))
    return ledger
