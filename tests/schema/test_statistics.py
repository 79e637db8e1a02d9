"""Statistics of tables in a schema."""

from fractions import Fraction

import pytest

from recon_cli.errors import SchemaError
from recon_cli.schema import Release, parse_release
from recon_cli.schema.load import extend_release
from recon_cli.schema.spec import FeatureSpec

SCHEMA = """
release: wards
title: Wards
features:
  sex: {categories: [female, male]}
  age: {range: 0..4}
  kind: {categories: [low, high]}
geography: {levels: [{level: ward, digits: 2}, {level: city, digits: 1}], partition: city}
microdata: [sex, age, kind]
histogram: [sex]
families:
  - levels: [ward]
    cells: [total, {by: sex}]
    tables: {COUNT: {}}
  - levels: [ward]
    cells: [CELL]
    tables: {STAT: {statistic: STATISTIC}}
"""


def release(statistic: str, cell: str = "total") -> Release:
    text = SCHEMA.replace("STATISTIC", statistic).replace("CELL", cell)
    return parse_release(text, source="schema.yaml")


def test_a_table_of_a_statistic_is_no_table_of_counts() -> None:
    found = release("{mean: age}")
    assert [table.name for table in found.tables] == ["COUNT"]
    assert [table.name for table in found.statistics] == ["STAT"]
    of = found.statistics[0].statistic
    assert of is not None
    assert (of.kind, of.feature, of.values) == ("mean", 1, tuple(map(Fraction, range(5))))


def test_a_share_is_a_percentage_by_default() -> None:
    of = release("{share: {sex: female}}").statistics[0].statistic
    assert of is not None
    full = release("{mean: age}").full
    assert of.times == 100
    assert of.counted(full) == (0b01, *full[1:])
    assert of.based(full) == full


def test_values_of_categories_are_named() -> None:
    of = release("{mean: kind, values: {low: 1, high: '5/2'}}").statistics[0].statistic
    assert of is not None
    assert of.values == (Fraction(1), Fraction(5, 2))


def test_further_features_widen_statistics() -> None:
    found = extend_release(
        release("{ratio: {sex: female}, to: {sex: male}}"), {"size": FeatureSpec(range="1..2")}
    )
    of = found.statistics[0].statistic
    assert of is not None
    assert of.counted(found.full) == (0b01, *found.full[1:])
    assert of.based(found.full) == (0b10, *found.full[1:])


@pytest.mark.parametrize(
    ("statistic", "message"),
    [
        ("{}", "give exactly one of share, ratio, mean"),
        ("{mean: age, maximum: age}", "give exactly one of"),
        ("{mean: kind}", "kind has no values to average; give `values`"),
        ("{mean: kind, values: {low: 1}}", "values: no number for 'high' of kind"),
        ("{mean: kind, values: {low: 1, high: tall}}", "expected a number, found 'tall'"),
        ("{mean: race}", "no feature 'race'"),
        ("{ratio: {sex: female}}", "ratio needs to"),
        ("{quantile: age}", "quantile needs order"),
        ("{quantile: age, order: 2}", "expected a number between 0 and 1"),
        ("{mean: age, times: 100}", "times is of share, ratio, not of mean"),
        ("{mean: age, definition: low}", "definition is of median, not of mean"),
        ("{share: {sex: female}, times: -1}", "expected a positive number"),
        ("{share: {sex: neither}}", "no value 'neither'"),
    ],
)
def test_declarations_that_contradict_themselves_are_refused(statistic: str, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        release(statistic)


def test_a_share_that_counts_nobody_of_a_cell_is_refused() -> None:
    with pytest.raises(SchemaError, match="counts nobody of cell 2"):
        release("{share: {sex: female}}", "{by: sex}")
