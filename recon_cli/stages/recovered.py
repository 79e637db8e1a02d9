"""What the audit recovered of a geounit, what forces it, and its slivers, in words."""

from __future__ import annotations

import polars as pl

from recon_cli.report.view import Detail
from recon_cli.stage import load
from recon_cli.stages.geounit import Located

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


def recovered_details(located: Located) -> list[Detail]:
    """A line a recovered count: the published counts that it is the sum of.

    Nothing where nobody audited, or nothing is recovered. Of regions with more histogram cells
    than can be listed only the counts are given.
    """
    if located.audit is None:
        return []
    rows = located.audit.read(located.partition, located.span).filter(
        pl.col("geoid") == located.geoid, status="recovered"
    )
    if rows.is_empty():
        return []
    forcing_counts = load("recon_cli.attack.audit.forcing:forcing_counts")
    values = {
        (geoid, table, cell): count
        for geoid, table, cell, count in rows.select("geoid", "table", "cell", "least").rows()
    }
    chosen = dict(list(values.items())[:_SHOWN])
    tables = located.release.select_tables(tuple(located.audit.manifest.notes["tables"]))
    found = forcing_counts(located.release, located.published, tables, chosen)
    proofs = {each.cell: each for each in found}
    name = located.release.geography.name_of
    details = []
    for (geoid, table, cell), count in chosen.items():
        forcing = proofs.get((geoid, table, cell))
        reason = "" if forcing is None else forcing.words(geoid, name)
        details.append(Detail(f"recovered {table} {cell}", f"{count:,}{reason}"))
    if len(values) > len(chosen):
        more = f"{len(values) - len(chosen):,} more in audit/"
        details.append(Detail("recovered", more))
    return details
