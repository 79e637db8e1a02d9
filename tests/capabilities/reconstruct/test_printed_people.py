"""People over clique tables who print given statistics, against enumeration and a list of cells."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import polars as pl
import pytest

import recon_cli as recon
from recon_cli.capabilities.reconstruct import dense_domain, question
from recon_cli.capabilities.reconstruct.cliques import CliqueForm
from recon_cli.capabilities.tabulate.statistics import print_statistics
from recon_cli.errors import ContradictionError, SolverError
from recon_cli.model.counts import arrange_counts
from recon_cli.model.planning import make_interval_plan
from recon_cli.model.system import build_system
from recon_cli.publication import Publication
from recon_cli.schema import parse_release
from recon_cli.statement import Protection, Statement, parse_law
from tests.support.properties import amount, draws

AGES = "{young: 0, middle: 1, old: 2}"
SCHEMA = f"""
release: wards
title: Wards with statistics of two cliques
features:
  sex: {{categories: [female, male]}}
  ill: {{categories: [false, true]}}
  age: {{categories: [young, middle, old]}}
geography: {{levels: [{{level: ward, digits: 2}}, {{level: city, digits: 1}}], partition: city}}
microdata: [sex, ill, age]
histogram: [sex, ill, age]
structural_zeros:
  - {{when: {{sex: male}}, only: {{age: [young, old]}}, definition: true, why: made up}}
families:
  - {{levels: [ward, city], cells: [total], tables: {{ALL: {{}}}}}}
  - levels: [ward, city]
    cells: [{{by: sex, cells: [{{by: ill}}]}}, {{by: age}}]
    tables: {{COUNT: {{}}}}
  - levels: [ward, city]
    cells: [total, {{by: sex}}]
    tables:
      PERCENT: {{statistic: {{share: {{ill: true}}}}}}
      MEAN: {{statistic: {{mean: age, values: {AGES}}}}}
      MOST: {{statistic: {{maximum: age, values: {AGES}}}}}
      MEDIAN: {{statistic: {{median: age, values: {AGES}, definition: middle}}}}
  - levels: [ward, city]
    cells: [total]
    tables: {{RATIO: {{statistic: {{ratio: {{ill: true}}, to: {{age: old}}}}}}}}
"""
WARDS = parse_release(SCHEMA, source="wards")
KINDS: list[tuple[object, ...]] = [
    kind
    for kind in itertools.product(*(feature.values for feature in WARDS.features))
    if (kind[0], kind[2]) != ("male", "middle")
]
Kind = tuple[object, ...]
People = tuple[Kind, ...]
BASE = 3
#: Whom each cell of COUNT counts.
INSIDE: list[Callable[[Kind], bool]] = [
    *(
        lambda kind, sex=sex, ill=ill: kind[:2] == (sex, ill)
        for sex in ("female", "male")
        for ill in (False, True)
    ),
    *(lambda kind, age=age: kind[2] == age for age in ("young", "middle", "old")),
]


@cache
def texts_of(number: int) -> dict[People, dict[tuple[str, int], str]]:
    """Return what every set of so many people prints."""
    sets = list(itertools.combinations_with_replacement(KINDS, number))
    geoids = {f"W{at:05}": of for at, of in enumerate(sets)}
    names = ["geoid_ward", *(feature.name for feature in WARDS.features)]
    rows = [(geoid, *kind) for geoid, of in geoids.items() for kind in of]
    records = pl.DataFrame(rows, schema=names, orient="row")
    one_a_ward = parse_release(SCHEMA.replace("digits: 2", "digits: 6"), source="wards")
    found: dict[People, dict[tuple[str, int], str]] = {of: {} for of in sets}
    printed = print_statistics(one_a_ward, records, ["ward"], 0)
    for geoid, table, cell, text in printed.iter_rows():
        found[geoids[geoid]][table, cell] = text
    return found


def in_order(people: Iterable[Kind]) -> People:
    return tuple(KINDS[at] for at in sorted(map(KINDS.index, people)))


def counts_of(people: People) -> list[int]:
    return [sum(inside(kind) for kind in people) for inside in INSIDE]


@dataclass(frozen=True)
class Tiny:
    """Two wards and their city.

    Attributes:
        sizes: People of each place.
        said: What is published of the counts of each place, and of what it prints.
        base: Counts are starred, or rounded to multiples of it.
    """

    sizes: dict[str, int]
    shown: dict[str, list[int]]
    texts: dict[str, dict[tuple[str, int], str]]
    base: int | None

    @classmethod
    def draw(
        cls,
        random: np.random.Generator,
        base: int | None,
        tables: frozenset[str],
        share: float = 0.6,
    ) -> Tiny:
        wards = [
            tuple(KINDS[at] for at in sorted(random.integers(len(KINDS), size=n))) for n in (2, 3)
        ]
        city = in_order((*wards[0], *wards[1]))
        people = {"C1": wards[0], "C2": wards[1], "C": city}
        shown = {place: counts_of(of) for place, of in people.items()}
        if base is not None:
            shown = {
                place: [n - n % base + base * int(random.random() * base < n % base) for n in of]
                for place, of in shown.items()
            }
        texts = {
            place: {
                key: text
                for key, text in texts_of(len(of))[of].items()
                if key[0] in tables and random.random() < share
            }
            for place, of in people.items()
        }
        return cls({place: len(of) for place, of in people.items()}, shown, texts, base)

    def publication(self) -> Publication:
        rows = [(place, "ALL", 1, str(size)) for place, size in self.sizes.items()]
        rows += [
            (place, "COUNT", at, "*" if self.base is None else str(count))
            for place, of in self.shown.items()
            for at, count in enumerate(of, start=1)
        ]
        rows += [
            (place, *key, text) for place, of in self.texts.items() for key, text in of.items()
        ]
        stars = {"suppressed": {"below": 6, "flagged": "may-be-zero"}}
        law = stars if self.base is None else {"rounded": {"base": self.base}}
        names = tuple(table.name for table in WARDS.statistics)
        printed = Statement(parse_law({"printed": {"ties": "half_up"}}), names)
        laws = Statement(parse_law(law), ("COUNT",)), printed
        frame = pl.DataFrame(rows, schema=["geoid", "table", "cell", "count"], orient="row")
        return recon.publish(WARDS, frame, protection=Protection(laws))

    def solutions(self) -> list[tuple[People, People]]:
        """Return all people who may have published the same."""
        wards = [
            [of for of in texts_of(self.sizes[place]) if self.fits(place, of)]
            for place in ("C1", "C2")
        ]
        pairs = itertools.product(*wards)
        return [(one, other) for one, other in pairs if self.fits("C", in_order((*one, *other)))]

    def fits(self, place: str, people: People) -> bool:
        counts = zip(self.shown[place], counts_of(people), strict=True)
        if self.base is not None and any(abs(said - true) >= self.base for said, true in counts):
            return False
        return self.texts[place].items() <= texts_of(len(people))[people].items()

    def cost(self, people: Sequence[People]) -> float:
        """Return −log p of the rounded counts of all places; every record costs the same."""
        law = parse_law({"rounded": {"base": self.base}})
        every = {**dict(zip(("C1", "C2"), people, strict=True)), "C": (*people[0], *people[1])}
        pairs = [(self.shown[place], counts_of(of)) for place, of in every.items()]
        return sum(float(law.cost(np.array(said), np.array(true)).sum()) for said, true in pairs)


def people_of(records: pl.DataFrame) -> tuple[People, People]:
    names = [feature.name for feature in WARDS.features]
    wards = [records.filter(pl.col("geoid_ward") == place) for place in ("C1", "C2")]
    one, other = (in_order(of.select(names).rows()) for of in wards)
    return one, other


@contextmanager
def form(is_listed: bool) -> Iterator[None]:
    """Let nothing be solved in the other form."""
    with pytest.MonkeyPatch.context() as patch:
        if is_listed:
            patch.setattr(CliqueForm, "is_narrow", False)
        else:
            patch.delattr(question, "solve_system")
        yield


TABLES = (
    frozenset({"PERCENT", "MEAN", "MOST", "RATIO"}),
    frozenset({"PERCENT", "MEDIAN"}),
)


@pytest.mark.parametrize("is_listed", [False, True])
@pytest.mark.parametrize("tables", TABLES, ids=["exact rows", "medians"])
def test_records_are_among_those_of_enumeration(tables: frozenset[str], is_listed: bool) -> None:
    random = np.random.default_rng(46)
    statuses: Counter[str] = Counter()
    for _ in draws(6, 12):
        tiny = Tiny.draw(random, None, tables)
        published, every = tiny.publication(), tiny.solutions()
        with form(is_listed):
            made = recon.reconstruct(WARDS, published, seed=1)
        found = recon.verify(WARDS, published, made.microdata)
        assert found.ok
        assert found.statistics_compared == sum(len(of) for of in tiny.texts.values())
        assert people_of(made.microdata) in every
        statuses.update(made.blocks["status"])
        for at, (geoid, status) in enumerate(made.blocks.select("geoid_ward", "status").rows()):
            own = [Counter(people[at]) for people in every]
            assert status in {"unique", "solved"}
            assert status == "solved" or len({tuple(sorted(x.items(), key=str)) for x in own}) == 1
            here = made.microdata.filter(pl.col("certain") & (pl.col("geoid_ward") == geoid))
            certain = Counter(here.drop("geoid_ward", "certain").rows())
            assert all(certain <= people for people in own)
    assert statuses["unique"] or "MEDIAN" in tables
    assert statuses["solved"]


@pytest.mark.parametrize(
    ("tables", "is_listed"),
    [*zip(TABLES, (True, False), strict=True), *zip(TABLES, (False, True), strict=True)][
        : amount(2, 4)
    ],
)
def test_statistics_that_nobody_prints_contradict_the_counts(
    tables: frozenset[str], is_listed: bool
) -> None:
    random = np.random.default_rng(57)
    outcomes: Counter[bool] = Counter()
    for _ in draws(2, 4):
        tiny = Tiny.draw(random, None, tables, share=0.4)
        other = Tiny.draw(random, None, tables, share=0.4)
        place = str(random.choice([*tiny.texts]))
        mixed = replace(tiny, texts={**tiny.texts, place: other.texts[place]})
        every = mixed.solutions()
        outcomes[bool(every)] += 1
        if every:
            made = recon.reconstruct(WARDS, mixed.publication(), seed=1)
            assert people_of(made.microdata) in every
            continue
        told = pytest.raises(ContradictionError, match="published statistics contradict the counts")
        with told, form(is_listed):
            recon.reconstruct(WARDS, mixed.publication(), seed=1)
    assert outcomes[True] > 0
    assert outcomes[False] > 0


@pytest.mark.parametrize("tables", TABLES, ids=["exact rows", "medians"])
def test_the_likeliest_people_are_those_of_enumeration(tables: frozenset[str]) -> None:
    random = np.random.default_rng(44)
    statuses: Counter[str] = Counter()
    for _ in draws(6, 12):
        tiny = Tiny.draw(random, BASE, tables)
        published, every = tiny.publication(), tiny.solutions()
        with form(is_listed=False):
            made = recon.reconstruct(WARDS, published, seed=1)
        assert recon.verify(WARDS, published, made.microdata).ok
        mine = people_of(made.microdata)
        assert mine in every
        statuses.update(made.blocks["status"])
        if set(made.blocks["status"]) <= {"likely", "unique"}:
            least = min(tiny.cost(people) for people in every)
            assert tiny.cost(mine) == pytest.approx(least, abs=1e-2)
    assert statuses["likely"]


def test_arrays_of_all_cells_are_refused_beside_statistics() -> None:
    """They have no rows of statistics: nothing may be solved over them."""
    published = Tiny.draw(np.random.default_rng(1), None, TABLES[0]).publication()
    plan = make_interval_plan(WARDS, WARDS.tables, published.coverage)
    counts = arrange_counts(plan, published, joins_statistics=True)
    assert counts.statistics is not None
    with pytest.raises(SolverError, match="printed statistics need a list"):
        build_system(plan, counts, slice(0, 2), most_listed=0)


def test_cells_of_which_arrays_do_not_fit_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dense_domain, "MOST_CELLS", 0)
    published = Tiny.draw(np.random.default_rng(1), None, TABLES[0]).publication()
    made = recon.reconstruct(WARDS, published, seed=1)
    assert recon.verify(WARDS, published, made.microdata).ok
