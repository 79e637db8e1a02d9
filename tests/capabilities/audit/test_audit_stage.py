"""`recon audit` as a user runs it: a hospital with eight suppressed cells, and budgets that end."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from tests.support.command_line import recon
from tests.support.paths import ROOT

HOSPITAL = ROOT / "fixtures" / "hospital"
CONFIG = f"""\
release: {HOSPITAL}/stays.yaml
work: work
ingest: {{source: tidy, paths: [{HOSPITAL}/suppressed/tables.csv]}}
audit: {{tables: [AGES, DIAGNOSES]}}
"""


@pytest.fixture(scope="module")
def hospital(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the config of a hospital, its counts ingested."""
    folder = tmp_path_factory.mktemp("hospital")
    (folder / "stays.yaml").write_text(CONFIG)
    recon("ingest", "-q", "-c", folder / "stays.yaml")
    return folder


def read(folder: Path) -> pl.DataFrame:
    return pl.read_parquet(folder / "**" / "*.parquet", hive_partitioning=False)


def test_suppressed_cells_are_recovered_by_the_others(hospital: Path) -> None:
    shown = recon("audit", "-c", hospital / "stays.yaml").stdout
    assert "counts not published exactly  8" in shown
    audit = read(hospital / "work" / "audit")
    counts = pl.read_csv(HOSPITAL / "tables.csv", schema_overrides={"cell": pl.Int16})
    truth = audit.join(counts, on=["geoid", "table", "cell"])
    assert truth.height == 8
    assert (truth["least"] <= truth["count"]).all()
    assert (truth["count"] <= truth["greatest"]).all()
    recovered = truth.filter(status="recovered")
    assert recovered.height == int(shown.split("recovered")[1].split()[0])
    assert recovered["least"].equals(recovered["count"].cast(pl.Int32), check_names=False)


def test_no_cell_is_called_safe_within_a_wider_safety_range(hospital: Path) -> None:
    wide = ("--set", "audit.safety=4", "--force")
    recon("audit", "-q", "-c", hospital / "stays.yaml", *wide)
    audit = read(hospital / "work" / "audit")
    assert (audit["width"] < 4).all(), "counts from 1 to 4"
    assert set(audit["status"]) <= {"recovered", "narrowed"}


def test_exact_counts_leave_nothing_to_audit(tmp_path: Path) -> None:
    text = CONFIG.replace("suppressed/", "")
    (tmp_path / "stays.yaml").write_text(text)
    recon("ingest", "-q", "-c", tmp_path / "stays.yaml")
    done = recon("audit", "-c", tmp_path / "stays.yaml")
    assert "there is none to audit" in done.stdout + done.stderr
    assert read(tmp_path / "work" / "audit").is_empty()


def test_a_budget_that_ends_leaves_valid_intervals(hospital: Path) -> None:
    recon("audit", "-q", "-c", hospital / "stays.yaml", "--force")
    full = read(hospital / "work" / "audit")
    short = ("--set", "audit.region_seconds=0.0000001", "--force")
    recon("audit", "-q", "-c", hospital / "stays.yaml", *short)
    audit = read(hospital / "work" / "audit")
    assert (audit["least"] <= full["least"]).all()
    assert (audit["greatest"] >= full["greatest"]).all()


def test_the_report_says_what_is_recovered(hospital: Path) -> None:
    shared = ("-q", "-c", hospital / "stays.yaml")
    recon("audit", *shared, "--force")
    recon("report", *shared)
    page = (hospital / "work" / "report" / "report.md").read_text()
    assert "Counts that were suppressed, rounded or left out" in page
    recovered = read(hospital / "work" / "audit").filter(status="recovered").height
    assert f"**{recovered}** of 8 counts that are not published exactly" in page


def test_counts_that_are_left_out_are_audited(tmp_path: Path) -> None:
    """The rows with a star are deleted, as those of zeros were, and no law is declared."""
    counts = pl.read_csv(HOSPITAL / "suppressed" / "tables.csv", infer_schema=False)
    counts.filter(pl.col("count") != "*").write_csv(tmp_path / "tables.csv")
    source = f"ingest: {{source: tidy, paths: [{HOSPITAL}/suppressed/tables.csv]}}"
    without = "ingest: {source: tidy, paths: [tables.csv], absent: unpublished}"
    (tmp_path / "stays.yaml").write_text(CONFIG.replace(source, without))
    recon("ingest", "-q", "-c", tmp_path / "stays.yaml")
    shown = " ".join(recon("audit", "-c", tmp_path / "stays.yaml").stdout.split())
    recon("report", "-q", "-c", tmp_path / "stays.yaml")
    audit = read(tmp_path / "work" / "audit")
    keys = ["geoid", "table", "cell"]
    starred = counts.filter(count="*").cast({"cell": pl.Int16})
    assert starred.join(audit, on=keys, how="anti").is_empty()
    truth = pl.read_csv(HOSPITAL / "tables.csv", schema_overrides={"cell": pl.Int16})
    recovered = audit.filter(status="recovered").join(truth, on=keys, how="left")
    assert recovered.height > 0
    assert recovered["least"].to_list() == recovered["count"].fill_null(0).to_list()
    assert f"left out of tables {audit.height} (100%)" in shown
    page = (tmp_path / "work" / "report" / "report.md").read_text()
    assert f"of which {audit.height} are left out of tables" in page
