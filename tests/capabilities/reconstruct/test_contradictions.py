"""Contradicting counts against brute force: what is called least is, and changing it is enough."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from recon_cli.capabilities.reconstruct import contradictions
from recon_cli.capabilities.reconstruct.question import reconstruct
from recon_cli.errors import ContradictionError
from recon_cli.frames import COUNTS
from recon_cli.publication import Publication
from recon_cli.schema import Release, parse_release
from tests.support.enumeration import TooManyError, least_changes
from tests.support.populations import publish, random_records, random_release, random_units

CellKey = tuple[str, str, int]
#: Cells that a message lists.
SHOWN = 8
SEEDS = st.integers(0, 2**32 - 1)
few = settings(
    max_examples=min(int(os.environ.get("RECON_EXAMPLES", "10")), 400),
    deadline=None,
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
)


@dataclass(frozen=True)
class Message:
    """What an error says."""

    is_least: bool
    region: str
    total: int
    changes: dict[CellKey, tuple[int, int]]
    has_alternative: bool


def read(error: ContradictionError) -> Message:
    text = str(error)
    head = re.search(
        r"(the least change|a change, not proven least,) that makes all counts of \w+ (\S+) "
        r"possible is (\d+) in (\d+) cells?: ",
        text,
    )
    assert head, text
    changes = {
        (geoid, table, int(cell)): (int(old), int(new))
        for geoid, table, cell, old, new in re.findall(
            r"\w+ (\S+) table (\w+) cell (\d+) \([^)]+\): (\d+) → (\d+)", text
        )
    }
    assert len(changes) == min(int(head[4]), SHOWN)
    has_alternative = "; others, of other cells, are as small" in text
    return Message(head[1] == "the least change", head[2], int(head[3]), changes, has_alternative)


def with_count(
    published: Publication, geoid: str, table: str, cell: int, count: int
) -> Publication:
    others = published.counts.filter(
        ~((pl.col("geoid") == geoid) & (pl.col("table") == table) & (pl.col("cell") == cell))
    )
    row = pl.DataFrame([(geoid, table, cell, count)], schema=COUNTS, orient="row")
    counts = pl.concat([others, row.filter(pl.col("count") > 0)])
    return Publication(published.geounits, counts, published.coverage)


def published_cells(release: Release, published: Publication) -> Iterator[CellKey]:
    for geoid, pattern in published.geounits.select("geoid", "pattern").iter_rows():
        for table, numbers in published.coverage[pattern].cells.items():
            yield from ((geoid, table, number) for number in numbers)


def contradicting(release: Release, seed: int, people: int, wrong: int) -> Publication:
    """A release whose counts are wrong in at most so many cells."""
    rng = np.random.default_rng([seed, 9])
    units = random_units(release, seed, 3)
    records = random_records(release, seed, people, units)
    published = publish(release, records, units)
    cells = list(published_cells(release, published))
    for at in rng.integers(0, len(cells), wrong).tolist():
        geoid, table, cell = cells[at]
        published = with_count(published, geoid, table, cell, int(rng.integers(0, 4)))
    return published


@few
@given(seed=SEEDS, people=st.integers(0, 4), wrong=st.integers(1, 3))
def test_the_least_change_against_brute_force(seed: int, people: int, wrong: int) -> None:
    release = random_release(seed)
    published = contradicting(release, seed, people, wrong)
    assume(release.geography.unit.name in published.geounits["level"])
    mended = 0
    while True:
        try:
            reconstruct(release, published, release.tables, seed=1)
            break
        except ContradictionError as error:
            message = read(error)
        try:
            least = least_changes(release, published, release.tables, message.region)
        except TooManyError:
            assume(False)
        named = Counter({cell: new - old for cell, (old, new) in message.changes.items()})
        assert message.is_least
        assert message.total == sum(map(abs, least[0].values())) > 0
        if len(message.changes) < SHOWN:
            assert named in least
            assert message.has_alternative == any(
                overlap(named, other) < message.total for other in least
            )
        for (geoid, table, cell), (_, count) in message.changes.items():
            published = with_count(published, geoid, table, cell, count)
        mended += 1
        assert mended <= 10
    assume(mended)


def overlap(change: Counter[CellKey], other: Counter[CellKey]) -> int:
    """By how much another change changes the same cells in the same direction."""
    return sum(abs(other[cell]) for cell, step in change.items() if other[cell] * step > 0)


PLOTS = parse_release(
    """
release: plots
title: Plots
features: {sex: {categories: [m, f]}}
geography: {levels: [{level: plot, digits: 4}, {level: ward, digits: 2}], partition: ward}
microdata: [sex]
histogram: [sex]
families:
  - {levels: [plot, ward], cells: [total, {by: sex}], tables: {T: {}}}
""",
    source="plots",
)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (
            [("0101", 1, 3)],
            r"the least change that makes the counts of plot 0101, taken alone, possible is 1 in "
            r"1 cell: plot 0101 table T cell \d .*; others, of other cells, are as small",
        ),
        (
            [("01", 1, 5), ("01", 2, 3)],
            r"ward 01 table T cell 1 .*: published 5, its plots sum to 4; "
            r"ward 01 table T cell 2 .*: published 3, its plots sum to 2",
        ),
    ],
)
def test_a_region_with_too_many_unknowns(
    wrong: list[tuple[str, int, int]], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = pl.DataFrame(
        {"geoid_plot": ["0101", "0101", "0102", "0102"], "sex": ["m", "f", "m", "f"]}
    )
    published = publish(PLOTS, records)
    for geoid, cell, count in wrong:
        published = with_count(published, geoid, "T", cell, count)
    with pytest.raises(ContradictionError, match="the least change that makes all counts of ward"):
        reconstruct(PLOTS, published, PLOTS.tables, seed=1)
    # Two kinds of people in each of two plots: one plot can be enumerated, the ward cannot.
    monkeypatch.setattr(contradictions, "_LARGEST", 2)
    unknown = "; the least change for all counts of ward 01 is not known; does the schema "
    with pytest.raises(ContradictionError, match=message + unknown):
        reconstruct(PLOTS, published, PLOTS.tables, seed=1)
