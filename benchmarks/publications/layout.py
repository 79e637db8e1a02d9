"""A publication's tables: rows and columns of conditions, and how they are printed.

An axis makes the rows, or the columns, of a table: entries, each with labels and with a condition
on people. Where a row meets a column, a count of those who meet both is printed under the law of
the publication, or a number that is no count.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal

import numpy as np

from .grid import Cell, Grid, Value
from .people import Condition, Dimension, Key, Node, World, both, key_of

Kind = Literal["count", "share", "rate", "mean", "population", "code", "flag", "blank", "heading"]
#: Kinds that print numbers which are no counts of these people.
OTHER_NUMBERS: Final = ("share", "rate", "mean", "population", "code")


@dataclass(frozen=True)
class Entry:
    """A row or a column.

    Attributes:
        path: Its labels: the cells of a row's stub, or a column's headers from the top.
        base: Of a share, whom the hundred per cent are.
        stub: Of a row, for each label the dimension and the leaves that it names.
    """

    path: tuple[str, ...] = ()
    condition: Condition = field(default_factory=dict)
    kind: Kind = "count"
    base: Condition | None = None
    depth: int = 0
    bold: bool = False
    decimals: int = 1
    stub: tuple[tuple[str, frozenset[int]] | None, ...] = ()


Axis = Callable[[World], list[Entry]]
#: How labels of parents and of parts are told apart in a row.
Style = Literal["plain", "spaces", "indent", "bold", "parent", "once", "heading", "coded"]


def axis(
    name: str,
    *,
    total: Literal["first", "last", "no"] = "first",
    style: Style = "plain",
    codes: Literal["", "before", "after", "only"] = "",
    own: str | None = None,
    depth: tuple[int, int] = (0, 9),
    suffix: str = "",
    relabel: Mapping[str, str] | None = None,
    banner: bool = False,
) -> Axis:
    """Return the categories of a dimension, each parent above its parts.

    Args:
        name: The dimension.
        total: Where everybody comes.
        style: ``parent`` and ``once`` have a column of parents (filled in each row, or in the first
            alone) in which a parent's own row is called ``own``; ``heading`` has a row without
            numbers above the parts, and a parent's own row, ``own``, before them if there is one.
        codes: Where the categories' codes come.
        own: What a parent's own row is called beside its parts.
        depth: The least and greatest depth that is printed.
        suffix: What is behind each label, such as a unit.
        relabel: Other words for some labels.
        banner: The dimension's name is a header above them.
    """

    def make(world: World) -> list[Entry]:
        dimension = world.dimensions[name]
        entries: list[Entry] = []
        for node in dimension.nodes:
            if depth[0] <= node.depth <= depth[1]:
                entries += _entries(dimension, node, style, codes, own)
        if total != "no" and dimension.total is not None:
            whole = _entry(
                dimension, dimension.total, dimension.total_code, dimension.everybody, codes
            )
            if style in ("parent", "once"):
                whole = _beside(whole, (dimension.total, dimension.everybody), name, own or "")
            whole = replace(whole, bold=style == "bold")
            entries = [whole, *entries] if total == "first" else [*entries, whole]
        words = relabel or {}
        above = (name,) if banner else ()
        return [
            replace(
                entry, path=(*above, *(words.get(label, label) + suffix for label in entry.path))
            )
            for entry in entries
        ]

    return make


def _entry(
    dimension: Dimension, label: str, code: str, leaves: frozenset[int], codes: str
) -> Entry:
    named = (dimension.name, leaves)
    labels = {"": (label,), "before": (code, label), "after": (label, code), "only": (code,)}[codes]
    return Entry(labels, {dimension.name: leaves}, stub=(named,) * len(labels))


def _beside(entry: Entry, parent: tuple[str, frozenset[int]], name: str, own: str) -> Entry:
    label, leaves = parent
    return replace(
        entry, path=(label, own or entry.path[-1]), stub=((name, leaves), entry.stub[-1])
    )


def _entries(
    dimension: Dimension, node: Node, style: Style, codes: str, own: str | None
) -> list[Entry]:
    category, above = node.category, node.above
    entry = _entry(dimension, category.label, category.code, node.leaves, codes)
    if style == "spaces":
        entry = replace(entry, path=(*entry.path[:-1], "  " * node.depth + entry.path[-1]))
    elif style in ("indent", "bold"):
        entry = replace(
            entry,
            depth=node.depth if style == "indent" else 0,
            bold=style == "bold" and bool(category.parts),
        )
    elif style in ("parent", "once"):
        parent = above[-1] if above else category
        leaves = next(n.leaves for n in dimension.nodes if n.category is parent)
        named = (
            entry if above else _beside(entry, (parent.label, leaves), dimension.name, own or "")
        )
        if above:
            named = replace(
                entry,
                path=(parent.label, *entry.path),
                stub=((dimension.name, leaves), *entry.stub),
            )
        elif codes:
            named = replace(
                entry,
                path=(category.label, *entry.path[:-1], own or category.label),
                stub=((dimension.name, leaves), *entry.stub),
            )
        return [named] if category.parts == () or above or own is not None else []
    elif style == "heading" and category.parts:
        head = replace(entry, kind="heading")
        if own is None:
            return [head]
        return [head, replace(entry, path=(*entry.path[:-1], own.format(category.label)))]
    return [entry]


def crossed(*axes: Axis) -> Axis:
    """Return every entry of the first with every one of the next below it."""

    def make(world: World) -> list[Entry]:
        entries = axes[0](world)
        for further in axes[1:]:
            entries = [
                replace(
                    inner,
                    path=outer.path + inner.path,
                    condition=both(outer.condition, inner.condition),
                    stub=outer.stub + inner.stub,
                    base=None if inner.base is None else both(outer.condition, inner.base),
                    bold=outer.bold,
                    depth=max(outer.depth, inner.depth),
                    kind="heading" if outer.kind == "heading" else inner.kind,
                )
                for outer in entries
                for inner in further(world)
            ]
        return entries

    return make


def joined(*axes: Axis) -> Axis:
    """Return the entries of one axis after those of another."""
    return lambda world: [entry for make in axes for entry in make(world)]


def under(axes: Axis, *labels: str) -> Axis:
    """Return the entries with headers above them."""
    return lambda world: [replace(entry, path=labels + entry.path) for entry in axes(world)]


def only(name: str, *labels: str) -> Axis:
    """Return nothing but the categories of these labels."""

    def make(world: World) -> list[Entry]:
        dimension = world.dimensions[name]
        nodes = {node.category.label: node for node in dimension.nodes}
        return [_entry(dimension, label, "", nodes[label].leaves, "") for label in labels]

    return make


def headed(*names: str) -> Axis:
    """Return, for each dimension, a row of its name alone, and its categories."""

    def make(world: World) -> list[Entry]:
        return [
            entry
            for name in names
            for entry in (Entry((name,), kind="heading"), *axis(name, total="no")(world))
        ]

    return make


def everybody(label: str) -> Axis:
    """Return one entry without a condition."""
    return lambda _: [Entry((label,))]


def other(label: str, kind: Kind, *above: str, decimals: int = 1) -> Axis:
    """Return a column of numbers that are no counts, of text, or of nothing."""
    return lambda _: [Entry((*above, label), {}, kind, decimals=decimals)]


def with_shares(
    axes: Axis,
    words: tuple[str, str] | None = ("Number", "Per cent"),
    *,
    of: Literal["all", "first"] = "all",
    skip_first: bool = False,
    kind: Kind = "share",
    apart: bool = False,
    decimals: int = 1,
) -> Axis:
    """Return every count with its percentage beside it, or behind all counts.

    Args:
        axes: The counts.
        words: What the two columns are called below the label; None: only the label, twice.
        of: Of everybody in the row, or of the first entry.
        skip_first: The first count has none.
        kind: Percentages, or rates.
        apart: All counts come first.
        decimals: Of the percentages.
    """

    def make(world: World) -> list[Entry]:
        entries = axes(world)
        base = entries[0].condition if of == "first" else {}
        counts: list[Entry] = []
        shares: list[Entry | None] = []
        for number, entry in enumerate(entries):
            path = (*entry.path, words[0]) if words else entry.path
            counts.append(replace(entry, path=path))
            path = (*entry.path, words[1]) if words else (*entry.path[:-1], "%")
            share = replace(entry, path=path, kind=kind, base=base, decimals=decimals)
            shares.append(None if skip_first and number == 0 else share)
        if apart:
            return [*counts, *filter(None, shares)]
        pairs = zip(counts, shares, strict=True)
        return [entry for pair in pairs for entry in pair if entry is not None]

    return make


def shares(axes: Axis, of: Condition | None = None, decimals: int = 1) -> Axis:
    """Return percentages in place of counts."""
    return lambda world: [
        replace(entry, kind="share", base=of or {}, decimals=decimals) for entry in axes(world)
    ]


@dataclass(frozen=True)
class Law:
    """How true counts become what is printed.

    Attributes:
        below: Counts from 1 to below - 1 are not printed (0 neither with ``zeros``).
        mark: What is printed instead; ``flag`` stands in a flag column beside a blank, or a 0.
        base: Counts are rounded to its multiples, the nearest or, with ``random``, either one.
        further: One more count of a row that has one is withheld.
        note: The sentence that says so.
    """

    below: int = 0
    mark: str = "*"
    flag: str = ""
    zeros: bool = False
    base: int = 1
    random: bool = False
    further: bool = False
    note: str = ""

    def printed(self, count: int, rng: np.random.Generator) -> int | None:
        """Return the number that is printed; None for a mark."""
        if (0 if self.zeros else 1) <= count < self.below:
            return None
        if self.base == 1:
            return count
        rest = count % self.base
        if self.random:
            return count - rest + self.base * int(rng.random() < rest / self.base)
        return (2 * count + self.base) // (2 * self.base) * self.base


EXACT: Final = Law()


@dataclass(frozen=True)
class Format:
    """How numbers look.

    Attributes:
        thousands: What groups digits; numbers are then texts.
        zero: What is printed for nobody; 0 if it is empty.
        files: The kinds of file: xlsx, ods, or csv with ``separator`` and ``encoding``.
    """

    thousands: str = ""
    zero: str = ""
    files: tuple[str, ...] = ("xlsx", "csv")
    separator: str = ","
    encoding: str = "utf-8"
    comma: bool = False


PLAIN: Final = Format()


@dataclass(frozen=True)
class Table:
    """A table of a sheet.

    Attributes:
        heads: The headers of the stub, one for each label of a row.
        titles: Lines above it.
        notes: Lines below it.
        below: The stub's headers stand in the last header row, else in the first.
        merge: Headers over several columns are merged cells (a workbook) or stand in the first.
        repeat: Headers over several columns are printed in each.
        units: A row of units between header and body: of counts, and of percentages.
        gap: A blank row after the header; blank columns between groups of columns.
        spacer: A blank row before each parent.
        where: Whom all of the table is about.
        absent: Rows of nobody are not there (in long files).
        label_marks, number_marks: Footnote marks behind a few labels, and behind a few numbers.
        numbered: A row 1, 2, 3, … under the header.
        together: Labels of the header are joined into one row with this between them.
        once: Labels of the stub that the row above has, too, are left out.
    """

    rows: Axis
    columns: Axis
    heads: tuple[str, ...]
    titles: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    below: bool = False
    merge: bool = True
    repeat: bool = False
    units: tuple[str, str] | None = None
    gap: tuple[bool, bool] = (False, False)
    spacer: bool = False
    where: Condition = field(default_factory=dict)
    absent: bool = False
    label_marks: tuple[str, ...] = ()
    number_marks: tuple[str, ...] = ()
    numbered: bool = False
    together: str = ""
    once: bool = False


@dataclass(frozen=True)
class Printed:
    """A printed number, mark or blank, and what is true of it."""

    sheet: str
    row: int
    column: int
    kind: Kind
    condition: Condition
    true: int | None = None
    shown: int | None = None
    law: Law = EXACT
    heading: str = ""
    stub: str = ""


@dataclass
class Truth:
    """All that is true of a drawn file.

    Attributes:
        labels: What the stubs' labels name: text, then dimension and leaves.
        answers: By flag, without its dashes, what is right to say to ``recon init``.
    """

    world: World
    places: str | None
    cells: list[Printed] = field(default_factory=list)
    labels: dict[str, set[tuple[str, frozenset[int]]]] = field(default_factory=dict)
    answers: dict[str, list[str]] = field(default_factory=dict)

    def key(self, condition: Condition) -> Key:
        """Return a condition as something to look up."""
        return key_of(condition, self.world.dimensions)


def _runs(columns: Sequence[Entry], level: int) -> list[tuple[int, int]]:
    """Return the columns that share a header at a level, from first to behind the last."""
    runs: list[tuple[int, int]] = []
    for number, column in enumerate(columns):
        if len(column.path) <= level:
            continue
        start, stop = runs[-1] if runs else (0, -1)
        shared = column.path[: level + 1] == columns[start].path[: level + 1]
        if stop == number and shared and len(column.path) > level + 1:
            runs[-1] = (start, number + 1)
        else:
            runs.append((number, number + 1))
    return runs


class Printer:
    """Prints tables one below another on the sheets of a publication."""

    def __init__(self, truth: Truth, law: Law, look: Format, rng: np.random.Generator) -> None:
        self.truth, self.law, self.look, self.rng = truth, law, look, rng

    def print(self, grid: Grid, table: Table, first: int) -> int:
        """Print a table from a row on; return the row after it."""
        world = self.truth.world
        columns, rows = table.columns(world), table.rows(world)
        self.words(grid, table.titles, first)
        row = first + len(table.titles) + (bool(table.titles) and not table.absent)
        places = self._columns(columns, len(table.heads), table.gap[1])
        last = self._header(grid, table, columns, places, row)
        self._answers(table, rows, range(row, last))
        counts = [column for column in columns if column.kind == "count"]
        if len(counts) == 1:
            self._answer("count", ": ".join(counts[0].path))
        row = self._below_header(grid, table, columns, places, last)
        before: tuple[str, ...] = ()
        for number, line in enumerate(rows):
            row += table.spacer and number > 0 and (line.kind == "heading" or line.bold)
            self._stub(grid, table, line, before, row)
            before = line.path
            printed = line.kind == "heading" or self._numbers(
                grid, table, line, list(zip(places, columns, strict=True)), row
            )
            if table.absent and not printed:
                for column in range(1, max(places) + 1):
                    grid.cells.pop((row, column), None)
            else:
                row += 1
        notes = [note for note in (*table.notes, self.law.note) if note]
        self.words(grid, notes, row + 1)
        return row + len(notes) + bool(notes)

    def _below_header(
        self, grid: Grid, table: Table, columns: Sequence[Entry], places: list[int], row: int
    ) -> int:
        if table.units:
            for column, entry in zip(places, columns, strict=True):
                self._put(grid, row, column, table.units[entry.kind != "count"])
            row += 1
        if table.numbered:
            for column in range(1, len(table.heads) + len(columns) + 1):
                self._put(grid, row, column, column)
            row += 1
        return row + table.gap[0]

    def words(self, grid: Grid, lines: Sequence[str], first: int = 1) -> None:
        """Print lines of words on a sheet."""
        for row, line in enumerate(lines, start=first):
            self._put(grid, row, 1, line)

    def _put(self, grid: Grid, row: int, column: int, value: Value, **looks: int) -> None:
        if value not in (None, ""):
            grid.cells[row, column] = Cell(
                value, bold=bool(looks.get("bold")), indent=looks.get("indent", 0)
            )

    def _answer(self, flag: str, *said: str) -> None:
        known = self.truth.answers.setdefault(flag, [])
        known += [word for word in said if word not in known]

    def _answers(self, table: Table, rows: Sequence[Entry], header: range) -> None:
        """Note which stub has the places, which what they are part of, and where the header is."""
        if rows and "header" not in self.truth.answers:
            self._answer("header", *map(str, header))
        places = self.truth.places
        dimensions = self.truth.world.dimensions
        for line in rows:
            for label, named_by in zip(line.path, line.stub, strict=False):
                if named_by is not None and named_by[1] == dimensions[named_by[0]].everybody:
                    self._answer("total", label.strip())
        for number, head in enumerate(table.heads):
            stubs = [
                (line.stub[number], line)
                for line in rows
                if len(line.stub) > number and line.kind != "heading"
            ]
            named = {stub for stub, _ in stubs if stub is not None and stub[0] == places}
            if not head or not named:
                continue
            own = all(
                stub is None or stub[1] == line.condition.get(stub[0]) for stub, line in stubs
            )
            if not own or "place" not in self.truth.answers:
                self._answer("place" if own else "parent", head)
            if own and not any(stub is None or stub[1] is None for stub, _ in stubs):
                self._answer("apart", head)

    @staticmethod
    def _columns(columns: Sequence[Entry], stub: int, gaps: bool) -> list[int]:
        places, at = [], stub
        for number, entry in enumerate(columns):
            at += 1
            if (
                gaps
                and (number == 0 or entry.path[0] != columns[number - 1].path[0])
                and len(entry.path) > 1
            ):
                at += 1
            places.append(at)
        return places

    def _header(
        self, grid: Grid, table: Table, columns: Sequence[Entry], places: list[int], row: int
    ) -> int:
        if table.together:
            columns = [replace(c, path=(table.together.join(c.path),)) for c in columns]
        height = max(len(entry.path) for entry in columns)
        for number, head in enumerate(table.heads, start=1):
            at = row + height - 1 if table.below else row
            self._put(grid, at, number, head)
            if table.merge and not table.below and height > 1:
                grid.merged.append((row, number, row + height - 1, number))
        # A short header stands in the first row; what is below its last label is blank.
        for level in range(height):
            for start, stop in _runs(columns, level):
                for place in places[start : stop if table.repeat else start + 1]:
                    self._put(grid, row + level, place, columns[start].path[level])
                if table.merge and not table.repeat and stop > start + 1:
                    grid.merged.append((row + level, places[start], row + level, places[stop - 1]))
        self._answers_of_columns(columns)
        return row + height

    def _answers_of_columns(self, columns: Sequence[Entry]) -> None:
        """Note which columns count some of these people, and which are no counts."""
        for entry in columns:
            if entry.kind == "count" and self._is_some(entry.condition):
                self._answer("count", ": ".join(label for label in entry.path if label))
            if entry.kind == "count" and self._is_whole(entry.condition):
                self._answer("total", ": ".join(label for label in entry.path if label))
            if entry.kind in OTHER_NUMBERS or entry.kind == "flag":
                self._answer("leave-out", ": ".join(label for label in entry.path if label))

    def _is_whole(self, condition: Condition) -> bool:
        """Return whether a condition holds for everybody."""
        dimensions = self.truth.world.dimensions
        return all(own == dimensions[name].everybody for name, own in condition.items())

    def _is_some(self, condition: Condition) -> bool:
        """Return whether a condition is of a dimension whose categories are not everybody's."""
        dimensions = self.truth.world.dimensions
        return any(
            not dimensions[name].whole and leaves != dimensions[name].everybody
            for name, leaves in condition.items()
        )

    def _stub(
        self, grid: Grid, table: Table, line: Entry, before: tuple[str, ...], row: int
    ) -> None:
        for number, label in enumerate(line.path, start=1):
            if not label:
                continue
            named = line.stub[number - 1] if number <= len(line.stub) else None
            if named is not None:
                self.truth.labels.setdefault(label.strip(), set()).add(named)
                path = tuple(text.strip() for text in line.path[:number])
                self.truth.labels.setdefault(" / ".join(path), set()).add(named)
            text = label
            if table.label_marks and self.rng.random() < 0.06:
                text += str(self.rng.choice(list(table.label_marks)))
                if named is not None:
                    self.truth.labels.setdefault(text.strip(), set()).add(named)
            if table.once and number < len(line.path) and before[:number] == line.path[:number]:
                continue
            self._put(grid, row, number, text, bold=line.bold, indent=line.depth)

    def _numbers(
        self, grid: Grid, table: Table, line: Entry, columns: list[tuple[int, Entry]], row: int
    ) -> bool:
        """Print a row's numbers; return whether there is somebody in it."""
        people: dict[int, tuple[Condition, int, int | None]] = {}
        for place, entry in columns:
            if entry.kind == "count" or entry.base is not None:
                condition = both(both(table.where, line.condition), entry.condition)
                true = self.truth.world.count(condition)
                people[place] = condition, true, self.law.printed(true, self.rng)
            elif entry.kind not in ("blank", "flag"):
                self._other(grid, entry, row, place)
        counted = {place: people[place] for place, entry in columns if entry.kind == "count"}
        withheld = self._withheld(list(counted.values()))
        for place, entry in columns:
            if place not in people or (table.absent and people[place][1] == 0):
                continue
            condition, true, shown = people[place]
            number = None if self.truth.key(condition) in withheld else shown
            printed = Printed(grid.name, row, place, entry.kind, condition)
            if entry.kind == "count":
                self._put(grid, row, place, self._count(table, number))
                if number is None and self.law.flag:
                    flags = [at for at, other in columns if other.kind == "flag"]
                    self._put(grid, row, flags[0], self.law.flag)
                heading = ": ".join(filter(None, entry.path))
                stub = " / ".join(label.strip() for label in line.path if label)
                printed = replace(
                    printed, true=true, shown=number, law=self.law, heading=heading, stub=stub
                )
            else:
                self._put(grid, row, place, self._share(table, entry, line, true, number is None))
            self.truth.cells.append(printed)
        return not counted or any(true for _, true, _ in counted.values())

    def _withheld(self, counts: list[tuple[Condition, int, int | None]]) -> set[Key]:
        hidden = {self.truth.key(condition) for condition, _, shown in counts if shown is None}
        more = [(true, self.truth.key(condition)) for condition, true, shown in counts if shown]
        if self.law.further and len(hidden) == 1 and more:
            hidden.add(min(more, key=lambda count: count[0])[1])
        return hidden

    def _count(self, table: Table, number: int | None) -> Value:
        if number is None:
            return self.law.mark
        if number == 0 and self.look.zero:
            return self.look.zero
        if table.number_marks and self.rng.random() < 0.02:
            return f"{number}{self.rng.choice(list(table.number_marks))}"
        return f"{number:,}".replace(",", self.look.thousands) if self.look.thousands else number

    def _share(self, table: Table, entry: Entry, line: Entry, true: int, masked: bool) -> Value:
        if masked:
            return self.law.mark
        if entry.kind == "rate":
            return round(float(true * self.rng.uniform(2.0, 9.0)), entry.decimals)
        base = self.truth.world.count(both(both(table.where, line.condition), entry.base or {}))
        if base == 0:
            return self.look.zero or 0
        share = round(100 * true / base, entry.decimals)
        return share if entry.decimals else int(share)

    def _other(self, grid: Grid, entry: Entry, row: int, place: int) -> None:
        low, high = {"rate": (5, 900), "mean": (20, 55), "population": (900, 90000)}.get(
            entry.kind, (100000, 999999)
        )
        whole = entry.kind in ("population", "code") or entry.decimals == 0
        number = float(self.rng.uniform(low, high))
        value: Value = int(number) if whole else round(number, entry.decimals)
        self._put(grid, row, place, value)
        self.truth.cells.append(Printed(grid.name, row, place, entry.kind, {}))
