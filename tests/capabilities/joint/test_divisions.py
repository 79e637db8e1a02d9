"""Who lives with whom: claims against every town with the same counts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from recon_cli.ask.question import Answer, RegionData
from recon_cli.capabilities.joint.household_links import HouseholdLinks
from recon_cli.capabilities.joint.part import PartInput
from recon_cli.capabilities.joint.question import JointQuestion
from recon_cli.capabilities.joint.release import JointRelease, LinkKind, parse_joint
from recon_cli.errors import ConfigError
from recon_cli.schema import Release, parse_release
from tests.support.joint_worlds import (
    HOMES,
    HOUSEHOLD,
    HOUSEHOLDS,
    LINKS,
    OTHER,
    PEOPLE,
    STEP,
    UNIT,
    ask,
    check_households,
    compositions,
    published,
    records,
    releases,
    section,
    told_households,
    true_households,
    with_members,
)
from tests.support.populations import publish

#: More compositions than any of these towns has.
ALL = 10_000


@pytest.mark.parametrize("has_members", [False, True])
def test_claims_hold_in_every_town_with_the_same_counts(*, has_members: bool) -> None:
    found = check_households(HOUSEHOLDS, has_members=has_members, listed=ALL, step=STEP)
    assert found.unsound == 0
    assert found.statuses == {"proven": found.towns}
    assert found.unique > found.signatures // 10
    assert found.complete > found.signatures // 2


@pytest.mark.parametrize("listed", [1, 4])
def test_claims_hold_if_not_all_compositions_are_listed(listed: int) -> None:
    found = check_households(2, has_members=True, listed=listed, every=compositions()[::3])
    assert found.unsound == 0
    assert found.statuses["bounded"] > 0
    assert found.claims > 0


def test_nothing_is_listed_of_places_with_too_many_people(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recon_cli.capabilities.joint.compositions._DENSE", 0)
    answer = ask(*published([(UNIT, compositions()[3])]), listed=ALL)
    units = answer.frames["joint_units"].filter(geoid_block=UNIT)
    assert units.select("compositions", "division").row(0) == (0, "bounded")


def test_all_claims_are_made_where_all_households_are_small() -> None:
    small = [each for each in compositions() if len(each) < 3]
    found = check_households(3, has_members=False, listed=ALL, every=small, step=STEP)
    assert found.unsound == 0
    assert found.complete == found.signatures, "nothing else has these counts"


@pytest.mark.parametrize("seed", range(8))
def test_the_truth_has_what_is_claimed_of_larger_towns(seed: int) -> None:
    rng = np.random.default_rng(seed)
    every = compositions()
    town = [(UNIT, every[int(rng.integers(len(every)))]) for _ in range(5)]
    answer = ask(*published(town, quarters=int(rng.integers(3))), listed=ALL)
    assert not told_households(answer)[UNIT] - true_households(town)[UNIT], "no claim is false"


#: Counts of couples and families alone: nobody says how many live alone in a block.
COUPLES = """families:
  - levels: [block]
    cells: [{where: {home: couple}, cells: [{by: role, cells: [{by: age}]}]},
            {where: {home: family}}, {where: {home: quarters}}]
    tables: {P1: {code: "P1-#"}}
  - levels: [town]
    cells: [total, {by: age}, {by: home}]
    tables: {P2: {code: "P2-#"}}
"""
COUPLED_HOMES = """families:
  - levels: [block]
    cells: [{by: kind, cells: [total, {by: size}]}]
    tables: {H1: {code: "H1-#", universe: {kind: [couple, family]}}}
  - levels: [town]
    cells: [total, {by: kind}, {by: vacancy}]
    tables: {H2: {code: "H2-#"}}
"""


def test_a_division_with_room_for_further_households_is_not_unique() -> None:
    couple = (("holder", "adult"), ("spouse", "adult"))
    town = [(UNIT, couple), (OTHER, (("holder", "old"),))]
    releases_ = [
        parse_release(text.split("families:")[0] + families, source="test")
        for text, families in ((PEOPLE, COUPLES), (HOMES, COUPLED_HOMES))
    ]
    joint = parse_joint(LINKS, releases_, source="test")
    answer = _asked(releases_, joint, town)
    units = answer.frames["joint_units"].filter(geoid_block=UNIT)
    assert units.select("certain_with_members", "is_division_unique").row(0) == (1, False)


def test_households_of_nobody_have_a_division() -> None:
    couple = (("holder", "adult"), ("spouse", "adult"))
    people, homes, _ = releases()
    sized = "{vacancy: occupied}}, size: size, top: 3,\n     by: {home: kind}}"
    assert sized in LINKS
    joint = parse_joint(
        LINKS.replace(sized, "{}}, size: size, top: 3}"), [people, homes], source="test"
    )
    answer = _asked([people, homes], joint, [(UNIT, couple), (UNIT, ()), (OTHER, ())])
    units = answer.frames["joint_units"].sort("geoid_block")
    asked = units.select("certain_with_members", "is_division_unique", "division").rows()
    assert asked == [(2, True, "proven"), (1, True, "proven")]


def test_households_may_be_told_by_their_number_alone() -> None:
    total = "families:\n  - {levels: [block], cells: [total], tables: {H1: {code: 'H1-#'}}}\n"
    people = releases()[0]
    homes = parse_release(HOMES.split("families:")[0] + total, source="test")
    joint = parse_joint(LINKS, [people, homes], source="test")
    answer = _asked([people, homes], joint, [(UNIT, (("holder", "old"),))])
    told = answer.frames["joint_compositions"]
    assert told.columns == ["geoid_block", "composition", "households"]
    assert told.rows() == [(UNIT, 1, 1)]


def _asked(
    releases_: list[Release], joint: JointRelease, town: list[tuple[str, HOUSEHOLD]]
) -> Answer:
    published_ = [
        publish(release, rows, (UNIT, OTHER))
        for release, rows in zip(releases_, records(town), strict=True)
    ]
    parts = [
        PartInput(release, release.tables, each.coverage)
        for release, each in zip(releases_, published_, strict=True)
    ]
    question = JointQuestion.of(joint, parts, section(ALL))
    return question.ask(RegionData(published_[0], partners=(published_[1],), partition="S"))


def test_nothing_is_told_if_nobody_asks() -> None:
    answer = ask(*published([(UNIT, compositions()[3])]))
    assert answer.frames["joint_compositions"].is_empty()
    assert answer.frames["joint_members"].is_empty()
    assert set(answer.frames["joint_units"]["division"]) == {"not_asked"}


def test_who_is_a_member_follows_from_the_links() -> None:
    _, joint = with_members()
    links = HouseholdLinks.of(joint)
    assert (links.members, links.households) == ((0, 2), (1,))
    assert [joint.links[at].kind for at in links.sums] == [LinkKind.SUM, LinkKind.SUM]


def test_links_without_sizes_are_refused() -> None:
    joint = releases()[2]
    kept = tuple(link for link in joint.links if link.kind is not LinkKind.SUM)
    with pytest.raises(ConfigError, match="do not say who belongs to whom"):
        HouseholdLinks.of(replace(joint, links=kept))
