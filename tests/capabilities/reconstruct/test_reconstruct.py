"""Reconstruction against enumeration of every solution, on hundreds of tiny releases."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from recon_cli.capabilities.reconstruct.question import reconstruct, reconstruct_plan
from recon_cli.errors import ContradictionError
from recon_cli.model.bounds import propagate
from recon_cli.model.counts import arrange_counts
from recon_cli.model.plan import Plan
from recon_cli.model.planning import make_plan
from recon_cli.model.system import build_systems
from recon_cli.publication import Publication
from recon_cli.schema import Release
from tests.support.enumeration import (
    Solution,
    TooManyError,
    check_claims,
    is_solution,
    record_counts,
    solutions,
)
from tests.support.populations import (
    make_fine_plan,
    publish,
    random_records,
    random_release,
    random_units,
    suppressed,
)
from tests.support.properties import SEEDS, examples


def tiny_release(seed: int, people: int) -> tuple[Release, Publication]:
    release = random_release(seed)
    units = random_units(release, seed, 3)
    records = random_records(release, seed, people, units)
    published = publish(release, records, units)
    assume(release.geography.unit.name in published.geounits["level"])
    return release, published


def enumerate_or_skip(release: Release, published: Publication) -> set[Solution]:
    try:
        return solutions(release, published, release.tables, limit=4000)
    except TooManyError:
        assume(False)
        raise


def perturbed(published: Publication, seed: int) -> Publication:
    """The release with one non-zero count changed by one."""
    rng = np.random.default_rng(seed)
    assume(len(published.counts) > 0)
    at = int(rng.integers(len(published.counts)))
    step = int(rng.choice([-1, 1]))
    changed = pl.Series(np.arange(len(published.counts)) == at)
    counts = published.counts.with_columns(
        pl.when(changed).then(pl.col("count") + step).otherwise(pl.col("count")).alias("count")
    ).filter(pl.col("count") > 0)
    return Publication(published.geounits, counts.cast({"count": pl.Int32}), published.coverage)


@examples(25)
@given(seed=SEEDS, people=st.integers(0, 5), hide=st.booleans())
def test_result_is_one_of_the_solutions(seed: int, people: int, hide: bool) -> None:
    release, published = tiny_release(seed, people)
    if hide:
        published = suppressed(release, published, seed)
    every = enumerate_or_skip(release, published)
    assert every
    for make in (make_plan, make_fine_plan):
        plan = make(release, release.tables, published.coverage)
        result = reconstruct_plan(plan, published, seed=seed)
        found = record_counts(release, result.microdata)
        assert any(is_solution(found, solution) for solution in every), make.__name__
        check_claims(release, result.microdata, result.blocks, every)


@examples(25)
@given(seed=SEEDS, people=st.integers(1, 5))
def test_feasible_exactly_when_enumeration_finds_a_solution(seed: int, people: int) -> None:
    release, published = tiny_release(seed, people)
    published = perturbed(published, seed)
    every = enumerate_or_skip(release, published)
    for make in (make_plan, make_fine_plan):
        plan = make(release, release.tables, published.coverage)
        if every:
            found = record_counts(release, reconstruct_plan(plan, published, seed=1).microdata)
            assert any(is_solution(found, solution) for solution in every)
        else:
            with pytest.raises(ContradictionError, match="contradict"):
                reconstruct_plan(plan, published, seed=1)


@examples(25)
@given(seed=SEEDS, people=st.integers(0, 5), hide=st.booleans())
def test_bounds_never_cut_a_solution_off(seed: int, people: int, hide: bool) -> None:
    release, published = tiny_release(seed, people)
    if hide:
        published = suppressed(release, published, seed)
    every = enumerate_or_skip(release, published)
    for make in (make_plan, make_fine_plan):
        plan = make(release, release.tables, published.coverage)
        counts = arrange_counts(plan, published)
        for system in build_systems(plan, counts, batch=1):
            bounds = propagate(system.rows)
            assert not bounds.conflict.any()
            geoids = counts.geoids.gather(system.units).to_list()
            interval = {
                (geoids[unit], tuple(atoms)): (low, high)
                for unit, atoms, low, high in zip(
                    system.candidates.unit.tolist(),
                    system.candidates.atoms.tolist(),
                    bounds.lower.tolist(),
                    bounds.upper.tolist(),
                    strict=True,
                )
            }
            for solution in every:
                cells = working_cells(plan, solution, set(geoids))
                assert set(cells) <= set(interval)
                for cell, (low, high) in interval.items():
                    assert low <= cells[cell] <= high


def working_cells(
    plan: Plan, solution: Solution, geoids: set[str]
) -> Counter[tuple[str, tuple[int, ...]]]:
    cells: Counter[tuple[str, tuple[int, ...]]] = Counter()
    for (unit, values), n in solution:
        if unit in geoids:
            places = [f.position[v] for f, v in zip(plan.release.features, values, strict=True)]
            atoms = tuple(
                next(i for i, atom in enumerate(atoms) if atom >> at & 1)
                for atoms, at in zip(plan.grain.atoms, places, strict=True)
            )
            cells[unit, atoms] += n
    return cells


@given(seed=SEEDS)
@settings(max_examples=25, deadline=None)
def test_same_seed_same_records_for_any_batch_and_order(seed: int) -> None:
    release = random_release(seed)
    records = random_records(release, seed, 60, random_units(release, seed, 12))
    published = publish(release, records)
    assume(release.geography.unit.name in published.geounits["level"])
    first = reconstruct(release, published, release.tables, seed=seed)
    shuffled = Publication(
        published.geounits,
        published.counts.sample(fraction=1, shuffle=True, seed=3),
        published.coverage,
    )
    again = reconstruct(release, shuffled, release.tables, seed=seed)
    assert first.microdata.equals(again.microdata)
    assert first.blocks.equals(again.blocks)
    parts: dict[str, list[pl.DataFrame]] = defaultdict(list)
    digits = release.region.digits
    for region in published.geounits["geoid"].str.head(digits).unique().sort():
        part = Publication(
            published.geounits.filter(pl.col("geoid").str.head(digits) == region),
            published.counts.filter(pl.col("geoid").str.head(digits) == region),
            published.coverage,
        )
        result = reconstruct(release, part, release.tables, seed=seed)
        parts["microdata"].append(result.microdata)
        parts["blocks"].append(result.blocks)
    assert pl.concat(parts["microdata"]).equals(first.microdata)
    assert pl.concat(parts["blocks"]).equals(first.blocks)
