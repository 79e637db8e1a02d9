"""Engines by choice: another solution, the same proofs, on tiny releases against enumeration."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import get_args

import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from recon_cli import api
from recon_cli.capabilities.reconstruct import study_program
from recon_cli.capabilities.reconstruct.engines import Engine
from recon_cli.capabilities.reconstruct.person_records import Within
from recon_cli.capabilities.reconstruct.question import Reconstruction, reconstruct
from recon_cli.capabilities.solvar.options import Solvar
from recon_cli.capabilities.solvar.question import measure_variability
from recon_cli.cli import main
from recon_cli.errors import ConfigError, ContradictionError
from recon_cli.schema import Release
from tests.capabilities.reconstruct.test_reconstruct import (
    enumerate_or_skip,
    perturbed,
    tiny_release,
)
from tests.support.enumeration import check_claims, is_solution, record_counts
from tests.support.paths import ROOT
from tests.support.populations import suppressed
from tests.support.properties import SEEDS, examples
from tests.support.protecting import protect

ENGINES = get_args(Engine)
#: Of how each unit was solved, what is proven.
PROVEN = ("population", "candidates", "free", "status")


def certain_cells(release: Release, found: Reconstruction) -> Counter[tuple[object, ...]]:
    """The certain records on the histogram's columns."""
    columns = (release.geoid_column, *release.histogram)
    return Counter(found.microdata.filter("certain").select(columns).iter_rows())


def inhabited(found: Reconstruction) -> pl.DataFrame:
    """How each unit with people was solved."""
    return found.blocks.filter(pl.col("population") > 0)


@examples(20)
@given(seed=SEEDS, people=st.integers(0, 5), hide=st.booleans())
def test_each_engine_finds_a_solution_and_proves_what_auto_proves(
    seed: int, people: int, hide: bool
) -> None:
    release, published = tiny_release(seed, people)
    if hide:
        published = suppressed(release, published, seed)
    every = enumerate_or_skip(release, published)
    auto = reconstruct(release, published, release.tables, seed=seed)
    for engine in ENGINES:
        found = reconstruct(release, published, release.tables, seed=seed, engine=engine)
        counts = record_counts(release, found.microdata)
        assert any(is_solution(counts, solution) for solution in every), engine
        check_claims(release, found.microdata, found.blocks, every)
        assert found.blocks.select(PROVEN).equals(auto.blocks.select(PROVEN)), engine
        assert certain_cells(release, found) == certain_cells(release, auto), engine


@examples(15)
@given(seed=SEEDS, people=st.integers(1, 5))
def test_no_engine_invents_a_solution(seed: int, people: int) -> None:
    release, published = tiny_release(seed, people)
    published = perturbed(published, seed)
    if enumerate_or_skip(release, published):
        return
    for engine in ENGINES:
        with pytest.raises(ContradictionError, match="contradict"):
            reconstruct(release, published, release.tables, seed=1, engine=engine)


@examples(12)
@given(seed=SEEDS, people=st.integers(1, 5), mode=st.sampled_from(["relaxed", "exact"]))
def test_farthest_solutions_are_as_far_by_each_engine(seed: int, people: int, mode: str) -> None:
    release, published = tiny_release(seed, people)
    found = reconstruct(release, published, release.tables, seed=seed)
    options = [
        Solvar(mode=mode, seed=1, unit_seconds=10.0, diameter=True, engine=engine)  # type: ignore[arg-type]
        for engine in ENGINES
    ]
    first, *others = (
        measure_variability(release, published, release.tables, found.microdata, each)
        for each in options
    )
    for other in others:
        assert other.units.drop("seconds").equals(first.units.drop("seconds"))
        assert other.intervals.equals(first.intervals)
        assert other.regions.equals(first.regions)


@examples(12)
@given(seed=SEEDS, people=st.integers(0, 6))
def test_any_value_within_a_group_is_a_solution(seed: int, people: int) -> None:
    release, published = tiny_release(seed, people)
    every = enumerate_or_skip(release, published)
    for within in get_args(Within):
        found = reconstruct(release, published, release.tables, seed=seed, within=within)
        counts = record_counts(release, found.microdata)
        assert any(is_solution(counts, solution) for solution in every), within


def test_single_years_of_a_group(toy_publication: tuple[Release, api.Publication]) -> None:
    release, published = toy_publication
    ages = {
        within: api.reconstruct(release, published, tables="block", seed=1, within=within)
        .microdata["age"]
        .to_numpy()
        for within in get_args(Within)
    }
    assert (ages["lowest"] <= ages["random"]).all()
    assert (ages["lowest"] <= ages["middle"]).all()
    assert 1.5 < (ages["middle"] - ages["lowest"]).mean() < 3
    assert 1.5 < (ages["random"] - ages["lowest"]).mean() < 3


@pytest.fixture(scope="module")
def toy_publication() -> tuple[Release, api.Publication]:
    release = api.load_release("sf1_2010")
    zip_file = ROOT / "fixtures" / "toy2010.sf1.zip"
    return release, api.read_published(release, [zip_file], source="sf1-legacy")


@pytest.fixture(scope="module")
def auto(toy_publication: tuple[Release, api.Publication]) -> Reconstruction:
    return api.reconstruct(*toy_publication, seed=1)


@pytest.mark.parametrize("engine", ENGINES)
def test_the_toy_county_by_each_engine(
    toy_publication: tuple[Release, api.Publication], auto: Reconstruction, engine: Engine
) -> None:
    release, published = toy_publication
    found = api.reconstruct(release, published, seed=1, engine=engine)
    assert api.verify(release, published, found.microdata).ok
    assert found.blocks.select(PROVEN).equals(auto.blocks.select(PROVEN))
    assert certain_cells(release, found) == certain_cells(release, auto)
    assert set(inhabited(found)["method"]) == {"solver"}
    again = api.reconstruct(release, published, seed=1, engine=engine)
    assert again.microdata.equals(found.microdata)


@examples(3)
@given(seed=SEEDS)
def test_an_engine_needs_exact_counts(seed: int) -> None:
    release, published = tiny_release(seed, 4)
    noisy = protect(release, published, seed, exact=0.0)
    with pytest.raises(ConfigError, match="leave out `reconstruct"):
        reconstruct(release, noisy, release.tables, seed=1, engine="cp-sat")


def test_without_effort_people_are_missing_and_nothing_is_claimed(
    monkeypatch: pytest.MonkeyPatch, toy_publication: tuple[Release, api.Publication]
) -> None:
    monkeypatch.setattr(study_program, "_LIMIT", 0.0)
    release, published = toy_publication
    found = api.reconstruct(release, published, seed=1, engine="cp-sat")
    assert set(inhabited(found)["status"]) == {"undecided"}
    assert found.microdata.height < found.blocks["population"].sum()


def test_the_command_says_who_found_the_solution(tmp_path: Path) -> None:
    given = ["-c", str(ROOT / "configs" / "toy.yaml"), "--set", f"work={tmp_path / 'work'}"]
    run = CliRunner().invoke(main, ["ingest", *given, "-q"])
    assert run.exit_code == 0, run.output
    made = CliRunner().invoke(main, ["reconstruct", *given, "--engine", "highs"])
    assert made.exit_code == 0, made.output
    assert "highs, alone" in made.output
    assert "84,304 cells, all equal" in made.output
    auto = CliRunner().invoke(main, ["reconstruct", *given])
    assert "alone\n" not in auto.output.replace("this program alone", "")
    assert "certain, at least  1,935 (96.0%)" in auto.output
