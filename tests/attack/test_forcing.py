"""What forces a recovered count: sums that integers check."""

from __future__ import annotations

import pytest

import recon_cli as recon
from recon_cli.attack.audit.forcing import CellName, EndProof, forcing_counts
from recon_cli.publication import Publication
from recon_cli.schema import Release
from tests.support.command_line import recon as command
from tests.support.paths import ROOT

HOSPITAL = ROOT / "fixtures" / "hospital"


@pytest.fixture(scope="module")
def hospital() -> tuple[Release, Publication]:
    release = recon.load_release(str(HOSPITAL / "stays.yaml"))
    protection = recon.load_protection(HOSPITAL / "suppressed" / "protection.yaml", release)
    path = HOSPITAL / "suppressed" / "tables.csv"
    return release, recon.read_published(release, [path], source="tidy", protection=protection)


def test_each_recovered_count_is_a_sum_of_published_ones(
    hospital: tuple[Release, Publication],
) -> None:
    release, published = hospital
    tables = release.select_tables(("AGES", "DIAGNOSES"))
    audit = recon.audit_counts(release, published, tables=["AGES", "DIAGNOSES"])
    recovered: dict[CellName, int] = {
        (geoid, table, cell): count
        for geoid, table, cell, count in audit.filter(status="recovered")
        .select("geoid", "table", "cell", "least")
        .rows()
    }
    counts = {(g, t, c): n for g, t, c, n in published.counts.select(
        "geoid", "table", "cell", "count").rows()}  # fmt: skip
    found = forcing_counts(release, published, tables, recovered)
    assert {each.cell for each in found} == set(recovered)
    assert len(found) == 8
    for each in found:
        for proof in (each.at_least, each.at_most):
            assert isinstance(proof, EndProof)
            total = sum(part.weight * counts[part.cell] for part in proof.counts)
            assert total == proof.total == proof.multiple * each.value
            assert len(proof.counts) <= 3
    by_cell = {each.cell: each.words("N3") for each in found}
    assert by_cell["N3", "DIAGNOSES", 8] == " = DIAGNOSES 7 (10) − DIAGNOSES 9 (8)"


def test_show_names_them(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("shown")
    (folder / "stays.yaml").write_text(
        f"release: {HOSPITAL}/stays.yaml\nwork: work\n"
        f"ingest: {{source: tidy, paths: [{HOSPITAL}/suppressed/tables.csv]}}\n"
        "reconstruct: {tables: [AGES, DIAGNOSES]}\naudit: {tables: [AGES, DIAGNOSES]}\n"
    )
    config = ("-c", folder / "stays.yaml")
    for stage in ("ingest", "reconstruct", "audit"):
        command(stage, "-q", *config)
    shown = " ".join(command("show", "N3", *config, "--why", "none").stdout.split())
    assert "recovered DIAGNOSES 8 2 = DIAGNOSES 7 (10) − DIAGNOSES 9 (8)" in shown
