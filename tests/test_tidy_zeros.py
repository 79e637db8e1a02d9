"""What nobody is counted in is published all the same."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from recon_cli import sources, tabulate
from recon_cli.schema import load_release

RELEASE = load_release("clinic_visits")


def _records() -> pl.DataFrame:
    values = {feature.name: [feature.values[0]] * 3 for feature in RELEASE.features}
    unit = RELEASE.geography.unit
    return pl.DataFrame({RELEASE.geoid_column: ["1" * unit.digits] * 3, **values})


def test_a_table_of_zeros_is_published_again(tmp_path: Path) -> None:
    counts = tabulate.tabulate(RELEASE, _records(), RELEASE.tables, None)
    levels = [level.name for level in RELEASE.geography.levels]
    found = {}
    for name, rows in (
        ("some", counts),
        ("all", sources.with_zeros(RELEASE, RELEASE.tables, levels, counts)),
    ):
        sources.write_tidy(rows, tmp_path / f"{name}.parquet")
        source = sources.open_tidy(RELEASE, [tmp_path / f"{name}.parquet"])
        found[name] = {pattern.level: set(pattern.cells) for pattern in source.coverage}
        assert pl.concat([batch.counts for batch in source.batches()]).height == counts.height
    published = {
        level: {table.name for table in RELEASE.tables if level in table.levels}
        for level in levels
        if any(level in table.levels for table in RELEASE.tables)
    }
    assert found["all"] == published
    # every table of this release counts everybody, so only a part of one can be all zeros
    only = [table for table in RELEASE.tables if table.name in counts["table"].unique()]
    emptied = counts.filter(pl.col("table") != only[0].name)
    again = sources.with_zeros(RELEASE, only, levels, emptied)
    assert set(again["table"]) == {table.name for table in only}
    assert again.filter(pl.col("count") == 0)["table"].unique().to_list() == [only[0].name]


def test_a_folder_of_tidy_files_is_one_publication(tmp_path: Path) -> None:
    counts = tabulate.tabulate(RELEASE, _records(), RELEASE.tables, None)
    half = counts.height // 2
    for i, part in enumerate((counts[:half], counts[half:])):
        sources.write_tidy(part, tmp_path / f"{i}.csv")
    source = sources.open_tidy(RELEASE, [tmp_path])
    rows = pl.concat([batch.counts for batch in source.batches()])
    key = ["geoid", "table", "cell"]
    assert rows.sort(key).equals(counts.sort(key).select(rows.columns).cast(rows.schema))
