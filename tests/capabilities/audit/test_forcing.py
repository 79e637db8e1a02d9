"""What forces a recovered count: sums that integers check."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import sparse

import recon_cli as recon
from recon_cli.capabilities.audit.forcing import CellName, EndProof, _cover, forcing_counts
from recon_cli.publication import Publication
from recon_cli.schema import Release
from tests.support.command_line import recon as command
from tests.support.paths import ROOT
from tests.support.populations import publish, random_records, random_release, random_units
from tests.support.properties import SEEDS, examples
from tests.support.protecting import protect

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
    audit = recon.audit_counts(release, published, tables=("AGES", "DIAGNOSES"))
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


def test_where_nothing_is_withheld_nothing_is_forced(
    hospital: tuple[Release, Publication],
) -> None:
    release, _ = hospital
    published = recon.read_published(release, [HOSPITAL / "tables.csv"], source="tidy")
    assert forcing_counts(release, published, release.tables, {}) == []


@examples(8)
@given(seed=SEEDS, exact=st.sampled_from([0.3, 0.6]))
def test_zeros_that_are_named_rule_out_whoever_would_break_a_sum(seed: int, exact: float) -> None:
    release = random_release(seed)
    units = random_units(release, seed, 2)
    whole = publish(release, random_records(release, seed, 3, units), units)
    assume(release.geography.unit.name in whole.geounits["level"])
    published = protect(release, whole, seed, exact=exact)
    assume(not published.is_exact)
    recovered: dict[CellName, int] = {
        (geoid, table, cell): count
        for geoid, table, cell, count in recon.audit_counts(release, published)
        .filter(status="recovered")
        .select("geoid", "table", "cell", "least")
        .rows()
    }
    zero = {name for name, high in _greatest(release, published).items() if high == 0}
    people = list(itertools.product(*(range(len(f.values)) for f in release.features)))
    possible = [each for each in people if not _is_impossible(release, each)]
    for found in forcing_counts(release, published, release.tables, recovered):
        if found.at_least is None or found.at_most is None or found.zeros is None:
            continue
        assert set(found.zeros) <= zero
        for unit, person in itertools.product(units, possible):
            if any(_adds(release, name, unit, person) for name in found.zeros):
                continue
            for proof, sign in ((found.at_least, 1), (found.at_most, -1)):
                total = sum(p.weight * _adds(release, p.cell, unit, person) for p in proof.counts)
                own = proof.multiple * _adds(release, found.cell, unit, person)
                assert sign * total <= sign * own


def _greatest(release: Release, published: Publication) -> dict[CellName, int | None]:
    """What each published cell states at most."""
    found: dict[CellName, int | None] = {}
    for geoid, level, pattern in published.geounits.select("geoid", "level", "pattern").rows():
        for table, cell in published.coverage[pattern].published_cells(release.tables):
            most = published.protection.ends_of_zero(table.name, level)[1]
            found[geoid, table.name, cell.number] = most
    for geoid, table, number, high in published.counts.select(
        "geoid", "table", "cell", "high"
    ).rows():
        found[geoid, table, number] = high
    return found


def _is_impossible(release: Release, person: tuple[int, ...]) -> bool:
    return any(
        all(mask >> value & 1 for mask, value in zip(masks, person, strict=True))
        for masks in release.impossible
    )


def _adds(release: Release, name: CellName, unit: str, person: tuple[int, ...]) -> int:
    """What a person of a unit adds to a published cell."""
    geoid, table, number = name
    cell = release.table_by_name[table].cells[number - 1]
    inside = all(mask >> value & 1 for mask, value in zip(cell.masks, person, strict=True))
    if not release.geography.inside(unit, geoid) or not inside:
        return 0
    if cell.tally is None:
        return 1
    return int(release.features[cell.tally].values[person[cell.tally]]).bit_count()


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
    assert "recovered DIAGNOSES 8 female, injury: 2 = DIAGNOSES 7 (10) − DIAGNOSES 9 (8)" in shown


def test_a_cover_may_be_the_first_row_alone() -> None:
    holds = sparse.csr_array(np.array([[1, 1, 0], [1, 0, 0], [0, 0, 1]]))
    first = _cover(sparse.csr_array(holds[:, :2]))
    both, none = _cover(holds), _cover(sparse.csr_array(holds[:2]))
    assert first is not None
    assert both is not None
    assert (first.tolist(), both.tolist(), none) == ([0], [0, 2], None)
