"""A slip of the pen in a schema is told in one sentence, with its place and what was meant."""

from __future__ import annotations

import pytest

from recon_cli.errors import SchemaError
from recon_cli.schema import parse_release

SCHEMA = """\
release: pupils
title: Pupils
features:
  sex: {categories: [girl, boy]}
  stage: {categories: [lower, upper]}
geography: {levels: [{level: school, digits: 4}], partition: school}
microdata: [sex, stage]
histogram: [sex, stage]
families:
  - {levels: [school], cells: [total, {by: sex, cells: [total, CELL]}], tables: {PUPILS: {}}}
"""
INNER = "families[0].cells[1].cells[1]"
NO_CELL = f"{INNER}: a cell is total, or has one of the keys by, where, tally (found "


def test_the_schema_is_right_with_a_right_cell() -> None:
    release = parse_release(SCHEMA.replace("CELL", "{where: {stage: lower}}"), source="s.yaml")
    assert len(release.tables[0].cells) == 5


@pytest.mark.parametrize(
    ("cell", "told"),
    [
        ("{whre: {stage: lower}}", NO_CELL + "{'whre': {'stage': 'lower'}})"),
        ("{bye: stage}", NO_CELL + "{'bye': 'stage'})"),
        ("totl", NO_CELL + "'totl')"),
        ("7", NO_CELL + "7)"),
        (
            "{where: {stage: lower}, cell: [total]}",
            f"{INNER}.cell: unknown key (valid keys: where, cells); did you mean 'cells'?",
        ),
        (
            "{where: {stage: {pickd: 1}}}",
            f"{INNER}.where.stage.pickd: unknown key (valid keys: picked, includes); "
            "did you mean 'picked'?",
        ),
        (
            "{where: [stage]}",
            f"{INNER}.where: must be keys with values, `{{key: value}}` (found ['stage'])",
        ),
        ("{where: {stge: lower}}", "no feature 'stge' (features: sex, stage)"),
        ("{where: {stage: lowr}}", "'stage' has no value 'lowr' (such as lower, upper)"),
        ("{where: {stage: {picked: x}}}", "stage.picked: 'x' is no number of options"),
    ],
)
def test_a_wrong_cell_is_told_in_one_sentence(cell: str, told: str) -> None:
    with pytest.raises(SchemaError) as caught:
        parse_release(SCHEMA.replace("CELL", cell), source="s.yaml")
    message = str(caught.value)
    assert message.startswith("s.yaml: ")
    assert message.endswith(told)
    assert "Spec" not in message
