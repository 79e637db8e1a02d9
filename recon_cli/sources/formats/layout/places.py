"""A sheet as an office lays it out → a row a place and a column a cell.

Which rows of counts are totals of others is told by their words and by their counts.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from math import isinf

import polars as pl

from recon_cli.errors import SourceError
from recon_cli.sources.formats.layout.columns import Columns
from recon_cli.sources.formats.layout.rows import PlaceRow, place_rows
from recon_cli.sources.formats.layout.sums import CountRows
from recon_cli.sources.formats.layout.words import (
    PART_OF,
    WHOLE,
    Path,
    is_all_places,
    is_total_of,
    may_be_total,
    same,
    without_parts,
)
from recon_cli.sources.formats.mapping import FileMapping
from recon_cli.sources.tabular import Sheet
from recon_cli.sources.tabular.sheet import HEAD_ROWS, ROW


@dataclass(frozen=True)
class Layout:
    """A sheet whose places have been told.

    Attributes:
        sheet: The rows with counts, under their own numbers.
        headers: The words of each column's header, outermost first.
        place: The column that has, for each row, what stands for its place.
        levels: What the places are called, the largest first; as many as could be told.
        names: Of places with codes: what stands for the place → its name.
        questions: What could not be told, and how it was taken.
    """

    sheet: Sheet
    headers: tuple[Path, ...]
    place: int
    counts: tuple[int, ...]
    levels: tuple[str, ...]
    names: Mapping[str, str]
    notes: tuple[str, ...]
    questions: tuple[str, ...]


def lay_out(sheet: Sheet, mapping: FileMapping) -> Layout:
    """Tell header, columns and places of a sheet.

    Every row of counts gets the path of its place, the largest first. Whatever could be two things
    is a question, and what contradicts itself is refused.

    Raises:
        SourceError: They cannot be told, or a row is none of place, heading, total and note.
    """
    columns = Columns.of(sheet, mapping)
    rows = place_rows(columns)
    counts = CountRows.of([[row.cells[at] for at in columns.counts] for row in rows])
    nested = _Nesting(columns, rows, counts).nested()
    titles = [PART_OF.join(map(without_parts, row.path)) or WHOLE for row in nested.rows]
    codes = _place_codes(columns, nested.rows)
    places = [codes.get(row.path, WHOLE) for row in nested.rows] if codes else titles
    names = {
        code: title for code, title in zip(places, titles, strict=True) if codes and code != title
    }
    texts = {
        str(at): [row.cells[at].strip() or None for row in nested.rows] for at in range(sheet.width)
    }
    frame = pl.DataFrame(
        {ROW: [row.number for row in nested.rows], **texts, str(columns.place): places},
        schema={ROW: pl.UInt32} | dict.fromkeys(texts, pl.String),
    )
    head = tuple(tuple(cell or "" for cell in row[1:]) for row in frame.head(HEAD_ROWS).rows())
    return Layout(
        Sheet(sheet.label, head, sheet.width, lambda: iter([frame])),
        columns.headers,
        columns.place,
        columns.counts,
        columns.nouns,
        names,
        nested.notes,
        nested.questions,
    )


@dataclass(frozen=True)
class NestedRows:
    """Rows with the paths of their places.

    Attributes:
        rows: A total has the path of its parts' parent.
        questions: What could not be told, and how it was taken.
    """

    rows: tuple[PlaceRow, ...]
    notes: tuple[str, ...]
    questions: tuple[str, ...]


@dataclass(frozen=True)
class _Nesting:
    """Finds which rows are totals of others, by their words and by their counts."""

    columns: Columns
    rows: tuple[PlaceRow, ...]
    sums: CountRows

    def nested(self) -> NestedRows:
        """Each row with its place; a total with that of its parts."""
        paths = self._without_root([line.path for line in self.rows])
        totals = self._named_totals(paths)
        questions: list[str] = []
        notes: list[str] = []
        parts = [i for i in range(len(paths)) if i not in totals]
        if not parts:
            raise SourceError(f"{self.columns.sheet.label}: every row is a total; of what?")
        paths = self._in_blocks(paths, parts, notes)
        taken = {paths[i] for i in parts}
        leaves = self._leaves(paths, parts)
        for i, candidates in totals.items():
            free = [path for path in candidates if path not in taken]
            if not free:
                self._refuse_second(i, candidates)
            path, question = self._settle(i, free, paths, leaves)
            paths[i] = path
            taken.add(path)
            questions += question
        found = paths if () in taken else self._with_whole(paths, leaves, notes)
        self._refuse_doubles(found)
        questions += self._sums_that_differ(found)
        questions += self._outside(found)
        questions += self._like_totals(found)
        rows = [replace(row, path=path) for row, path in zip(self.rows, found, strict=True)]
        return NestedRows(tuple(rows), tuple(notes), tuple(dict.fromkeys(questions)))

    def _without_root(self, paths: list[Path]) -> list[Path]:
        """``All schools`` above all others is no place that they are part of."""
        roots = {path[0] for path in paths if path}
        if len(roots) == 1 and len(paths) > 1 and self._is_total(roots.pop()):
            return [path[1:] for path in paths]
        return paths

    def _named_totals(self, paths: Sequence[Path]) -> dict[int, list[Path]]:
        """Row → the places that it may be the total of, the innermost first."""
        inner = {path[:n] for path in paths for n in range(1, len(path))}
        found = {}
        for i, (row, path) in enumerate(zip(self.rows, paths, strict=True)):
            if path and row.is_total and (path in inner or self._is_total(path[-1])):
                found[i] = [path[:-1] if self._is_total(path[-1]) else path]
            elif path and not row.is_total and (able := self._able(i, paths, inner)):
                found[i] = able
        return found

    def _able(self, i: int, paths: Sequence[Path], inner: Set[Path]) -> list[Path]:
        """The places that a row with a name may be the total of; none if it is a place."""
        outer, name = paths[i][:-1], paths[i][-1]
        around = [outer[:n] for n in range(len(outer), -1, -1)]
        if named := [each for each in inner if is_total_of(name, each[-1])]:
            return [each for each in around if each in named] or named
        if self._is_total(name) and paths[i] not in inner:
            return around
        if may_be_total(name) or (outer and same(name, outer[-1])):
            others = [k for k, each in enumerate(paths) if each[: len(outer)] == outer and k != i]
            if len(others) > 1 and self.sums.add_up(i, others):
                return [outer]
        return []

    def _is_total(self, name: str) -> bool:
        return is_all_places(name, self.columns.nouns)

    def _leaves(self, paths: Sequence[Path], parts: Sequence[int]) -> list[int]:
        inner = {paths[i][:n] for i in parts for n in range(len(paths[i]))}
        return [i for i in parts if paths[i] not in inner]

    def _settle(
        self, i: int, free: Sequence[Path], paths: Sequence[Path], leaves: Sequence[int]
    ) -> tuple[Path, list[str]]:
        """Which of some places a total is of."""
        below = {path: [k for k in leaves if paths[k][: len(path)] == path] for path in free}
        fitting = [path for path in free if below[path] and self.sums.add_up(i, below[path])]
        if len(fitting) == 1 or (fitting and len({tuple(below[path]) for path in fitting}) == 1):
            return fitting[0], []
        where = self.columns.sheet.where(self.rows[i].number)
        name = self.rows[i].path[-1] if self.rows[i].path else WHOLE
        options = " or ".join(repr(path[-1]) if path else "all places" for path in fitting or free)
        if fitting:
            return fitting[0], [
                f"{where}: whether {name!r} is the total of {options}: it is taken as the first"
            ]
        return free[0], [] if len(free) == 1 else [
            f"{where}: {name!r} should be the total of {options}, and their rows do not add up"
        ]

    def _refuse_second(self, i: int, candidates: Sequence[Path]) -> None:
        name = PART_OF.join(candidates[0]) if candidates[0] else "all places"
        raise SourceError(
            f"{self.columns.sheet.where(self.rows[i].number)}: "
            f"{(self.rows[i].path or ('the row',))[-1]!r} is a total of {name}, which has another "
            "row already; leave one of them out"
        )

    def _in_blocks(self, paths: list[Path], parts: Sequence[int], notes: list[str]) -> list[Path]:
        """With the rows that no word calls totals and that are sums of the rows beside them."""
        if any(len(paths[k]) > 1 for k in parts):
            return paths
        found = list(paths)
        for rest in (parts, parts[:-1], parts[1:]):
            blocks = self.sums.blocks(rest)
            whole = [k for k in parts if k not in rest]
            if not blocks or not all(self.sums.add_up(k, list(blocks)) for k in whole):
                continue
            for total, below in blocks.items():
                for k in below:
                    found[k] = (*paths[total], *paths[k])
            of = ", ".join(repr(paths[total][-1]) for total in list(blocks)[:3])
            taken = (
                "are taken as places of which others are parts: their counts are the sums of the "
                "rows beside them"
                if len(blocks) > 1
                else "is taken as a place of which others are parts: its counts are the sums of "
                "the rows beside it"
            )
            notes.append(f"{self.columns.sheet.label}: {of} {taken}")
            break
        return found

    def _with_whole(self, paths: list[Path], leaves: Sequence[int], notes: list[str]) -> list[Path]:
        """With the first or last row as all places together, if it surely is their sum."""
        tops = [k for k, path in enumerate(paths) if len(path) == 1 and k not in leaves]
        for whole in (leaves[-1], leaves[0]):
            rest = [k for k in leaves if k != whole]
            sums = (rest, tops) if tops and len(paths[whole]) == 1 else (rest,)
            if any(self.sums.is_surely_sum(whole, own) for own in sums):
                notes.append(
                    f"{self.columns.sheet.where(self.rows[whole].number)}: {paths[whole][-1]!r} is "
                    "all places together: its counts are the sums of all others"
                )
                return [() if k == whole else path for k, path in enumerate(paths)]
        return paths

    def _outside(self, paths: Sequence[Path]) -> list[str]:
        """A question for a place that is part of nothing and has no parts, unlike the others."""
        inner = {path[:n] for path in paths for n in range(1, len(path))}
        if not inner:
            return []
        return [
            f"{self.columns.sheet.where(row.number)}: {path[0]!r} is part of nothing and has no "
            "parts, as other places have: it is taken so"
            for row, path in zip(self.rows, paths, strict=True)
            if len(path) == 1 and path not in inner
        ][:1]

    def _like_totals(self, paths: Sequence[Path]) -> list[str]:
        """A question for a place that may be a total by its name, and is one in most columns."""
        for i, path in enumerate(paths):
            outer, name = path[:-1], path[-1] if path else ""
            if not (may_be_total(name) or (outer and same(name, outer[-1]))):
                continue
            around = [k for k, each in enumerate(paths) if each[:-1] == outer and each and k != i]
            people = self.sums.low.sum(axis=1)
            is_greatest = len(around) > 1 and people[i] > people[around].max()
            if is_greatest and self.sums.share_that_adds_up(i, around) > 1 / 2:
                return [
                    f"{self.columns.sheet.where(self.rows[i].number)}: {name!r} may be a place, or "
                    "a total that does not add up: it is taken as a place"
                ]
        return []

    def _refuse_doubles(self, paths: Sequence[Path]) -> None:
        seen: dict[Path, int] = {}
        for line, path in zip(self.rows, paths, strict=True):
            if path in seen:
                raise SourceError(
                    f"{self.columns.sheet.where(line.number)}: "
                    f"{PART_OF.join(path) or 'all places'} is in row {seen[path]} already; if two "
                    "places have one name, say what they are part of: mapping.parent (`recon init "
                    "--parent HEADER`)"
                )
            seen[path] = line.number

    def _sums_that_differ(self, paths: Sequence[Path]) -> list[str]:
        """A question for a place whose parts do not add up to it."""
        rows = {path: i for i, path in enumerate(paths)}
        questions = []
        for path, i in rows.items():
            below = [k for other, k in rows.items() if other[: len(path)] == path and other != path]
            depth = min((len(paths[k]) for k in below), default=0)
            parts = [k for k in below if len(paths[k]) == depth]
            if len(parts) < len(below):
                covered = [paths[k] for k in parts]
                parts += [
                    k
                    for k in below
                    if k not in parts and not any(paths[k][: len(c)] == c for c in covered)
                ]
            if not parts:
                continue
            column = self.sums.first_difference(i, parts)
            if column is None:
                continue
            at, total, least, most = column
            header = ": ".join(self.columns.headers[self.columns.counts[at]])
            found = f"at least {least}" if isinf(most) else f"{least} to {int(most)}"
            found = str(least) if least == most else found
            questions.append(
                f"{self.columns.sheet.where(self.rows[i].number, None)}, column {header}: "
                f"{path[-1] if path else 'all places together'} "
                f"{'has' if path else 'have'} {total}, and the {len(parts)} parts of it {found}"
            )
        return questions[:3]


def _place_codes(columns: Columns, rows: Sequence[PlaceRow]) -> dict[Path, str]:
    """Path of a place → its code, beginning with that of its parent; empty without codes.

    Raises:
        SourceError: Some places have none, or have lost a zero.
    """
    own = columns.codes[-1]
    if own is None:
        return {}
    written: dict[Path, str] = {}
    for row in rows:
        for depth, at in enumerate(columns.codes[:-1], start=1):
            if at is not None and (code := row.cells[at].strip()):
                written.setdefault(row.path[:depth], code)
        if code := row.cells[own].strip():
            written[row.path] = code
    found: dict[Path, str] = {}
    for path in sorted({*written, *(row.path for row in rows)}, key=len):
        if path not in written:
            if path:
                number = next(row.number for row in rows if row.path == path)
                raise SourceError(
                    f"{columns.sheet.where(number, own, columns.title(own))}: {path[-1]!r} has no "
                    "code and other places have one; write it, or empty the column"
                )
            continue
        around = (path[:depth] for depth in range(len(path) - 1, -1, -1))
        outer = next((found[each] for each in around if each in found), "")
        code = written[path]
        found[path] = code if code.startswith(outer) else outer + code
    _refuse_lost_zeros(columns, sorted(found.values(), key=len), own)
    return found


def _refuse_lost_zeros(columns: Columns, codes: Sequence[str], at: int) -> None:
    if not all(code.isdigit() for code in codes):
        return
    for short, long in itertools.pairwise(sorted({len(code) for code in codes})):
        outer = {code[:short] for code in codes if len(code) > short}
        lost = [code for code in codes if len(code) == short and code not in outer]
        if long == short + 1 and lost:
            raise SourceError(
                f"{columns.sheet.label}: column {columns.title(at)!r}: codes of {short} and {long} "
                f"digits, {lost[0]} among them: was a leading zero lost? write codes as text"
            )
