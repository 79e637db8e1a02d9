"""Every word of the attack on a tiny release, compared with all that is possible.

A word is *false* where a possible population contradicts it, or where it says that there is one
and there is none. Populations that nothing bounds are tried up to a number of people: they refute
what is said of all, and prove nothing of what is said to exist.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any, Final

import polars as pl

import recon_cli as recon
from benchmarks.soundness.releases import TinyRelease
from recon_cli.capabilities.audit.statuses import NARROWED, RECOVERED, SAFE, UNDECIDED
from recon_cli.capabilities.claims.groups import KINDS, claim_columns
from recon_cli.capabilities.findings.proven import claimed_records, placed_records, proven_units
from recon_cli.errors import ContradictionError, ReconError, SolverError
from recon_cli.schema import Release
from tests.support.enumeration import (
    Record,
    Row,
    Solution,
    TooManyError,
    all_records,
    is_bounded,
    labeller,
    published_rows,
    solutions,
)

#: Populations that are enumerated; of releases with more nothing is checked but the truth.
_LIMIT: Final = 1_500
#: People in a cell that nothing bounds.
_CAP: Final = 3
#: Percent below which shares are equal.
_TINY: Final = 1e-6


@dataclass(frozen=True)
class Word:
    """One thing that was said.

    Attributes:
        kind: What about.
        is_true: None where it was said that nothing is known.
        what: The place, for a person who looks into it.
    """

    kind: str
    is_true: bool | None
    what: str = ""


@dataclass(frozen=True)
class Possible:
    """All that is possible.

    Attributes:
        release: The schema.
        domain: Every record that somebody can have.
        rows: The published counts.
        worlds: The populations that fit.
        is_complete: Whether these are all.
    """

    release: Release
    domain: list[Record]
    rows: list[Row]
    worlds: tuple[Solution, ...]
    is_complete: bool

    @classmethod
    def of(cls, tiny: TinyRelease) -> Possible | None:
        """All that a release leaves possible; None where that is more than can be looked at."""
        domain = all_records(tiny.release, tiny.published)
        rows = published_rows(tiny.release, tiny.published, tiny.release.tables, domain)
        try:
            worlds = solutions(tiny.release, tiny.published, tiny.release.tables, _LIMIT, _CAP)
        except TooManyError:
            return None
        return cls(tiny.release, domain, rows, tuple(worlds), is_bounded(domain, rows))

    @cached_property
    def place(self) -> dict[Record, int]:
        """The number of each record."""
        return {record: i for i, record in enumerate(self.domain)}

    def count(self, row: Row, world: Solution) -> int:
        """What a published count would be."""
        return sum(row.weights.get(self.place[record], 0) * n for record, n in world)

    def allows(self, world: Solution) -> bool:
        """Whether a population fits every count."""
        return all(row.low <= self.count(row, world) <= row.high for row in self.rows)

    @cached_property
    def _by_unit(self) -> dict[tuple[str, ...], list[Counter[tuple[Any, ...]]]]:
        return {}

    def by_unit(self, columns: tuple[str, ...]) -> list[Counter[tuple[Any, ...]]]:
        """List for each world the people by unit and some columns; do not write."""
        if columns not in self._by_unit:
            label = labeller(self.release, columns)
            found = self._by_unit[columns] = []
            for world in self.worlds:
                people: Counter[tuple[Any, ...]] = Counter()
                for (geoid, values), n in world:
                    people[(geoid, *label(values))] += n
                found.append(people)
        return self._by_unit[columns]


def words_of(tiny: TinyRelease) -> Iterator[Word]:
    """Everything that is said of a release, and whether it is true."""
    possible = Possible.of(tiny)
    if tiny.is_right:
        yield from _places(tiny)
    try:
        result = recon.reconstruct(tiny.release, tiny.published, seed=1)
    except ContradictionError:
        yield from _refusal(tiny, possible)
        return
    except SolverError:
        yield Word("solution", None)
        return
    except ReconError as error:
        yield from refused(tiny, error)
        return
    yield Word("solution", recon.verify(tiny.release, tiny.published, result.microdata).ok)
    if possible is None:
        return
    if possible.is_complete:
        yield Word("consistent", bool(possible.worlds))
    if possible.worlds:
        questions = [_reconstructed, _variable, _far_apart, _audited]
        if claim_columns(tiny.release, tiny.release.tables, tiny.published.coverage):
            questions += [_claimed, _together]  # totals alone leave nothing to claim
        for answers in questions:
            yield from _unless_refused(tiny, answers(tiny, possible, result))


def refused(tiny: TinyRelease, error: ReconError) -> Iterator[Word]:
    """A refusal is false where the release is right; one that was changed may be refused."""
    if tiny.is_right:
        yield Word("refusal", is_true=False, what=f"{type(error).__name__}: {error}")


def _unless_refused(tiny: TinyRelease, words: Iterator[Word]) -> Iterator[Word]:
    """Yield what a question answers, or its refusal."""
    try:
        yield from words
    except ContradictionError:
        yield Word("consistent", is_true=False, what="refused after a reconstruction")
    except SolverError:
        yield Word("answer", None)
    except ReconError as error:
        yield from refused(tiny, error)


def _places(tiny: TinyRelease) -> Iterator[Word]:
    """Everybody has a unit in each place with counts, and the truth fits what is published."""
    unit = tiny.release.geography.unit.digits
    coarse = [
        geoid
        for geoid, pattern in tiny.published.geounits.select("geoid", "pattern").rows()
        if len(geoid) < unit and tiny.published.coverage[pattern].cells
    ]
    people: Counter[Record] = Counter()
    for geoid, *values in tiny.records.iter_rows():
        home = tiny.home(geoid)
        if home is not None:
            people[home, tuple(values)] += 1
        elif any(geoid.startswith(place) for place in coarse):
            yield Word("places", is_true=False, what=f"{geoid} is taken to be empty")
            return
    domain = all_records(tiny.release, tiny.published)
    rows = published_rows(tiny.release, tiny.published, tiny.release.tables, domain)
    truth = frozenset(people.items())
    fits = Possible(tiny.release, domain, rows, (), is_complete=False).allows(truth)
    yield Word("places", fits, "the truth is not possible")


def _refusal(tiny: TinyRelease, possible: Possible | None) -> Iterator[Word]:
    if tiny.is_right:
        yield Word("refusal", is_true=False, what="a right release is refused")
    elif possible is not None and (possible.worlds or possible.is_complete):
        yield Word("refusal", not possible.worlds, "a possible release is refused")


def _reconstructed(
    tiny: TinyRelease, possible: Possible, result: recon.Reconstruction
) -> Iterator[Word]:
    name, columns = tiny.release.geoid_column, tiny.release.histogram
    shown = tuple(each for each in columns if not result.microdata[each].null_count())
    worlds = possible.by_unit(columns)
    for geoid, status in result.blocks.select(name, "status").iter_rows():
        if status == "unique":
            kinds = {frozenset((k, n) for k, n in w.items() if k[0] == geoid) for w in worlds}
            yield Word("unique", len(kinds) <= 1, geoid)
        elif status == "undecided":
            yield Word("unique", None)
    parts = possible.by_unit(shown)
    sure = result.microdata.filter("certain").select(name, *shown)
    for key, n in Counter(sure.iter_rows()).items():
        yield Word("certain", min(w[key] for w in parts) >= n, str(key))


def _variable(
    tiny: TinyRelease, possible: Possible, result: recon.Reconstruction
) -> Iterator[Word]:
    release, name = tiny.release, tiny.release.geoid_column
    found = recon.measure_variability(
        release, tiny.published, result.microdata, mode="exact", unit_seconds=5.0
    )
    worlds = possible.by_unit(tuple(found.columns))
    mine = Counter(result.microdata.select(name, *found.columns).iter_rows())
    keys = {key for world in (mine, *worlds) for key in world}
    wanted = name, "solvar_pct", "solvar_upper_pct", "certain_records", "status"
    for unit, reached, most, certain, status in found.units.select(wanted).iter_rows():
        here = [key for key in keys if key[0] == unit]
        own = sum(mine[key] for key in here)
        if tiny.published.is_exact:  # Eq. (solvar), else Eq. (loss)
            lost = max(sum(abs(mine[key] - w[key]) for key in here) for w in worlds) / 2
        else:
            lost = max(sum(max(mine[key] - w[key], 0) for key in here) for w in worlds)
        share = 100 * lost / max(own, 1)
        if own and possible.is_complete:
            yield Word("variability, at least", reached <= share + _TINY, unit)
        if own and most is not None:
            yield Word("variability, at most", share <= most + _TINY, unit)
        least = sum(min(w[key] for w in worlds) for key in here)
        yield Word("certain records", certain <= least, unit)
        if status == "bounded":
            yield Word("variability, at most", None)
    for *key, lower, upper, is_exact in found.intervals.iter_rows():
        counts = [w[tuple(key)] for w in worlds]
        inside = lower <= min(counts) and (upper is None or max(counts) <= upper)
        yield Word("interval", inside, str(key))
        if is_exact and possible.is_complete:
            same = lower == min(counts) and upper in {None, max(counts)}
            yield Word("interval, exact", same, str(key))
        if not is_exact and upper is not None:
            yield Word("interval, exact", None)


def _far_apart(
    tiny: TinyRelease, possible: Possible, result: recon.Reconstruction
) -> Iterator[Word]:
    """The diameter of exact counts, and the confidence of what is certain."""
    if not (tiny.published.is_exact and possible.is_complete):
        return
    release, name = tiny.release, tiny.release.geoid_column
    records = result.microdata
    found = recon.measure_variability(
        release, tiny.published, records, mode="exact", diameter=True, unit_seconds=5.0
    )
    worlds = possible.by_unit(tuple(found.columns))
    wanted = name, "diameter_pct", "diameter_upper_pct"
    for unit, reached, most in found.units.select(wanted).iter_rows():
        here = [Counter({k: n for k, n in w.items() if k[0] == unit}) for w in worlds]
        own = {w.total() for w in here}
        if own != {records.filter(pl.col(name) == unit).height} or own == {0}:
            continue
        apart = max((v - w).total() for v in here for w in here)
        share = 100 * apart / own.pop()
        yield Word("diameter, at least", reached <= share + _TINY, unit)
        if most is not None:
            yield Word("diameter, at most", share <= most + _TINY, unit)
    sampled = recon.measure_confidence(release, tiny.published, records, solutions=5)
    mine = Counter(records.select(name, *found.columns).iter_rows())
    for *key, confidence in sampled.select(name, *found.columns, "confidence").iter_rows():
        is_in_all = min(w[tuple(key)] for w in worlds) >= mine[tuple(key)]
        if is_in_all and confidence is not None:  # it is null where the record is known certain
            yield Word("confidence", confidence == 1, str(key))


def _claimed(tiny: TinyRelease, possible: Possible, result: recon.Reconstruction) -> Iterator[Word]:
    release, name = tiny.release, tiny.release.geoid_column
    found = recon.find_claims(release, tiny.published, result.microdata, unit_seconds=5.0)
    worlds = possible.by_unit(tuple(found.columns))
    claims = found.claims.select(name, *found.columns, "count", "exact")
    for unit, *values, count, is_exact in claims.iter_rows():
        sizes = {
            sum(
                n
                for (home, *have), n in world.items()
                if home == unit
                and all(want in {None, got} for want, got in zip(values, have, strict=True))
            )
            for world in worlds
        }
        is_true = sizes == {count} if is_exact else min(sizes) >= count
        yield Word("claim", is_true, f"{unit} {values} {count} {sorted(sizes)}")
    for status in found.units["status"]:
        if status == "partial":
            yield Word("claim", None)
    for unit, known, *people in found.disclosures.iter_rows():
        most = _disclosed(worlds, unit, known, len(found.columns))
        for kind, told, possibly in zip(KINDS, people, most, strict=True):
            what = f"{unit} {known} known: {told} of {possibly}"
            yield Word(f"disclosure, {kind}", told <= possibly, what)


def _together(
    tiny: TinyRelease, possible: Possible, result: recon.Reconstruction
) -> Iterator[Word]:
    """What all proofs together say of a unit, as pages and `recon show` do."""
    release, name = tiny.release, tiny.release.geoid_column
    found = recon.measure_variability(
        release, tiny.published, result.microdata, mode="exact", unit_seconds=5.0
    )
    claims = recon.find_claims(release, tiny.published, result.microdata, unit_seconds=5.0)
    proven = proven_units(
        result.blocks,
        placed_records(release, result.microdata),
        found.units,
        claimed_records(release, claims.columns, claims.claims),
        "exact",
    )
    worlds = possible.by_unit(tuple(found.columns))
    for unit, population, status in proven.select(name, "population", "status").iter_rows():
        here = {frozenset((k, n) for k, n in w.items() if k[0] == unit) for w in worlds}
        if status == "unique":
            yield Word("unique, by all proofs", len(here) <= 1, unit)
        if population is not None:
            sizes = {sum(n for _, n in each) for each in here}
            yield Word("population", sizes <= {population}, f"{unit} {population} {sizes}")


def _disclosed(
    worlds: list[Counter[tuple[Any, ...]]], unit: str, known: int, columns: int
) -> tuple[int, ...]:
    """Find the people of a unit, by `KINDS`, whose group is disclosed whatever world is true.

    Args:
        worlds: All that are possible.
        unit: Its geoid.
        known: Columns of a person, at most, that form its group.
        columns: How many there are.
    """
    here = [{key[1:]: n for key, n in w.items() if key[0] == unit and n} for w in worlds]
    groups: tuple[set[Any], ...] = tuple(set() for _ in KINDS)
    for at in (at for k in range(known + 1) for at in combinations(range(columns), k)):
        for values in {tuple(key[i] for i in at) for w in here for key in w}:
            inside = [
                {key: n for key, n in w.items() if tuple(key[i] for i in at) == values}
                for w in here
            ]
            sizes = {sum(w.values()) for w in inside}
            for other in set(range(columns)) - set(at) if len(sizes) == 1 else ():
                least = max(
                    min(sum(n for key, n in w.items() if key[other] == value) for w in inside)
                    for value in {key[other] for w in inside for key in w}
                )
                size = max(sizes)
                enough = (size == 1 == least, least == size, least >= 0.8 * size - _TINY)
                for group, is_one in zip(groups, enough, strict=True):
                    if is_one:
                        group.add((at, values))
    return tuple(
        min(
            sum(
                n
                for key, n in w.items()
                if any(tuple(key[i] for i in at) == values for at, values in group)
            )
            for w in here
        )
        for group in groups
    )


def _audited(tiny: TinyRelease, possible: Possible, _: recon.Reconstruction) -> Iterator[Word]:
    rows = _every_cell(tiny, possible)
    audit = recon.audit_counts(tiny.release, tiny.published)
    audited = set(audit.select("geoid", "table", "cell").iter_rows())
    for row in possible.rows:
        if row.low < row.high:
            yield Word("audit row", row.cell in audited, str(row.cell))
    columns = "least", "greatest", "is_exact", "required", "status"
    for geoid, table, cell, *found in audit.select("geoid", "table", "cell", *columns).iter_rows():
        least, greatest, is_exact, required, status = found
        row = rows[geoid, table, cell]
        counts = {possible.count(row, world) for world in possible.worlds}
        what = f"{geoid} {table} {cell}: {least}..{greatest} of {sorted(counts)}"
        inside = least <= min(counts) and (greatest is None or max(counts) <= greatest)
        yield Word("audit interval", inside, what)
        if is_exact and possible.is_complete:
            ends = (min(counts), max(counts))
            yield Word("audit interval, exact", (least, greatest) == ends, what)
        if status == RECOVERED:
            yield Word("recovered", len(counts) == 1, what)
        elif status == SAFE and possible.is_complete:
            yield Word("safe", max(counts) - min(counts) >= required, what)
        elif status == NARROWED:
            is_close = max(counts) - min(counts) < required
            yield Word("narrowed", is_close and (len(counts) > 1 or not possible.is_complete), what)
        elif status == UNDECIDED:
            yield Word("audit", None, what)


def _every_cell(tiny: TinyRelease, possible: Possible) -> dict[tuple[str, str, int], Row]:
    """A row for each cell of the tables of a geounit, published or left out."""
    whole = tuple(
        replace(
            pattern,
            cells={
                name: tuple(range(1, len(tiny.release.table_by_name[name].cells) + 1))
                for name in pattern.cells
            },
        )
        for pattern in tiny.published.coverage
    )
    published = replace(tiny.published, coverage=whole)
    rows = published_rows(tiny.release, published, tiny.release.tables, possible.domain)
    return {row.cell: row for row in rows}
