from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.optimize import LinearConstraint, minimize, nnls

from recon_cli.capabilities.measurements.domain import Domain, Histogram, add_up, merge
from recon_cli.capabilities.measurements.hierarchy import Hierarchy, build_hierarchy
from recon_cli.capabilities.measurements.least_squares import (
    Measured,
    StoppingRule,
    solve_alone,
    solve_children,
)
from recon_cli.capabilities.measurements.rounding import Held, round_alone, round_children
from recon_cli.capabilities.measurements.strategy import Query, Strategy
from recon_cli.capabilities.measurements.strategy_file import load_strategy
from recon_cli.capabilities.topdown.topdown import Fixed, Invariant, Product, estimate
from recon_cli.chance import KeyedChance
from recon_cli.errors import ConfigError, SolverError
from recon_cli.schema import Recode, Release, extend_release, load_release
from recon_cli.schema.spec import FeatureSpec, StructuralZeroSpec
from tests.support.populations import random_records, random_units

study = KeyedChance.for_study

CLINIC = load_release("clinic_visits")
STRATEGY = """
strategy: {name}
rho: {rho}
queries: {queries}
rounding: [total]
levels:
  nation: {{queries: {{total: 1/4, detailed: 3/4}}}}
  district: {{queries: {{total: 1/4, detailed: 3/4}}}}
  clinic: {{queries: {{total: 1/4, detailed: 3/4}}}}
"""
COARSE = "{total: [], detailed: [insurance, smoker]}"
FINE = "{total: [gender], detailed: [gender, age, insurance, smoker, conditions]}"
LEVELS = ("nation", "district", "clinic")


@pytest.mark.parametrize("seed", range(4))
def test_least_squares_are_those_of_a_general_solver(seed: int) -> None:
    rng = np.random.default_rng(seed)
    cells, children = 4, 3
    totals = rng.integers(0, 6, cells)
    groups = [np.zeros(cells, np.int64), np.array([0, 0, 1, 1]), np.arange(cells)]
    measured = [
        Measured(group, rng.normal(3, 3, (group.max() + 1, children)), weight)
        for group, weight in zip(groups, (0.5, 0.2, 1.0), strict=True)
    ]

    def objective(flat: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
        x = flat.reshape(cells, children)
        found = 0.0
        for each in measured:
            sums = np.eye(each.group.max() + 1)[each.group].T @ x
            found += each.weight * float(((sums - each.noisy) ** 2).sum())
        return found

    start = np.repeat(totals[:, None] / children, children, axis=1)
    found = solve_children(measured, totals, start, StoppingRule(4000, 1e-9))
    assert found.min() >= 0
    assert np.allclose(found.sum(axis=1), totals)
    rows = np.kron(np.eye(cells), np.ones(children))
    best = minimize(
        objective, start.ravel(), method="SLSQP", bounds=[(0, None)] * start.size,
        constraints=LinearConstraint(rows, totals, totals), options={"ftol": 1e-12, "maxiter": 500},
    )  # fmt: skip
    assert objective(found.ravel()) <= best.fun + 1e-6


@pytest.mark.parametrize("seed", range(8))
def test_the_least_squares_of_a_geounit_are_those_of_an_active_set_method(seed: int) -> None:
    rng = np.random.default_rng(seed)
    cells = 40
    groups = [np.zeros(cells, np.int64), rng.integers(0, 5, cells), np.arange(cells)]
    groups = [np.unique(group, return_inverse=True)[1] for group in groups]
    weights = 10.0 ** rng.uniform(-3, 3, 3)
    measured = [
        Measured(group, rng.normal(0.5, 3, (group.max() + 1, 1)), weight)
        for group, weight in zip(groups, weights, strict=True)
    ]
    found = solve_alone(measured, cells, StoppingRule(3000, 1e-9))
    rows = np.concatenate([np.eye(group.max() + 1)[group].T for group in groups])
    root = np.repeat(np.sqrt(weights), [group.max() + 1 for group in groups])
    noisy = np.concatenate([each.noisy[:, 0] for each in measured])
    best, _ = nnls(root[:, None] * rows, root * noisy)
    assert found.min() >= 0
    assert np.allclose(found, best, atol=1e-6)


def changes(
    values: np.ndarray[tuple[int, int], np.dtype[np.float64]],
    whole: np.ndarray[tuple[int, int], np.dtype[np.int64]],
    nested: list[np.ndarray[tuple[int], np.dtype[np.int64]]],
) -> float:
    moved = whole - values
    cost = float(np.abs(moved).sum())
    for group in nested:
        for number in range(int(group.max()) + 1):
            cost += 2 * float(np.abs(moved[group == number].sum(axis=0)).sum())
    return cost


@pytest.mark.parametrize("seed", range(6))
def test_rounding_changes_the_least_of_all_roundings(seed: int) -> None:
    rng = np.random.default_rng(seed)
    totals = rng.integers(1, 4, 3)
    values = rng.dirichlet(np.ones(3), 3) * totals[:, None]
    nested = [np.zeros(3, np.int64), np.array([0, 0, 1])]
    found = round_children(values, totals, None, nested)
    assert found.sum(axis=1).tolist() == totals.tolist()
    costs = []
    for up in itertools.product((0, 1), repeat=9):
        whole = np.floor(values).astype(np.int64) + np.reshape(up, (3, 3))
        if (whole.sum(axis=1) == totals).all():
            costs.append(changes(values, whole, nested))
    assert changes(values, found, nested) <= min(costs) + 1e-3


@pytest.mark.parametrize("seed", range(6))
def test_held_sums_hold(seed: int) -> None:
    rng = np.random.default_rng(seed)
    true = rng.integers(0, 3, (6, 4))
    group = np.array([0, 0, 1, 1, 1, 2])
    counts = np.stack([true[group == number].sum(axis=0) for number in range(3)])
    values = np.maximum(true + rng.normal(0, 1, true.shape), 0)
    nested = [group * 2 + np.array([0, 1, 0, 0, 1, 0])]
    nested = [np.unique(nested[0], return_inverse=True)[1]]
    found = round_children(values, true.sum(axis=1), Held(group, counts), nested)
    assert found.min() >= 0
    assert found.sum(axis=1).tolist() == true.sum(axis=1).tolist()
    for number in range(3):
        assert found[group == number].sum(axis=0).tolist() == counts[number].tolist()


def test_held_sums_that_contradict_the_totals_are_refused() -> None:
    held = Held(np.zeros(2, np.int64), np.array([[3, 1]]))
    with pytest.raises(SolverError, match="held counts contradict"):
        round_children(np.ones((2, 2)), np.array([2, 1]), held, [])


def test_largest_remainders() -> None:
    assert round_alone(np.array([0.4, 1.7, 0.9]), 3).tolist() == [0, 2, 1]
    assert round_alone(np.zeros(3), 2).sum() == 2


def strategy(folder: Path, name: str, queries: str, rho: str = "2") -> Strategy:
    path = folder / f"{name}.yaml"
    path.write_text(STRATEGY.format(name=name, rho=rho, queries=queries))
    return load_strategy(str(path), CLINIC)


def world(records: pl.DataFrame, domain: Domain, hierarchy: Hierarchy) -> list[Histogram]:
    geoids = hierarchy.geoids[-1]
    place = records["geoid_clinic"].replace_strict(geoids, np.arange(len(geoids)))
    ones = np.ones(len(records), np.int64)
    return add_up(place.cast(pl.Int64).to_numpy(), domain.cells(records), ones, len(geoids))


@pytest.mark.parametrize("seed", range(3))
def test_a_second_product_agrees_with_the_first_and_invariants_hold(
    tmp_path: Path, seed: int
) -> None:
    records = random_records(CLINIC, seed, 120, random_units(CLINIC, seed, 6))
    hierarchy = build_hierarchy(CLINIC, LEVELS, records["geoid_clinic"])
    coarse, fine = strategy(tmp_path, "a", COARSE), strategy(tmp_path, "b", FINE)
    first, second = Domain.of(CLINIC, coarse), Domain.of(CLINIC, fine)
    assert second.refines(first)
    assert not first.refines(second)
    invariant = Invariant(coarse.queries["total"], frozenset(("nation", "district")))
    truth = world(records, first, hierarchy)
    made = estimate(Product(first, coarse, study(seed), invariant), hierarchy, truth)
    for depth in (0, 1):
        place, count = hierarchy.place(depth), len(hierarchy.geoids[depth])
        totals = [
            [int(each.people.sum()) for each in merge(histograms, place, count)]
            for histograms in (made, truth)
        ]
        assert totals[0] == totals[1]
    product = Product(second, fine, study(seed), rule=StoppingRule(30))
    finer = estimate(product, hierarchy, world(records, second, hierarchy), Fixed(first, made))
    for each, held in zip(finer, made, strict=True):
        assert (each.people > 0).all()
        summed = add_up(
            np.zeros(len(each.cells), np.int64), second.coarser(first, each.cells), each.people, 1
        )[0]
        assert summed.cells.tolist() == held.cells.tolist()
        assert summed.people.tolist() == held.people.tolist()


def test_without_noise_the_records_come_back(tmp_path: Path) -> None:
    records = random_records(CLINIC, 2, 150, random_units(CLINIC, 2, 6))
    hierarchy = build_hierarchy(CLINIC, LEVELS, records["geoid_clinic"])
    exact = strategy(tmp_path, "exact", FINE, rho="1000000")
    domain = Domain.of(CLINIC, exact)
    truth = world(records, domain, hierarchy)
    made = estimate(Product(domain, exact, study(1)), hierarchy, truth)
    units = np.repeat(np.arange(len(made)), [len(each.cells) for each in made])
    found = domain.records(
        hierarchy.geoids[-1].gather(units),
        np.concatenate([each.cells for each in made]),
        np.concatenate([each.people for each in made]),
    )
    columns = found.columns
    assert found.sort(columns).equals(records.select(columns).cast(found.schema).sort(columns))


@pytest.mark.parametrize("people", [60, 400])
def test_the_census_products_come_to_the_truth_as_their_budgets_grow(people: int) -> None:
    release = load_release("sf1_2010")
    records = random_records(release, people, people, random_units(release, people, 12))
    fixed, made, truth = None, list[Histogram](), list[Histogram]()
    levels = ("nation", "county", "tract", "block_group", "block")
    for name in ("pl94_2020", "dhc_2020"):
        strategy = _with_more(load_strategy(name, release, ("group_quarters", "relationship")))
        domain = Domain.of(release, strategy)
        hierarchy = build_hierarchy(release, levels, records["geoid_block"])
        place = records["geoid_block"].replace_strict(
            hierarchy.geoids[-1], np.arange(len(hierarchy.geoids[-1]))
        )
        ones = np.ones(people, np.int64)
        units = len(hierarchy.geoids[-1])
        truth = add_up(place.cast(pl.Int64).to_numpy(), domain.cells(records), ones, units)
        made = estimate(Product(domain, strategy, study(1)), hierarchy, truth, fixed)
        fixed = Fixed(domain, made)
    for found, true in zip(made, truth, strict=True):
        assert found.cells.tolist() == true.cells.tolist()
        assert found.people.tolist() == true.people.tolist()


def _with_more(strategy: Strategy) -> Strategy:
    """The strategy with 10,000 times its budgets."""
    levels = {
        level: tuple(
            replace(
                each,
                budget=10_000 * each.budget,
                law=each.law.model_copy(update={"variance": Fraction(each.variance) / 10_000}),
            )
            for each in measured
        )
        for level, measured in strategy.levels.items()
    }
    return replace(strategy, levels=levels)


def test_a_second_pass_keeps_what_the_first_has_rounded(tmp_path: Path) -> None:
    records = random_records(CLINIC, 5, 120, random_units(CLINIC, 5, 6))
    hierarchy = build_hierarchy(CLINIC, LEVELS, records["geoid_clinic"])
    text = STRATEGY.format(name="passes", rho="2", queries=FINE)
    path = tmp_path / "passes.yaml"
    path.write_text(text + "passes: [{queries: [total], levels: [district, clinic]}]\n")
    two = load_strategy(str(path), CLINIC)
    assert [len(two.passes(level)) for level in LEVELS] == [1, 2, 2]
    alone = strategy(tmp_path, "passes", "{total: [gender], detailed: [gender]}")
    domains = [Domain.of(CLINIC, each) for each in (two, alone)]
    top = merge(world(records, domains[0], hierarchy), hierarchy.place(0), 1)[0]
    made = estimate(
        Product(domains[0], two, study(1)),
        hierarchy,
        world(records, domains[0], hierarchy),
        top=top,
    )
    # the first pass is what a product of it alone would be: same noise, same rounding
    first = _only(alone, "total")
    coarse = merge(world(records, domains[1], hierarchy), hierarchy.place(0), 1)[0]
    truth = world(records, domains[1], hierarchy)
    expected = estimate(Product(domains[1], first, study(1)), hierarchy, truth, top=coarse)
    for each, held in zip(made, expected, strict=True):
        within = domains[0].coarser(domains[1], each.cells)
        summed = add_up(np.zeros(len(within), np.int64), within, each.people, 1)[0]
        assert summed.cells.tolist() == held.cells.tolist()
        assert summed.people.tolist() == held.people.tolist()


def _only(strategy: Strategy, query: str) -> Strategy:
    levels = {
        level: tuple(each for each in measured if each.query.name == query)
        for level, measured in strategy.levels.items()
    }
    return replace(strategy, levels=levels)


def test_nobody_is_made_a_structural_zero(tmp_path: Path) -> None:
    rule = StructuralZeroSpec(when={"insurance": ["private"]}, only={"smoker": [False]})
    path = tmp_path / "zeros.yaml"
    queries = "{total: [], detailed: [insurance, smoker, ward]}"
    path.write_text(STRATEGY.format(name="zeros", rho="1/200", queries=queries))
    ward = {"ward": FeatureSpec(categories=["north", "south"])}
    can_smoke = pl.when(insurance="private").then(pl.lit(value=False)).otherwise("smoker")
    records = random_records(CLINIC, 5, 12, random_units(CLINIC, 5, 2)).with_columns(
        smoker=can_smoke, ward=pl.lit("north")
    )
    smoking = []
    for rules in ([], [rule]):
        release = extend_release(CLINIC, ward, rules)
        strategy = load_strategy(str(path), release)
        domain = Domain.of(release, strategy)
        product = Product(domain, strategy, study(3))
        hierarchy = build_hierarchy(release, LEVELS, records["geoid_clinic"])
        made = estimate(product, hierarchy, world(records, domain, hierarchy))
        cells = np.concatenate([each.cells for each in made])
        found = domain.records(
            pl.repeat("001001", len(cells), eager=True), cells, np.ones_like(cells)
        )
        assert set(found["ward"]) <= {"north", "south"}
        smoking.append(len(found.filter(insurance="private", smoker=True)))
    assert smoking[0] > 0
    assert smoking[1] == 0


def test_cells_that_a_domain_blurs_are_no_structural_zeros() -> None:
    never = StructuralZeroSpec(when={"gender": ["woman"]}, only={"insurance": ["public", "none"]})
    release = extend_release(CLINIC, {}, [never])
    fine = Domain.of_queries(release, [Query("a", columns(release, "gender", "insurance"))])
    assert fine.size - len(fine.possible()) == 1
    coarse = Domain.of_queries(release, [Query("b", columns(release, "gender", "insured"))])
    assert len(coarse.possible()) == coarse.size
    assert fine.tells_apart(Query("b", columns(release, "insured")))
    assert not coarse.tells_apart(Query("a", columns(release, "insurance")))


def columns(release: Release, *names: str) -> tuple[Recode, ...]:
    return tuple(release.column_groups(name) for name in names)


def test_levels_that_do_not_nest_are_named() -> None:
    units = pl.Series(["001001", "002001"])
    named = pl.DataFrame({"geoid_clinic": units, "ward": ["a", "a"]})
    with pytest.raises(ConfigError, match="ward 'a' lies in two geounits of level 'district'"):
        build_hierarchy(CLINIC, ("district", "ward", "clinic"), units, named)
    with pytest.raises(ConfigError, match="no level 'ward'"):
        build_hierarchy(CLINIC, ("ward", "clinic"), units)
    with pytest.raises(ConfigError, match="the last must be 'clinic'"):
        build_hierarchy(CLINIC, ("clinic", "district"), units)
    with pytest.raises(ConfigError, match="'0010010': a geoid of a clinic has 6 characters"):
        build_hierarchy(CLINIC, ("district", "clinic"), pl.Series(["001001", "0010010"]))
    with pytest.raises(ConfigError, match="no ward is given for geoid_clinic '002001'"):
        build_hierarchy(CLINIC, ("ward", "clinic"), units, named.head(1))
