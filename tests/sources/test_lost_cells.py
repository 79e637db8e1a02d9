"""No row and no column of a published file is lost without a word."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import TypeAdapter

from recon_cli.errors import SourceError
from recon_cli.schema import parse_release
from recon_cli.sources import FileMapping, open_tables
from tests.support.layouts import LAYOUTS, SCHEMA, counts_of

MAPPING = TypeAdapter(FileMapping)
COUNTS = counts_of(
    {
        "340210001001000": [3, 0, 1, 12, 5, 0],
        "340210002002000": [1, 2, 1311, 0, 4, 9],
    }
)


@pytest.mark.parametrize(
    ("name", "before", "after", "message"),
    [
        ("ons_bulk", "2021,Place,340210002002000,…", '"…"', "row 5, column 1: all 15 cells"),
        ("nomis", "OBS_VALUE", "OBS_VALUE\u00ad", "expected"),
        ("nhgis", "ZZZ009", "ZZ009", "row 1: no column ZZZ009, which nhgis0001_ds999_2021_tract_"),
        ("statcan", "WOMEN+", "WOMEN+\u200b", r"row 1, column 8: .* invisible character \(U\+200B"),
        ("statcan", "WOMEN+", "WOMEM+", "row 1, column 8: 'C7_COUNT_WOMEM.' is no name"),
    ],
)
def test_a_lost_row_or_column_is_refused(
    name: str, before: str, after: str, message: str, tmp_path: Path
) -> None:
    layout = LAYOUTS[name](COUNTS, tmp_path)
    text = layout.paths[0].read_text()
    if before.endswith("…"):
        line = next(each for each in text.splitlines() if each.startswith(before[:-1]))
        before, after = line, after.replace("…", line)
    assert text.count(before) == 1
    release = parse_release(SCHEMA, source="sexage")
    mapping = MAPPING.validate_python(layout.mapping)
    open_tables(release, layout.source, layout.paths, mapping=mapping)
    layout.paths[0].write_text(text.replace(before, after))
    with pytest.raises(SourceError, match=message):
        open_tables(release, layout.source, layout.paths, mapping=mapping)


def test_confidence_intervals_of_statistics_canada_are_no_counts(tmp_path: Path) -> None:
    layout = LAYOUTS["statcan"](COUNTS, tmp_path)
    lines = layout.paths[0].read_text().splitlines()
    lines = [f"{lines[0]},C9_COUNT_LOW_CI_TOTAL", *(f"{line},1" for line in lines[1:])]
    layout.paths[0].write_text("\n".join(lines) + "\n")
    open_tables(
        parse_release(SCHEMA, source="sexage"),
        layout.source,
        layout.paths,
        mapping=MAPPING.validate_python(layout.mapping),
    )
