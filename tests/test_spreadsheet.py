"""No text in a CSV is a formula; numbers and tidy files stay as they are."""

from __future__ import annotations

import io
import re
from pathlib import Path

import polars as pl
import pytest

from recon_cli.schema import load_release
from recon_cli.sources.tidy import open_tidy, write_tidy
from recon_cli.spreadsheet import csv_bytes
from tests.support.paths import ROOT

PACKAGE = ROOT / "recon_cli"


@pytest.mark.parametrize("first", ["=", "+", "-", "@", "\t", "\r"])
def test_text_that_a_spreadsheet_would_calculate_is_marked(first: str) -> None:
    name = f"{first}SUM(1)"
    table = pl.DataFrame({name: [name, None], "count": [-3, 4], "share": [-0.123456, 1.0]})
    for typed in (table, table.with_columns(pl.col(name).cast(pl.Categorical))):
        read = pl.read_csv(io.BytesIO(csv_bytes(typed, 2)), infer_schema_length=10)
        assert read.columns == [f"'{name}", "count", "share"]
        assert read[f"'{name}"].to_list() == [f"'{name}", None]
        assert read["count"].to_list() == [-3, 4]
        assert read["share"].to_list() == [-0.12, 1.0]


def test_other_text_stays() -> None:
    table = pl.DataFrame({"name": ["Saint-Denis", "a=b", "'quoted", "", "001"], "n": range(5)})
    assert csv_bytes(table) == table.write_csv().encode()


def test_a_tidy_file_is_what_was_written(tmp_path: Path) -> None:
    release = load_release("clinic_visits")
    counts = pl.DataFrame(
        {"geoid": ["001001", "001"], "table": "PATIENTS", "cell": [1, 1], "count": [3, 3]}
    )
    write_tidy(counts, tmp_path / "counts.csv")
    read = pl.read_csv(tmp_path / "counts.csv", schema_overrides={"geoid": pl.String})
    assert sorted(read.rows()) == sorted(counts.rows())
    open_tidy(release, [tmp_path / "counts.csv"])


def test_csv_is_written_in_one_place() -> None:
    """Elsewhere only what no spreadsheet need open, or what is marked already."""
    others = {
        *("spreadsheet.py", "legacy_writer.py", "true_counts.py", "tidy.py"),
        "unit_lists.py",  # geoids, letters and digits alone, in a text file
        "membership.py",  # for a digest
        "noisy_files.py",  # codes of blocks, digits alone
        *("reconstruction.py", "runs.py"),  # examples, of what a reader has made
    }
    writers = {
        path.name
        for path in PACKAGE.rglob("*.py")
        if re.search(r"\.write_csv\(|csv\.writer|DictWriter", path.read_text())
    }
    assert writers == others
