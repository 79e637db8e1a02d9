"""`recon show`: what the work folder holds of one geounit → `View`. Writes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import polars as pl

from recon_cli.attack.reconstruction.partition import QUARANTINED
from recon_cli.errors import ConfigError
from recon_cli.explain.facts import Facts, Scope, facts_around, record_counts_of
from recon_cli.explain.minimal_explanation import SearchEffort
from recon_cli.pipeline.disagreement_log import log_disagreements
from recon_cli.pipeline.run import Run
from recon_cli.progress import Task, plural
from recon_cli.report.reasons import Reasons
from recon_cli.report.unit_kinds import UnitKinds, unit_kinds
from recon_cli.report.view import Detail, Member, Place, Reason, RecordKind, View
from recon_cli.report.words import share, words_of
from recon_cli.schema import Level, Table
from recon_cli.stages.geounit import Located, locate

#: Kinds of people that are explained without being asked for.
EXPLAINED = 3
#: Tables that are named one by one.
_LISTED = 8
_STATUSES = {
    "unique": "proven unique: no other records have these counts",
    "solved": "not proven unique: other records may have the same counts",
    "open": "open: the tables in use do not bound everybody, there may be more people",
    QUARANTINED: "not solved: workers died at it",
}
_SHORT = {"unique": "unique", "solved": "not unique", "open": "open", QUARANTINED: "not solved"}


@dataclass(frozen=True)
class Why:
    """Whose certainty is explained.

    Attributes:
        numbers: Rows of the list of people; None for the first few.
        everyone: All of them.
    """

    numbers: tuple[int, ...] | None = None
    everyone: bool = False

    @property
    def is_asked(self) -> bool:
        """Whether somebody in particular, or everybody, is asked for."""
        return self.everyone or self.numbers is not None


def show(run: Run, geoid: str, why: Why) -> View:
    """Everything that is known of one geounit.

    Args:
        run: The run.
        geoid: A geounit of any level from the unit to the partition.
        why: Whose certainty is explained.

    Raises:
        ConfigError: There is no such geounit or row.
        StageError: ``tables/`` or ``microdata/`` is missing, damaged or out of date.
        SolverError: Two engines disagree; the model is kept in the work folder.
    """
    found = locate(run, geoid)
    is_unit = found.level == run.release.geography.unit
    return _unit_view(found, why) if is_unit else _whole_view(found)


def _frame(found: Located) -> View:
    """What every view has."""
    listed, geography = found.published_tables(), found.release.geography
    coarser = [
        level
        for level in geography.levels
        if geography.partition_digits <= level.digits < found.level.digits
    ]
    return View(
        title=found.release.title,
        place=Place(_say(found.level.name), found.geoid),
        above=tuple(Place(_say(each.name), found.geoid[: each.digits]) for each in coarser),
        facts=(),
        notes=_notes(found),
        tables=listed.shown,
        empty_tables=listed.empty,
        absent_tables=listed.absent,
    )


def _notes(found: Located) -> tuple[str, ...]:
    if found.measured is not None:
        return ()
    if (found.run.work / "solvar").is_dir():
        return ("solvar/ was made from other records: run `recon solvar` again.",)
    return ("Solution variability is not measured: `recon solvar` does it.",)


def _unit_view(found: Located, why: Why) -> View:
    release, name = found.release, found.release.geoid_column
    records = found.records.filter(pl.col(name) == found.geoid)
    unit = found.blocks.filter(pl.col(name) == found.geoid).row(0, named=True)
    kinds = unit_kinds(release, records, found.intervals(), found.tables)
    certain = sum(kind.lower for kind in kinds.kinds)
    is_empty = unit["population"] == 0 and unit["status"] != "open"
    unseen = [each for each in release.histogram if records[each].null_count() == records.height]
    words = words_of(release)
    facts = [
        Detail("people", _people(unit["population"], records.height)),
        Detail("reconstruction", "nobody to place" if is_empty else _STATUSES[unit["status"]]),
        Detail("solvar", _solvar_fact(found)),
        Detail("certain", _certain_fact(certain, records.height)),
        Detail("made from", _table_list(found.tables)),
    ]
    if unseen and records.height:
        facts.append(
            Detail("not seen", f"{words.listed(unseen)}: no table in use tells them apart")
        )
    reasons = _reasons(found, kinds, why)
    explained = {reason.kind.number for reason in reasons}
    return replace(
        _frame(found),
        facts=tuple(facts),
        columns=tuple(words.columns[column] for column in release.histogram),
        finer_columns=tuple(_say(column) for column in kinds.finer),
        kinds=kinds.kinds,
        possible=kinds.possible,
        bounds=_bounds(found),
        reasons=reasons,
        unexplained=sum(k.lower > 0 and k.number not in explained for k in kinds.kinds),
        caution=_caution(certain, records.height, kinds.finer),
    )


def _whole_view(found: Located) -> View:
    release, name = found.release, found.release.geoid_column
    is_wide = found.level.digits < release.region.digits
    inner = release.region if is_wide else release.geography.unit
    here = pl.col(name).str.starts_with(found.geoid)
    blocks = found.blocks.filter(here)
    flagged = found.records.filter(here).group_by(name).agg(flagged=pl.col("certain").sum())
    rows = blocks.join(flagged, on=name, how="left").with_columns(
        certain=pl.col("flagged").fill_null(0)
    )
    if found.solvar is not None:
        measured = found.solvar.select(name, "solvar_pct", "solvar_upper_pct", "certain_records")
        rows = rows.join(measured, on=name, how="left").with_columns(
            certain=pl.max_horizontal("certain", pl.col("certain_records").fill_null(0))
        )
    rows = rows.sort(name)
    people = int(rows["population"].sum())
    counted = rows.filter(pl.col("population").fill_null(1) > 0)
    unique = counted.filter(pl.col("status") == "unique").height
    members = _sums(counted, name, inner) if is_wide else _members(counted, name)
    certain = int(rows["certain"].sum())
    units = words_of(release).units
    at_least = "" if found.measured is not None else "at least "
    facts = (
        Detail("people", f"{people:,}"),
        Detail(f"{units}", f"{rows.height:,}, {counted.height:,} with people"),
        Detail("proven unique", f"{unique:,} {units} ({share(unique, counted.height)})"),
        Detail("certain", at_least + _certain_fact(certain, people)),
        Detail("made from", _table_list(found.tables)),
    )
    return replace(
        _frame(found),
        facts=facts,
        member_level=_say(plural(inner.name)),
        members=tuple(members),
        empty_members=0 if is_wide else rows.height - counted.height,
    )


def _members(rows: pl.DataFrame, name: str) -> list[Member]:
    return [
        Member(
            geoid=row[name],
            people=row["population"],
            status=_SHORT[row["status"]],
            solvar=_percent(row["solvar_pct"], row["solvar_upper_pct"])
            if "solvar_pct" in row
            else None,
            certain=row["certain"],
        )
        for row in rows.iter_rows(named=True)
    ]


def _sums(rows: pl.DataFrame, name: str, inner: Level) -> list[Member]:
    summed = (
        rows.group_by(geoid=pl.col(name).str.head(inner.digits))
        .agg(
            pl.col("population").sum(),
            pl.col("certain").sum(),
            pl.len(),
            unique=(pl.col("status") == "unique").sum(),
        )
        .sort("geoid")
    )
    return [
        Member(
            geoid=row["geoid"],
            people=row["population"],
            status=f"{row['unique']:,} of {row['len']:,} unique",
            solvar=None,
            certain=row["certain"],
        )
        for row in summed.iter_rows(named=True)
    ]


def _reasons(found: Located, kinds: UnitKinds, why: Why) -> tuple[Reason, ...]:
    chosen = _chosen(kinds.kinds, why)
    if not chosen:
        return ()
    release, published = found.release, found.published

    def facts_of(scope: Scope) -> Facts:
        return facts_around(release, published, found.tables, found.geoid, scope)

    people = record_counts_of(release, found.records, facts_of(Scope.UNIT).units)
    reasons = Reasons(release, facts_of, people, SearchEffort(seed=found.run.config.top.seed))
    with log_disagreements(found.run.work):
        if not why.is_asked:
            return _first_reasons(reasons, kinds, chosen)
        # Where nobody was placed, the region's records do not add up to its counts.
        widest = Scope.UNIT if QUARANTINED in set(found.blocks["status"]) else Scope.REGION
        task = Task("why", "row", len(chosen), sum(kind.lower for kind in chosen))
        answers = []
        with found.run.reporter.bar(task) as bar:
            for kind in chosen:
                answers.append(reasons.of(kind, kinds.labels[kind.number - 1], widest))
                bar.advance(1, kind.lower)
    return tuple(answers)


def _first_reasons(
    reasons: Reasons, kinds: UnitKinds, chosen: Sequence[RecordKind]
) -> tuple[Reason, ...]:
    """A few that are quickly found, from all over the list."""
    answers: list[Reason] = []
    step = -(-len(chosen) // (3 * EXPLAINED))
    for kind in chosen[::step]:
        reason = reasons.at_a_glance(kind, kinds.labels[kind.number - 1])
        if reason is not None:
            answers.append(reason)
        if len(answers) == EXPLAINED:
            break
    return tuple(sorted(answers, key=lambda reason: reason.kind.number))


def _chosen(kinds: Sequence[RecordKind], why: Why) -> list[RecordKind]:
    """The kinds to explain; without a wish all certain ones, the fewest people first."""
    certain = [kind for kind in kinds if kind.lower]
    if why.everyone:
        return certain
    if why.numbers is None:
        return sorted(certain, key=lambda kind: (kind.lower, kind.number))
    chosen = []
    for number in why.numbers:
        if not kinds:
            raise ConfigError(f"--why {number}: nobody is there, so there is no row to explain")
        if not 1 <= number <= len(kinds):
            raise ConfigError(f"--why {number}: the list has rows 1 to {len(kinds)}")
        if not kinds[number - 1].lower:
            raise ConfigError(
                f"--why {number}: nobody in row {number} ({kinds[number - 1].words}) is certain"
            )
        chosen.append(kinds[number - 1])
    return chosen


def _people(published: int | None, reconstructed: int) -> str:
    if published is None:
        return f"at least {reconstructed:,}; no table in use says how many"
    return f"{published:,}"


def _solvar_fact(found: Located) -> str:
    if found.solvar is None or found.measured is None:
        return "not measured"
    row = found.solvar.filter(pl.col(found.release.geoid_column) == found.geoid)
    if row.is_empty():
        return "not measured"
    about = row.row(0, named=True)
    mode = found.measured.manifest.notes["mode"]
    value = _percent(about["solvar_pct"], about["solvar_upper_pct"])
    return f"{value} ({mode}, {about['status']})"


def _certain_fact(certain: int, people: int) -> str:
    if not people:
        return "no records"
    return f"{certain:,} of {people:,} records ({share(certain, people)})"


def _percent(low: float | None, high: float | None) -> str | None:
    if low is None:
        return None
    if high is None:
        return f"{low:.1f}% or more"
    return f"{low:.1f}%" if high == low else f"{low:.1f}% to {high:.1f}%"


def _bounds(found: Located) -> str:
    if found.measured is None:
        return "by propagation of bounds: valid, maybe wider than the truth"
    return f"measured by `recon solvar`, {found.measured.manifest.notes['mode']}"


def _caution(certain: int, people: int, finer: Sequence[str]) -> str:
    parts = []
    if certain < people:
        parts.append(
            "Records that are not certain are one of many possibilities, not facts about anybody."
        )
    if finer and people:
        names = " and ".join(map(_say, finer))
        parts.append(f"Single values of {names} are one way to fit; none is called certain.")
    return " ".join(parts)


def _table_list(tables: Sequence[Table]) -> str:
    names = [table.name for table in tables]
    if len(names) > _LISTED:
        names = [*names[: _LISTED - 1], "…", names[-1]]
    return f"{len(tables)} table{'s' if len(tables) > 1 else ''}: {', '.join(names)}"


def _say(name: str) -> str:
    return name.replace("_", " ")
