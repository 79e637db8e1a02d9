"""What is certain, and what is fresh: one answer, whoever asks."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from recon_cli.capabilities.claims import CLAIMS
from recon_cli.capabilities.findings.fresh import WorkFolder
from recon_cli.capabilities.findings.proven import Proofs
from recon_cli.capabilities.reconstruct import RECONSTRUCT
from recon_cli.capabilities.verify.stage import verify
from recon_cli.config import load_config
from recon_cli.errors import StageError
from recon_cli.page.missing import Missing
from recon_cli.pipeline.run import Run
from tests.support.command_line import recon

SCHEMA = """\
release: wards
title: Plots in wards
features:
  sex: {categories: [women, men]}
  old: {categories: [false, true]}
  pet: {categories: [cat, dog]}
geography: {levels: [{level: plot, digits: 4}, {level: ward, digits: 3}], partition: ward}
microdata: [sex, old, pet]
histogram: [sex, old]
families:
  - {levels: [plot], cells: [{by: sex, cells: [total, {by: old}]}], tables: {T: {}}}
  - {levels: [plot], cells: [total], tables: {U: {}}}
"""
#: One man, and he is old; of the women one or two.
COUNTS = "geoid,table,cell,count\n" + "".join(
    f"A101,T,{cell},{count}\n" for cell, count in enumerate((3, 2, 1, 1, 0, 1), start=1)
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("proven")
    (base / "wards.yaml").write_text(SCHEMA)
    (base / "counts.csv").write_text(COUNTS + "A101,U,1,4\n")
    (base / "run.yaml").write_text(
        "release: wards.yaml\nwork: work\ningest: {source: tidy, paths: [counts.csv]}\n"
        "reconstruct: {tables: [T]}\nclaims:\n"
    )
    recon("run", "-q", "-c", base / "run.yaml")
    return base


@pytest.fixture
def copied(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "copy"))


def run_of(base: Path) -> Run:
    config = load_config(base / "run.yaml")
    return Run(config, config.load_release())


def test_a_number_of_certain_records_has_its_columns_and_its_stages(made: Path) -> None:
    run = run_of(made)
    found = Proofs.of(WorkFolder(run.work), run.release).records()
    assert (found.at_least, found.at_most, found.of) == (4, 4, 4)
    assert found.columns == ("sex", "old")
    assert found.stages == ("reconstruct", "claims")
    shown = " ".join(recon("show", "-c", made / "run.yaml").output.split())
    assert "certain 4 of 4 records (100%), with sex and old" in shown


def changed_counts(base: Path) -> None:
    (base / "counts.csv").write_text(COUNTS.replace("T,5,0", "T,5,1").replace("T,4,1", "T,4,2"))


def changed_coverage(base: Path) -> None:
    """A zero is not published any more: no count that is stored changes."""
    counts = (base / "counts.csv").read_text()
    (base / "counts.csv").write_text(counts.replace("A101,T,5,0\n", ""))
    text = (base / "run.yaml").read_text()
    (base / "run.yaml").write_text(text.replace("source:", "absent: unpublished, source:"))


@pytest.mark.parametrize("change", [changed_counts, changed_coverage])
def test_proofs_of_other_tables_are_not_fresh(copied: Path, change: Callable[[Path], None]) -> None:
    work = WorkFolder(run_of(copied).work)
    assert not isinstance(work.fresh(RECONSTRUCT), Missing)
    assert not isinstance(work.fresh(CLAIMS, "A10"), Missing)
    change(copied)
    recon("ingest", "-q", "-c", copied / "run.yaml")
    for partition in (None, "A10"):
        for stage, source in ((RECONSTRUCT, "tables"), (CLAIMS, "microdata")):
            found = work.fresh(stage, partition)
            assert isinstance(found, Missing)
            assert f"made from other {source}/" in found.why
    told = recon("show", "-c", copied / "run.yaml", code=StageError.exit_code)
    assert "microdata/ was made from other tables/ than those there now" in told.stderr
    recon("reconstruct", "-q", "-c", copied / "run.yaml")
    assert not isinstance(work.fresh(RECONSTRUCT), Missing)
    assert isinstance(work.fresh(CLAIMS), Missing)
    proofs = Proofs.of(work, run_of(copied).release)
    assert proofs.claims is None
    assert proofs.stages == ("reconstruct",)


def test_what_was_never_made_is_missing(copied: Path) -> None:
    run = run_of(copied)
    shutil.rmtree(run.work / "claims")
    assert WorkFolder(run.work).fresh(CLAIMS) == Missing(
        "there is no claims/ in the work folder", ("recon claims",)
    )
    assert verify(run).ok
    assert pl.read_parquet(run.work / "microdata/**/*.parquet").height == 4


def test_two_histograms_of_one_release_say_the_same_of_the_same_columns(tmp_path: Path) -> None:
    """Two men, two women; two are old: a sex is certain of all four, sex and age of none."""
    schema = SCHEMA.replace(
        "{by: sex, cells: [total, {by: old}]}], tables: {T: {}}}",
        "{by: sex}, {by: old}], tables: {T: {}}}",
    )
    (tmp_path / "counts.csv").write_text(
        "geoid,table,cell,count\n" + "".join(f"A101,T,{cell},2\n" for cell in range(1, 5))
    )
    told = []
    for histogram in ("sex, old", "sex"):
        folder = tmp_path / histogram.replace(", ", "_")
        folder.mkdir()
        (folder / "wards.yaml").write_text(
            schema.replace("histogram: [sex, old]", f"histogram: [{histogram}]")
        )
        (folder / "run.yaml").write_text(
            "release: wards.yaml\nwork: work\nreconstruct: {tables: [T]}\nclaims:\nreport:\n"
            f"ingest: {{source: tidy, paths: [{tmp_path}/counts.csv]}}\n"
        )
        recon("run", "-q", "-c", folder / "run.yaml")
        page = (folder / "work/report/report.md").read_text()
        head = page.partition("## How to read")[0]
        told.append([line for line in head.splitlines() if "certain" in line])
    assert told[0] == told[1]
    assert "- records proven certain, with sex and old: **0**" in told[0]
