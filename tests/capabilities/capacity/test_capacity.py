"""Capacity: exact ranks, entropies by enumeration, distances by brute force, the study's tables."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import combinations, combinations_with_replacement
from pathlib import Path
from statistics import NormalDist

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import recon_cli as recon
from recon_cli.capabilities.capacity.assessment import ReleaseCapacity, assess, level_tables
from recon_cli.capabilities.capacity.entropy import (
    MarginShare,
    count_covariance,
    eigenvalues,
    exact_bits,
    fit_prior,
    noise_for,
    noisy_bits,
    records_entropy,
)
from recon_cli.capabilities.capacity.indistinguishable import Farthest, farthest_records, hiding_sd
from recon_cli.capabilities.capacity.noise_needed import try_decoder
from recon_cli.capabilities.capacity.question import count_equations
from recon_cli.capabilities.capacity.rank import design_matrix, matrix_rank
from recon_cli.coverage import CoveragePattern
from recon_cli.errors import ConfigError
from recon_cli.model.grain import refine
from recon_cli.model.planning import make_plan
from recon_cli.schema import Release, load_release
from tests.support.command_line import recon as command
from tests.support.paths import ROOT

TOY = ROOT / "fixtures" / "toy2010.sf1.zip"


def fraction_rank(rows: list[list[int]]) -> int:
    """Elimination over the rationals."""
    left = [[Fraction(value) for value in row] for row in rows]
    rank = 0
    for column in range(len(left[0]) if left else 0):
        pivot = next((r for r in range(rank, len(left)) if left[r][column]), None)
        if pivot is None:
            continue
        left[rank], left[pivot] = left[pivot], left[rank]
        for r in range(rank + 1, len(left)):
            factor = left[r][column] / left[rank][column]
            left[r] = [a - factor * b for a, b in zip(left[r], left[rank], strict=True)]
        rank += 1
    return rank


small = st.lists(st.lists(st.integers(-3, 3), min_size=5, max_size=5), min_size=1, max_size=7)


@given(small, st.lists(st.integers(-2, 2), min_size=7, max_size=7))
@settings(max_examples=150, deadline=None)
def test_rank_is_that_of_fractions(rows: list[list[int]], weights: list[int]) -> None:
    mixed = [sum(w * row[c] for w, row in zip(weights, rows, strict=False)) for c in range(5)]
    matrix = [*rows, mixed]
    found = matrix_rank(sparse.csr_array(np.array(matrix)))
    assert found.is_exact
    assert found.value == fraction_rank(matrix) == len(found.rows)
    assert fraction_rank([matrix[row] for row in found.rows]) == found.value


def test_rank_of_nothing() -> None:
    assert matrix_rank(sparse.csr_array((0, 4), dtype=np.int64)).value == 0
    assert matrix_rank(sparse.csr_array((3, 4), dtype=np.int64)).value == 0


@pytest.fixture(scope="module")
def sf1() -> Release:
    return load_release("sf1_2010")


def test_678_of_844_block_cells_are_independent(sf1: Release) -> None:
    cells = [c for _, c in CoveragePattern.complete(sf1, "block").published_cells(sf1.tables)]
    tallied = {cell.tally for cell in cells if cell.tally is not None}
    grain = refine(sf1, [cell.masks for cell in cells], tallied)
    found = matrix_rank(design_matrix(sf1, grain, [(c.masks, c.tally) for c in cells]))
    assert (len(cells), math.prod(grain.sizes)) == (844, 9576)
    assert found.is_exact
    assert found.value == 678


def test_equations_of_the_toy_county(sf1: Release) -> None:
    published = recon.read_published(sf1, [TOY], source="sf1-legacy")
    found = []
    for choice in ("block", "block+tract"):
        plan = make_plan(sf1, sf1.select_tables(choice), published.coverage)
        regions = count_equations(plan, published, choice)
        assert regions["exact"].all()
        sums = regions.select("rows", "rank", "unknowns", "nullity", "people").sum()
        found.append(sums.row(0))
        assert regions["before_zeros"].sum() == 73 * 9576
    assert found == [(1849, 1286, 1513, 227, 2015), (2383, 1312, 1359, 47, 2015)]
    assert regions.height == 3


@pytest.mark.parametrize("p", [(0.5, 0.3, 0.2), (1.0,), (0.9, 0.1), (0.25,) * 4])
@pytest.mark.parametrize("people", [0, 1, 2, 5])
def test_entropy_of_records_is_that_of_all_multisets(p: tuple[float, ...], people: int) -> None:
    bits = 0.0
    for records in combinations_with_replacement(range(len(p)), people):
        times = Counter(records).values()
        ways = math.factorial(people) / math.prod(map(math.factorial, times))
        mass = ways * math.prod(p[record] for record in records)
        bits -= mass * math.log2(mass)
    assert records_entropy(people, np.array(p)) == pytest.approx(bits, abs=1e-9)


def test_exact_counts_carry_at_most_their_entropy_bound() -> None:
    p = np.array([0.5, 0.3, 0.2])
    A = sparse.csr_array(np.array([[1, 0, 0], [0, 1, 0]]))
    covariance = count_covariance(A, p)
    for people in (1, 3, 10):  # two counts and the known total are the records
        bound = float(exact_bits(np.array([people]), covariance)[0])
        assert bound >= records_entropy(people, p)
    assert exact_bits(np.array([0]), covariance)[0] == 0


def test_noise_for_a_share_of_the_bits() -> None:
    A = sparse.csr_array(np.array([[1, 1, 0], [0, 1, 1], [1, 1, 1]]))
    spectrum = eigenvalues(count_covariance(A, np.array([0.2, 0.3, 0.5])))
    assert len(spectrum) == 2  # the total of a known number of people does not vary
    people = np.array([3, 7, 7])

    def bits(sd: float) -> float:
        return float(noisy_bits(people, spectrum, sd).sum())

    sd = noise_for(bits, 2.5)
    assert bits(sd) == pytest.approx(2.5, rel=1e-6)
    assert bits(2 * sd) < bits(sd)
    with pytest.raises(ValueError, match="noise of any size"):
        noise_for(lambda _: 5.0, 1.0)


@given(
    st.lists(st.lists(st.integers(0, 3), min_size=6, max_size=6), min_size=1, max_size=5),
    st.lists(st.integers(1, 3), min_size=5, max_size=5),
)
@settings(max_examples=100, deadline=None)
def test_farthest_records_by_brute_force(rows: list[list[int]], times: list[int]) -> None:
    A = np.array(rows)
    weight = np.array(times[: len(rows)])
    pairs = [A[:, i] - A[:, j] for i, j in combinations(range(A.shape[1]), 2)]
    expected = Farthest(
        max(int((weight * d**2).sum()) for d in pairs),
        max(int((weight * abs(d)).sum()) for d in pairs),
    )
    assert farthest_records(sparse.csr_array(A), weight) == expected


def test_noise_that_hides_two_records_from_anybody() -> None:
    sd = hiding_sd(61, 0.6)
    assert sd == pytest.approx(15.4, abs=0.05)
    # the best guess between two normal distributions errs where they cross
    assert NormalDist(0, sd).cdf(math.sqrt(61) / 2) == pytest.approx(0.6)
    with pytest.raises(ValueError, match=r"above 0\.5"):
        hiding_sd(61, 0.5)


def twins(folder: Path, copies: int) -> Release:
    """Two features, crossed in a table that is published so many times."""
    crossed = "\n".join(f'      CROSSED{n}: {{code: "C{n}-#"}}' for n in range(copies))
    path = folder / f"twins{copies}.yaml"
    path.write_text(f"""
release: twins
title: Two features
features:
  a: {{categories: [x, y]}}
  b: {{categories: [u, v, w]}}
geography:
  levels: [{{level: ward, digits: 3}}]
  partition: ward
microdata: [a, b]
histogram: [a, b]
families:
  - levels: [ward]
    cells: [total, {{by: a}}]
    tables:
      A: {{code: "A-#"}}
  - levels: [ward]
    cells: [{{by: a, cells: [{{by: b}}]}}]
    tables:
{crossed}
""")
    return load_release(str(path))


def capacity_of(release: Release) -> ReleaseCapacity:
    """Of two wards with 4 and 6 people."""
    coverage = (CoveragePattern.complete(release, "ward"),)
    geounits = pl.DataFrame({"pattern": [0, 0], "population": [4, 6]})
    counts = {"A": [10, 5, 5]}
    counts |= {table.name: [1, 2, 2, 3, 1, 1] for table in release.tables if table.name != "A"}
    rows = [
        (0, table, cell, count)
        for table, column in counts.items()
        for cell, count in enumerate(column, start=1)
    ]
    sums = pl.DataFrame(rows, schema=["pattern", "table", "cell", "count"], orient="row")
    return assess(release, level_tables(release, release.tables, coverage, geounits, sums))


def test_duplicates_of_a_table_leave_the_rank_and_raise_the_noise(tmp_path: Path) -> None:
    once, thrice = (capacity_of(twins(tmp_path, copies)) for copies in (1, 3))
    assert [c.levels[0].rank.value for c in (once, thrice)] == [6, 6]
    assert [c.levels[0].cells for c in (once, thrice)] == [9, 21]
    # two records differ in two cells of each crossed table, and in two of the other
    assert (once.farthest.squared, thrice.farthest.squared) == (4, 8)
    assert thrice.noise_for_share(0.5) > 1.5 * once.noise_for_share(0.5)
    assert once.levels[0].exact_bits == pytest.approx(thrice.levels[0].exact_bits)
    assert once.record_bits == pytest.approx(thrice.record_bits)
    assert once.share_through(1e-3) == 1


def test_the_prior_has_the_margins(tmp_path: Path) -> None:
    release = twins(tmp_path, 1)
    cells = [cell.masks for table in release.tables for cell in table.cells]
    grain = refine(release, cells)
    shares = [MarginShare(release.full, 1.0), MarginShare(cells[1], 0.3)]
    p = fit_prior(release, grain, shares)
    held = design_matrix(release, grain, [(share.masks, None) for share in shares]) @ p
    assert held == pytest.approx([1.0, 0.3])
    assert p.max() == pytest.approx(0.7 / 3)  # nothing is known of the other feature


def test_tables_without_numbers_of_people_are_refused(tmp_path: Path) -> None:
    release = twins(tmp_path, 1)
    coverage = (CoveragePattern.complete(release, "ward"),)
    geounits = pl.DataFrame({"pattern": [0], "population": [None]}).cast(pl.Int32)
    sums = pl.DataFrame(schema=["pattern", "table", "cell", "count"])
    with pytest.raises(ConfigError, match="how many people a ward has"):
        level_tables(release, release.tables, coverage, geounits, sums)


def test_the_decoder_finds_all_without_noise_and_gains_nothing_in_much(tmp_path: Path) -> None:
    capacity = capacity_of(twins(tmp_path, 1))
    trial = try_decoder(
        capacity.unit_design, capacity.prior, np.array([4, 6, 5, 7] * 5), (0.05, 1.0, 100.0), seed=3
    )
    assert trial.right[0] == 1
    assert trial.right[0] > trial.right[1] > trial.right[2] - 0.05
    assert abs(trial.right[2] - trial.baseline) < 0.02
    assert trial.noise_for_gain(0.1) in {1.0, 100.0}
    assert trial.noise_for_gain(-1) is None


def test_the_command_prints_the_three_figures_and_writes_a_page(tmp_path: Path) -> None:
    shared = ["-c", ROOT / "configs" / "clinic.yaml", "--work", tmp_path]
    command("run", *shared, "--until", "ingest", "-q")
    small = ["--set", "capacity.tables=[PATIENTS, SMOKERS, INSURANCE]"]
    result = command("plan", "capacity", *shared, *small)
    for figure in ("any attacker", "entropy", "our decoder"):
        assert figure in result.stdout
    assert "independent" in result.stdout
    page = (tmp_path / "capacity" / "capacity.md").read_text()
    assert "a guarantee" in page
    assert "not a guarantee" in page
    again = command("plan", "capacity", *shared, *small)
    assert "up to date" in again.stdout
