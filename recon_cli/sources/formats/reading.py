"""Rows of a sheet with roles → counts of a release's cells, checked by row and column."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Final

import polars as pl

from recon_cli.coverage import LeftOut
from recon_cli.errors import ConfigError, SourceError
from recon_cli.read_ahead import read_ahead
from recon_cli.schema import Release
from recon_cli.sources.formats.assignment import Assigner, Category, Condition
from recon_cli.sources.formats.count_sheet import CountSheet, cell_text
from recon_cli.sources.formats.header import NUMBER
from recon_cli.sources.formats.mapping import FileMapping
from recon_cli.sources.formats.place import are_digits
from recon_cli.sources.formats.row_refusals import (
    ALL_PLACES_SPELLED,
    DECIMAL,
    no_number,
    refuse_levels,
    refuse_long_notes,
    refuse_nameless_columns,
    refuse_place,
    refuse_quoted_rows,
)
from recon_cli.sources.tabular.sheet import ROW
from recon_cli.sources.tidy_file import GEOID, MAX_COUNT, ZERO_FRACTION

#: Column that says whether a row's place is a geoid.
_IS_PLACE: Final = "is place"
#: Most combinations of codes in a table.
_MOST_COMBINATIONS: Final = 200_000


@dataclass(frozen=True)
class SheetReader:
    """Reads one sheet.

    Attributes:
        markers: The texts that laws list, which are no numbers even if they look so; laws also
            read other texts in place of counts, and negative counts. None without laws.
    """

    roles: CountSheet
    release: Release
    mapping: FileMapping
    markers: frozenset[str] | None = None

    @property
    def has_statements(self) -> bool:
        """Test whether there are laws."""
        return self.markers is not None

    @cached_property
    def _unpublished(self) -> list[str]:
        """Return the texts for unpublished counts that no law lists."""
        return [text for text in self.mapping.unpublished if text not in (self.markers or ())]

    @property
    def is_wide(self) -> bool:
        """Test whether each column of counts is one cell."""
        return not self.roles.dimensions

    @cached_property
    def ordinals(self) -> dict[int, int]:
        """Map the columns of a wide sheet that are read to the ordinals of their cells."""
        return self._assigner.columns(self.roles)

    @cached_property
    def _assigner(self) -> Assigner:
        return Assigner(self.release, self.mapping)

    def wide(self) -> Generator[pl.DataFrame, None, None]:
        """Read a wide sheet: ``row``, ``geoid``, and a column named after each cell's ordinal.

        A count that is not published is null.

        Raises:
            SourceError: The first place that is no geoid, or count that is no number.
        """
        for rows in self._rows([(at, (ordinal,)) for at, ordinal in self.ordinals.items()]):
            counts = (pl.col(_value(at)).alias(str(cell)) for at, cell in self.ordinals.items())
            yield rows.select(ROW, "geoid", *counts)

    def long(self) -> Generator[pl.DataFrame, None, None]:
        """Yield a row for each published count: ``row, geoid, ordinal, value``.

        Where there are statements also ``marker``, the text where ``value`` is null.

        Raises:
            SourceError: The first place that is no geoid, or count that is no number.
        """
        for at, rows in self._by_column():
            yield self._counted(rows, at)

    def left_out(self) -> Generator[LeftOut, None, None]:
        """Yield numbers that are not read: of columns without a cell, and of rows not chosen."""
        roles, mapping = self.roles, self.mapping
        for each in roles.left_out:
            yield replace(each, reason=mapping.leave_out.get(each.column, each.reason))
        used = self.ordinals if self.is_wide else [each.at for each in roles.counts]
        unused = {each.at: self._is_given(each.at) for each in roles.counts if each.at not in used}
        unused |= {at: _is_number(at) for at in self._passed_over()}
        by_rows = [(at, self._chosen(at, values)) for at, values in self._where().items()]
        if mapping.levels:
            by_rows.append((roles.place[0], self._of_levels()))
        if not unused and not by_rows:
            return
        cells: Counter[int] = Counter()
        for batch in roles.sheet.rows(roles.skip):
            rows = batch.with_columns(geoid=roles.geoid)
            numbers = pl.sum_horizontal(self._is_given(at).cast(pl.Int64) for at in used)
            left = pl.lit(value=True)
            found = {at: is_given.sum().alias(f"{at}") for at, is_given in unused.items()}
            for at, is_chosen in by_rows:
                is_out = left & ~is_chosen.fill_null(value=False)
                found[at] = pl.when(is_out).then(numbers).sum().alias(f"{at}")
                left &= is_chosen.fill_null(value=False)
            row = rows.select(found.values()).row(0)
            cells.update(dict(zip(found, row, strict=True)))
        for at, number in cells.items():
            if number:
                header = roles.headers[at]
                reason = mapping.leave_out.get(header, "")
                yield LeftOut(Path(roles.sheet.label).name, header, number, reason)

    def _is_given(self, at: int) -> pl.Expr:
        """Test whether a cell has a count, or a text that may bound one."""
        text = cell_text(at)
        return text.is_not_null() & ~text.is_in(self._unpublished)

    def _passed_over(self) -> list[int]:
        """Return columns of fractions or percentages that the format gives no role."""
        roles = self.roles
        taken = {*roles.place, *roles.flags, *roles.where, *(each.at for each in roles.counts)}
        taken |= {at for each in roles.dimensions for at in (each.code, each.words)}
        taken |= {each.at for each in roles.shares}
        taken |= {each.at for each in roles.statistics}
        body = roles.sheet.head[roles.skip :]
        return [
            at
            for at, header in enumerate(roles.headers)
            if header and at not in taken and any(DECIMAL.fullmatch(row[at]) for row in body)
        ]

    def with_repeated(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Add the rows of the file that repeat some of the given rows."""
        again = pl.DataFrame(
            {"again": [*self.roles.repeated], ROW: [*self.roles.repeated.values()]},
            schema={"again": rows.schema[ROW], ROW: rows.schema[ROW]},
        )
        more = rows.join(again, on=ROW).with_columns(pl.col("again").alias(ROW))
        return pl.concat([rows, more.select(rows.columns)])

    def addresses(self) -> Generator[pl.DataFrame, None, None]:
        """Return where each count stands, published or not.

        Columns ``row``, from 1; ``column``, from 0; ``text``, as it is written; ``value``, null if
        it is no number; ``geoid``; ``place``, its name in the sheet; ``ordinal``; ``header``, the
        words over the count, or those beside it.

        Raises:
            SourceError: As `long`.
        """
        categories = self.dimensions()
        is_named = self.is_wide or len(self.roles.counts) > 1
        origins = {each.at: each.column for each in self.roles.counts}
        for at, rows in self._by_column():
            words = [pl.lit(self.roles.headers[at])] if is_named else []
            words += [
                cell_text(each.words)
                for each in self.roles.dimensions
                if len(categories[each.name]) > 1
            ]
            yield rows.select(
                ROW,
                pl.lit(origins[at], pl.Int32).alias("column"),
                cell_text(at).fill_null("").alias("text"),
                pl.col(_value(at)).alias("value"),
                "geoid",
                cell_text(self.roles.place[0]).replace(dict(self.roles.names)).alias("place"),
                "ordinal",
                pl.concat_str(words or [pl.lit("")], separator=", ", ignore_nulls=True).alias(
                    "header"
                ),
            )

    def shares(self) -> Generator[pl.DataFrame, None, None]:
        """Return the percentages of the sheet: a row each.

        Columns ``row, geoid``; ``column`` of the file, from 0; ``header``; ``text``, as
        `printed_ends` reads it, and ``times``; ``part`` and ``base``, the ordinals of the cells in
        numerator and denominator; ``counted`` and ``among``, their numbers, null where none is
        printed; ``is_stated``, whether the part has a number, or a text that laws read; ``mark``,
        that text.

        Raises:
            SourceError: As `long`.
        """
        if not self.roles.shares:
            return
        unpublished = self._unpublished
        for rows in self._placed():
            for each in self.roles.shares:
                is_marker = ~cell_text(each.part).fill_null("").is_in(unpublished)
                is_number = pl.col(_value(each.part)).is_not_null()
                yield rows.filter(pl.col(str(each.at)).is_not_null()).select(
                    ROW,
                    "geoid",
                    pl.lit(each.column, pl.Int32).alias("column"),
                    pl.lit(each.header).alias("header"),
                    pl.col(str(each.at)).alias("text"),
                    pl.lit(each.times, pl.Int64).alias("times"),
                    pl.col(_cell(each.part)).alias("part"),
                    pl.col(_cell(each.base)).alias("base"),
                    pl.col(_value(each.part)).cast(pl.Int64).alias("counted"),
                    pl.col(_value(each.base)).cast(pl.Int64).alias("among"),
                    (is_number | (is_marker & self.has_statements)).alias("is_stated"),
                    pl.when(~is_number).then(cell_text(each.part)).alias("mark"),
                )

    def statistics(self) -> Generator[pl.DataFrame, None, None]:
        """Return the means, medians and the like of the sheet: a row each.

        Columns ``row, geoid, table``; ``column`` of the file, from 0; ``number``, of the cell in
        the table; ``cell``, the number as a text; ``count``, the text.

        Raises:
            ConfigError: A table of statistics is unknown, or has no cell of the same people.
            SourceError: As `long`.
        """
        columns = self.roles.statistics
        if not columns:
            return
        cells = {each.at: self._assigner.statistic_cells(each.table) for each in columns}
        for rows in self._placed():
            for each in columns:
                own = rows.filter(
                    cell_text(each.at).is_not_null()
                    & ~cell_text(each.at).is_in(self._unpublished)
                    & pl.col(_cell(each.of)).is_not_null()
                )
                for ordinal in own[_cell(each.of)].unique():
                    if ordinal not in cells[each.at]:
                        raise ConfigError(
                            f"mapping.statistics: {each.header!r}: table {each.table} has no cell "
                            f"of the people of {self._assigner.index.name(ordinal)}"
                        )
                number = pl.col(_cell(each.of)).replace_strict(
                    cells[each.at], return_dtype=pl.Int64
                )
                yield own.select(
                    ROW,
                    "geoid",
                    pl.lit(each.table).alias("table"),
                    pl.lit(each.column, pl.Int32).alias("column"),
                    number.alias("number"),
                    number.cast(pl.String).alias("cell"),
                    cell_text(each.at).alias("count"),
                )

    def _by_column(self) -> Generator[tuple[int, pl.DataFrame], None, None]:
        """Check rows, and yield them for each column of counts with the ``ordinal`` of its cell."""
        used = self.ordinals if self.is_wide else [each.at for each in self.roles.counts]
        for rows in self._placed():
            for at in used:
                yield at, rows.with_columns(ordinal=pl.col(_cell(at)))

    def _placed(self) -> Generator[pl.DataFrame, None, None]:
        """Check rows, and return them with the ordinal of the cell of each column of counts."""
        if self.is_wide:
            cells_of = [
                pl.lit(cell, pl.Int32).alias(_cell(at)) for at, cell in self.ordinals.items()
            ]
            for rows in self._rows([(at, (cell,)) for at, cell in self.ordinals.items()]):
                yield rows.with_columns(cells_of)
            return
        cells = self.combinations()
        keys = [_code(each.code) for each in self.roles.dimensions]
        levels = [
            (column.at, tuple(cells[_cell(column.at)].unique())) for column in self.roles.counts
        ]
        for rows in self._rows(levels):
            yield rows.join(cells, on=keys, how="left", nulls_equal=True, maintain_order="left")

    def _counted(self, rows: pl.DataFrame, at: int) -> pl.DataFrame:
        """Return the counts of one column, without those that are not published."""
        value = pl.col(_value(at)).alias("value")
        columns = [pl.col(ROW), pl.col("geoid"), pl.col("ordinal"), value]
        if not self.has_statements:
            return rows.select(columns).filter(pl.col("value").is_not_null())
        text = self.roles.written(at).str.strip_chars().fill_null("")
        marker = pl.when(value.is_null()).then(text).alias("marker")
        is_unpublished = pl.col("marker").is_in(self._unpublished)
        return rows.select(*columns, marker).filter(~is_unpublished.fill_null(value=False))

    # --- dimensions ---------------------------------------------------------------------------

    def dimensions(self) -> dict[str, list[Category]]:
        """Return code and label of every category of each dimension, in order of appearance.

        Raises:
            SourceError: A code has two labels.
        """
        found: dict[str, dict[str, str]] = {each.name: {} for each in self.roles.dimensions}
        for rows in self._chosen_rows():
            for each in self.roles.dimensions:
                for code, label in each.categories(rows):
                    first = found[each.name].setdefault(code, label)
                    if first != label:
                        raise SourceError(
                            f"{self.roles.sheet.label}: column {each.name!r}: {code!r} is both "
                            f"{first!r} and {label!r}; one of them is wrong"
                        )
        return {name: list(categories.items()) for name, categories in found.items()}

    def combinations(self) -> pl.DataFrame:
        """List the combinations of codes, with the ordinal of the cell for each column of counts.

        Raises:
            SourceError: A code means nothing, or no table has all of the combinations.
        """
        assigner = self._assigner
        meanings: list[list[tuple[str, Condition]]] = []
        for name, categories in self.dimensions().items():
            said = assigner.categories(self.roles, name, categories)
            if said is None and len(categories) > 1:
                raise SourceError(
                    f"{self.roles.sheet.label}: column {name!r} is left out and has "
                    f"{len(categories)} values; choose one: mapping.where: "
                    f"{{{name!r}: {categories[0][0]!r}}}"
                )
            conditions: list[Condition] = said or [{} for _ in categories]
            codes = [code for code, _ in categories]
            meanings.append(list(zip(codes, conditions, strict=True)))
        columns = [assigner.condition(self.roles, each) for each in self.roles.counts]
        seen = self._seen_combinations()
        known = [dict(each) for each in meanings]
        rows = [
            tuple(
                _both(column, *(each[code] for each, code in zip(known, codes, strict=True)))
                for column in columns
            )
            for codes in seen.iter_rows()
        ]
        ordinals = iter(assigner.cells(self.roles, list(itertools.chain.from_iterable(rows))))
        cells = [[next(ordinals) for _ in columns] for _ in rows]
        return seen.with_columns(
            pl.Series(_cell(column.at), [row[i] for row in cells], dtype=pl.Int32)
            for i, column in enumerate(self.roles.counts)
        )

    def _seen_combinations(self) -> pl.DataFrame:
        keys = [_code(each.code) for each in self.roles.dimensions]
        seen = pl.concat(
            rows.select(_text(each.code) for each in self.roles.dimensions).unique()
            for rows in self._chosen_rows()
        ).unique()
        if seen.height > _MOST_COMBINATIONS:
            raise SourceError(
                f"{self.roles.sheet.label}: {seen.height:,} combinations of "
                f"{', '.join(each.name for each in self.roles.dimensions)}: one of them is no "
                "dimension; choose its value with mapping.where"
            )
        return seen.sort(keys)

    # --- rows ---------------------------------------------------------------------------------

    def _chosen_rows(self) -> Iterator[pl.DataFrame]:
        """Return rows of the chosen values and levels, with ``geoid``."""
        chosen = [self._chosen(at, values) for at, values in self._where().items()]
        levels = self.release.geography.by_name
        if unknown := set(self.mapping.levels) - set(levels):
            raise ConfigError(
                f"mapping.levels: no level {min(unknown)!r} in release {self.release.name!r} "
                f"(levels: {', '.join(levels)})"
            )
        if self.mapping.levels:
            chosen.append(self._of_levels())
        rows = 0
        is_row = pl.col(_IS_PLACE) | self._has_counts()  # a note below the counts is neither
        for batch in read_ahead(self.roles.sheet.rows(self.roles.skip)):
            named = batch.with_columns(geoid=self.roles.geoid)
            named = named.with_columns(self._are_geoids(named["geoid"]).alias(_IS_PLACE))
            if not named[_IS_PLACE].all():
                refuse_long_notes(self.roles, named.filter(~is_row))
                refuse_quoted_rows(self.roles, self.mapping.unpublished, named.filter(~is_row))
            given = named if named[_IS_PLACE].all() else named.filter(is_row)
            refuse_nameless_columns(self.roles, given)
            some = given.filter(*chosen) if chosen else given
            rows += some.height
            if some.height:
                yield some
        if not rows:
            what = "that mapping.where and mapping.levels choose" if chosen else "with counts"
            raise SourceError(f"{self.roles.sheet.label}: expected rows {what}, found none")

    @staticmethod
    def _chosen(at: int, values: Sequence[str]) -> pl.Expr:
        """Test whether a row has one of the values of a column that are read."""
        return _text(at).is_in([str(value) for value in values])

    def _of_levels(self) -> pl.Expr:
        levels = self.release.geography.by_name
        digits = [levels[name].digits for name in self.mapping.levels]
        return pl.col("geoid").str.len_chars().is_in(digits)

    def _where(self) -> Mapping[int, tuple[str, ...]]:
        places = {}
        for header, values in self.mapping.where.items():
            at = self.roles.column(header)
            if at is None:
                raise SourceError(
                    f"{self.roles.sheet.label}: mapping.where: no column {header!r}; found "
                    + ", ".join(map(repr, filter(None, self.roles.headers)))
                )
            places[at] = tuple(values)
        return {**self.roles.where, **places}

    def _rows(self, columns: list[tuple[int, tuple[int, ...]]]) -> Iterator[pl.DataFrame]:
        """Check rows: those of the sheet, ``geoid``, and a whole number for each column.

        Args:
            columns: Place of each column of counts, and the ordinals of its cells.
        """
        places = [at for at, _ in columns]
        for rows in self._chosen_rows():
            if not rows[_IS_PLACE].all():
                refuse_place(
                    self.roles, self.release, rows.filter(~pl.col(_IS_PLACE)).row(0, named=True)
                )
            numbers = rows.with_columns(
                self.roles.written(at).cast(pl.Int64, strict=False).alias(_value(at))
                for at in places
            )
            for at in places:
                numbers = self._with_whole_numbers(numbers, at)
            refuse_levels(self.roles, self.release, self._assigner.index, numbers, columns)
            yield numbers.with_columns(_text(each.code) for each in self.roles.dimensions)

    def _has_counts(self) -> pl.Expr:
        return pl.any_horizontal(
            (self.roles.written(each.at) != "").fill_null(value=False) for each in self.roles.counts
        )

    def _are_geoids(self, texts: pl.Series) -> pl.Series:
        lengths = [level.digits for level in self.release.geography.levels]
        fit = texts.str.len_bytes().is_in(lengths) & ~texts.is_in(self._no_places)
        if not are_digits(texts).all():
            fit &= texts.str.contains(GEOID)
        return fit.fill_null(value=False)

    @cached_property
    def _no_places(self) -> list[str]:
        """Return words for all places that are as long as a geoid."""
        lengths = {level.digits for level in self.release.geography.levels}
        return [word for word in ALL_PLACES_SPELLED if len(word) in lengths]

    # --- counts -------------------------------------------------------------------------------

    def _with_whole_numbers(self, rows: pl.DataFrame, at: int) -> pl.DataFrame:
        """Parse numbers that are not plain digits; refuse texts that are no numbers."""
        name = _value(at)
        value = rows[name]
        texts = [*self.mapping.unpublished, *(self.markers or ())]
        is_plain = value.is_between(0, MAX_COUNT).all(ignore_nulls=False)
        if is_plain and not any(map(str.isdigit, texts)):
            return rows.with_columns(value.cast(pl.Int32))
        text = self.roles.written(at).str.strip_chars()
        plain = text.str.replace(ZERO_FRACTION, "")
        if self.roles.number is not None:
            plain = plain.str.replace(self.roles.number, "${1}")
        if self.mapping.thousands:
            mark = re.escape(self.mapping.thousands)
            grouped = plain.str.contains(f"^[0-9]{{1,3}}({mark}[0-9]{{3}})+$")
            without = plain.str.replace_all(self.mapping.thousands, "", literal=True)
            plain = pl.when(grouped).then(without).otherwise(plain)
        number = plain.cast(pl.Int64, strict=False)
        least = -MAX_COUNT if self.has_statements else 0
        fits = number.is_between(least, MAX_COUNT).fill_null(value=False)
        is_text = text.fill_null("").is_in(texts)
        wrong = rows.filter(~fits & ~is_text)
        if wrong.height and not self.has_statements:
            found = wrong.select(ROW, "geoid", text=text).row(0, named=True)
            raise SourceError(no_number(self.roles, at, found))
        return rows.with_columns(pl.when(fits & ~is_text).then(number).cast(pl.Int32).alias(name))


def _is_number(at: int) -> pl.Expr:
    """Test whether a cell has a number, of any kind."""
    return cell_text(at).str.contains(NUMBER).fill_null(value=False)


def _both(*conditions: Condition) -> Condition:
    """Return the condition that all conditions make together."""
    found: Condition = {}
    for each in conditions:
        for feature, mask in each.items():
            found[feature] = found.get(feature, mask) & mask
    return found


def _text(at: int) -> pl.Expr:
    return cell_text(at).fill_null("").alias(_code(at))


def _code(at: int) -> str:
    return f"code {at}"


def _value(at: int) -> str:
    return f"value {at}"


def _cell(at: int) -> str:
    return f"cell {at}"
