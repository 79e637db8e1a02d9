"""A table that goes on beside itself is refused: its first half was lost."""

from __future__ import annotations

import pytest

from recon_cli.errors import SourceError
from recon_cli.sources.read.reading import Reading
from recon_cli.sources.tabular.sheet import sheet_of_rows

HEADER = ["Area", "Male", "Female", "All"]
LEFT = [["Ayr", "*", "7", "12"], ["Bute", "6", "*", "11"], ["Crail", "8", "9", "17"]]
RIGHT = [["Doune", "9", "6", "15"], ["Elie", "*", "8", "11"], ["Scotland", "31", "35", "66"]]


@pytest.mark.parametrize("many", [2, 3])
@pytest.mark.parametrize("gap", [[], [""]])
def test_rows_beside_others_under_the_same_headers(gap: list[str], many: int) -> None:
    rows = [[*one, *gap, *two] for one, two in zip(LEFT[:many], RIGHT[:many], strict=True)]

    with pytest.raises(SourceError, match=r"goes on beside itself, from column \d \('Area'\) on"):
        Reading.of(sheet_of_rows("sheet", [[*HEADER, *gap, *HEADER], *rows]))


def test_the_same_places_beside_themselves_are_of_two_years() -> None:
    rows = [[*one, one[0], *two[1:]] for one, two in zip(LEFT, RIGHT, strict=True)]
    years = ["", "2021", "", "", "", "2022", "", ""]

    reading = Reading.of(sheet_of_rows("sheet", [years, [*HEADER, *HEADER], *rows]))

    assert len(reading.tables) == 2
