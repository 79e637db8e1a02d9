"""The joint proofs of several releases about a geounit, in words."""

from __future__ import annotations

import polars as pl

from recon_cli.capabilities.findings.checked import ALONE
from recon_cli.capabilities.findings.joint_findings import COUNTED, shown_parts
from recon_cli.capabilities.joint import JOINT, JOINT_MEMBERS, JOINT_UNITS
from recon_cli.capabilities.show.geounit import Located
from recon_cli.capabilities.show.view import Detail
from recon_cli.page.words import percentage
from recon_cli.plurals import plural
from recon_cli.schema import Release
from recon_cli.stage import undisturbed

#: Records of one place that are listed.
_SHOWN = 6


def joint_details(located: Located) -> list[Detail]:
    """Count for each kind of records how many are certain together with another release.

    For a unit also list the records that are certain only jointly, and certain households. Empty if
    there is no joint result.
    """
    folder = located.joint
    if folder is None:
        return []
    place = pl.col(located.release.geoid_column)
    inside = located.release.geography.inside
    units = located.work.open(JOINT, JOINT_UNITS).read(located.partition, located.span)
    here = units.filter(inside(place, located.geoid))
    details = []
    for part in shown_parts(folder.manifest):
        records, alone, joint = (int(here[f"{part}_{what}"].sum()) for what in COUNTED)
        if records:
            value = f"at least {joint:,} of {records:,} ({percentage(joint, records)})"
            value += f", {alone:,} of them by their own release"
            details.append(Detail(f"certain together, {plural(part)}", value))
    details.append(Detail("proven together", f"by {ALONE}"))
    if located.level == located.release.geography.unit:
        rows = folder.read(located.partition, located.span).filter(
            place == located.geoid, proof="joint"
        )
        details += _records(located.release, rows.drop(located.release.geoid_column, "proof"))
        if folder.manifest.notes.get("compositions"):
            members = located.work.open(JOINT, JOINT_MEMBERS)
            rows = members.read(located.partition, located.span).filter(place == located.geoid)
            details += live_together(located.release, rows)
    return details


def live_together(release: Release, members: pl.DataFrame) -> list[Detail]:
    """List households of several people that are certain with every member, the largest first."""
    with undisturbed():
        from recon_cli.capabilities.show.geounit_page import say_kind

    said = [
        say_kind(release, tuple(row.get(name) for name in release.histogram))
        for row in members.iter_rows(named=True)
    ]
    people = members.with_columns(words=pl.Series(said, dtype=pl.String)).with_columns(
        words=pl.when(pl.col("members") > 1)
        .then(pl.format("{} × {}", "members", "words"))
        .otherwise("words")
    )
    homes = (
        people.group_by("composition", maintain_order=True)
        .agg(pl.col("members").sum(), pl.col("words").str.join("; "))
        .filter(pl.col("members") > 1)
        .sort("members", descending=True, maintain_order=True)
    )
    details = [Detail("live together", words) for words in homes["words"].head(_SHOWN)]
    if homes.height > _SHOWN:
        details.append(
            Detail(
                "live together", f"{homes.height - _SHOWN:,} more households in {JOINT_MEMBERS}/"
            )
        )
    return details


def _records(release: Release, rows: pl.DataFrame) -> list[Detail]:
    """List records that are certain only jointly, the most frequent first."""
    kinds = rows.group_by(rows.columns, maintain_order=True).len("records")
    kinds = kinds.sort("records", descending=True, maintain_order=True)
    with undisturbed():
        from recon_cli.capabilities.show.geounit_page import say_kind

    details = []
    for row in kinds.head(_SHOWN).iter_rows(named=True):
        times = f"{row['records']:,} × " if row["records"] > 1 else ""
        words = say_kind(release, tuple(row.get(name) for name in release.histogram))
        details.append(Detail("only together", times + words))
    if kinds.height > _SHOWN:
        details.append(Detail("only together", f"{kinds.height - _SHOWN:,} more in joint/"))
    return details
