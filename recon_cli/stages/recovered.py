"""What the audit recovered of a geounit, what forces it, and its slivers, in words."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import polars as pl

from recon_cli.report.view import Detail, ProtectedCount
from recon_cli.schema import Release, Table
from recon_cli.schema.description import describe_cell
from recon_cli.stage import load
from recon_cli.stages.geounit import Located

#: What `recon audit` calls a suppressed count that is proven to be below the threshold.
PRIMARY = "primary"
#: Counts whose proof is shown.
_SHOWN = 6


def sliver_details(located: Located) -> list[Detail]:
    """A line a small group that overlapping areas give away, with units of the geounit in it.

    Nothing where nobody asked, or there is none.
    """
    if located.slivers is None:
        return []
    inside = located.release.geography.inside
    found = located.slivers.explode("units").filter(inside(pl.col("units"), located.geoid))
    rows = found.unique("geoid").sort("people", "geoid")
    details = [
        Detail("sliver", f"{areas} = {people:,}")
        for areas, people in rows.head(_SHOWN).select("areas", "people").rows()
    ]
    if rows.height > _SHOWN:
        details.append(Detail("slivers", f"{rows.height - _SHOWN:,} more in slivers/"))
    return details


def protected_counts(located: Located, *, explained: bool) -> tuple[ProtectedCount, ...]:
    """The geounit's counts that are not published exactly: recovered ones first, zeros after them.

    Nothing where nobody audited. Of regions with more histogram cells than can be listed no sums
    are found.

    Args:
        located: The geounit.
        explained: Whether the sums of published counts are looked for that the first recovered
            counts are, which takes solvers.
    """
    audit = located.audit
    if audit is None:
        return ()
    rows = audit.read(located.partition, located.span).filter(geoid=located.geoid)
    is_recovered = pl.col("least").eq_missing(pl.col("greatest"))
    rows = rows.sort(~is_recovered, pl.col("greatest") == 0, "table", "cell")
    counts = {
        (row["table"], row["cell"]): _protected(located.release, row)
        for row in rows.iter_rows(named=True)
    }
    chosen = [key for key, each in counts.items() if each.is_recovered][:_SHOWN]
    if explained and chosen:
        tables = located.release.select_tables(tuple(audit.manifest.notes["tables"]))
        counts |= _explained(located, tables, {key: counts[key] for key in chosen})
    return tuple(counts.values())


def _protected(release: Release, row: dict[str, Any]) -> ProtectedCount:
    table = release.table_by_name[row["table"]]
    return ProtectedCount(
        table=table.name,
        cell=row["cell"],
        called=table.title or table.name,
        words=describe_cell(release, table.cells[row["cell"] - 1]),
        low=row["low"] or 0,
        high=row["high"],
        status=row["status"],
        least=row["least"] or 0,
        greatest=row["greatest"],
        is_small=row["suppression"] == PRIMARY,
    )


def _explained(
    located: Located, tables: tuple[Table, ...], counts: dict[tuple[str, int], ProtectedCount]
) -> dict[tuple[str, int], ProtectedCount]:
    """Counts with the sums that they are, where such are found."""
    forcing_counts = load("recon_cli.attack.audit.forcing:forcing_counts")
    values = {(located.geoid, *key): each.least for key, each in counts.items()}
    name = located.release.geography.name_of
    return {
        each.cell[1:]: replace(counts[each.cell[1:]], reason=each.words(located.geoid, name))
        for each in forcing_counts(located.release, located.published, tables, values)
    }
