"""Rounding as it is released: controlled, copies, accuracy, and the commands."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy import sparse

import recon_cli as recon
from recon_cli.arrays import IntArray
from recon_cli.capabilities.protect.accuracy import accuracy_table, count_copies, sum_errors
from recon_cli.capabilities.protect.controlled import round_controlled
from recon_cli.capabilities.protect.counts import Keys, count_records, protect_counts, tidy_counts
from recon_cli.chance import KeyedChance
from recon_cli.coverage import CoveragePattern
from recon_cli.model.margins import cells_of, count_matrix, relations_of
from recon_cli.statement import Protection, Statement
from recon_cli.statement.cell_key import CellKey
from recon_cli.statement.rounding import Rounded
from tests.support.command_line import recon as command
from tests.support.paths import ROOT
from tests.support.populations import patients

study = KeyedChance.for_study

RELEASE = recon.load_release("clinic_visits")
CLINIC = CoveragePattern.complete(RELEASE, "clinic")
CONTROLLED = Protection((Statement(Rounded(base=5, how="controlled")),))
ROUNDED = Protection((Statement(Rounded(base=3)),))


def test_no_geounit_and_no_published_cell_is_lost() -> None:
    few = patients().filter(pl.col("geoid_clinic") < "D01003").head(30)
    zeroed = Protection((Statement(recon.parse_law({"zeroed": {"below": 1000}})),))
    truth = count_records(RELEASE, few)
    protected = protect_counts(RELEASE, few, zeroed, chance=study(1))
    rows = tidy_counts(truth, protected)
    published = recon.publish(RELEASE, rows, geounits=truth.geounits["geoid"], protection=zeroed)
    assert sorted(published.geounits["geoid"]) == sorted(truth.geounits["geoid"])
    assert sorted(len(cells_of(each)) for each in published.coverage) == [97, 116]
    assert tidy_counts(truth, protected, known=rows["geoid"].head(0)).is_empty()


def test_the_same_records_are_rounded_alike_at_every_level() -> None:
    alone = patients().filter(geoid_clinic="D01001")  # a district of one clinic: the same people
    frame = protect_counts(RELEASE, alone, ROUNDED, chance=study(4)).filter(table="PATIENTS")
    both = frame.pivot("geoid", index="cell", values="count")
    assert both["D01"].equals(both["D01001"], check_names=False)


def test_counts_without_records_are_protected_too() -> None:
    exact = recon.publish(RELEASE, recon.tabulate(RELEASE, patients()))
    modes: tuple[Keys, ...] = ("records", "cells")
    for keys in modes:
        frame = protect_counts(RELEASE, exact, ROUNDED, chance=study(1), keys=keys)
        assert (frame["count"] % 3 == 0).all()
        assert ((frame["count"] - frame["true"]).abs() < 3).all()
    law = CellKey(max=2, variance=1.08)
    frame = protect_counts(RELEASE, exact, Protection((Statement(law),)), chance=study(1))
    offsets = frame["count"] - frame["true"]
    assert sorted(offsets.unique()) == [-2, -1, 0, 1, 2]
    assert 0.9 < float((offsets.cast(pl.Int64) ** 2).mean()) < 1.26  # type: ignore[arg-type]


def test_keys_of_counts_tell_places_apart_and_keys_of_records_do_not() -> None:
    """A district of one clinic has the clinic's people, and only records say that."""
    alone = patients().filter(geoid_clinic="D01001")
    law = Protection((Statement(CellKey(max=2, variance=1)),))
    exact = recon.publish(RELEASE, recon.tabulate(RELEASE, alone))
    for data, alike in ((alone, True), (exact, False)):
        frame = protect_counts(RELEASE, data, law, chance=study(4)).filter(table="PATIENTS")
        both = frame.pivot("geoid", index="cell", values="count")
        assert both["D01"].equals(both["D01001"], check_names=False) == alike


# controlled rounding


def all_roundings(counts: IntArray, base: int) -> list[IntArray]:
    choices = [{int(n) // base * base, -(-int(n) // base) * base} for n in counts]
    return [np.array(each) for each in itertools.product(*choices)]


def test_controlled_rounding_is_additive_and_nearest_among_those() -> None:
    """Against every rounding of small two-way tables with all their sums."""
    rng = np.random.default_rng(0)
    relations = np.array(
        [
            [1, 1, 0, 0, -1, 0, 0, 0, 0],
            [0, 0, 1, 1, 0, -1, 0, 0, 0],
            [1, 0, 1, 0, 0, 0, -1, 0, 0],
            [0, 1, 0, 1, 0, 0, 0, -1, 0],
            [0, 0, 0, 0, 1, 1, 0, 0, -1],
        ]
    )
    for _ in range(40):
        a, b, c, d = rng.integers(0, 9, 4)
        counts = np.array([a, b, c, d, a + b, c + d, a + c, b + d, a + b + c + d])
        for base in (2, 3, 5):
            rounded = round_controlled(counts, sparse.csr_array(relations), base)
            assert not (relations @ rounded).any()
            possible = [r for r in all_roundings(counts, base) if not (relations @ r).any()]
            least = min(np.abs(r - counts).sum() for r in possible)
            assert np.abs(rounded - counts).sum() == least


def test_where_no_rounding_is_additive_most_relations_are_kept() -> None:
    """Three ones whose sums by pairs, 2, are multiples: of each pair one had to go up."""
    counts = np.array([1, 1, 1, 2, 2, 2])
    relations = np.array([[1, 1, 0, -1, 0, 0], [0, 1, 1, 0, -1, 0], [1, 0, 1, 0, 0, -1]])
    kept = [3 - np.count_nonzero(relations @ each) for each in all_roundings(counts, 2)]
    assert max(kept) == 2
    rounded = round_controlled(counts, sparse.csr_array(relations), 2)
    assert 3 - np.count_nonzero(relations @ rounded) == 2


def test_every_clinic_is_additive() -> None:
    frame = protect_counts(RELEASE, patients(), CONTROLLED, chance=study(1))
    geoids = patients()["geoid_clinic"].unique().sort()
    matrix = count_matrix(CLINIC, geoids, frame)
    assert not (relations_of(RELEASE, CLINIC) @ matrix.T).toarray().any()
    row = recon.count_accuracy(RELEASE, frame).row(0, named=True)
    assert (row["level"], row["table"], row["additive"]) == ("clinic", "All", 100.0)


# copies and accuracy


def test_copies_are_what_averaging_needs() -> None:
    published = pl.DataFrame(
        [("X", "PATIENTS", 1, 3), ("X", "INSURANCE", 1, 6), ("Y", "PATIENTS", 1, 3)],
        schema={"geoid": pl.String, "table": pl.String, "cell": pl.Int16, "count": pl.Int32},
        orient="row",
    )
    copies = count_copies(RELEASE, published, cells_of(CLINIC))
    assert (copies.cells, copies.most) == (97, 2)
    assert (copies.repeated, copies.fixed) == (1, 1)


def test_accuracy_by_hand() -> None:
    """One clinic, two patients of one kind; every count above zero is published as 3."""
    records = patients().filter(geoid_clinic="D01001", smoker=False).head(1)
    two = pl.concat([records, records])
    nearest = Protection((Statement(Rounded(base=3, how="nearest")),))
    accuracy = recon.count_accuracy(RELEASE, protect_counts(RELEASE, two, nearest, chance=study(1)))
    row = accuracy.filter(level="clinic", table="PATIENTS", size="All").row(0, named=True)
    assert row["cells"] == 19
    assert row["mae"] == pytest.approx(3 / 19), "total, gender and age band are 2, published as 3"
    assert row["rmse"] == pytest.approx((3 / 19) ** 0.5)
    assert (row["mape"], row["malpe"], row["over_5pct"]) == (50.0, 50.0, 100.0)
    assert (row["zeros_kept"], row["false_zeros"], row["total_variation"]) == (100.0, 0.0, 25.0)
    assert (row["suppressed"], row["primary"], row["complementary"]) == (0, 0, 0)
    assert accuracy["size"].unique().sort().to_list() == ["1-9", "All"]


def test_suppressed_counts_are_no_errors() -> None:
    law = Protection((Statement(recon.parse_law({"suppressed": {"below": 3}})),))
    frame = protect_counts(RELEASE, patients(), law, chance=study(1))
    row = recon.count_accuracy(RELEASE, frame).row(0, named=True)
    assert row["suppressed"] == row["primary"] == (frame.filter(level="clinic")["true"] < 3).sum()
    assert (row["mae"], row["zeros_kept"], row["additive"]) == (0.0, 100.0, None)


def test_sums_of_parts_make_the_table_of_the_whole() -> None:
    districts = patients().group_by(pl.col("geoid_clinic").str.head(3))
    parts = [
        sum_errors(
            RELEASE,
            count_records(RELEASE, part),
            protect_counts(RELEASE, part, ROUNDED, chance=study(1)),
        )
        for _, part in districts
    ]
    whole = protect_counts(RELEASE, patients(), ROUNDED, chance=study(1))
    assert_frame_equal(accuracy_table(RELEASE, parts), recon.count_accuracy(RELEASE, whole))


# the commands


def test_counts_of_another_run_are_rounded(tmp_path: Path) -> None:
    """The shipped clinic tables, and the records they were counted from."""
    patients().write_parquet(tmp_path / "patients.parquet")
    common = ("--set", "release=clinic_visits", "--set", "round.base=5", "-q")
    how = ("--set", "round.how=nearest")
    exact = tmp_path / "exact"
    published = ROOT / "fixtures" / "clinic_visits.csv"
    ingest = ("--set", "ingest.source=tidy", "--set", f"ingest.paths=[{published}]")
    command("ingest", "--set", "release=clinic_visits", *ingest, "--work", exact, "-q")
    of_counts, of_records = tmp_path / "counts", tmp_path / "records"
    given = ("--set", f"round.counts={exact}")
    command("protect", "round", *common, *how, *given, "--work", of_counts)
    given = ("--set", f"round.records={tmp_path / 'patients.parquet'}")
    command("protect", "round", *common, *how, *given, "--work", of_records)
    one, other = (
        pl.read_parquet(work / "rounded/**/*.parquet", hive_partitioning=False)
        for work in (of_counts, of_records)
    )
    assert len(one) > 700
    assert one.filter(pl.col("count") > 0).equals(other.filter(pl.col("count") > 0))


def test_accuracy_is_written_and_copies_are_stated(tmp_path: Path) -> None:
    patients().write_parquet(tmp_path / "patients.parquet")
    settings = ("release=clinic_visits", f"round.records={tmp_path}/patients.parquet")
    given = [word for each in (*settings, "round.keys=cells") for word in ("--set", each)]
    arguments = (*given, "--work", tmp_path)
    done = " ".join(command("protect", "round", *arguments).stdout.split())
    assert "97 cells, 95 different, one 2 times" in done
    assert "not alike" in done
    table = pl.read_csv(tmp_path / "private" / "round" / "accuracy" / "accuracy.csv")
    assert table.filter(level="clinic", table="All", size="All")["cells"].item() == 12 * 97
    text = (tmp_path / "private" / "round" / "accuracy" / "accuracy.md").read_text()
    assert text.startswith("| level | table")
    first = {p.name: p.read_bytes() for p in sorted((tmp_path / "rounded").rglob("*.parquet"))}
    command("protect", "round", *arguments, "--force", "--workers", 2)
    again = {p.name: p.read_bytes() for p in sorted((tmp_path / "rounded").rglob("*.parquet"))}
    assert again == first


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("round.records=none.csv", "no such file or folder"),
        ("round.base=1", "greater than or equal to 2"),
        ("round.levels=town", "no level 'town'"),
    ],
)
def test_what_is_refused(tmp_path: Path, setting: str, message: str) -> None:
    common = ("--set", "release=clinic_visits", "--work", tmp_path / "work")
    assert message in command("protect", "round", *common, "--set", setting, code=2).stderr
    assert not (tmp_path / "work" / "rounded").exists()
