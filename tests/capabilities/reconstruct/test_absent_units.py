"""Units that are not in the files: nobody lives there only where published zeros prove it."""

from __future__ import annotations

from collections import Counter
from typing import Any

import polars as pl
import pytest

import recon_cli as recon
from recon_cli.frames import COUNTS
from recon_cli.publication import Publication
from recon_cli.schema import Release, parse_release
from recon_cli.statement import Protection, Statement, parse_law


def release_of(
    families: str,
    features: str = "sex: {categories: [f, m]}",
    levels: str = "[{level: block, digits: 4}, {level: tract, digits: 2}]",
    partition: str = "tract",
) -> Release:
    names = ", ".join(part.split(":")[0] for part in features.split("; "))
    return parse_release(
        "release: t\ntitle: Blocks in tracts\n"
        f"features: {{{features.replace('; ', ', ')}}}\n"
        f"geography: {{levels: {levels}, partition: {partition}}}\n"
        f"microdata: [{names}]\nhistogram: [{names}]\nfamilies:\n{families}",
        source="blocks",
    )


BLOCKS = release_of("  - {levels: [block, tract], cells: [total, {by: sex}], tables: {T: {}}}\n")
TRACT = [("A1", 1, 6), ("A1", 2, 4), ("A1", 3, 2)]


def published(
    rows: list[tuple[str, int, int]], law: Any, release: Release = BLOCKS, **options: Any
) -> Publication:
    counts = pl.DataFrame(
        [(geoid, "T", cell, count) for geoid, cell, count in rows], schema=COUNTS, orient="row"
    )
    blocks = Protection((Statement(parse_law(law), levels=("block",)),))
    return recon.publish(release, counts, protection=blocks, **options)


def certain(release: Release, counts: Publication) -> dict[tuple[Any, ...], int]:
    records = recon.reconstruct(release, counts).microdata
    sure = records.filter("certain").select(release.geoid_column, *release.histogram)
    return dict(Counter(sure.iter_rows()))


def test_a_block_whose_counts_were_all_rounded_to_zero_may_have_people() -> None:
    """A101 has 3 f and 2 m, A102 one f, of which nothing is left but the tract's total."""
    counts = published(
        [*TRACT, ("A101", 1, 6), ("A101", 2, 3), ("A101", 3, 3)], {"rounded": {"base": 3}}
    )
    assert counts.geounits["geoid"].to_list() == ["A101", "A1__", "A1"]
    assert certain(BLOCKS, counts) == {("A101", "f"): 2, ("A101", "m"): 1}
    assert "unique" not in recon.reconstruct(BLOCKS, counts).blocks["status"].to_list()
    assert "recovered" not in recon.audit_counts(BLOCKS, counts)["status"].to_list()


@pytest.mark.parametrize(
    "law",
    [
        {"zeroed": {"below": 3}},
        {"rounded": {"base": 5, "how": "nearest"}},
        {"cellkey": {"max": 2, "variance": 1.08, "never": [1]}},
        {"gaussian": {"variance": 1.0}},
        {"randomized": {"people": 9, "inside": 0.9, "outside": 0.1}},
    ],
)
def test_whatever_a_law_publishes_as_zero_an_absent_block_may_hide(law: Any) -> None:
    counts = published([*TRACT, ("A101", 1, 5)], law)
    assert "A1__" in counts.geounits["geoid"]
    zeros = counts.coverage[counts.geounits.filter(geoid="A1__")["pattern"][0]]
    assert not zeros.cells
    assert not zeros.is_listed


def test_a_block_below_the_threshold_of_zeroing_is_no_contradiction() -> None:
    """A101 has 3 f and 2 m, which are zeroed; the other f is in a block without a row."""
    counts = published([*TRACT, ("A101", 1, 5), ("A101", 2, 3)], {"zeroed": {"below": 3}})
    assert certain(BLOCKS, counts) == {("A101", "f"): 3, ("A101", "m"): 2, ("A1__", "f"): 1}


def test_a_list_says_that_there_are_no_other_blocks() -> None:
    rows = [*TRACT, ("A101", 1, 6), ("A101", 2, 3), ("A101", 3, 3)]
    alone = published(rows, {"rounded": {"base": 3}}, geounits=["A101"])
    assert certain(BLOCKS, alone) == {("A101", "f"): 4, ("A101", "m"): 2}
    both = published(rows, {"rounded": {"base": 3}}, geounits=["A101", "A102"])
    assert certain(BLOCKS, both) == {("A101", "f"): 2, ("A101", "m"): 1}


@pytest.mark.parametrize("law", ["exact", {"suppressed": {"below": 2}}])
def test_zeros_that_are_true_leave_no_other_block(law: Any) -> None:
    rows = [*TRACT, ("A101", 1, 6), ("A101", 2, 4), ("A101", 3, 2)]
    assert published(rows, law).geounits["geoid"].to_list() == ["A101", "A1"]


def test_zeros_of_women_say_nothing_of_men() -> None:
    """Blocks are published of women alone: whoever has none may have men."""
    release = release_of(
        "  - {levels: [block], cells: [total], tables: {T: {universe: {sex: [f]}}}}\n"
        "  - {levels: [tract], cells: [total, {by: sex}], tables: {ALL: {}}}\n"
    )
    rows = pl.DataFrame(
        [("A101", "T", 1, 4), ("A1", "ALL", 1, 6), ("A1", "ALL", 2, 4), ("A1", "ALL", 3, 2)],
        schema=COUNTS,
        orient="row",
    )
    counts = recon.publish(release, rows)
    assert counts.geounits["geoid"].to_list() == ["A101", "A1__", "A1"]
    assert certain(release, counts) == {("A101", "f"): 4}


def test_a_tract_of_whose_blocks_none_has_a_row() -> None:
    rows = [*TRACT, ("A101", 1, 6), ("A2", 1, 2), ("A2", 2, 1), ("A2", 3, 1)]
    counts = published(rows, {"rounded": {"base": 3}})
    assert certain(BLOCKS, counts)["A2__", "f"] == 1
    assert recon.verify(BLOCKS, counts, recon.reconstruct(BLOCKS, counts).microdata).ok


def test_a_release_of_tracts_alone_places_people_in_blocks_that_are_not_listed() -> None:
    counts = published(TRACT, "exact")
    assert counts.geounits["geoid"].to_list() == ["A1__", "A1"]
    assert certain(BLOCKS, counts) == {("A1__", "f"): 4, ("A1__", "m"): 2}
    assert recon.reconstruct(BLOCKS, counts).blocks["status"].to_list() == ["open"]


def test_nobody_at_all() -> None:
    for law in ("exact", {"rounded": {"base": 3}}, {"zeroed": {"below": 3}}):
        counts = published([("A1", 1, 0), ("A101", 1, 0)], law)
        result = recon.reconstruct(BLOCKS, counts)
        assert result.microdata.is_empty()
        assert recon.verify(BLOCKS, counts, result.microdata).ok


def test_a_law_of_a_table_that_is_not_there() -> None:
    """Cell keys, which have costs, of a table that nothing is published of; the other has none."""
    release = release_of(
        "  - {levels: [block], cells: [total, {by: sex}], tables: {T: {}, U: {}}}\n"
    )
    rows = pl.DataFrame([("A101", "T", 1, 5)], schema=COUNTS, orient="row")
    protection = Protection(
        (
            Statement(parse_law({"rounded": {"base": 5, "how": "nearest"}}), ("T",)),
            Statement(parse_law({"cellkey": {"max": 1, "variance": 0.6}}), ("U",)),
        )
    )
    counts = recon.publish(release, rows, absent="unpublished", protection=protection)
    result = recon.reconstruct(release, counts)
    assert recon.verify(release, counts, result.microdata).ok


def test_a_listed_block_of_which_nothing_is_published_is_open() -> None:
    counts = published(
        [("A101", 1, 0)], {"rounded": {"base": 5}}, absent="unpublished", geounits=["A101", "A201"]
    )
    result = recon.reconstruct(BLOCKS, counts)
    assert dict(result.blocks.select("geoid_block", "status").rows())["A201"] == "open"


def test_a_place_whose_blocks_are_proven_empty_has_its_counts_audited() -> None:
    """Blocks are exact: A2 has none with a row, so that nobody lives there, whatever noise says."""
    release = release_of(
        "  - {levels: [block, tract, county], cells: [total, {by: sex}], tables: {T: {}}}\n",
        levels="[{level: block, digits: 4}, {level: tract, digits: 2}, {level: county, digits: 1}]",
        partition="county",
    )
    counts = pl.DataFrame(
        [("A101", "T", 1, 2), ("A101", "T", 2, 2), ("A1", "T", 1, 1), ("A2", "T", 1, 3)],
        schema=COUNTS,
        orient="row",
    )
    noisy = Protection((Statement(parse_law({"gaussian": {"variance": 1.0}}), levels=("tract",)),))
    audit = recon.audit_counts(release, recon.publish(release, counts, protection=noisy))
    of_a2 = audit.filter(geoid="A2").select("cell", "least", "greatest", "is_exact", "status")
    assert of_a2.rows() == [(cell, 0, 0, True, "recovered") for cell in (1, 2, 3)]
