"""The facts that `recon show` lists about a geounit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from recon_cli.capabilities.audit.words import words_without
from recon_cli.capabilities.findings.checked import UNCHECKED, proof_basis, proof_conditions
from recon_cli.capabilities.findings.words import words_of_run
from recon_cli.capabilities.show.geounit import Located, Reconstructed
from recon_cli.capabilities.show.joint_details import joint_details
from recon_cli.capabilities.show.view import Detail, ProtectedCount
from recon_cli.coverage import UNLISTED
from recon_cli.frames import is_place
from recon_cli.page.sentences import sentences
from recon_cli.page.words import Words
from recon_cli.plurals import counted
from recon_cli.schema import Table
from recon_cli.schema.description import describe_cell
from recon_cli.stage import INGEST, undisturbed
from recon_cli.store.published import read_percentages

#: Status of `recon audit` for a suppressed count proven to be below the threshold.
PRIMARY = "primary"
#: Most counts whose proof is shown.
_SHOWN = 6
#: Most tables that are named one by one.
_LISTED = 8


def _say(macro: str, **facts: object) -> str:
    """Write a line."""
    return " ".join(sentences("lines.j2", macro, __package__, **facts))


def units_of(located: Reconstructed) -> pl.DataFrame:
    """Return the units of a geounit with what is proven about them."""
    name = located.release.geoid_column
    return located.blocks.filter(
        located.release.geography.inside(pl.col(name), located.geoid)
    ).sort(name)


def inhabited(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the units with people, or with an unknown number."""
    return rows.filter(pl.col("population").fill_null(1) > 0)


def counted_details(located: Located) -> list[Detail]:
    """Describe a geounit with audited or joint counts but without records."""
    return [
        *([Detail("made from", _table_list(located.tables))] if located.tables else []),
        *sliver_details(located),
        *joint_details(located),
    ]


def unit_details(located: Reconstructed, records: pl.DataFrame, certain: int) -> list[Detail]:
    """Describe a unit."""
    words, columns = words_of_run(located.run), located.release.histogram
    unit = located.blocks.filter(pl.col(located.release.geoid_column) == located.geoid)
    proven = words.listed(located.proofs.columns)
    unseen = [each for each in columns if records[each].null_count() == records.height]
    details = [
        Detail(words.people, _people(unit, words)),
        *_disclosed(located, records.height, words),
        Detail("reconstruction", _status(located, unit.row(0, named=True), words)),
        Detail(words.variability, _variability(located)),
        Detail("certain", _certain(unit, certain, records.height, proven)),
        Detail("made from", _table_list(located.tables)),
    ]
    if unseen and records.height:
        unseen_said = f"{words.listed(unseen)}: no table in use tells them apart"
        details.append(Detail("not known", unseen_said))
    return [*details, *sliver_details(located), *joint_details(located)]


def area_details(located: Reconstructed) -> list[Detail]:
    """Describe a geounit with several units."""
    units, words = units_of(located), words_of_run(located.run)
    columns = words.listed(located.proofs.columns)
    people, *others = details_of_units(units, [located], columns, words)
    return [
        people,
        *_disclosed(located, int(units["placed"].sum()), words),
        *others,
        Detail("made from", _table_list(located.tables)),
        *sliver_details(located),
        *joint_details(located),
    ]


def details_of_units(
    units: pl.DataFrame, parts: Sequence[Reconstructed], columns: str, words: Words
) -> list[Detail]:
    """Describe many units: people, places, proven unique units, certain records.

    Args:
        units: As from `units_of`, of one place or of several.
        parts: The places.
        columns: Columns of a certain record, in words.
    """
    with_people = inhabited(units)
    places = with_people.filter(is_place(with_people.columns[0]))
    certain, records = int(units["certain"].sum()), int(units["placed"].sum())
    return [
        Detail(words.people, _people(units, words)),
        Detail(words.units, _places(units, with_people, words)),
        Detail("proven unique", _proven_unique(places, parts, words)),
        Detail("certain", _certain(units, certain, records, columns)),
    ]


def _proven_unique(places: pl.DataFrame, parts: Iterable[Reconstructed], words: Words) -> str:
    """Count the units with one solution, and those of them whose proof others cannot check."""
    unchecked = pl.concat(each.confirmed("blocks") for each in parts)["geoid"].implode()
    geoids = places.filter(pl.col("status") == "unique").to_series()
    confirmed = int(geoids.is_in(unchecked).sum())
    return _say(
        "proven_unique",
        unique=len(geoids) - confirmed,
        confirmed=confirmed,
        places=places.height,
        unchecked=UNCHECKED,
        words=words,
    )


def _places(rows: pl.DataFrame, with_people: pl.DataFrame, words: Words) -> str:
    """Count the units that are places, and those that stand for others."""
    place = rows.columns[0]
    listed = rows.filter(is_place(place)).height
    inhabited = with_people.filter(is_place(place)).height
    unlisted = rows.height - listed
    return _say("places", listed=listed, inhabited=inhabited, unlisted=unlisted, words=words)


def _people(units: pl.DataFrame, words: Words) -> str:
    """Count the people of some units, or those placed where the number is not known."""
    return _say(
        "people",
        people=int(units["population"].sum()),
        placed=int(units["placed"].fill_null(0).sum()),
        unknown=units["population"].null_count(),
        units=units.height,
        words=words,
    )


def _certain(units: pl.DataFrame, certain: int, people: int, columns: str) -> str:
    """Count certain records of some units, with their columns, and whether there may be more."""
    is_known = certain == min(people, int(units["certain_at_most"].sum()))
    return _say("certain", certain=certain, people=people, is_known=is_known, columns=columns)


def _disclosed(located: Reconstructed, people: int, words: Words) -> list[Detail]:
    """List disclosures by any columns; empty if they were not examined."""
    if located.disclosures is None:
        return []
    unit = pl.col(located.release.geoid_column)
    here = located.disclosures.filter(located.release.geography.inside(unit, located.geoid))
    most = here.filter(pl.col("known") == pl.col("known").max())
    identity, attribute = (int(most[kind].sum()) for kind in ("identity", "attribute"))
    return [
        Detail("disclosed", _say("disclosed", number=attribute, people=people, words=words)),
        Detail("singled out", _say("singled_out", number=identity, people=people, words=words)),
    ]


def _status(located: Reconstructed, unit: Mapping[str, Any], words: Words) -> str:
    return _say(
        "status",
        status=unit["status"],
        is_empty=unit["population"] == 0,
        is_unchecked=located.geoid in located.confirmed("blocks")["geoid"],
        unchecked=UNCHECKED,
        words=words,
    )


def _variability(located: Reconstructed) -> str:
    if located.solvar is None or located.measured is None:
        return "not measured"
    row = located.solvar.filter(pl.col(located.release.geoid_column) == located.geoid)
    if row.is_empty():
        return "not measured"
    about = row.row(0, named=True)
    mode = located.measured.manifest.notes["mode"]
    value = percent_between(about["solvar_pct"], about["solvar_upper_pct"])
    return f"{value or 'not measured'} ({mode}, {about['status']})"


def percent_between(low: float | None, high: float | None) -> str | None:
    """Format ``12.5%``, ``12.5% to 40.0%`` or ``12.5% or more``; None if not measured.

    >>> percent_between(12.5, 40.0), percent_between(12.5, None), percent_between(None, None)
    ('12.5% to 40.0%', '12.5% or more', None)
    """
    if low is None:
        return None
    if high is None:
        return f"{low:.1f}% or more"
    return f"{low:.1f}%" if high == low else f"{low:.1f}% to {high:.1f}%"


def how_bounded(located: Reconstructed) -> str:
    """Name the source of the intervals of a geounit's histogram cells."""
    measured = located.measured
    is_propagated = measured is not None and measured.manifest.config["intervals"] == "propagation"
    return _say(
        "bounds",
        is_measured=measured is not None,
        is_propagated=is_propagated,
        mode=located.proofs.mode,
    )


def _table_list(tables: Sequence[Table]) -> str:
    names = [table.name for table in tables]
    if len(names) > _LISTED:
        names = [*names[: _LISTED - 1], "…", names[-1]]
    return f"{counted(len(tables), 'table')}: {', '.join(names)}"


def caution(certain: int, people: int, finer: Sequence[str], words: Words) -> str:
    """State which values are not facts about anybody.

    Args:
        finer: Columns whose single values are shown though no table tells them apart.
    """
    named = [say(each) for each in finer]
    return _say("caution", certain=certain, people=people, finer=named, words=words)


def notes_of(located: Reconstructed) -> tuple[str, ...]:
    """List the conditions of the proofs about a geounit, and what was not measured."""
    laws, words = laws_of(located), words_of_run(located.run)
    unlisted = unlisted_notes(units_of(located)[located.release.geoid_column], words)
    assumes_zeros = located.release.has_assumptions
    conditions = proof_conditions(laws, assumes_zeros=assumes_zeros)
    notes = (*unlisted, *conditions, proof_basis(located.work))
    if located.measured is not None or laws:
        return notes
    is_outdated = (located.run.work / "solvar").is_dir()
    return (*notes, _say("unmeasured", is_outdated=is_outdated))


def laws_of(located: Located) -> tuple[str, ...]:
    """Describe the laws of a geounit's counts."""
    with undisturbed():
        from recon_cli.store import protection

    return protection.laws_of(located.work.open(INGEST), located.release)


def unlisted_notes(geoids: pl.Series, words: Words) -> tuple[str, ...]:
    """Explain units that stand for places in no file, if there are any."""
    found = geoids.filter(geoids.str.ends_with(UNLISTED)).to_list()
    if not found:
        return ()
    return (_say("unlisted", geoids=found, words=words),)


def say(name: str) -> str:
    """Write a name of the schema with spaces.

    >>> say("age_group")
    'age group'
    """
    return name.replace("_", " ")


def sliver_details(located: Located) -> list[Detail]:
    """List small groups, with units of the geounit, that overlapping areas reveal.

    The list is empty if there are none, or if they were not examined.
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
    """List the geounit's protected counts: recovered ones first, zeros last among them.

    Empty without an audit. Regions with more histogram cells than can be listed get no sums.

    Args:
        explained: Find, by solvers, the sums of published counts that give the first recovered
            counts.
    """
    audit = located.audit
    if audit is None:
        return ()
    rows = audit.read(located.partition, located.span).filter(geoid=located.geoid)
    is_recovered = pl.col("least").eq_missing(pl.col("greatest"))
    rows = rows.sort(~is_recovered, pl.col("greatest") == 0, "table", "cell")
    counts = {
        (row["table"], row["cell"]): _protected(located, row) for row in rows.iter_rows(named=True)
    }
    beside = _percentages(located)
    counts = {
        key: replace(each, reason=beside[key]) if key in beside and each.low == each.high else each
        for key, each in counts.items()
    }
    some = [key for key, each in counts.items() if each.is_recovered][:_SHOWN]
    chosen = [key for key in some if not counts[key].reason]
    is_by_counts = located.published.statistics.is_empty()
    if explained and chosen and is_by_counts:  # sums of counts alone would not prove others
        tables = located.release.select_tables(tuple(audit.manifest.notes["tables"]))
        counts |= _explained(located, tables, {key: counts[key] for key in chosen})
    return tuple(counts.values())


def _protected(located: Located, row: dict[str, Any]) -> ProtectedCount:
    table = located.release.table_by_name[row["table"]]
    sheets = located.sheet_words
    return ProtectedCount(
        table=table.name,
        cell=row["cell"],
        called=table.title or table.name,
        words=describe_cell(located.release, table.cells[row["cell"] - 1])
        if sheets is None
        else sheets.of(table.name, row["cell"]),
        low=row["low"] or 0,
        high=row["high"],
        status=row["status"],
        least=row["least"] or 0,
        greatest=row["greatest"],
        is_small=row["suppression"] == PRIMARY,
        reason=words_without(row),
    )


def _percentages(located: Located) -> dict[tuple[str, int], str]:
    """Map counts of the geounit to the percentages that narrow them, in words."""
    found: dict[tuple[str, int], list[str]] = {}
    for geoid, table, cell, header, text, among, _ in read_percentages(located.work.open(INGEST)):
        if geoid == located.geoid:
            found.setdefault((table, cell), []).append(f"{header!r}: {text} of {among:,}")
    return {key: f" (from {' and '.join(said)})" for key, said in found.items()}


def _explained(
    located: Located, tables: tuple[Table, ...], counts: dict[tuple[str, int], ProtectedCount]
) -> dict[tuple[str, int], ProtectedCount]:
    """Add to counts the sums that prove them, where found."""
    with undisturbed():
        from recon_cli.capabilities.audit.forcing import forcing_counts

    values = {(located.geoid, *key): each.least for key, each in counts.items()}
    found = forcing_counts(located.release, located.published, tables, values)
    name_of, sheets = located.release.geography.name_of, located.sheet_words
    told = {
        each.cell[1:]: each.words(located.geoid, name_of)
        if sheets is None
        else each.words(
            located.geoid,
            lambda geoid: f"{located.names.get(geoid) or name_of(geoid)},",
            sheets.of,
        )
        for each in found
    }
    return {cell: replace(counts[cell], reason=reason) for cell, reason in told.items()}
