"""The packaged schemas of households against published descriptions of their cells and rules."""

from __future__ import annotations

import csv

import pytest

from fixtures import make_household_releases
from recon_cli.capabilities.synth.units import FEATURES
from recon_cli.errors import SchemaError
from recon_cli.schema import Release, load_release, parse_release
from tests.support.paths import FACTS, needs_shared

CELLS = {
    "dhc_2020_households": ("cells_dhc2020_block.csv", 861),
    "sf1_2010_households": ("cells_2010_household.csv", 1362),
}
SIMPLE = {
    "VACS": "vacancy",
    "TEN": "tenure",
    "HHT": "household_type",
    "HHT2": "detailed_type",
    "THHSPAN": "householder_origin",
    "THHLDRAGE": "householder_age",
    "THHRACE": "householder_race",
    "PU18": "minors",
    "NONREL": "nonrelatives",
}
AGES_OF_CHILDREN = {"PAOC": "own_children", "PARC": "related_children"}
OLDEST = {"TP60": 1, "TP65": 2, "TP75": 3}


def numbers(value: str) -> set[int]:
    pairs = [part.partition("..") for part in value.split("|")]
    return {n for low, _, high in pairs for n in range(int(low), int(high or low) + 1)}


def holds(condition: str, feature: str, value: object) -> bool:
    """Whether a value meets a condition; true for a feature that the condition is not about."""
    field, _, text = condition.partition("=")
    wanted = numbers(text)
    code = FEATURES[feature].index(str(value)) if FEATURES[feature] else int(str(value))
    if SIMPLE.get(field) == feature or (field == "HHSIZE" and feature == "household_size"):
        return code in wanted
    if field in OLDEST and feature == "oldest":
        return int(code >= OLDEST[field]) in wanted
    if field == "TP18" and feature == "minors":
        return int(code > 0) in wanted
    if field == "PAC" and feature == "children":
        return bool(code) == (1 in wanted)
    if AGES_OF_CHILDREN.get(field) == feature:
        return (code or 4) in wanted
    return True


def masks(release: Release, conditions: str) -> tuple[int, ...]:
    parts = [part for part in conditions.split("; ") if part]
    return tuple(
        sum(
            1 << at
            for at, value in enumerate(feature.values)
            if all(holds(part, feature.name, value) for part in parts)
        )
        for feature in release.features
    )


@needs_shared
@pytest.mark.parametrize("name", CELLS)
def test_every_cell_equals_its_published_description(name: str) -> None:
    release, (file, count) = load_release(name), CELLS[name]
    with (FACTS / "cells" / file).open() as lines:
        rows = {row["code"]: row for row in csv.DictReader(lines) if row["kind"] == "unit"}
    cells = {
        code: (table.name, cell)
        for table in release.tables
        for code, cell in zip(table.codes, table.cells, strict=True)
    }
    assert len(cells) == count
    assert set(cells) == set(rows)
    for code, (table, cell) in cells.items():
        assert (table, cell.number) == (rows[code]["table"], int(rows[code]["cell"]))
        assert cell.masks == masks(release, rows[code]["conditions"]), code


@needs_shared
def test_the_schemas_are_what_the_script_makes() -> None:
    for file, text in make_household_releases.make(FACTS / "cells").items():
        assert (make_household_releases.RELEASES / file).read_text() == text


def test_a_vacant_unit_has_no_household_whatever_is_assumed() -> None:
    for name in CELLS:
        release = load_release(name)
        kept = release.without_assumptions()
        assert kept.structural_zeros
        assert all(zero.is_definition for zero in kept.structural_zeros)
        assert len(kept.structural_zeros) < len(release.structural_zeros)
        assert not kept.has_assumptions


TINY = """\
release: homes
title: Homes
features: {kind: {categories: [alone, couple]}, size: {range: 1..3}}
geography: {levels: [{level: block, digits: 2}, {level: town, digits: 1}], partition: town}
microdata: [kind, size]
histogram: [kind, size]
families: [{levels: [block], cells: [total], tables: {H: {}}}]
structural_zeros:
"""


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("{when: {kinds: alone}, only: {size: 1}}", "no feature 'kinds'"),
        ("{when: {kind: one}, only: {size: 1}}", "has no value 'one'"),
        ("{when: {kind: alone}, only: {size: 1..3}}", "structural_zeros[0]: rules nothing out"),
        ("{when: {kind: alone}, ony: {size: 1}}", "structural_zeros[0].ony: unknown key"),
    ],
)
def test_a_rule_that_says_nothing_is_refused(rule: str, message: str) -> None:
    with pytest.raises(SchemaError) as error:
        parse_release(f"{TINY}  - {rule}\n", source="homes.yaml")
    assert message in str(error.value)


def test_a_rule_is_the_records_that_it_forbids() -> None:
    rule = "{when: {kind: alone}, only: {size: 1}, why: who is alone is one}"
    release = parse_release(f"{TINY}  - {rule}\n", source="homes.yaml")
    assert release.impossible == ((0b01, 0b110),)
