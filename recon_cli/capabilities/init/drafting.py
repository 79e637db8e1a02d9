"""A schema and a mapping drafted from tables, by what their numbers show."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Final

import polars as pl

from recon_cli.capabilities.init.conditions import values_of
from recon_cli.capabilities.init.drafted import Drafted
from recon_cli.capabilities.init.kinds_draft import draft_kinds
from recon_cli.capabilities.init.known_sheets import part_of
from recon_cli.capabilities.init.lines import Part
from recon_cli.capabilities.init.long_draft import draft_long
from recon_cli.capabilities.init.long_places import add_long_places, codes_of_places
from recon_cli.capabilities.init.names import levels_of
from recon_cli.capabilities.init.open_question import OpenQuestion
from recon_cli.capabilities.init.place_parents import PlaceSum, fits
from recon_cli.capabilities.init.place_tree import PlaceTree
from recon_cli.capabilities.init.proposal.proposed_table import ProposedTable, said_texts
from recon_cli.capabilities.init.proposal.relation import Axis
from recon_cli.capabilities.init.proposal.said_sums import open_sum_error, open_sums
from recon_cli.capabilities.init.schema_draft import draft_schema
from recon_cli.capabilities.init.sheet_places import add_sheet_places
from recon_cli.capabilities.init.statistic_columns import StatisticColumns
from recon_cli.capabilities.init.statistic_draft import Scale
from recon_cli.capabilities.init.statistic_tables import (
    StatisticTable,
    statistic_tables,
    taken_values,
    with_statistics,
)
from recon_cli.capabilities.init.table_questions import (
    ask_across,
    ask_division,
    ask_kinds_of_places,
    ask_overfull,
    ask_periods,
    ask_places_or_kinds,
    ask_possible,
    ask_possible_sums,
    ask_sum_of_printed,
    asked_once,
    is_told_by,
    or_sheets,
)
from recon_cli.capabilities.init.tables import TableFile
from recon_cli.capabilities.init.universes import separate_tables
from recon_cli.capabilities.init.wide_draft import draft_wide
from recon_cli.schema import Release, parse_release
from recon_cli.sources.read.row_labels import PART_OF, rows_named
from recon_cli.sources.read.table_reading import ONE_PLACE

#: Formats whose geoids are those of the US census.
_CENSUS: Final = ("census-api", "data-census-gov", "factfinder", "nhgis")


@dataclass(frozen=True)
class Draft:
    """A drafted schema and mapping, with doubts and questions.

    Attributes:
        text: The schema as YAML.
        mapping: Keys of ``ingest.mapping``.
        printed: Table of statistics → texts in place of its numbers.
        missing: How many counts have no row, of files with a row per count.
    """

    text: str
    release: Release
    mapping: dict[str, object]
    geoids: Mapping[str, str]
    doubts: tuple[str, ...]
    questions: tuple[OpenQuestion, ...]
    printed: Mapping[str, tuple[str, ...]]
    missing: int = 0


def draft(
    files: Sequence[TableFile],
    name: str,
    statistics: Mapping[str, str] = MappingProxyType({}),
    *,
    are_kinds: bool = False,
) -> Draft:
    """Draft a schema, and the mapping with which it reads files.

    Args:
        name: Name of the release.
        statistics: Header of a column of means or the like → what the user says of it.
        are_kinds: Whether the user says that all is about one place.

    Raises:
        SchemaError: The drafted schema contradicts itself.
        SourceError: Numbers contradict what the user says.
    """
    parts = [part_of(file) for file in files]
    drafted = _Drafter(parts, name, statistics, are_kinds=are_kinds).draft(
        census=files[0].form.name in _CENSUS
    )
    asked = tuple(
        question for file in files for question in ask_kinds_of_places(file, drafted.geoids)
    )
    return replace(drafted, questions=(*drafted.questions, *asked))


def geoids_of(files: Sequence[TableFile]) -> dict[str, str]:
    """Map the text of each place in files to a geoid."""
    drafter = _Drafter([part_of(file) for file in files], "release")
    drafter.read()
    return drafter.places.geoids()


class _Drafter:
    def __init__(
        self,
        parts: Sequence[Part],
        name: str,
        statistics: Mapping[str, str] = MappingProxyType({}),
        *,
        are_kinds: bool = False,
    ) -> None:
        self.parts = list(parts)
        self.name = name
        self.drafted = Drafted()
        self.places = PlaceTree()
        self.statistics = statistics
        self.are_kinds = are_kinds
        self.found: list[StatisticTable] = []

    def draft(self, *, census: bool) -> Draft:
        self.read()
        self._add_statistics()
        geoids = self.places.geoids()
        places = pl.Series("geoid", sorted(set(geoids.values())), dtype=pl.String)
        lengths = sorted(set(places.str.len_chars().to_list()))
        said = max((part.levels for part in self.parts), key=len)
        named = levels_of(lengths, said, has_whole="A" in geoids.values())
        first, *others = dict.fromkeys(part.path.name for part in self.parts)
        files = first + (f" and {len(others)} more" if others else "")
        title = self.parts[0].title if len(self.parts) == 1 else ""
        published = frozenset(len(geoids[place]) for place in self.shown)
        tables = [replace(each, lengths=published) for each in self.drafted.tables]
        text, doubts = draft_schema(
            self.name, title or files, tables, places, named, files=files, census=census
        )
        release = parse_release(text, source=f"{self.name}.yaml")
        return Draft(
            text,
            release,
            self._mapping(geoids),
            geoids,
            tuple(dict.fromkeys((*self.drafted.doubts, *self.drafted.features.doubts, *doubts))),
            tuple(asked_once(self.drafted.questions)),
            {each.name: each.marks for each in self.found},
            self.drafted.missing,
        )

    def read(self) -> None:
        """Read the places, features and cells of all tables."""
        across = ask_across(self.parts)
        self.drafted.questions += filter(None, [ask_places_or_kinds(self.parts)])
        self.drafted.questions += (question for question, _ in across)
        for number, part in enumerate(self.parts):
            others = [other for other in self.parts if other is not part]
            said = {name for each in part.table.said_sums for name in each.names}
            told = {at for at in part.table.counts if part.column(at) in said}
            told = told.union(*(columns.get(number, ()) for _, columns in across))
            asked = [
                each
                for each in part.table.questions
                if not is_told_by(part, each, others)
                and not (each.columns and {*each.columns} <= told)
            ]
            self.drafted.asked |= {part.column(at) for each in asked for at in each.columns}
            self.drafted.asked = self.drafted.asked.union(*(each.summed for each in asked))
            self.drafted.questions += (or_sheets(each, part, others) for each in asked)
            self.drafted.doubts += _sums_alike(part)
            if rows := list(dict.fromkeys(label for label, _ in part.table.left_rows)):
                self.drafted.leave_out |= dict.fromkeys(rows, "")
            self._add_places(part)
        add_sheet_places(self.places, self.parts)
        if not self.drafted.questions:  # an answer may tell what they are parts of
            self.drafted.questions += map(ask_overfull, self.places.overfull())
            self.drafted.questions += (
                ask_division(each, self.parts) for each in self.places.divisions()
            )
            self.drafted.questions += map(ask_possible, self.places.possible())
            self.drafted.questions += map(ask_possible_sums, self.places.possible_sums())
            self.drafted.questions += map(ask_sum_of_printed, self.places.sums_of_printed())
        self.drafted.paths = self.places.paths()
        for group in self._groups():
            periods = ask_periods(group, are_kinds=self.are_kinds)
            self.drafted.questions = [*filter(None, [periods]), *self.drafted.questions]
            if group[0].table.names.is_long:
                draft_long(self.drafted, group[0])
            elif group[0].table.are_kinds:
                draft_kinds(self.drafted, group, are_kinds=self.are_kinds)
            else:
                draft_wide(self.drafted, group, {part.document.sheet for part in self.parts})
        slack = 2.0 * (max(part.table.relations.base for part in self.parts) - 1)
        if len(apart := separate_tables(self.drafted.totals, slack)) > 1:
            shown = ", ".join(apart)
            self.drafted.doubts.append(
                f"whether {shown} count the same people: if not, give each its universe in the "
                "schema"
            )

    @property
    def shown(self) -> set[str]:
        """Return places that have rows of counts."""
        found: set[str] = set()
        for part in self.parts:
            table = part.table
            if table.are_kinds:
                found.add(table.only_place)
            elif table.names.is_long:
                found |= set(part.table.place_texts)
            else:
                found |= {PART_OF.join(path) for path in table.rows}
        return found

    def _mapping(self, geoids: Mapping[str, str]) -> dict[str, object]:
        first = self.parts[0].table
        mapping: dict[str, object] = {}
        if self.parts[0].is_sheet:
            if first.place is not None and not first.are_kinds:
                mapping["place"] = first.header(first.place)
            if chain := [first.header(at) for at in first.parents]:
                mapping["parent"] = chain
        if any(place != geoid for place, geoid in geoids.items()):
            mapping["geoids"] = dict(geoids)
        mapping["labels"] = {
            axis: {label: values_of(condition) for label, condition in own.items()}
            for axis, own in self.drafted.labels.items()
        }
        printed = {name: said for each in self.found for name, said in each.mapping.items()}
        if narrowing := {k: v for k, v in _percentages(self.parts).items() if k not in printed}:
            mapping["percentages"] = narrowing
        if printed:
            mapping["statistics"] = printed
        if len(self.drafted.cells) > 1:
            mapping["tables"] = dict(self.drafted.table_of)
        if self.drafted.leave_out:
            mapping["columns"] = dict.fromkeys(self.drafted.leave_out)
        sheets = [part.table for part in self.parts if part.is_sheet]
        others = [part.table for part in self.parts if not part.is_sheet]
        return mapping | said_texts(sheets, others)

    def _add_statistics(self) -> None:
        """Add the tables of means, medians, minima and maxima that the sheets print."""
        known = self.drafted.features.keys
        scales = [scale for each in known.items() if (scale := Scale.of(*each)) is not None]
        search = StatisticColumns(
            self.parts,
            self.drafted.labels,
            scales,
            list(known),
            self.statistics,
            len(self.shown) * math.prod(map(len, known.values())),
        )
        self.found = statistic_tables(search.found())
        self.drafted.questions += search.questions
        self.drafted.tables = with_statistics(
            self.drafted.tables, self.found, self.drafted.features.forms
        )
        self.drafted.doubts += taken_values(self.found)

    def _groups(self) -> list[list[Part]]:
        """Group tables that count the same places or kinds, or have the same columns."""
        groups: list[list[Part]] = []
        for part in self.parts:
            table = part.table
            same_rows = [
                g for g in groups if g[0].table.are_kinds and _have_same_rows(g[0].table, table)
            ]
            if table.are_kinds and same_rows:
                same_rows[0].append(part)
                continue
            if table.names.is_long or table.are_kinds:
                groups.append([part])
                continue
            headers = [part.column(at) for at in table.counts]
            for group in groups:
                other = group[0].table
                if other.names.is_long or other.are_kinds:
                    continue
                rows = set().union(*map(self.drafted.rows_of, group))
                own = set(self.drafted.rows_of(part))
                theirs = [group[0].column(at) for at in other.counts]
                if 2 * len(own & rows) >= min(len(own), len(rows)) or headers == theirs:
                    group.append(part)
                    break
            else:
                groups.append([part])
        return groups

    def _add_places(self, part: Part) -> None:
        """Add the places of a table, unless its sheet is a place (see `add_sheet_places`)."""
        if part.table.sheet_place is not None:
            return
        if part.table.are_kinds or (part.table.names.is_long and part.table.place is None):
            self.places.add_one(ONE_PLACE, "A1")
        elif part.table.names.is_long:
            add_long_places(self.places, part)
        else:
            self._add_wide_places(part)

    def _add_wide_places(self, part: Part) -> None:
        """Add the places of a table with a row per place."""
        table = part.table
        for each in table.said_sums:
            if open_sums([each], partial(rows_named, table.rows)):
                raise open_sum_error(each)
        place = {row: i for i, row in enumerate(table.region.body.tolist())}
        base = table.relations.base
        headers = {word for path in table.headers.values() for word in path}
        strong = [each for each in table.relations.sums(Axis.ROWS) if each.support.is_strong]
        sums = [PlaceSum(place[each.line], tuple(place[row] for row in each.of)) for each in strong]
        self.places.add(
            part.label,
            table.rows,
            sums,
            part.numbers,
            codes_of_places(part),
            columns=[part.column(at) for at in table.counts],
            base=base,
            totals=[
                i
                for i in table.rows_total
                if not {*table.rows[i][-1:]} & headers
                or fits(part.numbers, i, [*range(i), *range(i + 1, len(table.rows))], base)
            ],
            apart=table.rows_apart,
        )


def _sums_alike(part: Part) -> list[str]:
    """Return a doubt for each sum that no number shows, and that is accepted by alike sums."""
    table = part.table
    label = {
        row: PART_OF.join(path)
        for row, path in zip(table.region.body.tolist(), table.rows, strict=True)
        if table.are_kinds
    }
    return [
        f"whether {name(each.line)!r} is {' + '.join(repr(name(at)) for at in each.of)}: no number "
        "shows it, and others that read so do"
        for axis, name in ((Axis.COLUMNS, table.header), (Axis.ROWS, label.__getitem__))
        for each in table.relations.sums(axis)
        if each.support.is_alike
        and not each.support.shown
        and (axis is Axis.COLUMNS or table.are_kinds)
    ]


def _percentages(parts: Sequence[Part]) -> dict[str, dict[str, object]]:
    """Map headers of percentages to their parts and bases, if all tables agree."""
    found: dict[str, dict[str, object]] = {}
    differ: set[str] = set()
    for part in parts:
        for each in part.table.shares if part.is_sheet else ():
            names = [part.table.header(at) for at in (each.line, each.part, each.base)]
            said: dict[str, object] = {"of": names[1], "base": names[2]}
            if each.times != 100:
                said["times"] = each.times
            if found.setdefault(names[0], said) != said:
                differ.add(names[0])
    return {header: said for header, said in found.items() if header not in differ}


def _have_same_rows(one: ProposedTable, other: ProposedTable) -> bool:
    """Test whether two tables have the same rows; most of them, if their sheets are places."""
    if one.sheet_place is None or other.sheet_place is None:
        return one.rows == other.rows
    return 2 * len({*one.rows} & {*other.rows}) > max(len(one.rows), len(other.rows))
