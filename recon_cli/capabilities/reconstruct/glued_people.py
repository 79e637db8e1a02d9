"""People whose histogram has given clique tables as its margins.

See *clique* and *separator* in docs/glossary.md.
"""

from __future__ import annotations

import numpy as np

from recon_cli.arrays import AtomArray, IntArray
from recon_cli.capabilities.reconstruct.cliques import CliqueForm


def glue(
    form: CliqueForm, tables: IntArray, rng: np.random.Generator
) -> tuple[IntArray, AtomArray]:
    """Build people whose histogram has given clique tables as its margins.

    People of adjacent cliques with the same separator values are paired at random.

    Args:
        tables: (units × cells) whole numbers, none below 0.
        rng: Decides who is paired.

    Returns:
        For each person the unit's place, sorted, and (people × features) atom indices.

    Raises:
        ValueError: Tables do not agree on a separator.
    """
    unit, atoms = _expanded(form, tables, 0)
    people = np.zeros((len(unit), len(form.plan.grain.sizes)), dtype=np.int16)
    people[:, list(form.tree.cliques[0])] = atoms
    for separator in form.tree.separators:
        clique = form.tree.cliques[separator.clique]
        other_unit, other = _expanded(form, tables, separator.clique)
        shared = list(separator.features)
        ours = _shuffled(rng, unit, people[:, shared])
        theirs = _shuffled(rng, other_unit, other[:, [clique.index(f) for f in shared]])
        agrees = len(ours) == len(theirs)
        if agrees:
            agrees = np.array_equal(unit[ours], other_unit[theirs]) and np.array_equal(
                people[ours][:, shared], other[theirs][:, [clique.index(f) for f in shared]]
            )
        if not agrees:
            raise ValueError("clique tables do not agree on what they share")
        people[ours[:, None], np.array(clique, dtype=np.int64)] = other[theirs]
    return unit, people


def _expanded(form: CliqueForm, tables: IntArray, clique: int) -> tuple[IntArray, AtomArray]:
    """Return a row for each person: the unit, and the atoms of a clique's features."""
    table = tables[:, form.first[clique] : form.first[clique + 1]]
    unit, cell = np.divmod(np.repeat(np.arange(table.size), table.ravel()), table.shape[1])
    return unit, form.atoms[clique][cell]


def _shuffled(rng: np.random.Generator, unit: IntArray, shared: AtomArray) -> IntArray:
    """Return an order by unit and shared values, random among equals."""
    keys = np.column_stack([rng.random(len(unit)), shared, unit])
    return np.lexsort(keys.T)
