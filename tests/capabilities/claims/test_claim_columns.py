"""The columns of claims: those of the histogram, and whatever the units' own cells tell apart."""

from __future__ import annotations

import pytest

from recon_cli.capabilities.claims.groups import claim_columns
from recon_cli.coverage import CoveragePattern
from recon_cli.schema import Release, parse_release


def release(*families: str) -> Release:
    return parse_release(
        "release: plots\ntitle: Plots\n"
        "features: {age: {range: 0..3}, sex: {categories: [m, f]}, eyes: {categories: [a, b, c]}}\n"
        "recodes:\n  half: {of: age, edges: [0, 2]}\n"
        "  dark: {of: eyes, groups: {dark: [a, b], light: [c]}}\n"
        "geography: {levels: [{level: plot, digits: 4}, {level: ward, digits: 2}], "
        "partition: ward}\nmicrodata: [age, sex, dark, eyes]\nhistogram: [half, sex]\nfamilies:\n"
        + "".join(f"  - {{{family}}}\n" for family in families),
        source="plots",
    )


SEX = "levels: [plot], cells: [{by: sex}], tables: {S: {}}"
HALF = "levels: [plot], cells: [{by: half}], tables: {H: {}}"
AGE = "levels: [plot], cells: [{by: age}], tables: {A: {}}"
AGE_OF_WARDS = "levels: [ward], cells: [{by: age}], tables: {W: {}}"
DARK = "levels: [plot], cells: [{by: dark}], tables: {D: {}}"


@pytest.mark.parametrize(
    ("families", "columns"),
    [
        ((SEX,), ("sex",)),
        ((HALF, SEX), ("half", "sex")),
        # Plots tell single ages apart: they stand beside their recode.
        ((AGE, SEX), ("half", "age", "sex")),
        ((AGE_OF_WARDS, SEX), ("half", "sex")),
        # The histogram has no column of eyes; the coarsest of the records' has.
        ((SEX, DARK), ("sex", "dark")),
    ],
)
def test_columns_that_claims_speak_of(families: tuple[str, ...], columns: tuple[str, ...]) -> None:
    plots = release(*families)
    coverage = tuple(
        CoveragePattern(
            level.name,
            {
                table.name: tuple(cell.number for cell in table.cells)
                for table in plots.tables
                if level.name in table.levels
            },
        )
        for level in plots.geography.levels
    )
    assert claim_columns(plots, plots.tables, coverage) == columns
