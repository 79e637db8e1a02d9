"""`recon show` as a user sees it: in terminals of any width, as a page, and with parts missing."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import polars as pl
import pytest

from recon_cli.capabilities.findings.proven import placed_records, proven_units
from recon_cli.capabilities.show.geounit import Reconstructed, Why, locate
from recon_cli.capabilities.show.geounit_page import published_tables
from recon_cli.capabilities.show.stage import view_geounit
from recon_cli.config import load_config
from recon_cli.coverage import CoveragePattern
from recon_cli.pipeline.run import Run
from recon_cli.schema import load_release
from recon_cli.schema.description import describe_cell
from tests.support import reported
from tests.support.browser import chromium, needs_browser, opened
from tests.support.command_line import recon
from tests.support.paths import DATA, ROOT, needs_shared

TOY, CLINIC = ROOT / "configs" / "toy.yaml", ROOT / "configs" / "clinic.yaml"


def read(folder: Path) -> pl.DataFrame:
    return pl.read_parquet(folder / "**" / "*.parquet", hive_partitioning=False)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The toy county, reconstructed; nobody measured its variability."""
    return reported.toy(tmp_path_factory.getbasetemp())


@pytest.fixture(scope="module")
def measured(plain: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with solvar."""
    work = tmp_path_factory.mktemp("show") / "measured"
    shutil.copytree(plain, work)
    recon("solvar", "-q", "-c", TOY, "--work", work)
    return work


@pytest.fixture(scope="module")
def unique(measured: Path) -> str:
    """A small block with one possible set of records."""
    blocks = read(measured / "blocks").filter(pl.col("population") > 4, status="unique")
    return str(blocks.sort("population", "geoid_block")["geoid_block"][0])


@pytest.fixture(scope="module")
def mixed(measured: Path) -> str:
    """A small block where some records are certain and others are not."""
    units = read(measured / "solvar").filter(
        pl.col("certain_records") > 0, pl.col("certain_upper") < pl.col("population")
    )
    return str(units.sort("population", "geoid_block")["geoid_block"][0])


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    work = tmp_path_factory.mktemp("show") / "clinic"
    for stage in ("ingest", "reconstruct"):
        recon(stage, "-q", "-c", CLINIC, "--work", work)
    return work


def run_of(config: Path, work: Path) -> Run:
    loaded = load_config(config, work=work)
    return Run(loaded, loaded.load_release())


def test_a_unit_with_everything(measured: Path, unique: str) -> None:
    shown = recon("show", unique, "-c", TOY, "--work", measured, width=160).output
    people = read(measured / "microdata").filter(geoid_block=unique).height
    assert f"block {unique}" in shown
    assert f"block group {unique[:12]}, tract {unique[:11]}, county 01841" in shown
    assert "proven unique" in shown
    assert f"{people} of {people} records (100%)" in shown
    assert "0.0% (relaxed, proven)" in shown
    assert "not measured" not in shown
    assert "also possible" not in shown
    assert "one of many possibilities" not in shown
    assert re.search(r"row \d+  at least \d+ (person|people): (fe)?male, age", shown)
    assert "none can be omitted" in shown or "this cell alone" in shown
    assert re.search(rf"P1 .*\n.* all +{people} ", shown)
    assert "all cells zero: P" in shown
    assert "not published" not in shown


@pytest.mark.parametrize("width", [60, 120])
def test_no_line_is_wider_than_the_terminal(
    measured: Path, unique: str, mixed: str, width: int
) -> None:
    for geoid in (unique, mixed, unique[:11]):
        shown = recon("show", geoid, "-c", TOY, "--work", measured, width=width).output
        assert max(len(line) for line in shown.splitlines()) <= width
        assert geoid in shown
        # The only place where something is left out.
        assert shown.count("…") == len(re.findall(r"34 tables: [^…]*…,\s+PCT12O", shown)) == 1


def test_records_intervals_and_certainty_agree_with_the_folders(
    measured: Path, unique: str, mixed: str
) -> None:
    run = run_of(TOY, measured)
    records, intervals = read(measured / "microdata"), read(measured / "intervals")
    for geoid in (unique, mixed):
        view = view_geounit(run, geoid, Why(numbers=()))
        here = records.filter(geoid_block=geoid)
        assert sum(kind.people for kind in view.kinds) == here.height
        assert len(view.kinds) == here.select("sex", "agebin", "race", "hispanic").n_unique()
        assert [kind.number for kind in view.kinds] == list(range(1, len(view.kinds) + 1))
        cells = intervals.filter(geoid_block=geoid)
        assert len(view.kinds) + len(view.possible) == cells.height
        assert sum(k.upper or 0 for k in (*view.kinds, *view.possible)) == cells["upper"].sum()
        for kind in (*view.kinds, *view.possible):
            assert kind.upper is not None
            assert kind.lower <= kind.people <= kind.upper
        assert not view.reasons
        assert view.unexplained == sum(kind.lower > 0 for kind in view.kinds)


def test_reasons_name_published_counts(measured: Path, unique: str) -> None:
    run = run_of(TOY, measured)
    counts = {(g, t, c): n for g, t, c, n in read(measured / "tables").iter_rows()}
    view = view_geounit(run, unique, Why(everyone=True))
    assert [reason.kind.number for reason in view.reasons] == [kind.number for kind in view.kinds]
    assert view.unexplained == 0
    for reason in view.reasons:
        assert reason.lines
        assert reason.is_minimal
        for line in reason.lines:
            table = run.release.table_by_name[line.table]
            number = table.codes.index(line.cell.code) + 1
            place = unique if line.geounit is None else line.geounit.geoid
            assert line.cell.count == counts.get((place, line.table, number), 0)


def test_the_row_that_is_asked_for(measured: Path, mixed: str) -> None:
    shared = ("-c", TOY, "--work", measured)
    view = view_geounit(run_of(TOY, measured), mixed, Why(numbers=()))
    certain = next(kind for kind in view.kinds if kind.lower)
    other = next(kind for kind in view.kinds if not kind.lower)
    shown = recon("show", mixed, *shared, "--why", str(certain.number), width=160).output
    assert f"row {certain.number}  at least {certain.lower}" in shown
    assert certain.words in shown
    assert "one of many possibilities" in shown
    assert "also possible" in shown
    refused = recon("show", mixed, *shared, "--why", str(other.number), code=2).output
    assert f"no record in row {other.number}" in refused
    last = len(view.kinds)
    beyond = recon("show", mixed, *shared, "--why", f"{last + 1}", code=2).output
    assert f"rows 1 to {last}" in beyond
    assert "a row number" in recon("show", mixed, *shared, "--why", "x", code=2).output


def test_without_solvar(plain: Path, mixed: str) -> None:
    shown = recon("show", mixed, "-c", TOY, "--work", plain, width=160).output
    assert re.search(r"variability +not measured", shown)
    assert "run recon solvar" in shown
    assert "by propagation of bounds" in shown
    assert re.search(r"not certain +0 to \d at most", shown)
    assert "1 exactly" in shown
    tract = recon("show", mixed[:11], "-c", TOY, "--work", plain).output
    assert "run recon solvar" in tract
    inside = tract[tract.index("blocks inside") : tract.index("published tables")]
    assert "%" not in inside


def test_solvar_of_other_records_is_not_shown(measured: Path, mixed: str, tmp_path: Path) -> None:
    work = tmp_path / "stale"
    shutil.copytree(measured, work)
    recon("reconstruct", "-q", "-c", TOY, "--work", work, "--tables", "block")
    shown = recon("show", mixed, "-c", TOY, "--work", work, "--why", "none").output
    assert "made from other records" in shown
    assert re.search(r"variability +not measured", shown)
    # What the block tables see of age is the age group: there is no finer column.
    assert "Single values" not in shown
    assert "PCT12" not in shown
    assert (
        "not used by the reconstruction"
        in recon("show", mixed[:11], "-c", TOY, "--work", work, width=160).output
    )


def test_tables_that_say_little(plain: Path, mixed: str, tmp_path: Path) -> None:
    work = tmp_path / "few"
    shutil.copytree(plain, work)
    shared = ("-c", TOY, "--work", work)
    recon("reconstruct", "-q", *shared, "--tables", "P8,P9")
    shown = recon("show", mixed, *shared, width=140).output
    assert "not known" in shown
    assert "sex and age group: no table in use tells them apart" in shown
    assert "made from       2 tables: P8, P9" in shown
    recon("reconstruct", "-q", *shared, "--tables", "P14")
    shown = recon("show", mixed, *shared).output
    assert "open: the tables in use do not bound the number of people" in shown


def test_a_coarser_geounit_lists_what_is_inside(measured: Path, unique: str) -> None:
    tract = unique[:11]
    blocks = read(measured / "blocks")
    inside = blocks.filter(pl.col("geoid_block").str.starts_with(tract))
    shown = recon("show", tract, "-c", TOY, "--work", measured).output
    for geoid in inside.filter(pl.col("population") > 0)["geoid_block"]:
        assert geoid in shown
    empty = inside.filter(population=0)
    assert f"and {empty.height} without people" in shown
    assert "PCT12A" in shown
    county = recon("show", "01841", "-c", TOY, "--work", measured).output
    assert "tracts inside" in county
    assert f"{blocks['population'].sum():,}" in county
    assert "published tables" not in county
    without_people = recon("show", empty["geoid_block"][0], "-c", TOY, "--work", measured).output
    assert "no people to place" in without_people
    assert "force it" not in without_people


def test_without_a_geoid_the_coarsest_geounits_are_listed(measured: Path) -> None:
    shown = recon("show", "-c", TOY, "--work", measured).output
    people = read(measured / "blocks")["population"].sum()
    assert "release sf1_2010" in shown
    assert "counties inside" in shown
    assert re.search(rf"01841 +{people:,} .* of 41 blocks unique", shown)
    message = recon("show", "--why", "2", "-c", TOY, "--work", measured, code=2).output
    assert "--why needs a GEOID" in message


def test_zero_solvar_is_unique_whoever_proved_it(measured: Path, mixed: str) -> None:
    located = locate(run_of(TOY, measured), mixed)
    assert isinstance(located, Reconstructed)
    assert located.solvar is not None
    assert located.blocks.filter(geoid_block=mixed)["status"].item() == "solved"
    zero = located.solvar.with_columns(solvar_upper_pct=pl.lit(0.0))  # as if it had been measured
    placed = placed_records(located.release, located.records)
    units = located.proofs.blocks.read(located.partition, located.span)
    again = proven_units(units, placed, zero, None, "relaxed")
    assert set(again["status"]) == {"unique"}


def test_what_does_not_exist_is_said_so(plain: Path, unique: str, tmp_path: Path) -> None:
    shared = ("-c", TOY, "--work", plain)
    near = recon("show", f"{unique[:-3]}999", *shared, code=2).output
    assert re.search(rf"no block {unique[:-3]}999 .*near it: {unique[:12]}", near)
    assert "no level that can be shown (block 15" in recon("show", "0184", *shared, code=2).output
    assert "no place is called" not in recon("show", "0184", *shared, code=2).output  # no names
    assert "counties: 01841" in recon("show", "99999", *shared, code=2).output
    bare = tmp_path / "bare"
    early = recon("show", "01841", "-c", TOY, "--work", bare, code=5).output
    assert "run `recon ingest` first" in early
    recon("ingest", "-q", "-c", TOY, "--work", bare)
    message = recon("show", unique, "-c", TOY, "--work", bare, code=5).output
    assert "run `recon reconstruct` first" in message


def test_a_release_that_is_not_a_census(clinic: Path) -> None:
    shown = recon("show", "D07002", "-c", CLINIC, "--work", clinic).output
    assert "clinic D07002" in shown
    assert "district D07" in shown
    assert "healthy alone" in shown
    assert "insurance none" in shown or "none" in shown
    assert not re.search(r"\b(block|race|hispanic|tract)\b", shown)
    district = recon("show", "D07", "-c", CLINIC, "--work", clinic).output
    assert "clinics inside" in district
    assert "DECADES" in district


def test_not_published_is_not_zero() -> None:
    release = load_release("clinic_visits")
    pattern = CoveragePattern("clinic", {"PATIENTS": (1, 2), "SMOKERS": tuple(range(1, 20))})
    smoker = published_tables(release, pattern, {("SMOKERS", 3): (2, None)}, set()).shown[-1]
    assert (smoker.about, smoker.lines[0].words) == ("smoker", "woman, age 18–29")
    found = published_tables(release, pattern, {("PATIENTS", 1): (7, None)}, {"PATIENTS"})
    (patients,) = found.shown
    withheld = len(release.table_by_name["PATIENTS"].cells) - 2
    assert (patients.zeros, patients.withheld) == (1, withheld)
    assert patients.rest == f"1 zero; {withheld} not published"
    assert found.empty == ("SMOKERS",)
    assert found.absent == ("INSURANCE", "CONDITIONS", "COVERAGE")


def test_every_cell_of_the_packaged_releases_has_words_of_its_own() -> None:
    for name in ("sf1_2010", "clinic_visits"):
        release = load_release(name)
        for table in release.tables:
            words = [describe_cell(release, cell) for cell in table.cells]
            distinct = {(cell.masks, cell.tally) for cell in table.cells}
            assert len(set(words)) == len(distinct)


@needs_browser
def test_pages_fit_and_ask_for_nothing(
    measured: Path, clinic: Path, mixed: str, tmp_path: Path
) -> None:
    pages = {
        "block": (TOY, measured, mixed),
        "tract": (TOY, measured, mixed[:11]),
        "clinic": (CLINIC, clinic, "D07002"),
    }
    for name, (config, work, geoid) in pages.items():
        page = tmp_path / f"{name}.html"
        said = recon("show", geoid, "-c", config, "--work", work, "--html", page).output
        assert str(page) in said
    with chromium() as browser:
        for name, (_, _, geoid) in pages.items():
            with opened(browser, tmp_path / f"{name}.html") as sight:
                assert sight.overflow() <= 0
                assert geoid in sight.page.inner_text("h1")
                assert "Published tables" in sight.page.inner_text("main")
                sight.page.set_viewport_size({"width": 360, "height": 900})
                assert sight.overflow() <= 0
                if name == "block":
                    link = sight.page.locator("tr[id] a").first
                    number = link.inner_text()
                    bars = sight.page.locator(f"#row-{number} svg.bar:visible")
                    assert bars.count() == 1
                    assert "exactly" in str(bars.first.get_attribute("aria-label"))
                    link.click()
                    assert "At least" in sight.page.inner_text(f"#why-{number}")
                assert not sight.problems
                assert not sight.requests


@needs_shared
def test_a_real_tract(tmp_path: Path) -> None:
    config = tmp_path / "recon.yaml"
    source = DATA / "sf1" / "ca2010.sf1.zip"
    config.write_text(
        "release: sf1_2010\nwork: ca\n"
        f"ingest: {{source: sf1-legacy, paths: [{source}]}}\n"
        "reconstruct: {tables: block+tract}\n"
    )
    recon("run", "-q", "-c", config)
    blocks = read(tmp_path / "ca" / "blocks").sort("population")
    geoid = blocks["geoid_block"][-1]
    shown = recon("show", geoid, "-c", config, width=80).output
    assert "proven unique" in shown
    assert "at least" in shown
    assert f"{blocks['population'][-1]:,} of {blocks['population'][-1]:,} records (100%)" in shown
    assert max(len(line) for line in shown.splitlines()) <= 80
