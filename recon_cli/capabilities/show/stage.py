"""Build a `GeounitView` from a work folder for `recon show`; writes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import polars as pl

from recon_cli.capabilities.findings.checked import proof_basis, proof_conditions
from recon_cli.capabilities.findings.fresh import WorkFolder
from recon_cli.capabilities.findings.proven import known_columns
from recon_cli.capabilities.findings.wording import claim_text
from recon_cli.capabilities.findings.words import words_of_run
from recon_cli.capabilities.reconstruct import RECONSTRUCT
from recon_cli.capabilities.reconstruct.unit_status import QUARANTINED, UNDECIDED
from recon_cli.capabilities.show.geounit import Located, Reconstructed, Why, locate
from recon_cli.capabilities.show.geounit_facts import (
    area_details,
    caution,
    counted_details,
    details_of_units,
    how_bounded,
    inhabited,
    laws_of,
    notes_of,
    percent_between,
    protected_counts,
    say,
    unit_details,
    units_of,
    unlisted_notes,
)
from recon_cli.capabilities.show.geounit_page import claim_sentence
from recon_cli.capabilities.show.view import GeounitName, GeounitView, Member, Reason
from recon_cli.frames import is_place
from recon_cli.page.words import Words, of_units
from recon_cli.pipeline.run import Run
from recon_cli.plurals import plural
from recon_cli.schema import Level
from recon_cli.schema.areas import ALL
from recon_cli.stage import undisturbed
from recon_cli.store.published import open_published, place_name, read_names

#: Columns that are summed over units.
_COUNTED = ("population", "placed", "status", "certain", "certain_at_most")
_SHORT = {
    "unique": "unique",
    "solved": "not proven",
    "likely": "likeliest",
    "open": "open",
    QUARANTINED: "not solved",
    UNDECIDED: "undecided",
}


def view_geounit(run: Run, place: str, why: Why) -> GeounitView:
    """View all results about one geounit.

    Args:
        place: Geoid or name of a geounit of any level from the unit to the partition.
        why: Rows to explain.

    Raises:
        SolverError: Two engines disagree; the model is kept in the work folder.
    """
    located = locate(run, place)
    is_unit = located.level == run.release.geography.unit
    protected = protected_counts(located, explained=why.counts)
    if not isinstance(located, Reconstructed):
        view = _counted_view(located)
    else:
        view = _unit_view(located, why) if is_unit else _area_view(located)
    return replace(view, protected=protected)


def view_release(run: Run) -> GeounitView:
    """View the results of every partition: the geounits to start from."""
    geography = run.release.geography
    words = words_of_run(run)
    level = next(each for each in reversed(geography.levels) if each.name != ALL)
    if geography.partition != ALL:
        level = geography.partition_level
    tables, geounits = open_published(run.work, run.release)
    names = read_names(geounits)
    microdata = WorkFolder(run.work).open(RECONSTRUCT)
    located = [locate(run, name) for name in tables.partitions]
    made = [each for each in located if isinstance(each, Reconstructed)]
    parts = [units_of(each) for each in made]
    rows = pl.concat([part.select(run.release.geoid_column, *_COUNTED) for part in parts])
    columns = words.listed(known_columns(run.release, microdata))
    members = [
        member
        for part in parts
        for member in _sums(inhabited(part), run.release.geoid_column, level, words, names)
    ]
    return GeounitView(
        title=run.release.title,
        words=words,
        geounit=GeounitName("release", run.release.name),
        enclosing=(),
        details=tuple(details_of_units(rows, made, columns, words)),
        notes=(
            f"`recon show GEOID` shows one {say(level.name)}, or a geounit inside it.",
            *unlisted_notes(pl.concat([part[run.release.geoid_column] for part in parts]), words),
            proof_basis(WorkFolder(run.work)),
        ),
        tables=(),
        empty_tables=(),
        absent_tables=(),
        member_level=say(plural(level.name)),
        members=tuple(members),
    )


def _frame(located: Located) -> GeounitView:
    """Build the part of a view that all views share."""
    listed, geography = located.published_tables(), located.release.geography
    coarser = [
        level
        for level in geography.inside_partitions
        if level.encloses(located.level) and level != located.level and level.name != ALL
    ]
    return GeounitView(
        title=located.release.title,
        words=words_of_run(located.run),
        geounit=_named(located, located.level),
        enclosing=tuple(_named(located, each) for each in coarser),
        details=(),
        notes=(),
        tables=listed.shown,
        empty_tables=listed.empty,
        absent_tables=listed.absent,
    )


def _named(located: Located, level: Level) -> GeounitName:
    geoid = level.enclosing(located.geoid)
    return GeounitName(say(level.name), geoid, place_name(geoid, located.names))


def _counted_view(located: Located) -> GeounitView:
    """View a geounit with audited or joint counts but without records."""
    return replace(
        _frame(located),
        details=tuple(counted_details(located)),
        notes=(
            *proof_conditions(laws_of(located), assumes_zeros=False),
            proof_basis(located.work),
            f"No {words_of_run(located.run).people} were examined: `recon reconstruct` does that.",
        ),
    )


def _unit_view(located: Reconstructed, why: Why) -> GeounitView:
    release = located.release
    records = located.records.filter(pl.col(release.geoid_column) == located.geoid)
    with undisturbed():
        from recon_cli.capabilities.show.geounit_page import unit_kinds

    kinds = unit_kinds(release, records, located.intervals(), located.tables)
    certain = sum(kind.lower for kind in kinds.kinds)
    words = words_of_run(located.run)
    reasons: tuple[Reason, ...] = ()
    if why.numbers != () and certain:
        with undisturbed():
            from recon_cli.capabilities.show.explanations import explain_rows

        reasons = explain_rows(located, kinds, why)
    explained = {reason.kind.number for reason in reasons}
    return replace(
        _frame(located),
        details=tuple(unit_details(located, records, certain)),
        notes=notes_of(located),
        is_unit=True,
        columns=tuple(words.columns[column] for column in release.histogram),
        finer_columns=tuple(say(column) for column in kinds.finer),
        kinds=kinds.kinds,
        possible=kinds.possible,
        more_possible=kinds.more_possible,
        bounds=how_bounded(located),
        claims=_claims(located),
        reasons=reasons,
        unexplained=sum(k.lower > 0 and k.number not in explained for k in kinds.kinds),
        caution=caution(certain, records.height, kinds.finer, words),
    )


def _area_view(located: Reconstructed) -> GeounitView:
    """View a geounit with several units: its regions if it has several, else its units."""
    release, name = located.release, located.release.geoid_column
    is_wide = not release.region.encloses(located.level)
    inner = release.region if is_wide else release.geography.unit
    rows = units_of(located)
    shown = inhabited(rows)
    return replace(
        _frame(located),
        details=tuple(area_details(located)),
        notes=notes_of(located),
        member_level=say(plural(inner.name)),
        members=tuple(
            _sums(shown, name, inner, words_of_run(located.run), located.names)
            if is_wide
            else _members(shown, name, located.names)
        ),
        empty_members=0 if is_wide else rows.height - shown.height,
    )


def _members(rows: pl.DataFrame, name: str, names: Mapping[str, str]) -> list[Member]:
    return [
        Member(
            geoid=row[name],
            name=place_name(row[name], names),
            people=row["placed"] if row["population"] is None else row["population"],
            status=_SHORT[row["status"]],
            solvar=percent_between(row["solvar_pct"], row["solvar_upper_pct"])
            if row["solvar_pct"] is not None
            else None,
            certain=row["certain"],
        )
        for row in rows.iter_rows(named=True)
    ]


def _sums(
    rows: pl.DataFrame, name: str, inner: Level, words: Words, names: Mapping[str, str]
) -> list[Member]:
    summed = (
        rows.with_columns(geoid=inner.enclosing(pl.col(name)))
        .drop_nulls("geoid")
        .group_by("geoid")
        .agg(
            pl.coalesce("population", "placed").sum(),
            pl.col("certain").sum(),
            is_place(name).sum().alias("len"),
            unique=((pl.col("status") == "unique") & is_place(name)).sum(),
        )
        .sort("geoid")
    )
    return [
        Member(
            geoid=row["geoid"],
            name=names.get(row["geoid"], ""),
            people=row["population"],
            status=f"{row['unique']:,} of {of_units(row['len'], words)} unique",
            solvar=None,
            certain=row["certain"],
        )
        for row in summed.iter_rows(named=True)
    ]


def _claims(located: Reconstructed) -> tuple[str, ...]:
    """Describe the unit's maximal claims, with the sums of counts that prove them."""
    if located.claims is None:
        return ()
    geoid = pl.col(located.release.geoid_column) == located.geoid
    columns = located.claims.manifest.notes["columns"]
    rows = located.claims.read(located.partition, located.span).filter(geoid & pl.col("maximal"))
    words = words_of_run(located.run)
    ordered = rows.sort(
        pl.col("count") == 0,
        pl.col("exact").not_(),
        "count",
        pl.col("k").neg(),
        maintain_order=True,
    )
    said, proofs = [], located.proofs_of_claims
    for row in ordered.iter_rows(named=True):
        how = proofs.get(claim_text(row, columns))
        proof = "" if how is None else f" [{how}]"
        said.append(claim_sentence(located.release, words, columns, row) + proof)
    return tuple(said)
