"""Relations between predicates, and the codes that a predicate has, against their definitions."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from recon_cli.model.grain import enumerate_domain, group_rows, refine
from recon_cli.model.predicates import Masks, PredicatePairs, all_disjoint, slabs
from recon_cli.schema import load_release

#: Values of three features.
_FULL = (0b11, 0b1111, (1 << 70) - 1)
_LONG = st.sampled_from((1, 1 << 69, (1 << 70) - 1, (1 << 64) - 1, 0b110))
PREDICATES = st.lists(
    st.tuples(st.integers(1, _FULL[0]), st.integers(1, _FULL[1]), _LONG), min_size=1, max_size=90
)


def is_inside(part: Masks, whole: Masks) -> bool:
    return all(a & ~b == 0 for a, b in zip(part, whole, strict=True))


def are_apart(one: Masks, other: Masks) -> bool:
    return any(a & b == 0 for a, b in zip(one, other, strict=True))


@given(rows=PREDICATES)
@settings(max_examples=60, deadline=None)
def test_relations_between_predicates_are_those_of_their_values(rows: list[Masks]) -> None:
    pairs, every = PredicatePairs(rows), np.arange(len(rows))
    inside = np.concatenate([pairs.inside(slab) for slab in slabs(len(rows))])
    assert inside.tolist() == [[is_inside(part, whole) for part in rows] for whole in rows]
    apart = [[are_apart(one, other) for other in rows] for one in rows]
    assert pairs.apart(every, every).tolist() == apart
    assert all_disjoint(rows) == all(are_apart(*two) for two in itertools.combinations(rows, 2))
    picked: list[int] = []
    for row in range(len(rows)):
        if all(apart[row][other] for other in picked):
            picked.append(row)
    assert pairs.first_disjoint(every).tolist() == picked


def test_disjoint_in_one_feature_is_disjoint() -> None:
    assert all_disjoint([(1, 7), (2, 7), (4, 3)])
    assert not all_disjoint([(1, 7), (3, 4)])
    assert all_disjoint([(1, 1), (1, 2), (2, 3)])  # by no single feature
    assert all_disjoint([])


def test_groups_of_rows_find_the_rows_of_a_cell() -> None:
    release = load_release("clinic_visits")
    rows = list(dict.fromkeys(c.masks for table in release.tables for c in table.cells))
    grain = refine(release, rows)
    cells = enumerate_domain(grain.sizes)[::7]
    found: list[set[int]] = [set() for _ in cells]
    for group in group_rows(grain, release.full, rows, [None] * len(rows)):
        for cell, of_cell in enumerate(group.layers[:, group.codes(cells)].T.tolist()):
            found[cell] |= {row for row in of_cell if row >= 0}
    for cell, atoms in enumerate(cells.tolist()):
        exact = tuple(grain.atoms[f][atom] for f, atom in enumerate(atoms))
        assert found[cell] == {i for i, masks in enumerate(rows) if is_inside(exact, masks)}
