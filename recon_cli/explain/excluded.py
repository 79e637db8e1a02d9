"""Published cells that leave nobody with other values: why a column of known people is settled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from recon_cli.arrays import BoolArray
from recon_cli.explain.counterexamples import Claim
from recon_cli.explain.facts import Facts, PublishedCell
from recon_cli.explain.minimal_explanation import reading_cost
from recon_cli.model.predicates import Masks
from recon_cli.schema import bits


@dataclass(frozen=True)
class Exclusion:
    """Why nobody is inside some masks.

    Attributes:
        cells: Of each the published cell that excludes it, each once.
        needs_people: Whether a cell is full only with the people that others force into it.
    """

    cells: tuple[PublishedCell, ...]
    needs_people: bool


def find_exclusion(facts: Facts, others: Sequence[Masks], claim: Claim) -> Exclusion | None:
    """A cell around each of ``others`` that is empty, or full with the people of a claim.

    Args:
        facts: Of the unit alone.
        others: What nobody is to be inside of.
        claim: So many people are elsewhere.

    Returns:
        None where a cell alone does not exclude one of ``others``.
    """
    found: dict[int, bool] = {}
    people = _around(facts, claim.masks)
    high = np.concatenate([np.empty(0, np.int64), *facts.high])
    counts_people = np.array(
        [cell.tally is None for pattern in facts.cells for _, cell in pattern.cells], dtype=bool
    )
    for masks in others:
        around = _around(facts, masks) & counts_people
        empty = around & (high == 0)
        full = around & people & (high == claim.least)
        chosen = np.flatnonzero(empty if empty.any() else full).tolist()
        if not chosen:
            return None
        found[min(chosen, key=lambda fact: (reading_cost(facts, fact), fact))] = not empty.any()
    cells = tuple(facts.published_cell(fact) for fact in found)
    return Exclusion(cells, any(found.values()))


def _around(facts: Facts, masks: Masks) -> BoolArray:
    """The facts whose cells contain all records inside some masks."""
    found = []
    for own in facts.cells:
        contains = np.ones(len(own.cells), dtype=bool)
        for inside, mask in zip(own.inside, masks, strict=True):
            contains &= inside[:, list(bits(mask))].all(axis=1)
        found.append(contains)
    return np.concatenate([np.empty(0, bool), *found])
