"""Columns and combinations of codes → the cells of a release that they count."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from recon_cli.errors import ConfigError, SourceError
from recon_cli.schema import Release, Table
from recon_cli.schema.description import describe_condition
from recon_cli.sources.cells import CellIndex
from recon_cli.sources.formats.codes import cells_by_code
from recon_cli.sources.formats.count_sheet import CountColumn, CountSheet, Values
from recon_cli.sources.formats.mapping import DimensionMapping, FileMapping
from recon_cli.sources.formats.vocabulary import Vocabulary, is_total

_SHOWN: Final = 3

#: Index of a feature → mask of its values; a feature that is absent has all values.
Condition = dict[int, int]
#: A code and its label; the label is the code where there is none.
Category = tuple[str, str]


@dataclass(frozen=True)
class Assigner:
    """Finds cells of a release by code, by words and by what the user says."""

    release: Release
    mapping: FileMapping

    def __post_init__(self) -> None:
        for header, code in self.mapping.columns.items():
            if code is not None and code not in self._codes:
                near = difflib.get_close_matches(code, list(self._codes), n=3)
                hint = f"; did you mean {' or '.join(near)}?" if near else ""
                raise ConfigError(
                    f"mapping.columns: {header!r}: no cell code {code!r} in release "
                    f"{self.release.name!r}{hint}"
                )
        if self.mapping.table is not None and self.mapping.table not in self.release.table_by_name:
            raise ConfigError(
                f"mapping.table: no table {self.mapping.table!r} in release {self.release.name!r} "
                f"(tables: {', '.join(self.release.table_by_name)})"
            )
        for header, said in self.mapping.dimensions.items():
            if said.feature is not None and self._vocabulary(said.feature) is None:
                names = ", ".join(f.name for f in self.release.features)
                raise ConfigError(
                    f"mapping.dimensions.{header}.feature: no feature or recode {said.feature!r} "
                    f"in release {self.release.name!r} (features: {names})"
                )

    @cached_property
    def index(self) -> CellIndex:
        """Return the cells of the release by their names."""
        return CellIndex.of(self.release)

    @cached_property
    def _codes(self) -> dict[str, tuple[str, int]]:
        return cells_by_code(self.release)

    @cached_property
    def _vocabularies(self) -> tuple[Vocabulary, ...]:
        return tuple(Vocabulary.of(self.release, feature) for feature in self.release.features)

    # --- columns ------------------------------------------------------------------------------

    def columns(self, sheet: CountSheet) -> dict[int, int]:
        """Map the place of each column of counts that is read to the ordinal of its cell.

        Raises:
            SourceError: A column is not explained, two columns are one cell, or none is left.
        """
        found: dict[int, int] = {}
        worded: dict[int, Condition] = {}
        unknown: list[CountColumn] = []
        for column in sheet.counts:
            if column.said is not None:
                worded[column.at] = self.condition_of(column.said, column.header)
            elif column.header in self.mapping.columns:
                code = self.mapping.columns[column.header]
                if code is not None:
                    found[column.at] = self._ordinal(*self._codes[code])
            elif (by_code := self._by_code(column)) is not None:
                found[column.at] = by_code
            elif (condition := self._by_words(column.parts)) is not None:
                worded[column.at] = condition
            else:
                unknown.append(column)
        if unknown:
            raise SourceError(self._unexplained(sheet, unknown))
        if worded:
            cells = self.cells(sheet, list(worded.values()))
            found.update(zip(worded, cells, strict=True))
        return self._without_doubles(sheet, found)

    def condition_of(self, said: Values, label: str) -> Condition:
        """Return the condition that a mapping gives for a label.

        Raises:
            ConfigError: The release has no such feature, or no such value.
        """
        condition: Condition = {}
        for name, values in said.items():
            feature = self._vocabulary(name)
            if feature is None:
                known = ", ".join(each.name for each in self.release.features)
                raise ConfigError(
                    f"mapping.labels: {label!r}: no feature or recode {name!r} in release "
                    f"{self.release.name!r} (features: {known})"
                )
            groups = self._vocabularies[feature].groups
            mask = 0
            for value in values:
                if value not in groups:
                    near = difflib.get_close_matches(value, list(groups), n=3)
                    hint = f"; did you mean {' or '.join(near)}?" if near else ""
                    raise ConfigError(
                        f"mapping.labels: {label!r}: {name!r} has no value {value!r}{hint}"
                    )
                mask |= groups[value]
            condition[feature] = condition.get(feature, mask) & mask
        return condition

    def _by_code(self, column: CountColumn) -> int | None:
        if column.code is not None and column.code in self._codes:
            name, number = self._codes[column.code]
            if self.mapping.table in (None, name):
                return self._ordinal(name, number)
        if column.table is None or column.number is None:
            return None
        name = self.mapping.table or column.table
        table = self.release.table_by_name.get(name)
        if table is None or not 1 <= column.number <= len(table.cells):
            return None
        if column.code is not None and self.mapping.table is None:
            return None  # a code that spells a cell of another release
        return self._ordinal(name, column.number)

    def _by_words(self, parts: Sequence[str]) -> Condition | None:
        """Return the condition that the words of a label form; None if a word is unknown."""
        condition: Condition = {}
        for part in parts:
            if is_total(part) or any(each.is_named(part) for each in self._vocabularies):
                continue
            masks = {
                i: mask
                for i, each in enumerate(self._vocabularies)
                if (mask := each.mask(part)) is not None
            }
            if len(masks) != 1:
                return None
            ((feature, mask),) = masks.items()
            condition[feature] = condition.get(feature, mask) & mask
            if not condition[feature]:
                return None
        return condition if parts else None

    def _without_doubles(self, sheet: CountSheet, found: dict[int, int]) -> dict[int, int]:
        if not found:
            raise SourceError(f"{sheet.sheet.label}: no column of counts is left to read")
        homes: dict[int, int] = {}
        for at, ordinal in found.items():
            if ordinal in homes:
                first, again = sheet.headers[homes[ordinal]], sheet.headers[at]
                raise SourceError(
                    f"{sheet.sheet.label}: columns {first!r} and {again!r} both are "
                    f"{self.index.name(ordinal)}; leave one out: "
                    f"mapping.columns: {{{again!r}: null}}"
                )
            homes[ordinal] = at
        return found

    def _unexplained(self, sheet: CountSheet, columns: Sequence[CountColumn]) -> str:
        shown = ", ".join(repr(each.header or each.at + 1) for each in columns[:_SHOWN])
        more = f" and {len(columns) - _SHOWN} more" if len(columns) > _SHOWN else ""
        tables = {each.table for each in columns if each.table is not None}
        unknown = sorted(tables - set(self.release.table_by_name))
        hint = ""
        if unknown:
            hint = f" (it has no table {', '.join(unknown)})"
        return (
            f"{sheet.sheet.where(max(sheet.skip, 1))}: column {shown}{more}: no cell of release "
            f"{self.release.name!r} by code or label{hint}; say which cell: mapping.columns: "
            f"{{{columns[0].header!r}: CODE}}, or null to leave the column out"
        )

    # --- dimensions ---------------------------------------------------------------------------

    def categories(
        self, sheet: CountSheet, name: str, categories: Sequence[Category]
    ) -> list[Condition] | None:
        """Return the condition of each category of a dimension; None for one without meaning.

        Args:
            categories: Code and label of all categories that occur.

        Raises:
            SourceError: There are several categories, of no known feature.
        """
        own = next((each.said for each in sheet.dimensions if each.name == name), None)
        if own is not None:
            return [self._labelled(sheet, name, own, each) for each in categories]
        said = self.mapping.dimensions.get(name)
        if said is not None and said.feature is None:
            return None
        if said is not None and said.feature is not None:
            named = self._vocabulary(said.feature)
        else:
            named = next((i for i, e in enumerate(self._vocabularies) if e.is_named(name)), None)
        if named is not None:
            masks = [self._category(named, each, said) for each in categories]
            if None in masks:
                unknown = categories[masks.index(None)]
                raise SourceError(self._unknown_category(sheet, name, named, unknown))
            return [{named: mask} for mask in masks if mask is not None]
        if len(categories) == 1 or all(is_total(word) for each in categories for word in each):
            return None
        able = [
            [{feature: mask} for mask in masks if mask is not None]
            for feature in range(len(self._vocabularies))
            for masks in [[self._category(feature, each, said) for each in categories]]
            if None not in masks
        ]
        if len(able) == 1:
            return able[0]
        shown = ", ".join(repr(label) for _, label in categories[:_SHOWN])
        more = ", …" * (len(categories) > _SHOWN)
        raise SourceError(
            f"{sheet.sheet.label}: column {name!r} ({shown}{more}) is no feature of release "
            f"{self.release.name!r}; say which: mapping.dimensions: {{{name!r}: {{feature: …}}}}, "
            f"or choose one value: mapping.where: {{{name!r}: {categories[0][0]!r}}}"
        )

    def _labelled(
        self, sheet: CountSheet, name: str, said: Mapping[str, Values], category: Category
    ) -> Condition:
        label = next((text for text in category if text in said), category[0])
        if label not in said:
            near = difflib.get_close_matches(label, list(said), n=3)
            hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
            raise SourceError(
                f"{sheet.sheet.label}: {name}: {label!r} is not in mapping.labels{hint}; say there "
                "whom it counts"
            )
        return self.condition_of(said[label], label)

    def _category(
        self, feature: int, category: Category, said: DimensionMapping | None
    ) -> int | None:
        vocabulary = self._vocabularies[feature]
        code, label = category
        if said is not None:
            for text in (code, label):
                if text in said.values:
                    return vocabulary.mask(said.values[text])
        return vocabulary.mask(label)

    def _vocabulary(self, name: str) -> int | None:
        features = {feature.name: i for i, feature in enumerate(self.release.features)}
        if name in features:
            return features[name]
        recode = self.release.recode_by_name.get(name)
        return None if recode is None else features[recode.feature]

    def _unknown_category(
        self, sheet: CountSheet, name: str, feature: int, category: Category
    ) -> str:
        code, label = category
        known = ", ".join(list(self._vocabularies[feature].groups)[:6])
        return (
            f"{sheet.sheet.label}: column {name!r}: {label!r} is no value of feature "
            f"{self.release.features[feature].name!r} ({known}, …); say which: "
            f"mapping.dimensions: {{{name!r}: {{values: {{{code!r}: VALUE}}}}}}"
        )

    def condition(self, sheet: CountSheet, column: CountColumn) -> Condition:
        """Return the condition in the label of a column of counts, besides the dimensions.

        Raises:
            SourceError: A word is unknown.
        """
        if column.said is not None:
            return self.condition_of(column.said, column.header)
        condition = self._by_words(column.parts) if column.parts else {}
        if condition is None:
            raise SourceError(self._unexplained(sheet, [column]))
        return condition

    # --- statistics ---------------------------------------------------------------------------

    def statistic_cells(self, name: str) -> dict[int, int]:
        """Map ordinals of cells of counts to the cells of the same people in a statistics table.

        Raises:
            ConfigError: The release has no such table.
        """
        if name not in self.release.statistic_by_name:
            known = ", ".join(self.release.statistic_by_name) or "none"
            raise ConfigError(
                f"mapping.statistics: no table of statistics {name!r} in release "
                f"{self.release.name!r} (tables: {known})"
            )
        own = _cells(self.release.statistic_by_name[name])
        return {
            self._ordinal(table.name, cell.number): own[cell.masks]
            for table in self.release.tables
            for cell in table.cells
            if cell.tally is None and cell.masks in own
        }

    # --- cells --------------------------------------------------------------------------------

    def _ordinal(self, table: str, number: int) -> int:
        return self.index.offsets[table] + number - 1

    def cells(self, sheet: CountSheet, conditions: Sequence[Condition]) -> list[int]:
        """Return the ordinals of the cells with some conditions, all of one table.

        Raises:
            SourceError: No table has all of them, or several tables have.
        """
        full = self.release.full
        wanted = [tuple(each.get(i, mask) for i, mask in enumerate(full)) for each in conditions]
        tables = self.release.tables
        if self.mapping.table is not None:
            tables = (self.release.table_by_name[self.mapping.table],)
        able = [table for table in tables if set(wanted) <= set(_cells(table))]
        if not able:
            raise SourceError(self._no_table(sheet, wanted, tables))
        fewest = min(len(table.cells) for table in able)
        best = [table for table in able if len(table.cells) == fewest]
        if len(best) > 1:
            names = ", ".join(table.name for table in best)
            raise SourceError(
                f"{sheet.sheet.label}: may be any of the tables {names}; say which: mapping.table"
            )
        cells = _cells(best[0])
        return [self._ordinal(best[0].name, cells[masks]) for masks in wanted]

    def _no_table(
        self, sheet: CountSheet, wanted: Iterable[tuple[int, ...]], tables: Sequence[Table]
    ) -> str:
        def missing(table: Table) -> list[tuple[int, ...]]:
            cells = _cells(table)
            return [masks for masks in wanted if masks not in cells]

        wanted = list(wanted)
        nearest = min(tables, key=lambda table: len(missing(table)))
        masks = missing(nearest)[0]
        words = ", ".join(
            word
            for feature, mask in zip(self.release.features, masks, strict=True)
            if (word := describe_condition(feature, mask))
        )
        return (
            f"{sheet.sheet.label}: no table of release {self.release.name!r} has all its counts; "
            f"{nearest.name} lacks {len(missing(nearest))} of {len(wanted)}: "
            f"{words or 'everybody'}"
        )


def _cells(table: Table) -> dict[tuple[int, ...], int]:
    """Map each predicate to the first cell that has it; tallies count no people."""
    found: dict[tuple[int, ...], int] = {}
    for cell in table.cells:
        if cell.tally is None:
            found.setdefault(cell.masks, cell.number)
    return found
