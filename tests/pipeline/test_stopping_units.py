"""Variability and claims stopped or killed inside one region: what stands, where they go on."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from benchmarks.office.publication import ROUNDED, SCHOOLS, write
from recon_cli.pipeline import checkpoint
from tests.pipeline.test_stopping import ended_after
from tests.support import killing
from tests.support.command_line import recon
from tests.support.properties import amount

#: One region, whose histogram is listed, and one whose is not.
OFFICES = {"stars": SCHOOLS, "rounded": ROUNDED}
#: Stage → units of its office: claims are found of 16 at a time.
UNITS = {"solvar": 3, "claims": 17}
#: The writes after which it is stopped.
WRITES = {"solvar": 1, "claims": 3}
#: Stages and their offices; the other two when searching.
CASES = [
    ("solvar", "stars"),
    ("claims", "rounded"),
    ("solvar", "rounded"),
    ("claims", "stars"),
][: amount(2, 4)]
PLACE = "geoid_unit"
_KILLED = SystemExit(9)


@pytest.fixture(autouse=True)
def _kept_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is decided is told and written after every step."""
    monkeypatch.setattr(checkpoint, "_EVERY", 0.0)
    monkeypatch.setattr(checkpoint, "_SHARE", 0.0)


@pytest.fixture(scope="module", params=CASES, ids="-".join)
def case(request: pytest.FixtureRequest) -> tuple[str, str]:
    found: tuple[str, str] = request.param
    return found


@pytest.fixture(scope="module")
def stage(case: tuple[str, str]) -> str:
    return case[0]


@pytest.fixture(scope="module")
def office(case: tuple[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a config, its counts reconstructed."""
    stage, kind = case
    folder = tmp_path_factory.mktemp("office")
    write(replace(OFFICES[kind], units=UNITS[stage]), folder)
    config = folder / "recon.yaml"
    config.write_text(config.read_text() + "solvar:\nclaims:\n")
    for first in ("ingest", "reconstruct"):
        recon(first, "-q", "-c", config)
    return folder


@pytest.fixture(scope="module")
def undisturbed(office: Path, stage: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("undisturbed") / "office"
    shutil.copytree(office, folder)
    asked(folder, stage, "-q")
    return folder


def asked(folder: Path, stage: str, *arguments: object, code: int = 0) -> str:
    return recon(stage, "-c", folder / "recon.yaml", "--workers", 1, *arguments, code=code).output


def rows(folder: Path, name: str) -> pl.DataFrame:
    return pl.read_parquet(folder / f"work/{name}/**/*.parquet", hive_partitioning=False)


def test_killed_or_stopped_inside_a_region_it_goes_on_and_the_files_are_the_same(
    office: Path, undisturbed: Path, stage: str, tmp_path: Path
) -> None:
    """What was decided when it was stopped is published, and the rest undecided."""
    begun = tmp_path / "office"
    shutil.copytree(office, begun)
    with ended_after(1, _KILLED):
        asked(begun, stage, "-q", code=9)
    with ended_after(WRITES[stage], KeyboardInterrupt()):
        said = asked(begun, stage, code=130)
    units = rows(begun, "solvar" if stage == "solvar" else "claim_units")
    undecided = set(units.filter(status="undecided")[PLACE])
    assert 0 < len(undecided) < UNITS[stage]
    words = f"{UNITS[stage] - len(undecided)} of {UNITS[stage]} units decided"
    assert words in said
    manifest = json.loads((begun / f"work/{stage}/_manifest.json").read_text())
    assert manifest["stopped"]["decided"] == UNITS[stage] - len(undecided)
    assert words in recon("status", "-c", begun / "recon.yaml").stdout
    {"solvar": solvar_stands, "claims": claims_stand}[stage](begun, undisturbed, undecided)

    recon("report", "-q", "-c", begun / "recon.yaml")
    page = (begun / "work/report/report.md").read_text()
    assert page.count(words) == 2
    assert f"not safe; the next `recon {stage}` or `recon run` goes on from there" in page

    asked(begun, stage, "-q")
    for folder in ("work/report", "work/private/report"):
        shutil.rmtree(begun / folder)
    assert killing.snapshot(begun / "work") == killing.snapshot(undisturbed / "work")
    assert killing.leftovers(begun / "work") == []
    assert "up to date" in asked(begun, stage)


def solvar_stands(begun: Path, undisturbed: Path, undecided: set[str]) -> None:
    """Of decided units all is as at the end, of the others nothing that the end contradicts."""
    whole, found = (rows(folder, "solvar").drop("seconds") for folder in (undisturbed, begun))
    is_decided = ~pl.col(PLACE).is_in(undecided)
    assert found.filter(is_decided).equals(whole.filter(is_decided))
    both = found.join(whole, on=PLACE, suffix="_whole")
    assert (both["solvar_pct"] <= both["solvar_upper_pct_whole"]).all()
    assert (both["solvar_upper_pct"] >= both["solvar_pct_whole"]).all()
    assert (both["certain_records"] <= both["certain_records_whole"]).all()
    cells = rows(begun, "intervals").columns[:-3]
    kept = rows(undisturbed, "intervals").join(
        rows(begun, "intervals"), on=cells, suffix="_begun", how="left"
    )
    assert (kept["lower_begun"] <= kept["lower"]).all()
    assert (kept["upper_begun"] >= kept["upper"]).all()
    assert kept["lower_begun"].null_count() == 0


def claims_stand(begun: Path, undisturbed: Path, undecided: set[str]) -> None:
    """Every claim that is made is no more than one that is made at the end."""
    whole, found = rows(undisturbed, "claims"), rows(begun, "claims")
    about = [PLACE, *found.columns[2 : found.columns.index("count")]]
    both = found.join(whole, on=about, suffix="_whole", how="left", nulls_equal=True)
    assert both["count_whole"].null_count() == 0
    assert (both["count"] <= both["count_whole"]).all()
    is_decided = ~pl.col(PLACE).is_in(undecided)
    assert found.filter(is_decided).equals(whole.filter(is_decided))


def test_inside_units_that_are_measured_together(tmp_path: Path) -> None:
    """An exact region: its units' distances come first, then the ends of its histogram cells."""
    begun, undisturbed = tmp_path / "begun", tmp_path / "undisturbed"
    write(replace(SCHOOLS, units=2), begun)
    config = begun / "recon.yaml"
    config.write_text(config.read_text() + "solvar: {mode: exact}\n")
    for stage in ("ingest", "reconstruct"):
        recon(stage, "-q", "-c", config)
    shutil.copytree(begun, undisturbed)
    asked(undisturbed, "solvar", "-q")
    reached = list[float]()
    for writes in (2, 3):
        with ended_after(writes, KeyboardInterrupt()):
            said = asked(begun, "solvar", code=130)
        undecided = set(rows(begun, "solvar").filter(status="undecided")[PLACE])
        assert f"{2 - len(undecided)} of 2 units decided" in said
        solvar_stands(begun, undisturbed, undecided)
        reached.append(float(rows(begun, "solvar")["solvar_pct"].to_numpy().sum()))
    assert reached[0] < reached[1], "distances of units that are not done are published"
    asked(begun, "solvar", "-q")
    assert killing.snapshot(begun / "work") == killing.snapshot(undisturbed / "work")
