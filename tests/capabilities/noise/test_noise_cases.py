"""Folders of `recon protect noise` that went wrong: read again, and estimated."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.support.command_line import recon
from tests.support.paths import SHARED

CASES = SHARED / "cases" / "noise"

pytestmark = pytest.mark.skipif(not CASES.exists(), reason="the cases are not here")


def test_a_folder_whose_rows_are_the_list_of_units_is_read_again(tmp_path: Path) -> None:
    shutil.copytree(CASES / "noisy_units_exact", tmp_path / "noisy")
    (tmp_path / "again.yaml").write_text(
        "release: noisy/release.yaml\nwork: work\n"
        "ingest: {source: tidy, paths: [noisy]}\nestimate: {}\n"
    )
    recon("ingest", "-c", tmp_path / "again.yaml", "--workers", "1")
    said = recon("estimate", "-c", tmp_path / "again.yaml", "--workers", "1").stdout
    assert "blocks                  40" in said


@pytest.mark.parametrize(("made", "read"), [("run_1", "es_1"), ("run3", "es3")])
def test_units_that_measure_marginals_alone_are_estimated(
    tmp_path: Path, made: str, read: str
) -> None:
    home = tmp_path / "case"
    shutil.copytree(CASES / "estimate_crash", home)
    recon("protect", "noise", "-c", home / f"{made}.yaml", "--workers", "1")
    recon("ingest", "-c", home / f"{read}.yaml", "--workers", "1")
    assert "counts" in recon("estimate", "-c", home / f"{read}.yaml", "--workers", "1").stdout


def test_two_strategies_of_one_name_are_refused(tmp_path: Path) -> None:
    for name in (
        "dup.yaml",
        "people2.parquet",
        "schema2.yaml",
        "strategy2.yaml",
        "strategy2b.yaml",
    ):
        shutil.copy(CASES / name, tmp_path)
    said = recon("protect", "topdown", "-c", tmp_path / "dup.yaml", code=2).stderr
    assert "two are named 'peertwo'" in said
