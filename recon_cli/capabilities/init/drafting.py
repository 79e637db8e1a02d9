"""A schema and a mapping drafted from tables, by what their numbers show."""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Final

import numpy as np
import polars as pl

from recon_cli.arrays import IntArray
from recon_cli.capabilities.init.conditions import (
    Condition,
    Key,
    cell_of,
    key_of,
    values_of,
)
from recon_cli.capabilities.init.features import Features
from recon_cli.capabilities.init.known_sheets import part_of
from recon_cli.capabilities.init.lines import Lines, Part, moved
from recon_cli.capabilities.init.long_places import add_long_places, codes_of_places
from recon_cli.capabilities.init.names import levels_of
from recon_cli.capabilities.init.place_parents import PlaceSum, fits
from recon_cli.capabilities.init.place_tree import PlaceTree
from recon_cli.capabilities.init.proposal.intervals import Intervals
from recon_cli.capabilities.init.proposal.proposed_table import ProposedTable, said_texts
from recon_cli.capabilities.init.proposal.relations import Axis, Relation
from recon_cli.capabilities.init.proposal.said_sums import open_sum_error, open_sums
from recon_cli.capabilities.init.proposal.sums import support_of
from recon_cli.capabilities.init.schema_draft import TableDraft, draft_schema
from recon_cli.capabilities.init.sheet_places import add_sheet_places
from recon_cli.capabilities.init.statistic_columns import StatisticColumns
from recon_cli.capabilities.init.statistic_draft import Scale
from recon_cli.capabilities.init.statistic_tables import (
    StatisticTable,
    statistic_tables,
    taken_values,
    with_statistics,
)
from recon_cli.capabilities.init.structure import Said, Structure
from recon_cli.capabilities.init.table_questions import (
    ask_across,
    ask_division,
    ask_kinds_of_places,
    ask_overfull,
    ask_percentages,
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
from recon_cli.capabilities.init.titles import Titled, named_by_titles
from recon_cli.capabilities.init.universes import separate_tables
from recon_cli.capabilities.init.value_structure import structure_of_values
from recon_cli.schema import Release, parse_release
from recon_cli.sources.formats.count_sheet import COLUMNS
from recon_cli.sources.formats.row_blocks import ask_above
from recon_cli.sources.formats.sheet import ROWS
from recon_cli.sources.read.choices import Question, each_some_of_next, flag
from recon_cli.sources.read.row_labels import PART_OF, rows_named
from recon_cli.sources.read.row_labels import Path as Words
from recon_cli.sources.read.table_reading import NAMELESS, ONE_PLACE

#: Formats whose geoids are those of the US census.
_CENSUS: Final = ("census-api", "data-census-gov", "factfinder", "nhgis")


@dataclass(frozen=True)
class Draft:
    """What was drafted.

    Attributes:
        text: The schema as YAML.
        mapping: Keys of ``ingest.mapping``.
        printed: Table of statistics → texts in place of its numbers.
        missing: How many counts have no row, of files with a row a count.
    """

    text: str
    release: Release
    mapping: dict[str, object]
    geoids: Mapping[str, str]
    doubts: tuple[str, ...]
    questions: tuple[Question, ...]
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
        name: Of the release.
        statistics: Header of a column of means or the like → what is said of it.
        are_kinds: Whether somebody says that all is about one place.

    Raises:
        SourceError: The draft is none that can be read.
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
    """Return a geoid for what stands for each place of files."""
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
        self.features = Features()
        self.tables: list[TableDraft] = []
        self.labels: dict[str, dict[str, Condition]] = {}
        self.places = PlaceTree()
        self.doubts: list[str] = []
        self.questions: list[Question] = []
        self.asked: set[str] = set()
        self.leave_out: dict[str, str] = {}
        self.paths: dict[str, Words] = {}
        self.cells: dict[str, tuple[frozenset[Key], frozenset[Hashable]]] = {}
        self.table_of: dict[str, str] = {}
        self.totals: dict[str, dict[Hashable, float]] = {}
        self.statistics = statistics
        self.are_kinds = are_kinds
        self.found: list[StatisticTable] = []
        self.missing = 0
        self.joined: set[str] = set()

    def draft(self, *, census: bool) -> Draft:
        """Draft a schema and a mapping.

        Args:
            census: Whether geoids are those of the US census.
        """
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
        tables = [replace(each, lengths=published) for each in self.tables]
        text, doubts = draft_schema(
            self.name, title or files, tables, places, named, files=files, census=census
        )
        release = parse_release(text, source=f"{self.name}.yaml")
        return Draft(
            text,
            release,
            self._mapping(geoids),
            geoids,
            tuple(dict.fromkeys((*self.doubts, *self.features.doubts, *doubts))),
            tuple(asked_once(self.questions)),
            {each.name: each.marks for each in self.found},
            self.missing,
        )

    def read(self) -> None:
        """Read the places, features and cells of all tables."""
        across = ask_across(self.parts)
        self.questions += filter(None, [ask_places_or_kinds(self.parts)])
        self.questions += (question for question, _ in across)
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
            self.asked |= {part.column(at) for each in asked for at in each.columns}
            self.asked = self.asked.union(*(each.summed for each in asked))
            self.questions += (or_sheets(each, part, others) for each in asked)
            self.doubts += _sums_alike(part)
            if rows := list(dict.fromkeys(label for label, _ in part.table.left_rows)):
                self.leave_out |= dict.fromkeys(rows, "")
            self._add_places(part)
        add_sheet_places(self.places, self.parts)
        if not self.questions:  # an answer may tell what they are parts of
            self.questions += map(ask_overfull, self.places.overfull())
            self.questions += (ask_division(each, self.parts) for each in self.places.divisions())
            self.questions += map(ask_possible, self.places.possible())
            self.questions += map(ask_possible_sums, self.places.possible_sums())
            self.questions += map(ask_sum_of_printed, self.places.sums_of_printed())
        self.paths = self.places.paths()
        for group in self._groups():
            periods = ask_periods(group, are_kinds=self.are_kinds)
            self.questions = [*filter(None, [periods]), *self.questions]
            if group[0].table.names.is_long:
                self._long(group[0])
            elif group[0].table.are_kinds:
                self._kinds(group)
            else:
                self._wide(group)
        slack = 2.0 * (max(part.table.relations.base for part in self.parts) - 1)
        if len(apart := separate_tables(self.totals, slack)) > 1:
            shown = ", ".join(apart)
            self.doubts.append(
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
            for axis, own in self.labels.items()
        }
        printed = {name: said for each in self.found for name, said in each.mapping.items()}
        if narrowing := {k: v for k, v in _percentages(self.parts).items() if k not in printed}:
            mapping["percentages"] = narrowing
        if printed:
            mapping["statistics"] = printed
        if len(self.cells) > 1:
            mapping["tables"] = dict(self.table_of)
        if self.leave_out:
            mapping["columns"] = dict.fromkeys(self.leave_out)
        sheets = [part.table for part in self.parts if part.is_sheet]
        others = [part.table for part in self.parts if not part.is_sheet]
        return mapping | said_texts(sheets, others)

    def _add_statistics(self) -> None:
        """Add the tables of means, medians, minima and maxima that the sheets print."""
        known = self.features.keys
        scales = [scale for each in known.items() if (scale := Scale.of(*each)) is not None]
        search = StatisticColumns(
            self.parts,
            self.labels,
            scales,
            list(known),
            self.statistics,
            len(self.shown) * math.prod(map(len, known.values())),
        )
        self.found = statistic_tables(search.found())
        self.questions += search.questions
        self.tables = with_statistics(self.tables, self.found, self.features.forms)
        self.doubts += taken_values(self.found)

    # --- groups -----------------------------------------------------------------------------

    def _groups(self) -> list[list[Part]]:
        """Return tables that count the same places or kinds, or have the same columns."""
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
                rows = set().union(*map(self._rows_of, group))
                own = set(self._rows_of(part))
                theirs = [group[0].column(at) for at in other.counts]
                if 2 * len(own & rows) >= min(len(own), len(rows)) or headers == theirs:
                    group.append(part)
                    break
            else:
                groups.append([part])
        return groups

    def _rows_of(self, part: Part) -> list[Words]:
        """The place of each row of a wide table, by the names that all tables have for it."""
        return [self.paths[PART_OF.join(path)] for path in part.table.rows]

    # --- wide -------------------------------------------------------------------------------

    def _wide(self, group: Sequence[Part]) -> None:
        """Draft tables with a row a place."""
        lines = Lines(group, [self._rows_of(part) for part in group])
        structure = named_by_titles(lines.structure(), self._titles(lines))
        self.questions += lines.questions
        self.joined |= lines.joined
        self._ask_unplaced(structure, lines.headers)
        conditions = self._conditions(structure, tables=lines.tables)
        of_sheet: dict[str, list[tuple[Part, list[tuple[str, int]]]]] = {}
        for part, own in lines.of_parts():
            of_sheet.setdefault(part.name, []).append((part, own))
        for parts in of_sheet.values():
            cells: dict[Key, tuple[str, int]] = {}
            kept: list[Condition] = []
            for part, own in parts:
                for header, number in own:
                    if number in structure.unplaced:
                        continue
                    condition = conditions[number]
                    first, same = cells.setdefault(key_of(condition), (header, number))
                    if first != header:
                        self.leave_out[header] = ""
                        if lines.are_equal(number, same):
                            self.doubts.append(
                                f"whether {header!r} counts the same as {first!r}: their numbers "
                                "are equal, and it is left out"
                            )
                        else:
                            self._ask_untold(header, first)
                        continue
                    kept.append(condition)
                    self._say(COLUMNS, header, condition, part.name)
            if not kept:
                continue  # it is asked what they count
            rows = [row for part, _ in parts for row in self._rows_of(part)]
            self._table(_distinct(kept), parts[0][0], rows)
            for part, own in parts:
                whole = {header for header, number in own if not conditions.get(number, True)}
                everybody = [
                    i for i, at in enumerate(part.table.counts) if part.column(at) in whole
                ]
                self._note_totals(part, self._rows_of(part), everybody[:1])

    def _ask_untold(self, header: str, first: str) -> None:
        """Ask about a column of which nothing tells whom it counts that another does not."""
        self.doubts.append(f"whom {header!r} counts that {first!r} does not: it is left out")
        self.questions.append(
            Question(
                f"{header!r}: no number tells whom it counts that {first!r} does not; to be left "
                "out, with all that is withheld in it?",
                {"leave it out": flag("leave-out", header)},
            )
        )

    def _titles(self, lines: Lines) -> Iterator[Titled]:
        """Yield what stands over the columns of each table."""
        sheets = {part.document.sheet for part in self.parts}
        for part, own in lines.of_parts():
            sheet = part.document.sheet if len(sheets) > 1 else None
            at = part.table.place
            place = "" if at is None else part.table.header(at)
            yield Titled(sheet or "", part.title, place, [number for _, number in own])

    def _add_places(self, part: Part) -> None:
        """Add the places of a table; of sheets that are places all tell them together."""
        if part.table.sheet_place is not None:
            return
        if part.table.are_kinds or (part.table.names.is_long and part.table.place is None):
            self.places.add_one(ONE_PLACE, "A1")
        elif part.table.names.is_long:
            add_long_places(self.places, part)
        else:
            self._add_wide_places(part)

    def _add_wide_places(self, part: Part) -> None:
        """Add the places of a table with a row a place."""
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

    def _ask_some(self, structure: Structure, headers: Sequence[str]) -> None:
        """Ask of which line others count some, and whether these exclude each other."""
        for lines, (part, whole) in structure.either.items():
            some = [headers[i] for i in lines]
            before, every = headers[part], headers[whole]
            answers = _some_of(before, some, prefix=f"of {before!r} alone")
            answers |= {f"of {every!r}": flag("count", *some)}
            self.questions.append(
                Question(
                    f"{', '.join(map(repr, some))}: some of {before!r}, which stands before, or of "
                    f"{every!r}?",
                    answers,
                )
            )
        for line, parts in structure.beside.items():
            some = [headers[i] for i in parts]
            shown, every = ", ".join(map(repr, some)), headers[line]
            text = f"{shown}: some of {every!r}; may somebody be in two of them?"
            self.questions.append(Question(text, _some_of(every, some)))

    def _ask_unplaced(self, structure: Structure, headers: Sequence[str]) -> None:
        """Ask what lines are that are no parts of others, and leave them out until it is said."""
        self._ask_some(structure, headers)
        if not structure.unplaced:
            return
        names = [headers[i] for i in structure.unplaced]
        shown = ", ".join(repr(name or NAMELESS) for name in names)
        self.leave_out |= dict.fromkeys(names, "")
        self.doubts.append(f"what {shown} count: they are left out")
        if self.asked & {*names}:
            return  # what is asked of some may tell of all
        answers: dict[str, str] = {}
        for sums in structure.possible:
            said = [[headers[i] for i in own] for own in sums]
            words = [f"{total} = {' + '.join(parts)}" for total, *parts in said]
            answers[" and ".join(words)] = " ".join(flag("sum", each) for each in words)
        if structure.chain:
            answers |= each_some_of_next([headers[i] for i in structure.chain])
        if structure.peers:
            peers = [headers[i] for i in structure.peers]
            own = "both" if len(peers) == 2 else f"all {len(peers)}"
            answers[f"{own} are counted, and nobody in two of them"] = flag("apart", *peers)
        answers |= {
            f"{name or NAMELESS!r} {what}": flag(option, name)
            for name in names
            for what, option in (
                ("counts some of them", "count"),
                ("is to be left out", "leave-out"),
            )
            if name or option == "leave-out"
        }
        if all(any(repr(name) in each.text for each in self.questions) for name in names):
            return  # what they are is asked already
        self.questions.append(
            Question(
                f"{shown}: in no relation to the other counts; some of the same people, or to be "
                "left out?",
                answers,
            )
        )

    # --- rows of kinds ----------------------------------------------------------------------

    def _kinds(self, group: Sequence[Part]) -> None:
        """Draft tables whose rows are the same kinds of what is counted, each of one place."""
        tables = [part.table for part in group]
        paths = tuple(dict.fromkeys(path for table in tables for path in table.rows))
        at_path = {path: i for i, path in enumerate(paths)}
        block = _of_rows(group, at_path)
        sums = _row_sums(group, block, at_path)
        related = {line for each in sums for line in (each.line, *each.of)}
        within = {
            i: at_path[path[:-1]]
            for i, path in enumerate(paths)
            if i not in related and path[:-1] in at_path
        }
        said = Said(
            frozenset(at_path[table.rows[i]] for table in tables for i in table.counted_rows),
            frozenset(at_path[table.rows[i]] for table in tables for i in table.rows_apart),
            tuple(open_sums(tables[0].said_sums, partial(rows_named, paths))),
        )
        down = Structure.of(dict(enumerate(paths)), sums, block, subsets=within, said=said)
        labels = [PART_OF.join(path) for path in paths]
        key = tables[0].names.keys[-1] if tables[0].names.keys else 0
        above = ask_above(paths, tables[0].header(key), is_said=self.are_kinds)
        if down.unplaced and above is not None:
            self.questions.append(above)
        else:
            self._ask_unplaced(down, labels)
        rows = self._conditions(down)
        across = self._columns_of(group, rows.values())
        shown = [i for i in range(len(labels)) if i not in down.unplaced]
        kept = self._each_once(shown, rows, labels)
        each_of = list(zip(group, across, strict=True))
        if tables[0].sheet_place is not None:  # those that lack a row have the table of others
            each_of.sort(key=lambda own: -len(own[0].table.rows) * len(own[1]))
        for part, columns in each_of:
            if not columns:
                continue  # it is asked what they count
            row_at = {at_path[path]: row for row, path in enumerate(part.table.rows)}
            own = [i for i in kept if i in row_at]
            for i in own:
                self._say(ROWS, labels[i], rows[i], part.name)
            cells = [{**rows[i], **condition} for i in own for condition in columns]
            place = part.table.only_place
            self._table(_distinct(cells), part, [place])
            everybody = [i for i, condition in enumerate(columns) if not condition]
            whole = [row_at[i] for i in own if not rows[i]][:1]
            self._note_totals(part, [place] * len(whole), everybody[:1], whole)

    def _each_once(
        self, lines: Iterable[int], conditions: Mapping[int, Condition], labels: Sequence[str]
    ) -> list[int]:
        """Return lines without those that count what an earlier one counts, which are left out."""
        first: dict[Key, int] = {}
        for line in lines:
            same = first.setdefault(key_of(conditions[line]), line)
            if same != line:
                self.leave_out[labels[line]] = ""
                self.doubts.append(
                    f"whether {labels[line]!r} counts the same as {labels[same]!r}: so it reads, "
                    "and it is left out"
                )
        return list(first.values())

    def _columns_of(
        self, group: Sequence[Part], crossed: Iterable[Condition]
    ) -> list[list[Condition]]:
        """Say of each table what its columns of counts are of, beside what the rows are of."""
        headers = {part.column(at) for part in group for at in part.table.counts}
        places = [part.table.sheet_place for part in group]
        if len(headers) == 1 and len({*places}) == len(group):
            for part in group:
                self._say(COLUMNS, next(iter(headers)), {}, part.name)
            return [[{}] for _ in group]
        rows = [
            part.table.rows
            if len(group) > 1
            else [(str(row),) for row in part.table.region.body.tolist()]
            for part in group
        ]
        named = [() if place is None else (place.name,) for place in places]
        lines = Lines(
            group,
            [[(*place, *row) for row in own] for place, own in zip(named, rows, strict=True)],
        )
        structure = lines.structure()
        self.questions += lines.questions
        self.joined |= lines.joined
        self._ask_unplaced(structure, lines.headers)
        found = self._conditions(structure, crossed, lines.tables)
        told: list[list[Condition]] = []
        for each, own in lines.of_parts():
            shown = [i for _, i in own if i not in structure.unplaced]
            kept = self._each_once(shown, found, lines.headers)
            for i in kept:
                self._say(COLUMNS, lines.headers[i], found[i], each.name)
            told.append([found[i] for i in kept])
        return told

    # --- long -------------------------------------------------------------------------------

    def _long(self, part: Part) -> None:
        """Draft a table with a row a count."""
        table = part.table
        grid = part.table.grid
        dimensions = [at for at in table.names.keys if at != table.place]
        meanings: list[dict[str, Condition]] = []
        for at in dimensions:
            values = grid.coded((table.region.body, at))[0]
            if at not in table.said_apart:
                self.questions += filter(None, [ask_percentages(table.header(at), values)])
            place = {value: i for i, value in enumerate(values)}
            structure = structure_of_values(table, at)
            self._ask_unplaced(structure, values)
            crossed = [condition for known in meanings for condition in known.values()]
            found = self._conditions(structure, crossed)
            own = {v: found[i] for v, i in place.items() if i not in structure.unplaced}
            meanings.append(own)
            for value, condition in own.items():
                self._say(table.header(at), value, condition, part.name)
        rows = [condition for known in meanings for condition in known.values()]
        across = self._columns_of([part], rows)[0] if len(table.counts) > 1 else [{}]
        if len(table.counts) == 1:
            self._say(COLUMNS, part.column(table.counts[0]), {}, part.name)
        seen, which = grid.combinations(table.region.body, dimensions)
        cells: dict[Key, Condition] = {}
        for combination in itertools.product(sorted(seen), across):
            texts, column = combination
            if any(value not in own for own, value in zip(meanings, texts, strict=True)):
                continue
            both = dict(column)
            for own, value in zip(meanings, texts, strict=True):
                both |= own[value]
            cells.setdefault(key_of(both), both)
        places = table.place_texts
        self._note_missing(places, which)
        self._table(list(cells.values()), part, places)
        is_whole = [
            not any(own.get(value, True) for own, value in zip(meanings, combination, strict=True))
            for combination in seen
        ]
        whole = np.flatnonzero(np.array(is_whole, dtype=bool)[which]).tolist()
        everybody = [i for i, condition in enumerate(across) if not condition] if whole else []
        self._note_totals(part, [self.paths[places[row]] for row in whole], everybody[:1], whole)

    def _note_missing(self, places: Sequence[str], which: IntArray) -> None:
        """Note the counts without a row: of each place, those that others of its level have.

        Args:
            places: The place of each row.
            which: What each row counts, numbered.
        """
        depth = np.array([len(self.paths[place]) for place in places])
        place = np.unique(np.array(places), return_inverse=True)[1]
        every = missing = 0
        for level in np.unique(depth).tolist():
            own = depth == level
            full = len(np.unique(place[own])) * len(np.unique(which[own]))
            every += full
            missing += full - len(np.unique(place[own] * (which.max() + 1) + which[own]))
        if missing:
            self.missing += missing
            self.doubts.append(
                f"what {missing:,} of {every:,} counts are that have no row: they are taken as "
                "counts that are not published (zeros: `ingest.absent: zero`)"
            )

    # --- features and cells -----------------------------------------------------------------

    def _conditions(
        self,
        structure: Structure,
        crossed: Iterable[Condition] = (),
        tables: Mapping[int, int] | None = None,
    ) -> dict[int, Condition]:
        """Add the features of a structure to the schema; return what each line counts of them."""
        self.doubts += structure.doubts
        return self.features.conditions(structure, crossed, tables)

    def _table(self, cells: Sequence[Condition], part: Part, places: Sequence[Hashable]) -> None:
        """Add a table; or give the places of a part to the one that has all its cells already."""
        keys = frozenset(map(key_of, cells))
        own = frozenset(places)
        for name, (known, taken) in self.cells.items():
            is_some = part.table.sheet_place is not None and 2 * len(keys & known) > len(known)
            if (keys == known or (is_some and keys < known)) and not own & taken:
                self._note_lacking(len(known - keys), len(known), part)
                self.cells[name] = known, taken | own
                self.table_of[part.name] = name
                return
        name = part.published
        if not name or name in self.cells:
            name = f"TABLE{len(self.tables) + 1}"
        self.cells[name] = keys, own
        self.table_of[part.name] = name
        used = dict.fromkeys(feature for cell in cells for feature in cell)
        width = max(3, len(str(len(cells))))
        self.tables.append(
            TableDraft(
                name,
                f"{name}_{'#' * width}",
                self.features.forms_of(used),
                {},
                [cell_of(cell) for cell in cells],
                title="" if part.table.sheet_place else part.document.sheet or "",
            )
        )

    def _note_lacking(self, lacking: int, every: int, part: Part) -> None:
        """Note the counts of a table that the sheet of a place does not have."""
        if lacking:
            self.missing += lacking
            self.doubts.append(
                f"what {lacking:,} of {every:,} counts are that {part.name!r} does not have: they "
                "are taken as counts that are not published (zeros: `ingest.absent: zero`)"
            )

    def _note_totals(
        self,
        part: Part,
        places: Sequence[Hashable],
        counts: Sequence[int],
        rows: Sequence[int] | None = None,
    ) -> None:
        """Note how many people a table has in each place, as far as it has numbers of everybody.

        Args:
            places: The place of each row.
            counts: The count of everybody among those of the part; none if there is none.
            rows: Which rows; default all.
        """
        if part.name in self.joined and not counts:
            return  # its people are those of a column of another table
        found = self.totals.setdefault(self.table_of[part.name], {})
        for at in counts:
            chosen = slice(None) if rows is None else list(rows)
            numbers = part.numbers
            low, known = numbers.low[chosen, at], numbers.known[chosen, at]
            told = zip(places, low.tolist(), known.tolist(), strict=True)
            found |= {place: number for place, number, is_known in told if is_known}

    def _say(self, axis: str, label: str, condition: Condition, sheet: str) -> None:
        """Note what a label counts; of one sheet alone where another sheet says otherwise."""
        before = self.labels.setdefault(axis, {}).get(label)
        if before is None or before == condition:
            self.labels[axis][label] = condition
            return
        self.labels.setdefault(f"{axis} of {sheet}", {})[label] = condition


def _sums_alike(part: Part) -> list[str]:
    """Say which sums no number shows, and that they are taken because others read so."""
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
    """Header of each column of percentages → what it is the share of, the same in all tables."""
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


def _distinct(cells: Sequence[Condition]) -> list[Condition]:
    """Return each cell once."""
    return list({key_of(cell): cell for cell in cells}.values())


def _have_same_rows(one: ProposedTable, other: ProposedTable) -> bool:
    """Test whether two tables have the same rows; where each is of a place, most of them."""
    if one.sheet_place is None or other.sheet_place is None:
        return one.rows == other.rows
    return 2 * len({*one.rows} & {*other.rows}) > max(len(one.rows), len(other.rows))


def _some_of(whole: str, some: Sequence[str], prefix: str = "") -> dict[str, str]:
    """Return answers that lines count some of the people of another: answer → flags."""
    each = flag("sum", *(f"{whole} = {name} + ..." for name in some))
    if len(some) == 1:
        return {prefix: each}
    comma = f"{prefix}, " if prefix else ""
    return {
        f"{comma}nobody in two of them": flag("sum", f"{whole} = {' + '.join(some)} + ..."),
        f"{comma}somebody perhaps in two of them": each,
    }


def _of_rows(group: Sequence[Part], at_path: Mapping[Words, int]) -> Intervals:
    """Return the numbers of tables beside each other, in the rows that any of them has."""
    blocks: list[Intervals] = []
    for part in group:
        columns = np.arange(len(part.table.counts), dtype=np.intp)
        rows = np.array([[at_path[path]] for path in part.table.rows], dtype=np.intp)
        blocks.append(Intervals.unknown((len(at_path), len(columns))))
        blocks[-1].put(rows, columns, part.numbers)
    return Intervals.beside(blocks)


def _row_sums(
    group: Sequence[Part], block: Intervals, at_path: Mapping[Words, int]
) -> list[Relation]:
    """Return the sums that tables of the same rows show among these, together."""
    found: dict[tuple[int, tuple[int, ...]], Relation] = {}
    positions = np.arange(block.low.shape[1])
    base = max(part.table.relations.base for part in group)
    for part in group:
        table = part.table
        numbered = zip(table.region.body.tolist(), table.rows, strict=True)
        row_at = {row: at_path[path] for row, path in numbered}
        for own in (moved(each, row_at) for each in part.table.relations.sums(Axis.ROWS)):
            support = own.support
            if len(group) > 1 and not support.is_strong:
                lines = np.array([own.line, *own.of], dtype=np.intp)
                slack = np.full(len(positions), 2.0 * (base - 1))
                support = support_of(block.take(lines, positions), slack)
            if support.is_strong:
                found.setdefault((own.line, own.of), replace(own, support=support))
    return list(found.values())


# --- parts ------------------------------------------------------------------------------------
