"""Clique tables against enumeration: what they give, and what they do not."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

import recon_cli as recon
from recon_cli.arrays import IntArray
from recon_cli.capabilities.reconstruct.cliques import CliqueForm, CliqueSystem
from recon_cli.capabilities.reconstruct.glued_people import glue
from recon_cli.capabilities.reconstruct.junction_tree import JunctionTree, Separator
from recon_cli.model.bounds import propagate_signed
from recon_cli.model.counts import PartitionCounts, arrange_counts
from recon_cli.model.planning import make_interval_plan
from recon_cli.publication import Publication
from recon_cli.schema import Release, parse_release
from recon_cli.statement import Protection, Statement, parse_law
from tests.support.enumeration import Solution, TooManyError, solutions
from tests.support.populations import publish, random_records, random_release, random_units
from tests.support.protecting import protect

many = settings(
    max_examples=int(os.environ.get("RECON_EXAMPLES", "8")),
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.generate],
)


def system_of(release: Release, published: Publication) -> tuple[CliqueSystem, PartitionCounts]:
    plan = make_interval_plan(release, release.tables, published.coverage)
    counts = arrange_counts(plan, published)
    everything = slice(0, len(counts.units))
    return CliqueSystem.of(CliqueForm.of(plan), counts, everything), counts


def tables_of(system: CliqueSystem, counts: PartitionCounts, solution: Solution) -> IntArray:
    """The clique tables of a multiset of records, counted one by one."""
    form, grain = system.form, system.form.plan.grain
    geoids = counts.geoids.gather(system.units).to_list()
    tables = np.zeros((len(geoids), form.width), dtype=np.int64)
    for (geoid, values), number in solution:
        places = zip(form.plan.release.features, values, grain.atoms, strict=True)
        atoms = [
            next(at for at, mask in enumerate(masks) if mask >> feature.position[value] & 1)
            for feature, value, masks in places
        ]
        for at, clique in enumerate(form.tree.cliques):
            own = (form.atoms[at] == [atoms[f] for f in clique]).all(axis=1)
            tables[geoids.index(geoid), form.first[at] + int(np.flatnonzero(own)[0])] += number
    return tables


def school(features: Sequence[str], families: str) -> Release:
    """Features of two values, each the feature's name and a number."""
    values = "".join(f"  {name}: {{categories: [{name}1, {name}2]}}\n" for name in features)
    names = ", ".join(features)
    return parse_release(
        f"release: school\ntitle: Pupils\nfeatures:\n{values}geography:\n"
        "  levels: [{level: school, digits: 2}, {level: town, digits: 1}]\n  partition: town\n"
        f"microdata: [{names}]\nhistogram: [{names}]\nfamilies:\n{families}",
        source="school",
    )


def flagged(release: Release, rows: list[tuple[str, str, int, int]]) -> Publication:
    """Exact counts of schools, and rounded ones of towns."""
    frame = pl.DataFrame(rows, schema=["geoid", "table", "cell", "count"], orient="row")
    law = parse_law({"rounded": {"base": 2}})
    towns = Protection((Statement(law, None, ("town",)),))
    return recon.publish(release, frame, protection=towns)


def test_fixed_clique_tables_may_have_several_joints() -> None:
    release = school(
        ["sex", "year"],
        "  - {levels: [school], cells: [total, {by: sex}], tables: {S: {}}}\n"
        "  - {levels: [school], cells: [{by: year}], tables: {Y: {}}}\n"
        "  - {levels: [town], cells: [total], tables: {T: {}}}\n",
    )
    rows = [("A1", "S", n, count) for n, count in ((1, 2), (2, 1), (3, 1))]
    rows += [("A1", "Y", 1, 1), ("A1", "Y", 2, 1), ("A", "T", 1, 2)]
    published = flagged(release, rows)
    assert len(solutions(release, published, release.tables)) == 2
    system, _ = system_of(release, published)
    bounds = propagate_signed(system.rows, system.ceiling)
    assert system.form.tree.cliques == ((0,), (1,))
    assert not bounds.free.any()
    tables = bounds.lower.reshape(1, -1)
    joints = {
        tuple(
            sorted(map(tuple, glue(system.form, tables, np.random.default_rng(seed))[1].tolist()))
        )
        for seed in range(20)
    }
    assert joints == {((0, 0), (1, 1)), ((0, 1), (1, 0))}


def test_a_count_that_crosses_cliques_is_refused_not_bounded_by_its_margins() -> None:
    # b1 holds two of (a2, c2), b2 one of (a1, c1): that event is forced to 1, its margins say 0.
    release = school(
        ["a", "b", "c"],
        "  - {levels: [school], cells: [{by: a, cells: [{by: b}]}], tables: {AB: {}}}\n"
        "  - {levels: [school], cells: [{by: b, cells: [{by: c}]}], tables: {BC: {}}}\n"
        "  - {levels: [town], cells: [total], tables: {T: {}}}\n",
    )
    rows = [("A1", "AB", 2, 1), ("A1", "AB", 3, 2), ("A1", "BC", 2, 2), ("A1", "BC", 3, 1)]
    published = flagged(release, [*rows, ("A", "T", 1, 4)])
    (only,) = solutions(release, published, release.tables)
    assert dict(only)["A1", ("a1", "b2", "c1")] == 1
    system, _ = system_of(release, published)
    assert system.form.tree.separators == (Separator(0, 1, (1,)),)
    with pytest.raises(ValueError, match="no clique holds a count that crosses a, c"):
        system.form.functional((1, 3, 1))


def test_a_cycle_of_features_is_made_chordal() -> None:
    tree = JunctionTree.of((2, 3, 2, 4), [(0, 1), (1, 2), (2, 3), (3, 0)])
    assert sorted(tree.cliques) == [(0, 1, 2), (0, 2, 3)]
    assert tree.separators[0].features == (0, 2)
    assert JunctionTree.of((2, 2), [(0,), (1,)]).separators == (Separator(0, 1, ()),)


def test_cliques_without_running_intersection_are_refused() -> None:
    with pytest.raises(ValueError, match="running intersection"):
        JunctionTree(((0, 1), (1, 2), (0, 2)), (Separator(0, 1, (1,)), Separator(1, 2, (2,))))


@many
@given(seed=st.integers(0, 2**32 - 1), exact=st.sampled_from([0.0, 0.5]))
def test_clique_tables_of_solutions_are_the_solutions_of_clique_tables(
    seed: int, exact: float
) -> None:
    release = random_release(seed)
    units = random_units(release, seed, 2)
    published = publish(release, random_records(release, seed, 3, units), units)
    assume(release.geography.unit.name in published.geounits["level"])
    published = protect(release, published, seed, exact=exact)
    assume(not published.is_exact)
    try:
        every = solutions(release, published, release.tables, limit=300)
    except TooManyError:
        assume(False)
        raise
    system, counts = system_of(release, published)
    bounds = propagate_signed(system.rows, system.ceiling)
    assert not bounds.conflict.any()
    for solution in every:
        tables = tables_of(system, counts, solution)
        cells = tables.ravel()
        assert system.rows.are_met_by(cells)
        assert (cells >= bounds.lower).all()
        assert (cells <= bounds.upper).all()
        unit, people = glue(system.form, tables, np.random.default_rng(seed))
        for at, clique in enumerate(system.form.tree.cliques):
            kinds = zip(unit.tolist(), people[:, list(clique)].tolist(), strict=True)
            found = Counter((place, *atoms) for place, atoms in kinds)
            table = tables[:, system.form.first[at] : system.form.first[at + 1]]
            for place, cell in np.argwhere(table):
                assert found[place, *system.form.atoms[at][cell].tolist()] == table[place, cell]
