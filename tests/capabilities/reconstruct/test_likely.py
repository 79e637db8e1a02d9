"""The likeliest solution, and regions whose candidates are not listed, against enumeration."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

import recon_cli as recon
from benchmarks.soundness.releases import make_release
from recon_cli.api.reconstruction import split
from recon_cli.capabilities.reconstruct.cliques import CliqueForm
from recon_cli.capabilities.reconstruct.column_pricing import (
    CertifiedCosts,
    OpenUnits,
    PricedVertex,
    price_columns,
)
from recon_cli.capabilities.reconstruct.dense_bounds import propagate_dense
from recon_cli.capabilities.reconstruct.dense_domain import DenseDomain
from recon_cli.capabilities.reconstruct.question import reconstruct
from recon_cli.model.bounds import propagate
from recon_cli.model.counts import arrange_counts
from recon_cli.model.planning import make_interval_plan
from recon_cli.model.system import build_systems
from recon_cli.progress import NO_STATUSES
from recon_cli.publication import Publication
from recon_cli.schema import Release
from recon_cli.statement.costs import SCALE
from tests.capabilities.reconstruct.test_protected import (
    WARDS,
    counts_of,
    enumerate_or_skip,
    protected_release,
    under,
)
from tests.support.enumeration import Solution, check_claims, is_solution, record_counts

SEEDS = st.integers(0, 2**32 - 1)
many = settings(
    max_examples=int(os.environ.get("RECON_EXAMPLES", "8")),
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.generate],
)
#: What each record adds to the cost: Eq. (likely).
RECORD = 0.003


@contextmanager
def priced_columns() -> Iterator[None]:
    """Whatever clique tables could do."""
    with mock.patch.object(CliqueForm, "is_narrow", new=False):
        yield


def cost_of(release: Release, published: Publication, solution: Solution) -> float:
    """−log p of all published counts, by the laws themselves, and the price of the records."""
    shown = {
        (geoid, table, cell): (count, law)
        for geoid, table, cell, count, law in published.counts.select(
            "geoid", "table", "cell", "count", "law"
        ).rows()
    }
    laws = published.protection.laws
    total = RECORD * sum(n for _, n in solution)
    for geoid, level, pattern in published.geounits.select("geoid", "level", "pattern").rows():
        for table, numbers in published.coverage[pattern].cells.items():
            for number in numbers:
                zero = 0, published.protection.number(table, level)
                count, law = shown.get((geoid, table, number), zero)
                if law is None or count is None or not laws[law].has_cost:
                    continue
                true = sum(
                    n * weight(release, table, number, values)
                    for (unit, values), n in solution
                    if release.geography.inside(unit, geoid)
                )
                total += float(laws[law].cost(np.array(count), np.array(true)))
    return total


def weight(release: Release, table: str, number: int, values: tuple[Any, ...]) -> int:
    cell = release.table_by_name[table].cells[number - 1]
    places = [f.position[v] for f, v in zip(release.features, values, strict=True)]
    if not all(m >> at & 1 for m, at in zip(cell.masks, places, strict=True)):
        return 0
    return 1 if cell.tally is None else int(values[cell.tally]).bit_count()


@many
@given(seed=SEEDS, exact=st.sampled_from([0.0, 0.3, 0.6]), by_cliques=st.booleans())
def test_the_likeliest_solution_is_that_of_brute_force(
    seed: int, exact: float, by_cliques: bool
) -> None:
    release, _, published = protected_release(seed, exact)
    assume(not published.is_exact)
    every = enumerate_or_skip(release, published)
    with nullcontext() if by_cliques else priced_columns():
        result = recon.reconstruct(release, published, seed=seed, objective="likely")
    found = record_counts(release, result.microdata)
    mine = [solution for solution in every if is_solution(found, solution)]
    assert mine
    assert recon.verify(release, published, result.microdata).ok
    check_claims(release, result.microdata.drop_nulls(), result.blocks, every)
    if set(result.blocks["status"]) <= {"likely", "unique"}:
        costs = [cost_of(release, published, solution) for solution in every]
        least = min(cost_of(release, published, solution) for solution in mine)
        assert least == pytest.approx(min(costs), abs=1e-2)


def test_least_is_what_integers_add_up_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """A vertex that is not the best one, though an engine says so, is not believed."""
    counts = counts_of(("A101", 1, "9"), ("A101", 2, "6"), ("A101", 3, "3"))
    published = recon.publish(WARDS, counts, protection=under({"rounded": {"base": 3}}))
    assert set(recon.reconstruct(WARDS, published).blocks["status"]) == {"likely"}
    worse = []

    def off_by_a_person(units: OpenUnits, start: Any) -> PricedVertex | None:
        vertex = price_columns(units, start)
        assert vertex is not None
        rows = units.rows
        for at in range(len(vertex.values)):
            values = vertex.values.copy()
            values[at] += 1
            reached = vertex.A @ values
            within = (reached >= rows.least) & (reached <= rows.most)
            if within[rows.used].all():
                worse.append(at)
                return replace(vertex, values=values)
        return vertex

    monkeypatch.setattr("recon_cli.capabilities.reconstruct.priced.price_columns", off_by_a_person)
    monkeypatch.setattr(CliqueForm, "is_narrow", False)
    assert set(recon.reconstruct(WARDS, published).blocks["status"]) == {"solved"}
    assert worse


@many
@given(seed=SEEDS, exact=st.sampled_from([0.0, 0.3, 0.6]))
def test_certified_costs_are_not_above_the_least_whatever_the_duals(
    seed: int, exact: float
) -> None:
    release, _, published = protected_release(seed, exact)
    assume(not published.is_exact)
    enumerate_or_skip(release, published)
    random = np.random.default_rng(seed)

    def watched(units: OpenUnits, start: Any) -> PricedVertex | None:
        vertex = price_columns(units, start)
        if vertex is not None and vertex.lacking < 1e-6 and not units.rows.is_coupled:
            for noise in (0.0, 0.01, 1.0):
                duals = vertex.duals + noise * random.standard_normal(len(vertex.duals))
                found = CertifiedCosts.of(units, duals)
                assert found is not None
                # Each is rounded up to whole numbers.
                assert found.total <= vertex.cost * SCALE + 1
                assert found.of_each_unit.sum() <= vertex.cost * SCALE + len(units.upper)
        return vertex

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("recon_cli.capabilities.reconstruct.priced.price_columns", watched)
        patch.setattr(CliqueForm, "is_narrow", False)
        recon.reconstruct(release, published, seed=seed, objective="likely")


@many
@given(seed=SEEDS, exact=st.sampled_from([0.0, 0.5]), by_cliques=st.booleans())
def test_any_solution_of_regions_that_are_not_listed(
    seed: int, exact: float, by_cliques: bool
) -> None:
    release, _, published = protected_release(seed, exact)
    assume(not published.is_exact)
    every = enumerate_or_skip(release, published)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("recon_cli.capabilities.reconstruct.question.MOST_LISTED", 0)
        patch.setattr(CliqueForm, "is_narrow", by_cliques)
        result = recon.reconstruct(release, published, seed=seed, objective="any")
    found = record_counts(release, result.microdata)
    assert any(is_solution(found, solution) for solution in every)
    check_claims(release, result.microdata.drop_nulls(), result.blocks, every)


@many
@given(seed=SEEDS, exact=st.sampled_from([0.0, 0.5]))
def test_units_that_coarse_counts_connect_are_solved_a_few_at_a_time(
    seed: int, exact: float
) -> None:
    release, _, published = protected_release(seed, exact)
    assume(not published.is_exact)
    every = enumerate_or_skip(release, published)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("recon_cli.capabilities.reconstruct.priced._JOINT", 0)
        patch.setattr(CliqueForm, "is_narrow", False)
        told: list[tuple[int, int, dict[str, int]]] = []

        def hear(units: int, people: int, statuses: Mapping[str, int] = NO_STATUSES) -> None:
            told.append((units, people, dict(statuses)))

        (part,) = split(release, published)
        result = reconstruct(
            release, part, release.tables, seed=seed, objective="likely", on_progress=hear
        )
    assert "undecided" not in set(result.blocks["status"])
    assert sum(units for units, _, _ in told) == result.blocks.height
    assert sum(people for _, people, _ in told) == result.microdata.height
    statuses: Counter[str] = Counter()
    for _, _, how in told:
        statuses.update(how)
    assert +statuses == Counter(result.blocks["status"].to_list())
    found = record_counts(release, result.microdata)
    assert any(is_solution(found, solution) for solution in every)
    check_claims(release, result.microdata.drop_nulls(), result.blocks, every)


def test_what_was_not_decided_in_time_has_only_proven_people_and_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("recon_cli.capabilities.reconstruct.priced._JOINT", 0)
    monkeypatch.setattr(CliqueForm, "is_narrow", False)
    monkeypatch.setattr("recon_cli.capabilities.reconstruct.neighbourhoods._SWEEPS", 0)
    counts = counts_of(("A101", 1, "3"), ("A102", 1, "3"), ("A10", 1, "9"))
    law = under({"rounded": {"base": 3}})
    published = recon.publish(
        WARDS, counts, absent="unpublished", geounits=["A101", "A102"], protection=law
    )
    result = recon.reconstruct(WARDS, published)
    assert result.blocks["status"].to_list() == ["undecided", "undecided"]
    assert result.blocks["population"].null_count() == 2
    # Each has at least 7 − 5 people, whatever else is decided; more are not placed.
    assert result.microdata["geoid_plot"].to_list() == ["A101", "A101", "A102", "A102"]


@many
@given(seed=SEEDS, exact=st.sampled_from([0.0, 0.5, 1.0]))
def test_dense_bounds_are_those_of_listed_candidates(seed: int, exact: float) -> None:
    release, _, published = protected_release(seed, exact)
    assume(not published.is_exact)
    plan = make_interval_plan(release, release.tables, published.coverage)
    counts = arrange_counts(plan, published)
    for system in build_systems(plan, counts):
        bounds = propagate(system.rows)
        domain = DenseDomain.of(plan, system.strata, len(system.units))
        dense = propagate_dense(domain)
        assert not len(dense.suspects)
        cells = system.candidates
        code = np.ravel_multi_index(tuple(cells.atoms.T.astype(np.int64)), plan.grain.sizes)
        assert (dense.lower[cells.unit, code] == bounds.lower).all()
        assert (dense.upper[cells.unit, code] == bounds.upper).all()
        assert dense.upper.sum() == bounds.upper.sum()


@pytest.mark.parametrize("number", [397, 515, 853])
def test_what_propagation_settles_under_a_law_is_a_likeliest_solution(number: int) -> None:
    """A column that no table shows varies, and nothing else: it changes no count's likelihood."""
    tiny = make_release(7, number)
    assert tiny is not None
    found = recon.reconstruct(tiny.release, tiny.published, seed=1).blocks
    assert found["free"].to_list() == [0]
    assert found["status"].to_list() == ["likely"]
