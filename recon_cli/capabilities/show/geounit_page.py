"""Counts, records and claims of one geounit, in the rows that `recon show` lists."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from recon_cli.capabilities.findings.wording import size_text
from recon_cli.capabilities.show.view import CellLine, RecordKind, TableView
from recon_cli.coverage import CoveragePattern
from recon_cli.page.words import Words, enumerate_words, of_people, percentage
from recon_cli.schema import Release, Table, Value
from recon_cli.schema.description import (
    describe_cell,
    describe_condition,
    describe_label,
    describe_values,
)
from recon_cli.stage import undisturbed


@dataclass(frozen=True)
class GeounitTables:
    """The tables of one geounit.

    Attributes:
        shown: Tables with a cell above zero.
        empty: Names of tables that are all zero.
        absent: Names of tables that the schema has for the level, not published here.
    """

    shown: tuple[TableView, ...]
    empty: tuple[str, ...]
    absent: tuple[str, ...]


def published_tables(
    release: Release,
    pattern: CoveragePattern,
    counts: Mapping[tuple[str, int], tuple[int, int | None]],
    used: Collection[str],
) -> GeounitTables:
    """Arrange the tables of one geounit.

    Args:
        pattern: Published cells of the geounit.
        counts: Table and cell number → count above zero and None, or for a statement its least
            and greatest true count.
        used: Names of the tables that records were made from.
    """
    shown: list[TableView] = []
    empty: list[str] = []
    absent: list[str] = []
    for table in release.tables:
        numbers = pattern.cells.get(table.name, ())
        if pattern.level not in table.levels:
            continue
        if not numbers:
            absent.append(table.name)
            continue
        masks = zip(*(cell.masks for cell in table.cells), strict=True)
        common = tuple(f for f, of_feature in enumerate(masks) if len(set(of_feature)) == 1)
        lines = tuple(
            CellLine(
                code=table.codes[number - 1],
                words=describe_cell(release, table.cells[number - 1], common),
                count=counts[table.name, number][0],
                high=counts[table.name, number][1],
            )
            for number in numbers
            if (table.name, number) in counts
        )
        if not lines and len(numbers) == len(table.cells):
            empty.append(table.name)
            continue
        shown.append(
            TableView(
                name=table.name,
                about=_say_common(release, table, common),
                lines=lines,
                zeros=len(numbers) - len(lines),
                withheld=len(table.cells) - len(numbers),
                is_used=table.name in used,
            )
        )
    return GeounitTables(tuple(shown), tuple(empty), tuple(absent))


def _say_common(release: Release, table: Table, common: Sequence[int]) -> str:
    """Describe the common conditions of a table's cells."""
    masks = table.cells[0].masks
    return _say(release, [masks[f] if f in common else full for f, full in enumerate(release.full)])


Labels = tuple[Value | None, ...]
#: Histogram cells without reconstructed people that are put into words.
POSSIBLE = 500


@dataclass(frozen=True)
class UnitKinds:
    """The reconstructed people of a unit, by histogram cell.

    Attributes:
        kinds: Kinds of reconstructed people, in the order of the schema.
        labels: For each of `kinds` its histogram columns as in the data.
        possible: Kinds that only other solutions may have; the first `POSSIBLE`.
        more_possible: Number of further possible cells.
        finer: Names of the columns of `RecordKind.finer`.
    """

    kinds: tuple[RecordKind, ...]
    labels: tuple[Labels, ...]
    possible: tuple[RecordKind, ...]
    more_possible: int
    finer: tuple[str, ...]


def unit_kinds(
    release: Release, records: pl.DataFrame, intervals: pl.DataFrame, tables: Sequence[Table]
) -> UnitKinds:
    """List the kinds of people of one unit.

    Args:
        records: The unit's reconstructed records.
        intervals: Histogram cells of the unit: the histogram columns that the tables see,
            ``lower``, ``upper``, and ``exact`` where it was measured.
        tables: The tables that the records were made from.
    """
    columns = list(release.histogram)
    known = [name for name in columns if name in intervals.columns]
    finer, fine = finer_columns(release, tables), _Finer(release, tables)
    bounds = {
        row[: len(known)]: row[len(known) :]
        for row in intervals.select(
            *known,
            "lower",
            "upper",
            pl.col("exact") if "exact" in intervals.columns else pl.lit(value=False),
        ).iter_rows()
    }
    reconstructed: list[tuple[Labels, RecordKind]] = []
    grouped = records.group_by(columns).agg(pl.len(), pl.col("certain").sum(), *finer)
    for row in grouped.iter_rows(named=True):
        labels = tuple(row[name] for name in columns)
        lower, upper, exact = bounds.pop(
            tuple(row[name] for name in known), (row["certain"], None, False)
        )
        kind = RecordKind(
            number=0,
            values=_headed(release, columns, labels),
            words=say_kind(release, labels),
            people=row["len"],
            lower=max(lower, row["certain"]),
            upper=upper,
            is_exact=exact or (upper is not None and max(lower, row["certain"]) == upper),
            finer=tuple(fine.say(labels, name, row[name]) for name in finer),
        )
        reconstructed.append((labels, kind))
    reconstructed.sort(key=lambda item: _rank(release, item[0]))
    elsewhere = _elsewhere(bounds, known, columns)
    elsewhere.sort(key=lambda item: _rank(release, item[0]))
    return UnitKinds(
        kinds=tuple(
            replace(kind, number=at) for at, (_, kind) in enumerate(reconstructed, start=1)
        ),
        labels=tuple(labels for labels, _ in reconstructed),
        possible=tuple(_possible(release, columns, each) for each in elsewhere[:POSSIBLE]),
        more_possible=max(len(elsewhere) - POSSIBLE, 0),
        finer=finer,
    )


def _elsewhere(
    bounds: Mapping[Labels, tuple[int, int | None, bool]],
    known: Sequence[str],
    columns: Sequence[str],
) -> list[tuple[Labels, int, int, bool]]:
    """List kinds that some solution may have people of, by labels, with their intervals."""
    found = []
    for key, (lower, upper, exact) in bounds.items():
        at = dict(zip(known, key, strict=True))
        if upper:
            found.append((tuple(at.get(name) for name in columns), lower, upper, exact))
    return found


def _possible(
    release: Release, columns: Sequence[str], found: tuple[Labels, int, int, bool]
) -> RecordKind:
    labels, lower, upper, exact = found
    values, words = _headed(release, columns, labels), say_kind(release, labels)
    return RecordKind(0, values, words, 0, lower, upper, is_exact=exact)


def finer_columns(release: Release, tables: Sequence[Table]) -> tuple[str, ...]:
    """List microdata columns finer than the histogram that a table in use distinguishes."""
    finer = []
    for name in release.microdata:
        groups = release.column_groups(name)
        f = release.feature_index[groups.feature]
        coarse = [
            mask
            for column in release.histogram
            if release.column_groups(column).feature == groups.feature
            for mask in release.column_groups(column).masks
        ]
        masks = {cell.masks[f] for table in tables for cell in table.cells}
        if name not in release.histogram and any(
            mask & whole not in {0, whole} for whole in coarse for mask in masks
        ):
            finer.append(name)
    return tuple(finer)


def _rank(release: Release, labels: Labels) -> tuple[int, ...]:
    """Return the sort key of labels in schema order; unknown ones come last."""
    known = (release.column_groups(name).labels for name in release.histogram)
    return tuple(
        of.index(label) if label in of else len(of) for of, label in zip(known, labels, strict=True)
    )


def kind_masks(release: Release, labels: Labels) -> tuple[int, ...]:
    """Return the predicate of a histogram cell; unknown labels restrict nothing."""
    return masks_of(release, dict(zip(release.histogram, labels, strict=True)))


def masks_of(release: Release, values: Mapping[str, Value | None]) -> tuple[int, ...]:
    """Return the predicate of some columns' values; None restricts nothing."""
    masks = list(release.full)
    for name, label in values.items():
        if label is not None:
            groups = release.column_groups(name)
            masks[release.feature_index[groups.feature]] &= groups.masks[groups.labels.index(label)]
    return tuple(masks)


def say_kind(release: Release, labels: Labels) -> str:
    """Describe a histogram cell in one line."""
    return _say(release, kind_masks(release, labels)) or "anybody"


def _say(release: Release, masks: Sequence[int]) -> str:
    words = [describe_condition(f, mask) for f, mask in zip(release.features, masks, strict=True)]
    return ", ".join(word for word in words if word)


def _headed(release: Release, columns: Sequence[str], labels: Labels) -> tuple[str, ...]:
    return tuple(describe_label(release, name, x) for name, x in zip(columns, labels, strict=True))


class _Finer:
    """Values finer than the histogram, as far as the tables in use distinguish them."""

    def __init__(self, release: Release, tables: Sequence[Table]) -> None:
        cells = [cell for table in tables for cell in table.cells]
        tallied = {cell.tally for cell in cells if cell.tally is not None}
        self._release = release
        # numpy, which a list of geounits needs not
        with undisturbed():
            from recon_cli.model.grain import refine

        self._atoms = refine(release, [cell.masks for cell in cells], tallied).atoms

    def say(self, labels: Labels, name: str, values: Sequence[Any]) -> str:
        """List values with their frequency, ``7, 8 ×2``; empty if the histogram shows them all."""
        groups = self._release.column_groups(name)
        f = self._release.feature_index[groups.feature]
        feature, mask = self._release.features[f], kind_masks(self._release, labels)[f]
        inside = [atom & mask for atom in self._atoms[f] if atom & mask]
        if len(inside) < 2:
            return ""
        counted: Counter[int] = Counter()
        for value in values:
            if value is not None:
                group = groups.masks[groups.labels.index(value)]
                counted[next(atom for atom in inside if atom & group)] += 1
        return ", ".join(
            f"{describe_values(feature, atom)} ×{counted[atom]}"
            if counted[atom] > 1
            else describe_values(feature, atom)
            for atom in inside
            if counted[atom]
        )


def claim_sentence(
    release: Release, words: Words, columns: Sequence[str], claim: Mapping[str, Any]
) -> str:
    """Describe a claim in one line, and name the columns that it leaves open.

    Args:
        columns: The columns of claims.
    """
    told = masks_of(release, {name: claim[name] for name in columns})
    values = _say(release, told) or f"any {words.person}"
    still_open = [words.columns.get(name, name) for name in columns if claim[name] is None]
    rest = f"; {enumerate_words(still_open)} left open" if still_open else ""
    rules = "; assuming structural zeros" if claim["rests_on"] != "tables" else ""
    is_nobody = claim["exact"] and not claim["count"]
    size = words.nobody if is_nobody else size_text(claim, of_people(claim["count"], words))
    shares = claim["p_all"] if claim["p_region"] is None else claim["p_region"]
    guessed = f"{percentage(shares, 1)} by guessing"  # by the shares nearest to the unit
    return f"{size}: {values}{rest}{rules}; {guessed}"
