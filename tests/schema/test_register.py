"""A register composed is the release that somebody would write by hand."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from recon_cli.errors import SchemaError
from recon_cli.schema import load_release, parse_release
from recon_cli.schema.release import Release

PLACES = """
geography:
  levels: [{level: block, digits: 3}, {level: town, digits: 1}]
  partition: town
"""
JANUARY = f"""
release: january
title: January
features:
  sex: {{categories: [female, male]}}
  age: {{categories: [young, old]}}
  origin: {{categories: [here, elsewhere]}}
structural_zeros:
  - {{when: {{sex: female}}, only: {{origin: here}}, why: as an example}}
microdata: [sex, age, origin]
histogram: [sex, age]
families:
  - levels: [block, town]
    cells: [total, {{by: sex, cells: [{{by: age}}]}}]
    tables: {{T1: {{}}}}
{PLACES}"""
FEBRUARY = f"""
release: february
title: February
features:
  band: {{categories: [child, adult, aged]}}
  employed: {{categories: [false, true]}}
microdata: [band, employed]
histogram: [band, employed]
families:
  - levels: [block]
    cells: [{{by: band}}]
    tables: {{T1: {{}}, T2: {{code: "B#", universe: {{employed: true}}}}}}
{PLACES}"""
REGISTER = """
register: both
title: Two months
features:
  age: {range: 0..99}
publications:
  - name: jan
    release: january.yaml
    features: {age: {of: age, edges: [0, 30]}}
    ingest: {source: tidy, paths: [january.csv]}
  - name: feb
    release: february.yaml
    universe: {sex: female}
    features: {band: {of: age, groups: {child: 0..17, adult: 18..64, aged: 65..99}}}
    ingest: {source: tidy, paths: [february.csv]}
"""
BY_HAND = f"""
release: both
title: Two months
features:
  age: {{categories: [0-17, 18-29, 30-64, 65-99]}}
  sex: {{categories: [female, male]}}
  origin: {{categories: [here, elsewhere]}}
  employed: {{categories: [false, true]}}
structural_zeros:
  - {{when: {{sex: female}}, only: {{origin: here}}, why: as an example}}
recodes:
  halves: {{of: age, groups: {{young: [0-17, 18-29], old: [30-64, 65-99]}}}}
  bands: {{of: age, groups: {{child: 0-17, adult: [18-29, 30-64], aged: 65-99}}}}
microdata: [age, sex, origin, employed]
histogram: [age, sex, origin, employed]
families:
  - levels: [block, town]
    cells: [total, {{by: sex, cells: [{{by: halves}}]}}]
    tables: {{jan_T1: {{}}}}
  - levels: [block]
    cells: [{{by: bands}}]
    tables:
      feb_T1: {{universe: {{sex: female}}}}
      feb_T2: {{code: "feb_B#", universe: {{sex: female, employed: true}}}}
{PLACES}"""


def register(folder: Path, text: str = REGISTER, **files: str) -> Release:
    named = {"january": JANUARY, "february": FEBRUARY} | files
    for name, schema in named.items():
        (folder / f"{name}.yaml").write_text(schema)
    (folder / "register.yaml").write_text(text)
    return load_release(str(folder / "register.yaml"))


def test_composed_is_as_by_hand(tmp_path: Path) -> None:
    composed = register(tmp_path)
    written = parse_release(BY_HAND, source="by hand")
    named = tuple(
        replace(table, name=table.name.replace("_", ".", 1), code=table.code.replace("_", ".", 1))
        for table in written.tables
    )
    assert composed.tables == named
    alike = replace(
        written, tables=named, recodes=(), digest=composed.digest, publications=("jan", "feb")
    )
    assert composed == alike
    assert composed.assumed == ("jan and feb are about the same people at the same date",)


def test_only_what_a_publication_tells_apart_is_told_apart(tmp_path: Path) -> None:
    composed = register(tmp_path, REGISTER[: REGISTER.index("  - name: feb")])
    assert composed.features[0].values == ("0-29", "30-99")
    assert [feature.name for feature in composed.features] == ["age", "sex", "origin"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("name: feb", "name: jan", "register.yaml:11: publications: 'jan' is listed twice"),
        (
            "    universe: {sex: female}\n",
            "    universe: {sex: neither}\n",
            "'sex' has no value 'neither'",
        ),
        ("edges: [0, 30]", "edges: [0, 30, 60]", "a group for each of its values is expected"),
        ("adult: 18..64", "adult: 18..65", "every value of 'age' belongs to exactly one group"),
        ("{age: {of: age, edges: [0, 30]}}", "{}", "other values than that of the register"),
        ("features: {band:", "features: {bande:", "no feature 'bande' in its schema"),
        ("of: age, groups", "of: ages, groups", "no feature 'ages'"),
    ],
)
def test_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in REGISTER
    with pytest.raises(SchemaError, match=re.escape(message)):
        register(tmp_path, REGISTER.replace(old, new))


def test_publications_of_two_dates_are_refused(tmp_path: Path) -> None:
    text = REGISTER.replace("    release:", "    date: 2026-01\n    release:", 1)
    text = text.replace("    universe:", "    date: 2026-02\n    universe:")
    message = (
        r"register.yaml:14: publications: jan \(2026-01\) and feb \(2026-02\) are of different"
    )
    with pytest.raises(SchemaError, match=message):
        register(tmp_path, text)


def test_places_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    other = FEBRUARY.replace("digits: 3", "digits: 4")
    with pytest.raises(SchemaError, match="feb: level 'block' has 4 digits, elsewhere 3"):
        register(tmp_path, february=other)
