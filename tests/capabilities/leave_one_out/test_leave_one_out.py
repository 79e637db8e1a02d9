"""Leave-one-out against enumeration of every solution, and against what ε allows."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from recon_cli.capabilities.leave_one_out.again import attack_again
from recon_cli.capabilities.leave_one_out.options import LeaveOneOut
from recon_cli.capabilities.leave_one_out.question import leave_out
from recon_cli.capabilities.leave_one_out.reference import largest_gain
from recon_cli.capabilities.solvar.histogram import histogram_columns
from recon_cli.errors import ConfigError, SourceError
from recon_cli.publication import Publication
from recon_cli.schema import Release, parse_release
from tests.support.enumeration import Record, Solution, TooManyError, solutions
from tests.support.populations import (
    publish,
    random_records,
    random_release,
    random_units,
    suppressed,
)
from tests.support.properties import SEEDS, examples
from tests.support.protecting import protect

Labels = tuple[str, tuple[Any, ...]]


def every_solution(release: Release, published: Publication) -> set[Solution]:
    try:
        return solutions(release, published, release.tables, limit=600)
    except TooManyError:
        assume(False)
        raise


def without(records: pl.DataFrame, row: int) -> pl.DataFrame:
    return records.filter(pl.int_range(pl.len()) != row)


def label(release: Release, columns: Iterable[str], record: Record) -> Labels:
    """The unit and the histogram columns of a record."""
    unit, values = record
    labels = []
    for name in columns:
        group = release.column_groups(name)
        f = release.feature_index[group.feature]
        at = release.features[f].position[values[f]]
        places = zip(group.labels, group.masks, strict=True)
        labels.append(next(each for each, mask in places if mask >> at & 1))
    return unit, tuple(labels)


class Oracle:
    """What all solutions say of one person, by looking at each of them."""

    def __init__(
        self, release: Release, columns: tuple[str, ...], gains: set[str], every: set[Solution]
    ) -> None:
        self.is_gained = [name in gains for name in columns]
        self.counts: list[Counter[Labels]] = []
        for solution in every:
            counted: Counter[Labels] = Counter()
            for record, n in solution:
                counted[label(release, columns, record)] += n
            self.counts.append(counted)

    def known(self, person: Labels) -> Labels:
        kept = zip(person[1], self.is_gained, strict=True)
        return person[0], tuple(value for value, is_gained in kept if not is_gained)

    def is_certain(self, person: Labels) -> bool:
        return all(counted[person] >= 1 for counted in self.counts)

    def is_settled(self, person: Labels) -> bool:
        for counted in self.counts:
            alike = {other for other in counted if self.known(other) == self.known(person)}
            if alike != {person}:
                return False
        return True

    def shares(self, person: Labels) -> list[float]:
        """The share of the reference class with the gained values, in every solution."""
        return [self._share(counted, person) for counted in self.counts]

    def _share(self, counted: Counter[Labels], person: Labels) -> float:
        def gained(one: Labels) -> list[Any]:
            return [v for v, is_gained in zip(one[1], self.is_gained, strict=True) if is_gained]

        for scope in (
            lambda other: self.known(other) == self.known(person),
            lambda other: other[0] == person[0],
            lambda _: True,
        ):
            inside = {other: n for other, n in counted.items() if scope(other)}
            if inside:
                right = sum(n for other, n in inside.items() if gained(other) == gained(person))
                return right / sum(inside.values())
        return 0.0


@examples(10)
@given(seed=SEEDS, people=st.integers(1, 5), hide=st.booleans())
def test_both_worlds_equal_enumeration(seed: int, people: int, hide: bool) -> None:
    release = random_release(seed)
    units = random_units(release, seed, 3)
    records = random_records(release, seed, people, units)

    def published_of(some: pl.DataFrame) -> Publication:
        published = publish(release, some, units)
        return suppressed(release, published, seed) if hide else published

    published = published_of(records)
    assume(release.geography.unit.name in published.geounits["level"])
    columns = histogram_columns(release, release.tables, published.coverage)
    assume(columns)
    gains = columns[seed % len(columns) :]
    compare_both_worlds(release, records, gains, published_of)


#: What is known of people, and what is gained, by margins of four units at most.
MARGINS = parse_release(
    "release: margins\ntitle: Margins\n"
    "features: {sex: {categories: [w, m]}, eyes: {categories: [blue, brown, green]}}\n"
    "geography: {levels: [{level: plot, digits: 2}, {level: ward, digits: 1}], partition: ward}\n"
    "microdata: [sex, eyes]\nhistogram: [sex, eyes]\n"
    "families: [{levels: [plot], cells: [total, {by: sex}, {by: eyes}], tables: {T: {}}}]\n",
    source="margins",
)


@pytest.mark.parametrize("gains", [("eyes",), ("sex",), ("sex", "eyes")])
@pytest.mark.parametrize("seed", range(4))
def test_what_is_known_tells_people_apart(seed: int, gains: tuple[str, ...]) -> None:
    random = np.random.default_rng(seed)
    people = [
        (f"A{random.integers(1, 3)}", *(str(random.choice(f.values)) for f in MARGINS.features))
        for _ in range(6)
    ]
    records = pl.DataFrame(people, schema=["geoid_plot", "sex", "eyes"], orient="row")
    compare_both_worlds(MARGINS, records, gains, lambda some: publish(MARGINS, some, ["A1", "A2"]))


def compare_both_worlds(
    release: Release,
    records: pl.DataFrame,
    gains: tuple[str, ...],
    published_of: Callable[[pl.DataFrame], Publication],
) -> None:
    """Compare what is concluded of each person, counted and left out, with all solutions."""
    published = published_of(records)
    columns = histogram_columns(release, release.tables, published.coverage)
    units = published.geounits.filter(level=release.geography.unit.name)["geoid"]
    is_one_region = len({release.region.enclosing(unit) for unit in units}) == 1
    features = {release.column_groups(name).feature for name in gains}
    gained = {name for name in columns if release.column_groups(name).feature in features}
    options = LeaveOneOut(gains=tuple(gains), seed=1, solutions=3, seconds=10.0)
    found = leave_out(release, published, release.tables, records, options)
    assert found["people"].sum() == records.height

    included = Oracle(release, columns, gained, every_solution(release, published))
    names = [release.geoid_column, *(feature.name for feature in release.features)]
    everybody = [(unit, tuple(values)) for unit, *values in records.select(names).iter_rows()]
    for row, record in enumerate(everybody):
        person = label(release, columns, record)
        mine = found.filter(
            pl.all_horizontal(
                pl.col(name) == value
                for name, value in zip(
                    (release.geoid_column, *columns), (person[0], *person[1]), strict=True
                )
            )
        )
        assert mine.height >= 1
        if (mine["status"] == "open").any():
            continue
        left = Oracle(
            release,
            columns,
            gained,
            every_solution(release, published_of(without(records, row))),
        )
        assert (mine["status"] == "complete").all()
        assert set(mine["settled"]) == {included.is_settled(person)}
        assert set(mine["certain"]) == {included.is_certain(person)}
        assert left.is_settled(person) in set(mine["settled_without"])
        assert left.is_certain(person) in set(mine["certain_without"])
        if mine.height == 1 and is_one_region:  # whose people are the widest reference class
            for oracle, name in ((included, "chance"), (left, "chance_without")):
                shares = oracle.shares(person)
                assert min(shares) - 1e-9 <= mine[name][0] <= max(shares) + 1e-9


@examples(10)
@given(seed=SEEDS, people=st.integers(1, 5))
def test_without_a_person_are_the_solutions_with_the_record_less_the_record(
    seed: int, people: int
) -> None:
    release = random_release(seed)
    units = random_units(release, seed, 3)
    records = random_records(release, seed, people, units)
    every = every_solution(release, publish(release, records, units))
    names = [release.geoid_column, *(feature.name for feature in release.features)]
    unit, *values = records.select(names).row(0)
    person = (unit, tuple(values))
    mentioned = {record for solution in every for record, _ in solution}
    assume(person in mentioned)
    expected = set()
    for solution in every:
        counted = Counter(dict(solution))
        if counted[person]:
            counted[person] -= 1
            expected.add(frozenset((+counted).items()))
    left = every_solution(release, publish(release, without(records, 0), units))
    assert left == expected


def test_a_sample_is_the_same_for_any_order_of_records() -> None:
    release = random_release(3)
    units = random_units(release, 3, 3)
    records = random_records(release, 3, 40, units)
    published = publish(release, records, units)
    columns = histogram_columns(release, release.tables, published.coverage)
    options = LeaveOneOut(gains=columns[:1], seed=1, solutions=2, seconds=1.0, people=20)
    first = leave_out(release, published, release.tables, records, options)
    assert 0 < first["people"].sum() < 40
    other = leave_out(release, published, release.tables, records.reverse(), options)
    assert first.equals(other)


def test_where_nobody_is_chosen_nothing_is_concluded() -> None:
    release = random_release(3)
    units = random_units(release, 3, 3)
    records = random_records(release, 3, 10, units)
    columns = histogram_columns(release, release.tables, publish(release, records, units).coverage)
    options = LeaveOneOut(gains=columns[:1], seed=1, solutions=2, seconds=1.0)

    def published_of(some: pl.DataFrame) -> Publication:
        return publish(release, some, units)

    some = attack_again(release, release.tables, records, published_of, options, share=0.2)
    none = attack_again(release, release.tables, records, published_of, options, share=1e-9)
    assert none.is_empty()
    assert none.schema == some.schema


def test_records_of_other_counts_are_refused() -> None:
    release = random_release(3)
    units = random_units(release, 3, 3)
    records = random_records(release, 3, 20, units)
    published = publish(release, records, units)
    columns = histogram_columns(release, release.tables, published.coverage)
    options = LeaveOneOut(gains=columns[:1], seed=1, solutions=2, seconds=1.0)
    with pytest.raises(SourceError, match="the records that were tabulated"):
        leave_out(release, published, release.tables, without(records, 0), options)
    unseen = options.model_copy(update={"gains": ()})
    with pytest.raises(ConfigError, match="tell nothing of"):
        leave_out(release, published, release.tables, records, unseen)


@examples(6)
@given(seed=SEEDS, people=st.integers(1, 4), exact=st.sampled_from([0.3, 1.0]))
def test_the_attack_from_scratch_equals_enumeration(seed: int, people: int, exact: float) -> None:
    release = random_release(seed)
    units = random_units(release, seed, 2)
    records = random_records(release, seed, people, units)
    plain = publish(release, records, units)
    assume(release.geography.unit.name in plain.geounits["level"])

    def published_of(some: pl.DataFrame) -> Publication:
        return protect(release, publish(release, some, units), seed, exact=exact)

    columns = histogram_columns(release, release.tables, plain.coverage)
    assume(columns)
    options = LeaveOneOut(gains=columns[-1:], seed=1, solutions=2, seconds=10.0)
    features = {release.column_groups(name).feature for name in columns[-1:]}
    gained = {name for name in columns if release.column_groups(name).feature in features}
    found = attack_again(release, release.tables, records, published_of, options)
    assert found["people"].sum() == people
    included = Oracle(release, columns, gained, every_solution(release, published_of(records)))
    names = [release.geoid_column, *(feature.name for feature in release.features)]
    distinct = list(dict.fromkeys(records.select(names).iter_rows()))
    assert len(distinct) == found.height
    for at, (unit, *values) in enumerate(distinct):
        if found["status"][at] == "open":
            continue
        person = label(release, columns, (unit, tuple(values)))
        row = records.select(names).rows().index((unit, *values))
        every = every_solution(release, published_of(without(records, row)))
        left = Oracle(release, columns, gained, every)
        assert found["settled"][at] == included.is_settled(person)
        assert found["certain"][at] == included.is_certain(person)
        assert found["settled_without"][at] == left.is_settled(person)
        assert found["certain_without"][at] == left.is_certain(person)


def geometric(epsilon: float, reach: int) -> tuple[list[int], np.ndarray[Any, Any]]:
    """The two-sided geometric mechanism's noise and its probabilities, cut off at ``reach``."""
    alpha = math.exp(-epsilon)
    values = list(range(-reach, reach + 1))
    return values, np.array([(1 - alpha) / (1 + alpha) * alpha ** abs(v) for v in values])


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 2.0])
@pytest.mark.parametrize(("counts", "own"), [((1, 0), 0), ((3, 1), 0), ((0, 2), 1), ((5, 5), 1)])
def test_noise_bounds_what_leaving_out_shows(
    epsilon: float, counts: tuple[int, int], own: int
) -> None:
    """The expected chance of an attack on noisy counts, summed over all noise, in both worlds."""
    noise, probability = geometric(epsilon, 400 if epsilon < 0.5 else 120)

    def expected(true: tuple[int, int]) -> float:
        first, second = (np.maximum(np.array(noise) + n, 0) for n in true)
        mine, other = (first, second) if own == 0 else (second, first)
        mine, other = (mine[:, None], other) if own == 0 else (mine, other[:, None])
        total = mine + other
        share = np.where(total > 0, mine / np.maximum(total, 1), 0.5)
        return float(probability @ share @ probability)

    left = tuple(n - (at == own) for at, n in enumerate(counts))
    gain = expected(counts) - expected((left[0], left[1]))
    assert 0 < gain <= largest_gain(epsilon)


def test_the_bound_is_attained_by_randomised_response() -> None:
    for epsilon, truth in itertools.product((0.0, 0.3, 1.0, 4.0), (0, 1)):
        said = math.exp(epsilon) / (1 + math.exp(epsilon))
        chance = {0: 1 - said, 1: said}
        assert chance[1] - chance[0] == pytest.approx(largest_gain(epsilon)), truth
    with pytest.raises(ValueError, match="at least 0"):
        largest_gain(-0.1)
