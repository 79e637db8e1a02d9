"""Further stars that are estimated leave nothing recovered; rounding is tried on what may be."""

from __future__ import annotations

import shutil
from pathlib import Path

import polars as pl
import pytest

import recon_cli as recon
from recon_cli.capabilities.cure.estimate import Cure, estimate
from recon_cli.capabilities.cure.fillings import CELL, fill, with_stars
from recon_cli.config import load_config
from recon_cli.publication import Publication
from recon_cli.schema import Release
from recon_cli.store.protection import read_published
from recon_cli.store.published import open_published
from tests.support.command_line import recon as run

ROWS = ["Oak,61,c,31,21,c,20", "Ash,50,26,24,13,19,18", "Yew,30,15,15,10,10,10"]
HEADER = "Town,Persons,Men,Women,0-14,15-64,65+"


@pytest.fixture(scope="module")
def ingested(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the towns, a configuration of them and their counts."""
    folder = tmp_path_factory.mktemp("towns")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        Path("towns.csv").write_text("\n".join([HEADER, *ROWS, ""]))
        run("init", "towns.csv")
        run("ingest", "-q")
    return folder


@pytest.fixture(autouse=True)
def towns(ingested: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(ingested, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)


def published() -> tuple[Release, Publication]:
    """The town with stars."""
    release = load_config(Path("recon.yaml")).load_release()
    tables = open_published(Path("work/towns"), release)[0]
    parts = [read_published(Path("work/towns"), release, each) for each in tables.partitions]
    (found,) = [each for each in parts if each.counts["count"].null_count()]
    return release, found


def test_a_filling_has_all_published_counts() -> None:
    release, protected = published()
    for seed in (0, 1):
        filled = fill(release, protected, release.tables, seed)
        assert filled.is_exact
        both = protected.counts.join(filled.counts, on=CELL, how="left", suffix="_filled")
        stars = both.filter(pl.col("count").is_null())
        assert stars.height == 2
        assert both.filter(pl.col("count") != pl.col("count_filled")).is_empty()


def test_further_stars_leave_nothing_recovered() -> None:
    release, protected = published()
    found = estimate(release, protected, fillings=2, bases=(3,))
    assert (found.now.counts, found.now.recovered) == (2, 2)
    assert found.further == (2, 2)
    assert found.left.recovered == found.left.undecided == 0
    assert found.left.counts == 4
    hidden = with_stars(release, protected, found.stars.select(CELL))
    audit = recon.audit_counts(release, hidden)
    assert audit.height == 4
    assert "recovered" not in audit["status"].to_list()
    kept = hidden.counts.join(found.stars, on=CELL, how="anti")
    assert kept.equals(protected.counts.join(found.stars, on=CELL, how="anti"))


def test_one_star_less_leaves_one_recovered() -> None:
    release, protected = published()
    found = estimate(release, protected, fillings=1, bases=(3,))
    cure = Cure(release, protected, release.tables, 30.0)
    assert found.stars.height == 2
    for left_out in range(found.stars.height):
        fewer = found.stars.with_row_index().filter(pl.col("index") != left_out)
        assert cure.with_stars(fewer).recovered > 0


def test_it_is_printed_as_an_estimate_in_the_words_of_the_sheet() -> None:
    said = " ".join(run("plan", "cure", "--to", "stars.csv", "--base", "10").stdout.split())
    assert said.startswith("plan cure: an estimate protected counts 2 of 2 recovered (100%)")
    assert "further stars 2 by 2 fillings" in said
    assert "0 of 4 recovered (0%): proven" in said
    assert "rounding to 10 0 of 18 recovered" in said
    assert "rests on counts that need not be the true ones" in said
    stars = pl.read_csv("stars.csv")
    assert stars["name"].unique().to_list() == ["Oak"]
    assert set(stars["counts"]) <= {"Women", "0-14", "65+", "Persons"}
    assert stars["fillings"].min() >= 1  # type: ignore[operator]


def test_exact_counts_have_nothing_to_cure() -> None:
    Path("exact.csv").write_text("\n".join([HEADER, *ROWS[1:], ""]))
    run("init", "exact.csv", "--to", "exact.yaml")
    run("ingest", "-q", "-c", "exact.yaml")
    refused = run("plan", "cure", "-c", "exact.yaml", code=2).stderr
    assert "all counts are published as they are" in refused


def test_the_report_and_check_lead_to_it() -> None:
    run("run", "-q", "--until", "audit")
    run("report", "-q")
    assert "`recon plan cure` estimates" in Path("work/towns/report/report.md").read_text()
    rules = "check={rules: [{recovered: {below: 99, published: false}, most: 0}]}"
    assert "recon plan cure" in run("check", "--set", rules, code=20).stdout


def test_percentages_and_unused_numbers_are_conditions_of_an_estimate() -> None:
    rows = ["Aton,40,*,3,,,41.5", "Bton,55,53,2,96.4,3.6,39.9", "Cton,80,66,14,82.5,17.5,40.1"]
    Path("pct.csv").write_text("\n".join(["Ward,All,Well,Ill,Well %,Ill %,Mean age", *rows, ""]))
    run("init", "pct.csv", "--to", "pct.yaml")
    run("ingest", "-q", "-c", "pct.yaml")
    told = " ".join(run("plan", "cure", "-c", "pct.yaml", "--fillings", "1").stdout.split())
    assert "if withheld too percentages of counts that get a star" in told
    assert (
        "without numbers that are not used and may give counts away: 'Mean age' of pct.csv" in told
    )


def test_places_that_may_be_missing_are_named_as_the_reason() -> None:
    """Totals that are rounded by themselves leave room for a place that the file does not list."""
    rows = ["A,1255,640,615,0", "B,1050,525,530,5", "C,15,10,5,0", "Ensemble,2320,1170,1145,5"]
    Path("cas.csv").write_text("\n".join(["Service,Total,Femmes,Hommes,Inconnu", *rows, ""]))
    said = "--sum", "Total = Femmes + Hommes + Inconnu"  # of so few rounded unknown none tells
    run("init", "cas.csv", "--to", "cas.yaml", *said)
    run("ingest", "-q", "-c", "cas.yaml")
    run("audit", "-q", "-c", "cas.yaml")
    text = run("plan", "cure", "-c", "cas.yaml", code=4).output
    assert "a unit stands for all that the files may not list" in text
    assert "`ingest.geounits`" in text
