"""New violations of a candidate beside other publications: `check.scope: new`.

A count is *newly recovered* if all publications together leave one value, while without the
candidate two solutions with different values are known. Of violations about people, those without
the candidate are subtracted: more counts make no certain record uncertain.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import Final

import polars as pl

from recon_cli.capabilities.audit import AUDIT
from recon_cli.capabilities.audit.forcing import forcing_counts
from recon_cli.capabilities.audit.left_out import with_left_out
from recon_cli.capabilities.audit.question import audit_counts
from recon_cli.capabilities.audit.rows import AUDIT as AUDIT_ROWS
from recon_cli.capabilities.audit.rows import Asked
from recon_cli.capabilities.audit.statuses import (
    NARROWED,
    OF_NO_INTEREST,
    RECOVERED,
    SAFE,
    UNDECIDED,
)
from recon_cli.capabilities.check.candidate import can_leave, tables_of
from recon_cli.capabilities.check.evidence import Before, Evidence
from recon_cli.frames import IS_AS_PUBLISHED
from recon_cli.publication import Publication
from recon_cli.schema import Release
from recon_cli.store.protection import read_published

#: Columns that identify a count.
CELL: Final = ["geoid", "table", "cell"]
#: Columns that identify the people whom it counts.
_PEOPLE: Final = ["geoid", "people"]


@dataclass(frozen=True)
class NewCounts:
    """Counts of one partition that all publications together determine.

    Attributes:
        settled: Columns of ``audit/``, and ``before``: the status without the candidate.
        undecided: The same columns for counts that may or may not be determined.
        asked: Number of withheld counts.
        unanswered: Number of examined counts without an answer.
    """

    release: Release
    published: Publication
    settled: pl.DataFrame
    undecided: pl.DataFrame
    asked: int = 0
    unanswered: int = 0

    @property
    def exact(self) -> pl.DataFrame:
        """Return rows of ``tables/`` of the counts that are published exactly; zeros have none."""
        counts = self.published.counts
        return counts if self.published.is_exact else counts.filter(IS_AS_PUBLISHED)

    def with_shown(self, shown: pl.DataFrame, before: Before) -> NewCounts:
        """Add counts that the candidate publishes exactly.

        Args:
            shown: Columns ``geoid, table, cell, count``.
        """
        if shown.is_empty():
            return self
        level = self.release.geography.level_names(pl.col("geoid"))
        rows = shown.with_columns(level=level, least="count", greatest="count")
        told = rows.join(_before(self, rows, before), on=CELL, how="left")
        columns = [name for name in self.settled.columns if name in told.columns]
        return replace(
            self, settled=pl.concat([self.settled, told.select(columns)], how="diagonal_relaxed")
        )

    def because(self, rows: pl.DataFrame) -> list[str]:
        """Describe for each recovered count the least sum of published counts that gives it."""
        values = {(g, t, c): n for g, t, c, n in rows.select(*CELL, "least").iter_rows()}
        words = dict.fromkeys(self.exact.select(CELL).iter_rows(), "published")
        withheld = {cell: count for cell, count in values.items() if cell not in words}
        name = self.release.geography.name_of
        found = forcing_counts(self.release, self.published, self.release.tables, withheld)
        words |= {each.cell: each.words("", name).lstrip(" =,") for each in found}
        return [words.get(cell) or "all published counts together" for cell in values]


def new_counts(now: Evidence, before: Before, sizes: tuple[int, int]) -> Iterator[NewCounts]:
    """Yield the counts that only all publications together determine, partition by partition.

    Counts are not examined if the base determines them, or if a bound of the base or a known
    solution shows that their size is not asked for. Of the others only whether they are determined
    is decided.

    Args:
        sizes: The least and the greatest count that matters.
    """
    base = before.base
    if base is None:
        raise ValueError("the publications beside the candidate were not audited")
    earlier = base.work.open(AUDIT).parts()
    audited = _by_people(now.release, pl.concat([AUDIT_ROWS.to_frame(), *earlier]))
    reaches = pl.col("greatest").is_null() | (pl.col("greatest") >= sizes[0])
    is_known = (pl.col("status") == RECOVERED) | ~reaches | (pl.col("least") > sizes[1])
    for name in now.tables.partitions:
        published = read_published(now.work.path, now.release, name)
        levels = dict.fromkeys(before.options.ask, now.release.tables)
        whole = with_left_out(now.release, published, levels)
        open_counts = _withheld(whole)
        among = _by_people(now.release, open_counts)
        among = among.join(audited.filter(is_known), on=_PEOPLE, how="anti").select(CELL)
        rows = AUDIT_ROWS.to_frame()
        if among.height:
            tables, asked = now.release.tables, Asked(among, with_ends=False, sizes=sizes)
            rows = audit_counts(now.release, published, tables, before.options, asked)
        part = NewCounts(
            now.release,
            published,
            rows.clear(),
            rows.clear(),
            open_counts.height,
            among.height - rows.height,
        )
        found = rows.filter(pl.col("least").is_between(*sizes), status=RECOVERED)
        told = found.join(_before(part, found, before, audited), on=CELL, how="left")
        yield replace(
            part,
            settled=told,
            undecided=rows.filter(
                ~pl.col("status").is_in([RECOVERED, SAFE, NARROWED, OF_NO_INTEREST])
            ),
        )


def _by_people(release: Release, counts: pl.DataFrame) -> pl.DataFrame:
    """Add ``people``: one number for all cells that count the same people."""
    every = [(table.name, cell) for table in release.tables for cell in table.cells]
    numbers: dict[object, int] = {}
    of = [numbers.setdefault((cell.masks, cell.tally), len(numbers)) for _, cell in every]
    rows = [(name, cell.number, n) for (name, cell), n in zip(every, of, strict=True)]
    schema = {"table": pl.String, "cell": pl.Int16, "people": pl.Int32}
    return counts.join(pl.DataFrame(rows, schema=schema, orient="row"), on=["table", "cell"])


def _withheld(published: Publication) -> pl.DataFrame:
    """List ``geoid, table, cell`` of counts that are not published exactly."""
    if published.is_exact:
        return published.counts.select(CELL).clear()
    rows = published.counts.select(*CELL, is_exact=IS_AS_PUBLISHED)
    zeros = [
        (at, table, cell)
        for at, pattern in enumerate(published.coverage)
        for table, cells in pattern.cells.items()
        if not published.protection.is_true_zero(table, pattern.level)
        for cell in cells
    ]
    schema = {"pattern": pl.Int16, "table": pl.String, "cell": pl.Int16}
    places = published.geounits.select("geoid", "pattern")
    absent = places.join(pl.DataFrame(zeros, schema=schema, orient="row"), on="pattern")
    further = absent.select(CELL).join(rows, on=CELL, how="anti")
    return pl.concat([rows.filter(~pl.col("is_exact")).select(CELL), further])


def _before(
    part: NewCounts, rows: pl.DataFrame, before: Before, audited: pl.DataFrame | None = None
) -> pl.DataFrame:
    """Return what was known about some counts: ``geoid, table, cell, before``, an audit status.

    The base is audited now for counts that only the candidate publishes.
    """
    known = rows.select(CELL).clear().with_columns(before=pl.lit("", pl.String))
    if audited is not None:
        # If two publications have the count, keep the status that was decided for either.
        shown = audited.with_columns(before="status").sort(pl.col("status") == UNDECIDED)
        shown = shown.unique(_PEOPLE, keep="first", maintain_order=True)
        known = _by_people(part.release, rows).join(shown, on=_PEOPLE).select(*CELL, "before")
    left = rows.join(known, on=CELL, how="anti")
    release = part.release
    mine = tables_of(release, before.candidate)
    others = [table for table in release.tables if table.name not in mine]
    cells = left.select("table", "cell").unique()
    free = [
        can_leave(release, others, release.table_by_name[table].cells[cell - 1])
        for table, cell in cells.iter_rows()
    ]
    # Of these a solution of all publications with people there makes one without.
    is_open = (pl.col("free") & (pl.col("least") > 0)).fill_null(value=False)
    left = left.join(cells.with_columns(free=pl.Series(free, dtype=pl.Boolean)), on=cells.columns)
    known = pl.concat([known, left.filter(is_open).select(*CELL, before=pl.lit(SAFE))])
    left = left.filter(~is_open)
    if left.is_empty():
        return known
    stripped = _without(part.published, mine)
    asked = {
        level: release.select_tables(tuple(own["table"].unique()))
        for (level,), own in left.group_by("level")
    }
    whole = with_left_out(release, stripped, {str(level): own for level, own in asked.items()})
    options = before.options.model_copy(update={"ask": ()})
    found = audit_counts(
        release, whole, release.tables, options, Asked(left.select(CELL), with_ends=False)
    )
    return pl.concat([known, found.select(*CELL, before="status")])


def _without(published: Publication, tables: Collection[str]) -> Publication:
    coverage = tuple(
        replace(
            pattern,
            cells={name: own for name, own in pattern.cells.items() if name not in tables},
        )
        for pattern in published.coverage
    )
    counts = published.counts.filter(~pl.col("table").is_in(list(tables)))
    return replace(published, coverage=coverage, counts=counts)
