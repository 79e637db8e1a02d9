"""Statistics beside suppressed counts: those that would give a count away are withheld."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import recon_cli as recon
from benchmarks.wards import RELEASE as WARDS
from benchmarks.wards import SCHEMA as OF_WARDS
from benchmarks.wards import VARIANTS, draw_ward, rows_of, suppressed
from recon_cli.capabilities.suppress.primary import PrimaryRules
from recon_cli.capabilities.suppress.statistics import harmful_statistics
from recon_cli.capabilities.suppress.suppression import SuppressionOptions, suppression_protection
from tests.support.command_line import recon as command
from tests.support.properties import draws

KEY = ["geoid", "table", "cell"]
SCHEMA = """
release: wards
title: HIV by ward
features:
  sex: {categories: [female, male]}
  age_years: {range: 18..99}
  hiv: {categories: [false, true]}
geography: {levels: [{level: ward, digits: 2}, {level: city, digits: 1}], partition: city}
microdata: [sex, age_years, hiv]
histogram: [sex, hiv]
families:
  - levels: [ward]
    cells: [total, {by: sex}]
    tables: {ALL: {}}
  - levels: [ward]
    cells: [{by: sex, cells: [{by: hiv}]}]
    tables: {HIV: {}}
  - levels: [ward]
    cells: [{by: sex, cells: [{where: {hiv: true}}]}]
    tables:
      MEAN_AGE: {statistic: {mean: age_years}}
      OLDEST: {statistic: {maximum: age_years}}
  - levels: [ward]
    cells: [{by: sex}]
    tables: {PERCENT: {statistic: {share: {hiv: true}}}}
"""
COUNTS = ["ALL,1,40", "ALL,2,20", "ALL,3,20", "HIV,1,17", "HIV,2,3", "HIV,3,19", "HIV,4,1"]
PRINTED = ["MEAN_AGE,1,34.67", "MEAN_AGE,2,50.0", "OLDEST,1,51", "PERCENT,1,15", "PERCENT,2,5"]


def office(folder: Path, rows: list[str], laws: str = "") -> Path:
    folder.joinpath("wards.schema.yaml").write_text(SCHEMA)
    folder.joinpath("laws.yaml").write_text(
        "statements:\n  - {tables: [PERCENT, MEAN_AGE], law: {printed: {ties: unknown}}}\n" + laws
    )
    lines = ["geoid,table,cell,value", *(f"W5,{row}" for row in rows)]
    folder.joinpath("counts.csv").write_text("\n".join([*lines, ""]))
    config = folder / "wards.yaml"
    config.write_text(
        "release: wards.schema.yaml\nwork: work\n"
        "ingest: {source: tidy, paths: [counts.csv], protection: laws.yaml}\naudit:\n"
    )
    return config


def audit_of(folder: Path, config: Path, safe: Path) -> pl.DataFrame:
    """Audit what was exported, by the laws that were written for it."""
    paths = f"ingest.paths=[{safe}]"
    laws = f"ingest.protection={folder / 'work' / 'suppressed' / 'protection.yaml'}"
    work = folder / "again"
    for stage in ("ingest", "audit"):
        command(stage, "-c", config, "--work", work, "--set", paths, "--set", laws)
    return pl.read_parquet(work / "audit" / "**" / "*.parquet")


def test_what_gives_a_star_away_is_withheld_and_nothing_else(tmp_path: Path) -> None:
    """34.67 is a mean of 3, 6 or 9 ages, and 50.0 of any; 15% of 20 women are 3."""
    config, safe = office(tmp_path, [*COUNTS, *PRINTED]), tmp_path / "safe"
    done = command("export", "-c", config, "--suppressed", safe, "--below", "5").stdout
    lines = (safe / "counts.csv").read_text().splitlines()[1:]
    kept = [f"W5,{row}" for row in (*COUNTS[:3], *PRINTED[:3])]
    starred = [f"W5,{row.rpartition(',')[0]},*" for row in (*COUNTS[3:], *PRINTED[3:])]
    assert set(lines) == {*kept, *starred}
    assert "statistics  2" in done
    assert "counts.csv: 2 of 2 texts of PERCENT would give counts away" in " ".join(done.split())
    audited = audit_of(tmp_path, config, safe)
    assert set(audited["status"]) == {"safe"}
    said = command("protect", "suppress", "-c", config, "--set", "suppress.below=5", "--set",
                   f"suppress.counts={tmp_path / 'work'}").stdout  # fmt: skip
    assert "PERCENT" in said


def test_no_choice_withholds_less() -> None:
    """The audit, which is compared with enumeration elsewhere, finds fewer never enough."""
    release = recon.parse_release(SCHEMA, source="schema.yaml")
    options = SuppressionOptions(PrimaryRules(5))
    law = suppression_protection(options.rules)
    stars = [(*row.split(",")[:2], "*") if row[:3] == "HIV" else tuple(row.split(","))
             for row in COUNTS]  # fmt: skip
    texts = [tuple(row.split(",")) for row in PRINTED]
    primary = pl.DataFrame(
        [("W5", "HIV", 2, 3), ("W5", "HIV", 4, 1)],
        schema={"geoid": pl.String, "table": pl.String, "cell": pl.Int16, "true": pl.Int32},
        orient="row",
    )

    def published(some: tuple[tuple[str, ...], ...]) -> recon.Publication:
        rows = [("W5", table, int(cell), text) for table, cell, text in (*stars, *some)]
        schema = {"geoid": pl.String, "table": pl.String, "cell": pl.Int64, "count": pl.String}
        return recon.publish(
            release, pl.DataFrame(rows, schema=schema, orient="row"), protection=law
        )

    def is_safe(some: tuple[tuple[str, ...], ...]) -> bool:
        audited = recon.audit_counts(release, published(some)).join(primary, on=KEY)
        return audited["status"].to_list() == ["safe", "safe"]

    found = harmful_statistics(release, published(tuple(texts)), primary, options)
    sizes = range(len(texts) + 1)
    fewest = next(n for n in sizes if any(map(is_safe, combinations(texts, len(texts) - n))))
    assert found.height == fewest == 2


@pytest.mark.parametrize("variant", ["percentages, 0 decimals", "means, medians, extremes"])
def test_every_primary_count_of_wards_is_safe(variant: str) -> None:
    random = np.random.default_rng(14)
    made = suppressed([draw_ward(random) for _ in draws(2, 3)], *VARIANTS[variant])
    audited = recon.audit_counts(WARDS, made.published).join(made.primary, on=KEY)
    assert audited.height == made.primary.height > 20
    assert set(audited["status"]) == {"safe"}
    assert 0 < made.harmful.height < made.texts


def test_an_exported_file_with_means_and_medians_recovers_no_primary_count(
    tmp_path: Path,
) -> None:
    random = np.random.default_rng(14)
    names, decimals = VARIANTS["means, medians, extremes"]
    rows = [
        row
        for number in draws(1, 2)
        for row in rows_of(f"C{number:03d}", draw_ward(random), names, decimals, below=0)
    ]
    schema = ["geoid", "table", "cell", "count"]
    pl.DataFrame(rows, schema=schema, orient="row").write_csv(tmp_path / "counts.csv")
    (tmp_path / "wards.schema.yaml").write_text(OF_WARDS)
    config = tmp_path / "wards.yaml"
    config.write_text(
        "release: wards.schema.yaml\nwork: work\n"
        "ingest: {source: tidy, paths: [counts.csv]}\naudit:\n"
    )
    safe = tmp_path / "safe"
    command("export", "-c", config, "--suppressed", safe, "--below", "5")
    audited = audit_of(tmp_path, config, safe)
    true = pl.DataFrame(rows, schema=schema, orient="row").cast({"cell": pl.Int16})
    small = true.filter(pl.col("count").cast(pl.Float64).is_between(1, 4))
    of_small = audited.join(small, on=KEY)
    assert of_small.height > 10
    assert set(of_small["status"]) == {"safe"}


def test_a_percentage_sheet_recovers_no_primary_count(tmp_path: Path) -> None:
    rows = ["Aton,40,37,3,92.5,7.5", "Bton,55,53,2,96.4,3.6", "Cton,80,66,14,82.5,17.5"]
    path, config, safe = (tmp_path / name for name in ("pct.csv", "pct.yaml", "safe"))
    path.write_text("\n".join(["Ward,All,Well,Ill,Well %,Ill %", *rows, ""]))
    command("init", path, "--to", config)
    command("export", "-c", config, "--suppressed", safe, "--below", "5")
    again = tmp_path / "again" / "again.yaml"
    again.parent.mkdir()
    command("init", safe / "pct.csv", "--to", again, "--yes")
    draft = again.with_name("again.protection.yaml")
    law = "{below: 5, complementary: true}"
    draft.write_text(draft.read_text().replace("{flagged: may-be-zero}", law))
    for stage in ("ingest", "audit"):
        command(stage, "-c", again, "--work", tmp_path / "work2")
    audited = pl.read_parquet(tmp_path / "work2" / "**" / "audit" / "**" / "*.parquet")
    assert audited.height == 4
    assert set(audited["status"]) == {"safe"}


def test_statistics_of_people_whom_nothing_bounds_are_withheld(tmp_path: Path) -> None:
    """Where even the total is withheld, nobody can examine what a mean tells."""
    rows = ["ALL,1,4", "ALL,2,3", "ALL,3,1", "HIV,2,3", "HIV,4,1", *PRINTED[:3]]
    config, safe = office(tmp_path, rows), tmp_path / "safe"
    command("export", "-c", config, "--suppressed", safe, "--below", "5")
    lines = (safe / "counts.csv").read_text().splitlines()[1:]
    assert {line.rpartition(",")[2] for line in lines} == {"*"}


def test_other_statistics_than_those_that_were_examined_are_refused(tmp_path: Path) -> None:
    config, safe = office(tmp_path, [*COUNTS, *PRINTED]), tmp_path / "safe"
    command("export", "-c", config, "--suppressed", safe, "--below", "5")
    office(tmp_path, [*COUNTS, "MEAN_AGE,1,35.67", *PRINTED[1:]])
    command("ingest", "-c", config)
    refused = command("export", "-c", config, "--suppressed", safe, code=5).stderr
    assert "'35.67' is 34.67 in suppressed/, which was made of other statistics" in refused


def test_statistics_of_records_are_to_be_printed_before(tmp_path: Path) -> None:
    config = office(tmp_path, [*COUNTS, *PRINTED])
    (tmp_path / "records.csv").write_text("geoid_ward,sex,age_years,hiv\nW5,male,20,true\n")
    said = f"suppress.records={tmp_path / 'records.csv'}"
    refused = command("protect", "suppress", "-c", config, "--set", said, code=2).stderr
    assert "write both with `recon data tabulate`" in refused
