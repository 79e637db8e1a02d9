"""A table of sums over another kind of records says no more than the link that it follows from."""

from __future__ import annotations

from collections import Counter

import polars as pl

from recon_cli.ask.question import RegionData
from recon_cli.capabilities.joint.part import PartInput
from recon_cli.capabilities.joint.question import JointQuestion
from recon_cli.capabilities.joint.release import parse_joint
from recon_cli.schema import parse_release
from tests.support.joint_worlds import HOMES, LINKS, PEOPLE, compositions, records, section
from tests.support.populations import publish

#: Householders by age, which homes count by kind, and which people would count as a sum of these.
BY_HOLDER = """\
  - levels: [block]
    cells: [{by: holder, cells: [{by: kind}]}]
    tables: {H17: {code: "H17-##", universe: {vacancy: occupied}}}
"""
DERIVED = """\
  - levels: [block]
    cells: [{by: age}]
    tables: {D17: {code: "D17-#", universe: {role: holder}}}
"""
Row = tuple[object, ...]


def claims(*, has_derived: bool) -> tuple[Counter[Row], Counter[Row], set[str]]:
    """What is certain of people and of homes, whatever proves it, and the statuses of places."""
    every = compositions()
    towns = [(first, 7 * first % len(every)) for first in range(0, len(every), 3)]
    homes = [(f"S{at:04d}1", every[kind]) for at, town in enumerate(towns) for kind in town]
    places = sorted({place for place, _ in homes})
    first = parse_release(PEOPLE + DERIVED * has_derived, source="test")
    second = parse_release(HOMES + BY_HOLDER, source="test")
    joint = parse_joint(LINKS, [first, second], source="test")
    both = [
        publish(release, frame, places)
        for release, frame in zip((first, second), records(homes), strict=True)
    ]
    parts = [
        PartInput(release, release.tables, published.coverage)
        for release, published in zip((first, second), both, strict=True)
    ]
    question = JointQuestion.of(joint, parts, section())
    answer = question.ask(RegionData(both[0], partners=(both[1],), partition="S"))
    people, partner = (
        Counter(answer.frames[name].drop("proof").iter_rows())
        for name in ("joint", "joint_partner")
    )
    return people, partner, set(answer.frames["joint_units"]["status"].cast(pl.String))


def test_a_derived_table_adds_nothing_to_what_its_link_proves() -> None:
    with_it, without = claims(has_derived=True), claims(has_derived=False)
    assert without[2] == with_it[2] == {"proven"}
    assert without[:2] == with_it[:2]
    assert without[0]
