"""Tiny towns of people in households, published twice: as people, and as households.

The oracle pairs every solution of one release with every solution of the other, and keeps the pairs
that the links allow, which are said here once more, in plain Python.
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, reduce
from itertools import combinations_with_replacement as choices
from operator import and_
from pathlib import Path

import polars as pl

from recon_cli.ask.question import Answer, RegionData
from recon_cli.capabilities.joint.options import Joint
from recon_cli.capabilities.joint.part import PartInput
from recon_cli.capabilities.joint.question import JointQuestion
from recon_cli.capabilities.joint.release import JointRelease, parse_joint
from recon_cli.publication import Publication
from recon_cli.schema import Release, parse_release
from tests.support.enumeration import Solution
from tests.support.populations import publish
from tests.support.properties import amount

UNIT, OTHER = "S00001", "S00002"

PEOPLE = """
release: people
title: People
features:
  home: {categories: [couple, alone, family, quarters]}
  role: {categories: [holder, spouse, child, resident]}
  age: {categories: [young, adult, old]}
geography:
  levels: [{level: block, digits: 6}, {level: town, digits: 5}, {level: county, digits: 1}]
  partition: county
recodes:
  grown: {of: age, groups: {"no": young, "yes": [adult, old]}}
microdata: [home, role, age]
histogram: [home, role, age]
structural_zeros:
  - {when: {home: quarters}, only: {role: resident}, definition: true, why: "nobody's household"}
  - {when: {home: [couple, alone, family]}, only: {role: [holder, spouse, child]},
     definition: true, why: "a household"}
  - {when: {home: alone}, only: {role: holder}, definition: true, why: "nobody else"}
  - {when: {home: family}, only: {role: [holder, child]}, definition: true, why: "no spouse"}
  - {when: {role: [holder, spouse]}, only: {age: [adult, old]}, why: "they are grown up"}
families:
  - levels: [block, town]
    cells: [total, {by: age}]
    tables: {P1: {code: "P1-#"}}
  - levels: [block]
    cells: [{by: home, cells: [total, {where: {role: holder}}]}]
    tables: {P2: {code: "P2-#"}}
  - levels: [town]
    cells: [{by: role, cells: [{by: age}]}]
    tables: {P3: {code: "P3-##"}}
"""
HOMES = """
release: homes
title: Homes
record: household
features:
  vacancy: {categories: [occupied, vacant]}
  size: {range: 0..3}   # 3 and more
  kind: {categories: [none, couple, alone, family]}
  holder: {categories: [none, adult, old]}
  minors: {categories: [nobody, somebody]}
geography:
  levels: [{level: block, digits: 6}, {level: town, digits: 5}, {level: county, digits: 1}]
  partition: county
microdata: [vacancy, size, kind, holder, minors]
histogram: [vacancy, size, kind, holder, minors]
structural_zeros:
  - {when: {vacancy: vacant}, only: {size: 0, kind: none, holder: none, minors: nobody},
     definition: true, why: "nobody is there"}
  - {when: {vacancy: occupied}, only: {size: 1..3, kind: [couple, alone, family],
     holder: [adult, old]}, definition: true, why: "somebody is there"}
  - {when: {kind: alone}, only: {size: 1, minors: nobody}, why: "nobody else"}
  - {when: {kind: [couple, family]}, only: {size: 2..3}, why: "not alone"}
families:
  - levels: [block, town]
    cells: [total, {by: vacancy}]
    tables: {H1: {code: "H1-#"}}
  - levels: [block]
    cells: [{by: size}]
    tables: {H2: {code: "H2-#", universe: {vacancy: occupied}}}
  - levels: [block]
    cells: [total, {by: minors, cells: [{by: kind}]}]
    tables: {H3: {code: "H3-#", universe: {vacancy: occupied}}}
  - levels: [town]
    cells: [{by: holder, cells: [{by: kind}]}]
    tables: {H4: {code: "H4-##"}}
"""
MEMBERS = """
release: members
title: People by the householder's age
features:
  grown: {categories: ["no", "yes"]}
  holder: {categories: [adult, old]}
geography:
  levels: [{level: block, digits: 6}, {level: town, digits: 5}, {level: county, digits: 1}]
  partition: county
microdata: [grown, holder]
histogram: [grown, holder]
families:
  - levels: [block]
    cells: [{by: holder}, {by: grown}]
    tables: {M1: {code: "M1-#"}}
"""
#: Further links with these, and the parts with them.
MORE_LINKS = """
  - {equal: {person: {home: [couple, alone, family]}, member: {}}, by: {grown: grown}}
  - {sum: {member: {}, home: {vacancy: occupied}}, size: size, top: 3, by: {holder: holder}}
  - {presence: {member: {grown: "no"}, home: {vacancy: occupied, minors: somebody}}, size: size,
     top: 3, without: 1,
     by: {holder: holder}}
"""
LINKS = """
joint: town
parts: {person: people, home: homes}
links:
  - {equal: {person: {role: holder, age: [adult, old]}, home: {vacancy: occupied}},
     by: {home: kind, age: holder}}
  - {equal: {person: {role: spouse}, home: {kind: couple}}}
  - {sum: {person: {home: [couple, alone, family]}, home: {vacancy: occupied}}, size: size, top: 3,
     by: {home: kind}}
  - {presence: {person: {age: young}, home: {minors: somebody}}, size: size, top: 3, without: 1}
"""
PARTS = "{person: people, home: homes}"
Row = tuple[object, ...]
#: Towns of at most this many households are compared with all that have the same counts.
HOUSEHOLDS = 3 if int(os.environ.get("RECON_EXAMPLES", "100")) >= 1_000 else 2
#: One in this many counts of towns is asked about.
STEP = amount(4, 1)
HOUSEHOLD = tuple[tuple[str, str], ...]


@cache
def releases() -> tuple[Release, Release, JointRelease]:
    """People, homes, and their links."""
    people, homes = (parse_release(text, source="test") for text in (PEOPLE, HOMES))
    return people, homes, parse_joint(LINKS, [people, homes], source="test")


@cache
def with_members() -> tuple[Release, JointRelease]:
    """People by their households, and the links of all three."""
    people, homes, _ = releases()
    members = parse_release(MEMBERS, source="test")
    text = LINKS.replace(PARTS, PARTS.replace("}", ", member: members}")) + MORE_LINKS.lstrip("\n")
    return members, parse_joint(text, [people, homes, members], source="test")


def publish_members(town: Iterable[tuple[str, HOUSEHOLD]], places: Sequence[str]) -> Publication:
    """The publication of a town's people by their households."""
    records = [
        (place, "no" if age == "young" else "yes", members[0][1])
        for place, members in town
        for _, age in members
    ]
    frame = pl.DataFrame(records, schema=_words("grown", "holder"), orient="row")
    return publish(with_members()[0], frame, places)


def compositions() -> list[HOUSEHOLD]:
    """Households of up to four people, the householder first; none is a vacant unit."""
    found: list[HOUSEHOLD] = [()]
    for age in ("adult", "old"):
        holder = ("holder", age)
        children = [
            tuple(("child", each) for each in ages)
            for count in range(3)
            for ages in choices(("young", "adult"), count)
        ]
        found += [(holder, *each) for each in children]
        found += [
            (holder, ("spouse", other), *each) for other in ("adult", "old") for each in children
        ]
    return found


def kind_of(members: HOUSEHOLD) -> str:
    """What a household is called."""
    if not members:
        return "none"
    if any(role == "spouse" for role, _ in members):
        return "couple"
    return "alone" if len(members) == 1 else "family"


def records(
    town: Iterable[tuple[str, HOUSEHOLD]], quarters: int = 0
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The people and the homes of households at places, and people in quarters at `UNIT`."""
    people: list[tuple[str, str, str, str]] = [(UNIT, "quarters", "resident", "adult")] * quarters
    homes = []
    for place, members in town:
        kind = kind_of(members)
        people += [(place, kind, role, age) for role, age in members]
        young = any(age == "young" for _, age in members)
        homes.append(
            (
                place,
                "occupied" if members else "vacant",
                min(len(members), 3),
                kind,
                members[0][1] if members else "none",
                "somebody" if young else "nobody",
            )
        )
    return (
        pl.DataFrame(people, schema=_words("home", "role", "age"), orient="row"),
        pl.DataFrame(
            homes,
            schema={**_words("vacancy", "size", "kind", "holder", "minors"), "size": pl.Int64},
            orient="row",
        ),
    )


def _words(*names: str) -> dict[str, type[pl.DataType]]:
    return dict.fromkeys(("geoid_block", *names), pl.String)


def published(
    town: Iterable[tuple[str, HOUSEHOLD]], quarters: int = 0, places: Sequence[str] = (UNIT, OTHER)
) -> tuple[Publication, Publication]:
    """Both publications of households at places."""
    people, homes, _ = releases()
    of_people, of_homes = records(town, quarters)
    return publish(people, of_people, places), publish(homes, of_homes, places)


def is_linked(people: Solution, homes: Solution) -> bool:
    """Whether the links hold at every place."""
    places = {place for (place, _), _ in (*people, *homes)}
    return all(_is_linked_at(place, people, homes) for place in places)


def _is_linked_at(place: str, people: Solution, homes: Solution) -> bool:
    persons = [(values, n) for (where, values), n in people if where == place]
    units = [(values, n) for (where, values), n in homes if where == place]
    holders: Counter[tuple[object, object]] = Counter()
    members: Counter[object] = Counter()
    spouses = young = 0
    for (home, role, age), n in persons:
        holders[home, age] += n * (role == "holder")
        members[home] += n * (home != "quarters")
        spouses += n * (role == "spouse")
        young += n * (age == "young")
    heads: Counter[tuple[object, object]] = Counter()
    sizes: Counter[object] = Counter()
    large: set[object] = set()
    couples = with_young = room = open_homes = 0
    for (vacancy, size, kind, holder, minors), n in units:
        assert isinstance(size, int)
        if vacancy == "occupied":
            heads[kind, holder] += n
            sizes[kind] += n * size
            large |= {kind} if size == 3 else set()
        couples += n * (kind == "couple")
        if minors == "somebody":
            with_young += n
            room += n * (size - 1)
            open_homes += size == 3
    if +holders != +heads or spouses != couples:
        return False
    for name in {*members, *sizes}:
        if members[name] < sizes[name] or (name not in large and members[name] != sizes[name]):
            return False
    return with_young <= young and (open_homes > 0 or young <= room)


def ask(
    people: Publication,
    homes: Publication,
    members: Publication | None = None,
    *,
    listed: int = 0,
) -> Answer:
    """What the releases together prove.

    Args:
        listed: Compositions of a place at most; 0: who lives with whom is not asked.
    """
    first, second, joint = releases()
    one = PartInput(first, first.tables, people.coverage)
    other = PartInput(second, second.tables, homes.coverage)
    parts, partners = [one, other], [homes]
    if members is not None:
        third, joint = with_members()
        parts.append(PartInput(third, third.tables, members.coverage))
        partners.append(members)
    question = JointQuestion.of(joint, parts, section(listed))
    return question.ask(RegionData(people, partners=tuple(partners), partition="S"))


@dataclass(frozen=True)
class Compared:
    """Claims about one kind of records beside all towns with the same counts.

    Attributes:
        claims: How many, of towns that differ in their counts.
        joint: Of them those that only the releases together prove.
        unsound: Towns with a claim that does not hold in all of these towns.
        complete: Signatures with all claims that hold in all of their towns.
    """

    claims: int
    joint: int
    unsound: int
    complete: int


@dataclass(frozen=True)
class Towns:
    """Every town of a few households.

    Attributes:
        towns: How many.
        signatures: How many are left if those with the same counts are taken for one.
        shared: Of them those that several towns have.
        kinds: Of people, and of homes.
    """

    towns: int
    signatures: int
    shared: int
    kinds: tuple[Compared, Compared]


def check_towns(most: int, *, has_members: bool, step: int = 1) -> Towns:
    """Take every town of 1 to so many households (of `compositions`) as the truth once.

    Other towns may have the same counts, too: with households that are not among these.

    Args:
        most: Up to 3: geoids have four digits.
        has_members: Whether people are also published by their households.
        step: One in this many counts that towns have is asked about.
    """
    every = compositions()
    kinds = [each for n in range(1, most + 1) for each in choices(range(len(every)), n)]
    homes = [(f"S{at:04d}1", every[kind]) for at, chosen in enumerate(kinds) for kind in chosen]
    alike = _alike(homes, has_members=has_members)[::step]
    homes = _of_places(homes, alike)
    answer = ask(*_parts(homes, has_members=has_members))
    truth = [_by_place(frame) for frame in records(homes)]
    return Towns(
        sum(map(len, alike)),
        len(alike),
        sum(len(towns) > 1 for towns in alike),
        (
            _compared(answer.frames["joint"], truth[0], alike),
            _compared(answer.frames["joint_partner"], truth[1], alike),
        ),
    )


def _parts(homes: list[tuple[str, HOUSEHOLD]], *, has_members: bool) -> tuple[Publication, ...]:
    """The publications of towns."""
    places = sorted({place for place, _ in homes})
    both = published(homes, places=places)
    return (*both, publish_members(homes, places)) if has_members else both


def _alike(homes: list[tuple[str, HOUSEHOLD]], *, has_members: bool) -> list[list[str]]:
    """The towns with the same counts, for all counts that there are."""
    counts = [
        _by_place(part.counts.with_columns(pl.col("geoid").str.head(5)))
        for part in _parts(homes, has_members=has_members)
    ]
    alike: dict[object, list[str]] = defaultdict(list)
    for place in sorted({place for place, _ in homes}):
        alike[tuple(frozenset(each[place[:5]].items()) for each in counts)].append(place)
    return list(alike.values())


def _of_places(
    homes: list[tuple[str, HOUSEHOLD]], alike: list[list[str]]
) -> list[tuple[str, HOUSEHOLD]]:
    places = {place for towns in alike for place in towns}
    return [(place, members) for place, members in homes if place in places]


def _compared(
    claims: pl.DataFrame, truth: dict[str, Counter[Row]], alike: list[list[str]]
) -> Compared:
    claimed = _by_place(claims.drop("proof"))
    least = {towns[0]: reduce(and_, (truth[town] for town in towns)) for towns in alike}
    unsound = sum(bool(claimed[town] - least[towns[0]]) for towns in alike for town in towns)
    firsts = claims.filter(claims.to_series(0).is_in(list(least)))
    return Compared(
        firsts.height,
        firsts.filter(proof="joint").height,
        unsound,
        sum(claimed[town] == proven for town, proven in least.items()),
    )


def _by_place(rows: pl.DataFrame) -> dict[str, Counter[Row]]:
    """The rows of each place."""
    found: dict[str, Counter[Row]] = defaultdict(Counter)
    for place, *values in rows.iter_rows():
        found[place][tuple(values)] += 1
    return found


@dataclass(frozen=True)
class ComparedHouseholds:
    """Households that are certain with every member, beside all towns with the same counts.

    Attributes:
        towns: How many.
        signatures: How many are left if those with the same counts are taken for one.
        claims: How many, of towns that differ in their counts.
        unique: Of these towns those whose division is said to be unique.
        unsound: Towns with a claim, or said to be unique, that another one with their counts is
            not like.
        complete: Signatures with all claims that hold in all of their towns.
        statuses: What is known of places, and of how many.
    """

    towns: int
    signatures: int
    claims: int
    unique: int
    unsound: int
    complete: int
    statuses: dict[str, int]


def check_households(
    most: int,
    *,
    has_members: bool,
    listed: int,
    every: Sequence[HOUSEHOLD] | None = None,
    step: int = 1,
) -> ComparedHouseholds:
    """Take every town of 1 to so many households as the truth once, and ask who lives with whom.

    Args:
        listed: Compositions of a place at most.
        every: Those that towns are made of; default `compositions`.
        step: One in this many counts that towns have is asked about.
    """
    every = compositions() if every is None else every
    kinds = [each for n in range(1, most + 1) for each in choices(range(len(every)), n)]
    homes = [(f"S{at:04d}1", every[kind]) for at, chosen in enumerate(kinds) for kind in chosen]
    alike = _alike(homes, has_members=has_members)[::step]
    homes = _of_places(homes, alike)
    answer = ask(*_parts(homes, has_members=has_members), listed=listed)
    truth = true_households(homes)
    claimed = told_households(answer)
    units = answer.frames["joint_units"]
    unique = set(units.filter(pl.col("is_division_unique")).to_series(0))
    least = {towns[0]: reduce(and_, (truth[town] for town in towns)) for towns in alike}
    unsound = sum(
        bool(claimed[town] - least[towns[0]])
        or (town in unique and any(truth[town] != truth[other] for other in towns))
        for towns in alike
        for town in towns
    )
    return ComparedHouseholds(
        sum(map(len, alike)),
        len(alike),
        sum(claimed[town].total() for town in least),
        len(unique & set(least)),
        unsound,
        sum(claimed[town] == proven for town, proven in least.items()),
        dict(units["division"].value_counts().iter_rows()),
    )


def true_households(town: Iterable[tuple[str, HOUSEHOLD]]) -> dict[str, Counter[Row]]:
    """The households of each place: their records with those of their members."""
    found: dict[str, Counter[Row]] = defaultdict(Counter)
    for place, members in town:
        if members:
            home, *people = _record_of(members)
            found[place][(home, tuple(sorted(people)))] += 1
    return found


@cache
def _record_of(members: HOUSEHOLD) -> list[Row]:
    """The household's record, then those of its members."""
    people, home = (frame.drop("geoid_block") for frame in records([(UNIT, members)]))
    return [home.row(0), *people.rows()]


def told_households(answer: Answer) -> dict[str, Counter[Row]]:
    """The households of each place that are certain with every member: its record and theirs."""
    members: dict[Row, list[Row]] = defaultdict(list)
    for place, number, times, *values in answer.frames["joint_members"].iter_rows():
        members[place, number] += [tuple(values)] * times
    found: dict[str, Counter[Row]] = defaultdict(Counter)
    for place, number, times, *values in answer.frames["joint_compositions"].iter_rows():
        found[place][(tuple(values), tuple(sorted(members[place, number])))] += times
    return found


def section(compositions: int = 0) -> Joint:
    """The section of a joint question; its paths name runs that nobody reads."""
    nowhere = Path("nowhere")
    return Joint(
        partner=nowhere, links="none", unit_seconds=20.0, compositions=compositions, seed=1
    )
