"""A published zero says what its law makes of it: some p-tables publish one person as none."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import polars as pl
import pytest

import recon_cli as recon
from benchmarks.soundness import releases
from benchmarks.soundness.words import Possible, words_of
from recon_cli.frames import OPEN
from recon_cli.schema import Release, parse_release
from recon_cli.statement import Protection, Statement, load_protection, parse_law
from tests.support.enumeration import Row
from tests.support.properties import draws

_LAW = "cell key"
_SCHEMA = """
release: r
title: t
features: {sex: {categories: [girl, boy]}}
geography: {levels: [{level: school, digits: 2}], partition: school}
microdata: [sex]
histogram: [sex]
families:
- {levels: [school], cells: [{by: sex}], tables: {T: {}}}
"""


def _random_table(rng: np.random.Generator) -> pl.DataFrame:
    """A p-table of up to six counts, in which zero need not stay, nor anything become zero."""
    last, rows = int(rng.integers(2, 6)), []
    for count in range(last):
        targets = rng.permutation(2 + count // 2)[: rng.integers(1, 3)].tolist()
        targets = [1] if count == 0 and rng.random() < 0.6 else targets
        rows += [(count, target, 1 / len(targets)) for target in targets]
    return pl.DataFrame([*rows, (last, last, 1.0)], schema=["i", "j", "p"], orient="row")


def _law(folder: Path, table: pl.DataFrame) -> dict[str, Any]:
    table.write_csv(folder / "pt.csv")
    return {"cellkey": {"table": str(folder / "pt.csv")}}


def _published(law: dict[str, Any], **counts: int) -> tuple[Release, Any]:
    """One school, with the counts of girls and boys that are given."""
    release = parse_release(_SCHEMA, source="r.yaml")
    numbers = {"girl": 1, "boy": 2}
    rows = [("A1", "T", numbers[sex], n) for sex, n in counts.items()]
    frame = pl.DataFrame(rows, schema=["geoid", "table", "cell", "count"], orient="row")
    protection = Protection((Statement(parse_law(law)),))
    return release, recon.publish(release, frame, protection=protection, absent="zero")


@pytest.mark.parametrize("counts", [{"girl": 0, "boy": 2}, {"boy": 2}])
def test_a_zero_that_only_a_one_becomes_is_a_one(tmp_path: Path, counts: dict[str, int]) -> None:
    """With a row or without one: ``ptable_zero_safe`` of the cases."""
    table = pl.DataFrame({"i": [0, 1, 2], "j": [1, 0, 2], "p": [1.0, 1.0, 1.0]})
    release, published = _published(_law(tmp_path, table), **counts)
    found = recon.audit_counts(release, published)
    rows = found.select("cell", "least", "greatest", "status").rows()
    assert rows == [(1, 1, 1, "recovered")]
    result = recon.reconstruct(release, published, seed=1)
    assert sorted(result.microdata["sex"]) == ["boy", "boy", "girl"]
    verified = recon.verify(release, published, result.microdata)
    assert verified.ok
    assert published.geounits["population"].to_list() == [None]


def test_a_flag_that_one_count_alone_has_is_recovered() -> None:
    """Of ones alone a star is no protection, whatever else is published."""
    release = parse_release(_SCHEMA, source="r.yaml")
    rows = pl.DataFrame({"geoid": "A1", "table": "T", "cell": [1, 2], "count": ["*", "4"]})
    protection = Protection((Statement(parse_law({"suppressed": {"below": 2}})),))
    published = recon.publish(release, rows, protection=protection, absent="zero")
    found = recon.audit_counts(release, published)
    assert found.select("cell", "least", "greatest", "status").rows() == [(1, 1, 1, "recovered")]


def test_where_nobody_is_published_as_zero_an_absent_row_says_nothing(tmp_path: Path) -> None:
    table = pl.DataFrame({"i": [0, 1, 2], "j": [1, 1, 2], "p": [1.0, 1.0, 1.0]})
    release, published = _published(_law(tmp_path, table), boy=2)
    assert published.protection.ends_of_zero("T", "school") == (0, OPEN)
    found = recon.audit_counts(release, published)
    assert found.select("cell", "least", "greatest").rows() == [(1, 0, None)]
    result = recon.reconstruct(release, published, seed=1)
    assert recon.verify(release, published, result.microdata).ok


def test_random_p_tables_are_read_as_they_are_drawn(tmp_path: Path) -> None:
    """Every end is the least or greatest count that the table turns into what is published."""
    rng, seen = np.random.default_rng(3), set()
    release = parse_release(_SCHEMA, source="r.yaml")
    for _ in range(100):
        table = _random_table(rng)
        path = tmp_path / "protection.yaml"
        _law(tmp_path, table)
        path.write_text("statements:\n- {law: {cellkey: {table: pt.csv}}}\n")
        found = load_protection(path, release).ends_of_zero("T", "school")
        last = max(table["i"].to_list())
        counts = table.filter(j=0)["i"].to_list()
        # Counts beyond the last row are changed as that one is: not at all.
        assert last not in counts or last == 0
        assert found == ((min(counts), max(counts)) if counts else (0, OPEN))
        seen.add((found[0] > 0, found[1] > 0, found[1] == OPEN))
    assert len(seen) == 4


@pytest.mark.parametrize("seed", draws(1, 2))
def test_no_word_is_false_under_random_p_tables(tmp_path: Path, seed: int) -> None:
    """Reconstruction, its verification, variability, claims and audit, against enumeration."""
    rng, said, zeros, found = np.random.default_rng(seed), 0, 0, []
    for number in draws(10, 16):
        law = _law(tmp_path, _random_table(rng))
        with mock.patch.dict(releases.LAWS, {_LAW: law}):
            place = number * len(releases.NAMES) + releases.NAMES.index(_LAW)
            tiny = releases.make_release(100 + seed, place)
        if tiny is None:
            continue
        possible = Possible.of(tiny)
        zeros += possible is not None and any(_is_some_zero(tiny, row) for row in possible.rows)
        words = list(words_of(tiny))
        said += len(words)
        found += [f"{number}: {word}" for word in words if word.is_true is False]
    assert not found
    assert said > 50
    assert zeros > 0


def _is_some_zero(tiny: releases.TinyRelease, row: Row) -> bool:
    """Whether a count is published as zero that is none."""
    stated = tiny.published.counts.filter(geoid=row.cell[0], table=row.cell[1], cell=row.cell[2])
    return row.low > 0 and (stated.is_empty() or stated["count"][0] == 0)
