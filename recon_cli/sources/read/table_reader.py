"""Read one table of a sheet by the user's choices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recon_cli.arrays import BoolArray
from recon_cli.errors import SourceError
from recon_cli.sources.read.choices import Choices, column_names, columns_named
from recon_cli.sources.read.grid import Grid
from recon_cli.sources.read.headers import header_paths
from recon_cli.sources.read.names import Names
from recon_cli.sources.read.regions import Region
from recon_cli.sources.read.row_labels import PART_OF, Path, is_called_total, row_labels
from recon_cli.sources.read.row_names import NamedRows
from recon_cli.sources.read.table_reading import Share, TableReading
from recon_cli.sources.read.words import Sense, is_word, says

#: Fewest rows from a total to its repetition, both included.
_FEWEST_BETWEEN: Final = 4
#: What all percentages add up to.
_HUNDRED: Final = 100.0


class TableReader:
    """One table of a sheet while it is read.

    Attributes:
        kinds: Columns with the kind of a place, not with a place that encloses it.
        beside: Rows that are left out of the body.
    """

    def __init__(self, grid: Grid, region: Region, choices: Choices) -> None:
        self.grid = grid
        self.choices = choices
        self.region = region
        self.headers = header_paths(grid, region)
        self.columns = column_names(self.headers)
        self.not_chosen: dict[int, NDArray[np.intp]] = {}
        self.left_rows: list[tuple[str, int]] = []
        self.beside = np.zeros(0, dtype=np.intp)
        self.repeated: dict[int, int] = {}
        self.named: NamedRows | None = None
        self.kinds: frozenset[int] = frozenset()
        for header, values in choices.where.items():
            for at in self._said((header,)):
                body = self.region.body
                is_chosen = self.grid.of_words(values.__contains__, bool)[body, at]
                self.not_chosen[at] = body[~is_chosen]
                self.region = replace(self.region, body=body[is_chosen])
                if not is_chosen.any():
                    shown = " or ".join(map(repr, values))
                    raise SourceError(f"{grid.label}: no row has {shown} in {header!r}")

    def _said(self, words: Sequence[str]) -> tuple[int, ...]:
        """Return columns whose header, or its last word, is one of ``words``."""
        return columns_named(self.headers, words)

    def _header(self, at: int) -> str:
        return self.columns[at]

    def table(self) -> TableReading:
        """Return the table by the choices."""
        self._leave_rows_out()
        self._leave_repeated()
        return self._settled()

    def _leave_rows_out(self) -> None:
        """Take out of the body rows of percentages, and rows that the choices leave out."""
        self._leave_percentages()
        if self.choices.leave_out:
            self._leave_rows(lambda label, _: label in self.choices.leave_out)
            self._leave_values(self.choices.leave_out.__contains__)

    @property
    def _row_reasons(self) -> dict[str, str]:
        """Map rows that the choices leave out to the reason."""
        said = self.choices.leave_out
        return {label: said[label] for label, _ in self.left_rows if label in said}

    @property
    def _left_out(self) -> dict[int, str]:
        """Map columns that the choices leave out to the reason."""
        return {
            at: reason
            for header, reason in self.choices.leave_out.items()
            for at in self._said((header,))
        }

    @property
    def _named(self) -> NamedRows:
        """Return the names of the region's rows, cached until the region changes."""
        if self.named is None or self.named.region is not self.region:
            self.named = NamedRows(self.grid, self.region, self.headers, self.choices)
        return self.named

    def _leave_rows(self, is_left: Callable[[str, int], bool]) -> bool:
        """Take rows out of the body, by their words and number; report whether there were some.

        A row stays if another row with the same words stays.
        """
        names = self._named.names(self.kinds)
        body = self.region.body
        if names.is_long:
            return False
        words = [PART_OF.join(path) for path in self._paths(names)]
        rows = list(zip(words, body.tolist(), strict=True))
        kept = {label for label, row in rows if not is_left(label, row)}
        left = [(label, row) for label, row in rows if is_left(label, row) and label not in kept]
        if not left or not kept:
            return False
        self.left_rows += left
        is_kept = ~np.isin(body, [row for _, row in left])
        self.beside = np.union1d(self.beside, body[~is_kept])
        self.region = replace(self.region, body=body[is_kept])
        return True

    def _leave_percentages(self) -> None:
        """Take out the rows below a heading that makes them percentages.

        None is more than a hundred, and most have the labels of other rows, which have the counts.
        """
        body, names = self.region.body, self._named.names(self.kinds)
        headings = np.array(sorted(self.region.headings), dtype=np.intp)
        if names.is_long or not len(headings):
            return
        said = [" ".join(map(str, self.grid.texts[row])) for row in headings.tolist()]
        own = np.searchsorted(headings, body) - 1
        paths = self._paths(names)
        shares = {
            i
            for i, (path, at) in enumerate(zip(paths, own.tolist(), strict=True))
            if at >= 0 and says(" ".join((*path[:-1], said[at])), Sense.PERCENTAGE)
        }
        counted = {path[-1] for i, path in enumerate(paths) if i not in shares}
        if 2 * sum(paths[i][-1] in counted for i in shares) <= len(shares):
            return
        rows = body[sorted(shares)]
        if np.nanmax(self.grid.values[np.ix_(rows, self.region.numeric)], initial=0.0) > 100:
            return
        for i in sorted(shares):
            words = dict.fromkeys((" ".join(said[own[i]].split()), *paths[i]))
            self.left_rows.append((PART_OF.join(words), int(body[i])))
        self.beside = np.union1d(self.beside, rows)
        self.region = replace(self.region, body=np.setdiff1d(body, rows).astype(np.intp))

    def _leave_repeated(self) -> None:
        """Take out the second of two rows that print one total, above its parts and below them."""
        body, first = self.region.body, dict[int, int]()
        _, number = self.grid.combinations(body, self.region.numeric.tolist())
        again = np.flatnonzero(np.bincount(number, minlength=1)[number] > 1).tolist()
        names = self._named.names(self.kinds)
        paths = self._paths(names) if again and not names.is_long else ()
        for i in again if paths else ():
            rows = body[first.setdefault(int(number[i]), i) : i + 1]
            if self._print_one_total(rows, paths[first[int(number[i])]], paths[i]):
                self.repeated[int(rows[-1])] = int(rows[0])
        if self.repeated:
            out = np.array(sorted(self.repeated), dtype=np.intp)
            self.beside = np.union1d(self.beside, out)
            self.region = replace(self.region, body=np.setdiff1d(body, out).astype(np.intp))

    def _print_one_total(self, rows: NDArray[np.intp], one: Path, other: Path) -> bool:
        """Test whether the first and the last of some rows, which print the same, are one total.

        Two of three conditions must hold: both have the same name, words call both a total, and
        the rows between add up to them.
        """
        if len(rows) < _FEWEST_BETWEEN:
            return False
        numbers = self.grid.values[np.ix_(rows[:-1], self.region.numeric)]
        told = ~np.isnan(numbers).any(axis=0)
        off = (numbers[0] - numbers[1:].sum(axis=0))[told]
        adds_up = (numbers[0][told] > 0).any() and (off == 0).all()
        is_named = one == other and np.nansum(numbers[0]) > 0
        are_totals = is_called_total(one) and is_called_total(other) and one[:-1] == other[:-1]
        is_one = (is_named and (adds_up or are_totals)) or (adds_up and are_totals)
        return bool(is_one)

    def _paths(self, names: Names) -> tuple[Path, ...]:
        """Return the words that name each row, as long as rows that are left out are in place.

        A single heading over the rows that stay is dropped if it only says that they are numbers.
        """
        every = np.union1d(self.region.body, self.beside).astype(np.intp)
        paths = row_labels(self.grid, replace(self.region, body=every), names.chain)
        own = tuple(paths[i] for i in np.searchsorted(every, self.region.body).tolist())
        heads = {path[:-1] and path[0] for path in own}
        is_named = len(heads) == 1 and is_word(str(next(iter(heads)) or ""), Sense.UNIT)
        return tuple(path[1:] for path in own) if is_named and len(self.beside) else own

    def _leave_values(self, is_left: Callable[[str], bool]) -> None:
        """Take rows out of the body of a long table, by their value in a column that names rows."""
        names = self._named.told
        for at in names.keys if names.is_long else ():
            body = self.region.body
            values, number = self.grid.coded((body, at))
            is_out = np.array([is_left(value) for value in values], dtype=bool)[number]
            if is_out.any() and not is_out.all():
                out = zip((values[i] for i in number[is_out]), body[is_out].tolist(), strict=True)
                self.left_rows += out
                self.region = replace(self.region, body=body[~is_out])

    def _settled(self) -> TableReading:
        names = self._named.names(self.kinds)
        said, left_out, shares = {*self._said(self.choices.count)}, self._left_out, self._shares
        numeric = self.region.numeric.tolist()
        printed = tuple(at for at in numeric if at in self._said(tuple(self.choices.statistics)))
        used = {*left_out, *printed, *(each.line for each in shares)}
        used |= {*names.keys, *names.twins, *names.constants}
        counts = tuple(at for at in numeric if (at in said if said else at not in used))
        if len(counts) > 1 and self._are_percentages(counts):
            counts = ()  # of a table below that of the counts, under the same headers
        return TableReading(
            grid=self.grid,
            region=self.region,
            headers=self.headers,
            names=names,
            counts=counts,
            statistics=tuple(at for at in numeric if at not in {*used, *counts}),
            left_out=left_out,
            place=next(iter(self._named.places(names)), None),
            withheld=self._withheld(names),
            rows=self._paths(names),
            are_kinds=bool(self.choices.are_kinds),
            not_chosen=self.not_chosen,
            shares=shares,
            printed=printed,
            left_rows=tuple(self.left_rows),
            row_reasons=self._row_reasons,
            repeated=self.repeated,
        )

    def _are_percentages(self, columns: Sequence[int]) -> bool:
        """Test whether columns are percentages, with hundreds beside them."""
        at = np.ix_(self.region.body, np.array(columns, dtype=np.intp))
        values = self.grid.values[at]
        known = ~np.isnan(values)
        is_odd = known & (self.grid.are_broken(at) | self.grid.percents[at] | (values < 0))
        are_parts = 2 * is_odd.sum(axis=0) > np.maximum(known.sum(axis=0), 1)
        are_hundred = (known.sum(axis=0) > 1) & (~known | (values == _HUNDRED)).all(axis=0)
        return bool(are_parts.any() and (are_parts | are_hundred).all())

    @property
    def _shares(self) -> tuple[Share, ...]:
        """Return the columns that are chosen as shares of others."""
        found = []
        for header, (part, base, times) in self.choices.shares.items():
            own = [self._said((each,)) for each in (header, part, base)]
            if all(len(each) == 1 for each in own):
                found.append(Share(own[0][0], own[1][0], own[2][0], times))
        return tuple(found)

    def _withheld(self, names: Names) -> BoolArray:
        """Return numbers that a flag beside them withdraws: a zero with a flag is no zero."""
        found = np.zeros(self.grid.shape, dtype=bool)
        for beside in names.flags:
            filled = self.grid.filled[self.region.body, beside]
            for at in self.region.numeric.tolist():
                own = self.grid.values[self.region.body, at]
                if ((own == 0) | np.isnan(own))[filled].all():
                    found[self.region.body[filled & (own == 0)], at] = True
        return found
