"""`recon show`: what the work folder holds of one geounit → `GeounitView`. Writes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import polars as pl

from recon_cli.attack.question import QUARANTINED, UNDECIDED
from recon_cli.coverage import UNLISTED
from recon_cli.evaluate.checked import UNCHECKED, proof_basis
from recon_cli.evaluate.fresh import WorkFolder
from recon_cli.evaluate.proven import known_columns, proof_conditions
from recon_cli.frames import is_place
from recon_cli.pipeline.run import Run
from recon_cli.pipeline.stages import RECONSTRUCT
from recon_cli.plurals import counted, plural
from recon_cli.proofs.wording import claim_text
from recon_cli.report.geounit import claim_sentence
from recon_cli.report.view import Detail, GeounitName, GeounitView, Member, Reason
from recon_cli.report.words import Words, of_people, of_units, percentage
from recon_cli.schema import Level, Table
from recon_cli.schema.areas import ALL
from recon_cli.stage import load
from recon_cli.stages.geounit import Located, Reconstructed, locate
from recon_cli.stages.joint_details import joint_details
from recon_cli.stages.recovered import protected_counts, sliver_details
from recon_cli.stages.run_words import words_of_run
from recon_cli.stages.why import Why
from recon_cli.store.published import open_published, place_name, read_names

#: What is summed over units.
_COUNTED = ("population", "placed", "status", "certain", "certain_at_most")
#: Tables that are named one by one.
_LISTED = 8
_STATUSES = {
    "unique": "proven unique: no other records have these counts",
    "solved": "not proven unique: other records may have the same counts",
    "likely": "not proven unique: no other records make the published counts likelier",
    "open": "open: the tables in use do not bound the number of {people}, there may be more",
    QUARANTINED: "not solved: workers died on it",
    UNDECIDED: "undecided: neither records with these counts nor a proof that there are none",
}
_SHORT = {
    "unique": "unique",
    "solved": "not proven",
    "likely": "likeliest",
    "open": "open",
    QUARANTINED: "not solved",
    UNDECIDED: "undecided",
}


def view_geounit(run: Run, place: str, why: Why) -> GeounitView:
    """Everything that is known about one geounit.

    Args:
        place: Geoid or name of a geounit of any level from the unit to the partition.
        why: Which rows are explained.

    Raises:
        ConfigError: There is no such geounit or row.
        StageError: ``tables/`` or ``microdata/`` is missing, damaged or out of date.
        SolverError: Two engines disagree; the model is kept in the work folder.
    """
    located = locate(run, place)
    is_unit = located.level == run.release.geography.unit
    protected = protected_counts(located, explained=why.counts)
    if not isinstance(located, Reconstructed):
        view = _counted_view(located)
    else:
        view = _unit_view(located, why) if is_unit else _whole_view(located)
    return replace(view, protected=protected)


def view_release(run: Run) -> GeounitView:
    """What is proven of every partition: the geounits that a reader may begin with.

    Raises:
        StageError: ``tables/`` or ``microdata/`` is missing, damaged or out of date.
    """
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
    parts = [_units(each) for each in made]
    rows = pl.concat([part.select(run.release.geoid_column, *_COUNTED) for part in parts])
    columns = words.listed(known_columns(run.release, microdata))
    people, certain = int(rows["placed"].sum()), int(rows["certain"].sum())
    counted = _inhabited(rows)
    places = counted.filter(is_place(counted.columns[0]))
    members = [
        member
        for part in parts
        for member in _sums(_inhabited(part), run.release.geoid_column, level, words, names)
    ]
    return GeounitView(
        title=run.release.title,
        words=words,
        geounit=GeounitName("release", run.release.name),
        enclosing=(),
        details=(
            Detail(words.people, _people(rows, words)),
            Detail(words.units, _places(rows, counted, words)),
            Detail("proven unique", _proven_unique(places, made, words)),
            Detail("certain", _certain_of(rows, certain, people, columns)),
        ),
        notes=(
            f"`recon show GEOID` shows one {_say(level.name)}, or a geounit inside it.",
            *_unlisted_notes(pl.concat([part[run.release.geoid_column] for part in parts]), words),
            proof_basis(WorkFolder(run.work)),
        ),
        tables=(),
        empty_tables=(),
        absent_tables=(),
        member_level=_say(plural(level.name)),
        members=tuple(members),
    )


def _frame(located: Located) -> GeounitView:
    """What every view has."""
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
    return GeounitName(_say(level.name), geoid, place_name(geoid, located.names))


def _unlisted_notes(geoids: pl.Series, words: Words) -> tuple[str, ...]:
    """What units stand for that are in no file, if there are such."""
    found = geoids.filter(geoids.str.ends_with(UNLISTED)).to_list()
    if not found:
        return ()
    shown = ", ".join(found[:_LISTED]) + ", …" * (len(found) > _LISTED)
    stand = "stands" if len(found) == 1 else "stand"
    return (
        f"{shown} {stand} for any {words.unit} that the files do not list: no counts say that "
        f"those listed hold all {words.people}. A list of all {words.units}, ingest.geounits, says "
        "that there are no others.",
    )


def _counted_view(located: Located) -> GeounitView:
    """A geounit whose counts were audited or taken together, and no records reconstructed."""
    made = [Detail("made from", _table_list(located.tables))] if located.tables else []
    return replace(
        _frame(located),
        details=(*made, *sliver_details(located), *joint_details(located)),
        notes=(
            *proof_conditions(_laws(located), assumes_zeros=False),
            proof_basis(located.work),
            f"No {words_of_run(located.run).people} were examined: `recon reconstruct` does that.",
        ),
    )


def _laws(located: Located) -> tuple[str, ...]:
    """By which its counts were published, in words."""
    statements = located.published.protection.statements
    if not statements:
        return ()
    describe_law = load("recon_cli.statement:describe_law")
    return tuple(dict.fromkeys(describe_law(each.law) for each in statements))


def _notes(located: Reconstructed) -> tuple[str, ...]:
    laws, words = _laws(located), words_of_run(located.run)
    unlisted = _unlisted_notes(_units(located)[located.release.geoid_column], words)
    assumes_zeros = located.release.has_assumptions
    conditions = proof_conditions(laws, assumes_zeros=assumes_zeros)
    notes = (*unlisted, *conditions, proof_basis(located.work))
    if located.measured is not None or laws:
        return notes
    if (located.run.work / "solvar").is_dir():
        return (*notes, "solvar/ was made from other records: run `recon solvar` again.")
    return (*notes, "Solution variability is not measured: run `recon solvar`.")


def _unit_view(located: Reconstructed, why: Why) -> GeounitView:
    release, name = located.release, located.release.geoid_column
    records = located.records.filter(pl.col(name) == located.geoid)
    units = located.blocks.filter(pl.col(name) == located.geoid)
    unit = units.row(0, named=True)
    kinds = load("recon_cli.report.geounit:unit_kinds")(
        release, records, located.intervals(), located.tables
    )
    certain = sum(kind.lower for kind in kinds.kinds)
    is_empty = unit["population"] == 0 and unit["status"] != "open"
    unseen = [each for each in release.histogram if records[each].null_count() == records.height]
    words = words_of_run(located.run)
    details = [
        Detail(words.people, _people(units, words)),
        Detail("reconstruction", _status(located, unit["status"], words, is_empty=is_empty)),
        Detail(words.variability, _solvar_fact(located)),
        Detail(
            "certain",
            _certain_of(units, certain, records.height, words.listed(located.proofs.columns)),
        ),
        Detail("made from", _table_list(located.tables)),
    ]
    details[1:1] = _disclosed(located, records.height, words)
    if unseen and records.height:
        details.append(
            Detail("not known", f"{words.listed(unseen)}: no table in use tells them apart")
        )
    details += sliver_details(located) + joint_details(located)
    reasons: tuple[Reason, ...] = ()
    if why.numbers != () and any(kind.lower for kind in kinds.kinds):
        reasons = load("recon_cli.stages.explanations:explain_rows")(located, kinds, why)
    explained = {reason.kind.number for reason in reasons}
    return replace(
        _frame(located),
        details=tuple(details),
        notes=_notes(located),
        is_unit=True,
        columns=tuple(words.columns[column] for column in release.histogram),
        finer_columns=tuple(_say(column) for column in kinds.finer),
        kinds=kinds.kinds,
        possible=kinds.possible,
        more_possible=kinds.more_possible,
        bounds=_bounds(located),
        claims=_claims(located),
        reasons=reasons,
        unexplained=sum(k.lower > 0 and k.number not in explained for k in kinds.kinds),
        caution=_caution(certain, records.height, kinds.finer, words),
    )


def _whole_view(located: Reconstructed) -> GeounitView:
    release, name = located.release, located.release.geoid_column
    is_wide = not release.region.encloses(located.level)
    inner = release.region if is_wide else release.geography.unit
    words, names = words_of_run(located.run), located.names
    rows = _units(located)
    people = int(rows["placed"].sum())
    counted = _inhabited(rows)
    places = counted.filter(is_place(counted.columns[0]))
    members = (
        _sums(counted, name, inner, words, names) if is_wide else _members(counted, name, names)
    )
    certain = int(rows["certain"].sum())
    details = (
        Detail(words.people, _people(rows, words)),
        Detail(words.units, _places(rows, counted, words)),
        Detail("proven unique", _proven_unique(places, [located], words)),
        Detail("certain", _certain_of(rows, certain, people, words.listed(located.proofs.columns))),
        Detail("made from", _table_list(located.tables)),
    )
    shown = (
        details[0],
        *_disclosed(located, people, words),
        *details[1:],
        *sliver_details(located),
        *joint_details(located),
    )
    return replace(
        _frame(located),
        details=shown,
        notes=_notes(located),
        member_level=_say(plural(inner.name)),
        members=tuple(members),
        empty_members=0 if is_wide else rows.height - counted.height,
    )


def _proven_unique(places: pl.DataFrame, parts: Iterable[Reconstructed], words: Words) -> str:
    """How many units have one solution; apart how many that had no proof when proofs were made."""
    unchecked = pl.concat(each.confirmed("blocks") for each in parts)["geoid"].implode()
    geoids = places.filter(pl.col("status") == "unique").to_series()
    confirmed = int(geoids.is_in(unchecked).sum())
    unique = len(geoids) - confirmed
    more = f"; {confirmed:,} more {UNCHECKED}" if confirmed else ""
    return f"{unique:,} {words.units} ({percentage(unique, places.height)}){more}"


def _units(located: Reconstructed) -> pl.DataFrame:
    """The units of a geounit with what is proven of them."""
    name = located.release.geoid_column
    return located.blocks.filter(
        located.release.geography.inside(pl.col(name), located.geoid)
    ).sort(name)


def _places(rows: pl.DataFrame, inhabited: pl.DataFrame, words: Words) -> str:
    """How many units are places, and how many stand for others."""
    place = rows.columns[0]
    listed = rows.filter(is_place(place)).height
    text = f"{listed:,}, {inhabited.filter(is_place(place)).height:,} with {words.people}"
    more = rows.height - listed
    return f"{text}; {more:,} more for any that are not listed" if more else text


def _inhabited(rows: pl.DataFrame) -> pl.DataFrame:
    """The units with people, or with nobody knows how many."""
    return rows.filter(pl.col("population").fill_null(1) > 0)


def _members(rows: pl.DataFrame, name: str, names: Mapping[str, str]) -> list[Member]:
    return [
        Member(
            geoid=row[name],
            name=place_name(row[name], names),
            people=row["placed"] if row["population"] is None else row["population"],
            status=_SHORT[row["status"]],
            solvar=_percent(row["solvar_pct"], row["solvar_upper_pct"])
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


def _disclosed(located: Reconstructed, people: int, words: Words) -> list[Detail]:
    """Whose other columns some columns settle, whichever they are; nothing if nobody asked."""
    if located.disclosures is None:
        return []
    unit = pl.col(located.release.geoid_column)
    here = located.disclosures.filter(located.release.geography.inside(unit, located.geoid))
    most = here.filter(pl.col("known") == pl.col("known").max())
    identity, attribute = (int(most[kind].sum()) for kind in ("identity", "attribute"))
    known = single = f"not proven of any of {of_people(people, words)}"
    if attribute:
        known = f"at least {attribute:,} of {of_people(people, words)}, in groups known alike"
    if identity:
        single = f"at least {identity:,}, alone and with another column settled"
    return [Detail("disclosed", known), Detail("singled out", single)]


def _claims(located: Reconstructed) -> tuple[str, ...]:
    """The unit's maximal claims in words, with the sums of counts that prove them."""
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


def _status(located: Reconstructed, status: str, words: Words, *, is_empty: bool) -> str:
    if is_empty:
        return f"no {words.people} to place"
    if status == "unique" and located.geoid in located.confirmed("blocks")["geoid"]:
        return f"no other records have these counts, {UNCHECKED}"
    return _STATUSES[status].format(people=words.people)


def _people(units: pl.DataFrame, words: Words) -> str:
    """How many there are in some units, or how many were placed where that is not known."""
    unknown = units["population"].null_count()
    placed = int(units["placed"].fill_null(0).sum())
    if not unknown:
        return f"{int(units['population'].sum()):,}"
    where = "" if unknown == units.height else f" in {of_units(unknown, words)}"
    return f"{placed:,} reconstructed; the tables in use do not say how many there are{where}"


def _solvar_fact(located: Reconstructed) -> str:
    if located.solvar is None or located.measured is None:
        return "not measured"
    row = located.solvar.filter(pl.col(located.release.geoid_column) == located.geoid)
    if row.is_empty():
        return "not measured"
    about = row.row(0, named=True)
    mode = located.measured.manifest.notes["mode"]
    value = _percent(about["solvar_pct"], about["solvar_upper_pct"])
    return f"{value} ({mode}, {about['status']})"


def _certain_of(units: pl.DataFrame, certain: int, people: int, columns: str) -> str:
    """How many records of some units are certain, with which columns, and if there may be more."""
    is_known = certain == min(people, int(units["certain_at_most"].sum()))
    if not people:
        return "no records"
    if not certain and not is_known:
        return f"not proven of any of {people:,} records with {columns}"
    hedge = "" if is_known else "at least "
    return (
        f"{hedge}{certain:,} of {people:,} records ({percentage(certain, people)}), with {columns}"
    )


def _percent(low: float | None, high: float | None) -> str | None:
    if low is None:
        return None
    if high is None:
        return f"{low:.1f}% or more"
    return f"{low:.1f}%" if high == low else f"{low:.1f}% to {high:.1f}%"


def _bounds(located: Reconstructed) -> str:
    if located.measured is None:
        return "by propagation of bounds: valid, but not always tight"
    if located.measured.manifest.config["intervals"] == "propagation":
        return "bounded by `recon solvar` (`intervals: propagation`)"
    return f"measured by `recon solvar`, {located.proofs.mode}"


def _caution(certain: int, people: int, finer: Sequence[str], words: Words) -> str:
    parts = []
    if certain < people:
        parts.append(
            "Records that are not certain are one of many possibilities, not facts about "
            f"{words.people}."
        )
    if finer and people:
        names = " and ".join(map(_say, finer))
        parts.append(f"Single values of {names} are one possible assignment; none is certain.")
    return " ".join(parts)


def _table_list(tables: Sequence[Table]) -> str:
    names = [table.name for table in tables]
    if len(names) > _LISTED:
        names = [*names[: _LISTED - 1], "…", names[-1]]
    return f"{counted(len(tables), 'table')}: {', '.join(names)}"


def _say(name: str) -> str:
    return name.replace("_", " ")
