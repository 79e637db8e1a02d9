"""`recon prove` as a user runs it: what is proven, by whom, and what another Python says of it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from recon_cli import reconcheck
from tests.support.command_line import recon
from tests.support.paths import ROOT

HOSPITAL = ROOT / "fixtures" / "hospital"
CONFIG = f"""\
release: {HOSPITAL}/stays.yaml
work: work
ingest: {{source: tidy, paths: [{HOSPITAL}/suppressed/tables.csv]}}
reconstruct:
audit: {{region_seconds: 0.5}}
claims: {{unit_seconds: 0.2}}
prove:
report: {{places: 0}}
"""

COUNTY = f"""\
release: sf1_2010
work: work
ingest: {{source: sf1-legacy, paths: [{ROOT}/fixtures/toy2010.sf1.zip]}}
reconstruct: {{tables: block+tract}}
prove:
"""


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("prove")
    (folder / "run.yaml").write_text(CONFIG)
    recon("run", "-c", folder / "run.yaml", "-q")
    return folder / "work"


def read(work: Path, folder: str) -> pl.DataFrame:
    return pl.read_parquet(work / folder / "**/*.parquet", hive_partitioning=False)


def checked(folder: Path, region: str) -> subprocess.CompletedProcess[str]:
    names = ["reconcheck.py", f"{region}.tables", f"{region}.proof"]
    command = [sys.executable, "-I", "-S", *names]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_every_claim_is_certified(work: Path) -> None:
    rows, claims = read(work, "proofs"), read(work, "claims")
    of_claims = rows.filter(source="claims")
    assert of_claims.height == claims.height > 500
    assert set(of_claims["status"]) == {"certified"}


def test_recovered_counts_are_certified(work: Path) -> None:
    rows, audited = read(work, "proofs").filter(source="audit"), read(work, "audit")
    recovered = audited.filter(status="recovered")
    said = rows.filter(pl.col("statement").str.contains(r"^\w+ \d+ is \d+$"))
    assert said.height == recovered.height > 0
    assert set(said["status"]) == {"certified"}


def test_solutions_show_that_safe_counts_differ(tmp_path: Path) -> None:
    tables = pl.read_csv(HOSPITAL / "tables.csv", infer_schema=False)
    fine = ["DIAGNOSES", "DIAGNOSES_BY_AGE"]
    small = pl.col("count").cast(pl.Int64).is_between(1, 4) & pl.col("table").is_in(fine)
    tables.filter(~small).write_csv(tmp_path / "tables.csv")
    config = CONFIG.replace(f"{HOSPITAL}/suppressed/", "").replace("claims:", "#")
    absent = "absent: {DIAGNOSES: unpublished, DIAGNOSES_BY_AGE: unpublished}"
    config = config.replace("source:", f"{absent}, source:")
    (tmp_path / "run.yaml").write_text(config)
    recon("run", "-c", tmp_path / "run.yaml", "-q")
    work = tmp_path / "work"
    rows, audited = read(work, "proofs"), read(work, "audit")
    shown = rows.filter(status="shown")
    assert shown.height == audited.filter(status="safe").height > 0
    assert set(shown["class"]) == {"sets"}
    assert set(rows["status"]) <= {"certified", "shown"}
    assert all(checked(work / "proofs", region).returncode == 0 for region in ("N", "S"))


def test_python_alone_accepts_the_texts_and_no_others(work: Path, tmp_path: Path) -> None:
    rows = read(work, "proofs")
    for region in ("N", "S"):
        done = checked(work / "proofs", region)
        assert done.returncode == 0
        proven = {
            int(line.split()[2].rstrip(":"))
            for line in done.stdout.splitlines()
            if line.startswith("proven")
        }
        lines = rows.filter(region=region, status="certified")["line"]
        assert set(lines) <= proven
    for name in ("reconcheck.py", "N.tables", "N.proof"):
        text = (work / "proofs" / name).read_text()
        (tmp_path / name).write_text(text.replace("\nmost 1 ", "\nmost 0 ", 1))
    assert checked(tmp_path, "N").returncode == 1


def test_the_summary_says_who_checked(work: Path) -> None:
    shown = recon("prove", "-c", work.parent / "run.yaml").stdout
    rows = read(work, "proofs")
    accepted = rows.filter(pl.col("status").is_in(["certified", "shown"])).height
    assert "Checked by reconcheck 1 (SHA-256 " in shown
    said = f"{accepted:,} of {rows.height:,} statements"
    assert said in " ".join(shown.split())
    page = (work / "report" / "report.md").read_text()
    assert said in page
    assert "Proven here means" not in page
    assert "Proofs that anyone can check" in page


def test_what_has_no_proof_is_nowhere_called_proven(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reconcheck, "MOST_KINDS", 10)
    (tmp_path / "run.yaml").write_text(COUNTY)
    config = ("-c", tmp_path / "run.yaml")
    recon("run", *config, "-q")
    rows = read(tmp_path / "work", "proofs").filter(status="confirmed", source="blocks")
    place = rows["geoid"][0]
    unit, region = (
        " ".join(recon("show", *config, each).stdout.split()) for each in (place, rows["region"][0])
    )
    alone = "confirmed by this program alone, without a proof"
    assert f"no other records have these counts, {alone}" in unit
    assert "proven unique" not in unit
    assert re.search(rf"proven unique 0 blocks \(0%\); [1-9]\d* more {alone}", region)
    for text in (unit, region):
        assert f"0 of {read(tmp_path / 'work', 'proofs').height:,} statements" in text
        assert "Not proven but confirmed by this program alone: " in text


def test_before_anything_is_proven_to_others_pages_say_on_whose_word_it_is(
    work: Path, tmp_path: Path
) -> None:
    shutil.copytree(work, tmp_path / "work")
    (tmp_path / "run.yaml").write_text(CONFIG)
    config = ("-c", tmp_path / "run.yaml")
    checked, by_engines = "Checked by reconcheck 1", "Proven here means by this program: "
    place = read(work, "blocks").sort("population").to_series()[0]
    assert checked in " ".join(recon("show", *config, place).stdout.split())
    recon("claims", *config, "--set", "claims.absent=true", "--force")
    since = " ".join(recon("show", *config, place).stdout.split())
    assert "Made since, and proven by this program alone: claims." in since
    shutil.rmtree(tmp_path / "work" / "proofs")
    (tmp_path / "run.yaml").write_text(CONFIG.replace("prove:\n", ""))
    recon("report", *config, "--force")
    assert by_engines in (tmp_path / "work" / "report" / "report.md").read_text()
    for words in (("show", *config, place), ("show", *config)):
        said = " ".join(recon(*words).stdout.split())
        assert by_engines in said
        assert checked not in said


def proven_with(work: Path, folder: Path) -> pl.DataFrame:
    shutil.copytree(work, folder / "work")
    (folder / "run.yaml").write_text(CONFIG)
    recon("prove", "-c", folder / "run.yaml", "--force")
    return read(folder / "work", "proofs")


def test_where_joint_kinds_are_too_many_counts_are_proven_over_cliques(
    work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reconcheck, "MOST_KINDS", 100)
    rows, before = proven_with(work, tmp_path), read(work, "proofs")
    assert rows.height == before.height
    assert set(rows.filter(source="audit")["status"]) == {"certified"}
    assert set(rows["status"]) == {"certified", "confirmed"}
    text = (tmp_path / "work" / "proofs" / "N.proof").read_text()
    cliques = [line.split()[1:] for line in text.splitlines() if line.startswith("clique")]
    features = (tmp_path / "work" / "proofs" / "N.tables").read_text().count("\nfeature ")
    assert cliques
    assert max(map(len, cliques)) < features
    assert checked(tmp_path / "work" / "proofs", "N").returncode == 0


def test_a_grain_beyond_the_checker_leaves_statements_confirmed(
    work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reconcheck, "MOST_KINDS", 10)
    rows = proven_with(work, tmp_path)
    assert rows.height == read(work, "proofs").height
    assert set(rows["status"]) == {"confirmed"}
    assert not list((tmp_path / "work" / "proofs").glob("*.proof"))


def test_kinds_of_statements_are_chosen(work: Path, tmp_path: Path) -> None:
    shutil.copytree(work, tmp_path / "work")
    (tmp_path / "run.yaml").write_text(CONFIG.replace("prove:", "prove: {what: [audit, unique]}"))
    recon("prove", "-c", tmp_path / "run.yaml")
    assert set(read(tmp_path / "work", "proofs")["source"]) == {"audit"}
    (tmp_path / "run.yaml").write_text(CONFIG.replace("prove:", "prove: {what: [nothing]}"))
    refused = recon("prove", "-c", tmp_path / "run.yaml", code=2)
    assert "prove.what" in refused.stderr
