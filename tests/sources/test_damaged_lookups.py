"""Lookups of areas that lost a part, and labels that look like endless ages."""

from __future__ import annotations

from pathlib import Path

import pytest

from recon_cli.capabilities.ingest.membership import read_membership
from recon_cli.errors import SourceError
from recon_cli.schema import parse_release
from recon_cli.sources.formats.vocabulary import interval

RELEASE = parse_release(
    """
release: people
title: People
features: {sex: {categories: [women, men]}}
geography: {unit: atom, areas: [{area: ward}, {area: square}]}
microdata: [sex]
histogram: [sex]
families:
  - {levels: [ward, square], cells: [total, {by: sex}], tables: {T: {}}}
""",
    source="areas.yaml",
)
ROWS = "atom,ward,square\nx1,E5,S1\nx2,E5,S2\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (ROWS + "atom,ward,square\nx3,E6,S2\n", "line 4: the header once more"),
        (ROWS + "x4\n", "line 4: expected 3 fields, found 1"),
        (ROWS + "x4,E5\n", "line 4: expected 3 fields, found 2"),
    ],
)
def test_a_lookup_that_is_damaged(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "lookup.csv"
    path.write_text(text)
    with pytest.raises(SourceError, match=message):
        read_membership(RELEASE, {path: {}})
    path.write_text(ROWS)
    read_membership(RELEASE, {path: {}})


@pytest.mark.parametrize("form", ["Y_GE{}", "Under {} years", "15 to {} years", "{} years"])
def test_a_label_of_thousands_of_digits_is_a_label(form: str) -> None:
    assert interval(form.format("9" * 4301)) is None
    assert interval(form.format(65)) is not None
