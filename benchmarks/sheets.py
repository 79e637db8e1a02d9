"""Small office sheets from file to interval: ``python -m benchmarks.sheets --n 40``.

Draws people of a few places, publishes them as offices lay tables out, with small counts starred
or all rounded, and runs ``recon init``, ``ingest`` and ``audit`` on the file alone. Every interval
is compared with the least and greatest count of an integer program of our own, made from the
layout and not from what was read. Each file ends as one of

- ``right``: every interval is the program's;
- ``answered``: the same, once every sum of the layout was said by flags, since it was asked;
- ``asked``: asked all the same, or refused with a flag that answers it;
- ``weak``: no interval is wrong, some are wider: what follows was not seen;
- ``false``: an interval is narrower, or lacks the true count;
- ``refused``: another error.

Ends with 1 if a file is weak, false or refused.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray
from openpyxl import Workbook
from scipy.optimize import Bounds, LinearConstraint, milp

from benchmarks.publications.tool import Recon

PLACES: Final = (
    "Ashton", "Barrow", "Corby", "Dalton", "Epping", "Fleet", "Goole", "Hythe", "Ilkley", "Jarrow",
)  # fmt: skip
FEATURES: Final = {
    "sex": ("Male", "Female"),
    "outcome": ("Fatal", "Serious", "Slight"),
    "mode": ("Car", "Bus", "Cycle", "On foot"),
    "age": ("0-15", "16-64", "65+"),
}
#: Counts from 1 to one less are starred.
BELOW: Final = 5
#: What rounded counts are multiples of.
BASE: Final = 3

#: What the row of all places is called: not always what it is.
WHOLES: Final = ("All places", "Total", "Norfolk", "Westland")

#: Values of features that a column counts, None for all.
Column = tuple[str | None, ...]
#: Rows of headers, and what each column counts.
_Layout = tuple[tuple[tuple[str, ...], ...], tuple[Column, ...]]


@dataclass(frozen=True)
class Table:
    """One table of a file.

    Attributes:
        headers: Rows of headers, one cell a column.
        columns: What each column counts.
        shown: (rows × columns) Whether a count is printed.
    """

    headers: tuple[tuple[str, ...], ...]
    columns: tuple[Column, ...]
    shown: NDArray[np.bool_]


@dataclass(frozen=True)
class Drawn:
    """A file, and what is true of it.

    Attributes:
        rows: The name of each row, and which places it is of.
        people: (places × cells) True counts.
        cells: The values of each cell.
        flags: What its office knows of it.
        rounded: (rows × columns) The numbers as printed, where all are rounded.
    """

    rows: tuple[tuple[str, tuple[int, ...]], ...]
    people: NDArray[np.int64]
    cells: tuple[tuple[str, ...], ...]
    tables: tuple[Table, ...]
    layout: str
    flags: tuple[str, ...]
    rounded: tuple[NDArray[np.int64], ...] = ()

    def inside(self, column: Column) -> NDArray[np.bool_]:
        """Tell which cells a column counts."""
        return np.array(
            [all(w in (None, v) for w, v in zip(column, cell, strict=True)) for cell in self.cells]
        )

    def counts(self, table: Table) -> NDArray[np.int64]:
        """Return the true counts of a table, rows by columns."""
        inside = np.array([self.inside(column) for column in table.columns])
        own = np.array([self.people[list(places)].sum(axis=0) for _, places in self.rows])
        found: NDArray[np.int64] = own @ inside.T
        return found


def draw(kind: str, seed: int) -> Drawn:
    """Draw a file of a kind."""
    draws = np.random.default_rng(seed)
    names = draws.permutation(list(FEATURES))[:2].tolist()
    one, two = (FEATURES[name] for name in names)
    cells = tuple((a, b) for a in one for b in two)
    many = int(draws.integers(4, 10))
    odds = draws.dirichlet(np.full(len(cells), 0.6))
    if kind == "nobody":
        odds *= np.array([a != one[-1] or draws.random() < 0.2 for a, _ in cells]) + 1e-9
        odds /= odds.sum()
    size = draws.integers(30, 400) if kind == "rounded" else draws.integers(8, 120)
    least = 0 if kind == "named" else 5
    people = draws.multinomial(draws.integers(least, size, many), odds)
    rows = _rows(kind, many, draws)
    margins: _Layout = (
        (("Total", *one, *two),),
        ((None, None), *((a, None) for a in one), *((None, b) for b in two)),
    )
    crossed = _crossed(one, two)
    layouts: dict[str, list[_Layout]] = {
        "margins": [margins],
        "named": [margins],
        "crossed": [crossed],
        "nobody": [crossed],
        "listed": [((("Total", one[0]),), ((None, None), (one[0], None)))],
        "rounded": [margins],
        "stacked": [_one_way(one, 0), _one_way(two, 1)],
        "beside": [_one_way(one, 0), _one_way(two, 1)],
        "sheets": [_one_way(one, 0), _one_way(two, 1), _inner(one, two)],
    }
    drawn = Drawn(rows, people, cells, (), kind, _flags(kind))
    found = []
    for headers, columns in layouts[kind]:
        table = Table(headers, columns, np.ones((len(rows), len(columns)), dtype=bool))
        found.append(Table(headers, columns, _shown(drawn.counts(table), columns)))
    rounded: tuple[NDArray[np.int64], ...] = ()
    if kind == "rounded":
        found = [Table(t.headers, t.columns, np.ones_like(t.shown)) for t in found]
        rounded = tuple(_rounded(drawn.counts(t), draws) for t in found)
    return Drawn(rows, people, cells, tuple(found), kind, _flags(kind), rounded)


def _flags(kind: str) -> tuple[str, ...]:
    if kind == "rounded":
        return ("--rounded", "random", "--all-places")
    return ("--below", str(BELOW), "--complementary", "--all-places")


def _rows(
    kind: str, many: int, draws: np.random.Generator
) -> tuple[tuple[str, tuple[int, ...]], ...]:
    own: list[tuple[str, tuple[int, ...]]] = [(PLACES[i], (i,)) for i in range(many)]
    if kind == "listed":
        cut = int(draws.integers(2, many - 1))
        north, south = tuple(range(cut)), tuple(range(cut, many))
        own = [("North", north), *own[:cut], ("South", south), *own[cut:]]
    if kind != "rounded" and draws.random() < 0.8:
        name = WHOLES[int(draws.integers(len(WHOLES)))] if kind == "named" else WHOLES[0]
        at = 0 if kind == "named" and draws.random() < 0.5 else len(own)
        own.insert(at, (name, tuple(range(many))))
    return tuple(own)


def _one_way(values: Sequence[str], at: int) -> _Layout:
    columns = [(None, None), *((v, None) if at == 0 else (None, v) for v in values)]
    return (("Total", *values),), tuple(columns)


def _crossed(one: Sequence[str], two: Sequence[str]) -> _Layout:
    columns = [(a, b) for a in (*one, None) for b in (*two, None)]
    upper = tuple(a or "All" for a, _ in columns)
    return (upper, tuple(b or "Total" for _, b in columns)), tuple(columns)


def _inner(one: Sequence[str], two: Sequence[str]) -> _Layout:
    columns = [(a, b) for a in one for b in two]
    return (tuple(a for a, _ in columns), tuple(b for _, b in columns)), tuple(columns)


def _shown(counts: NDArray[np.int64], columns: Sequence[Column]) -> NDArray[np.bool_]:
    """Star small counts, and one more of those that add up with one that is alone."""
    hidden = (counts > 0) & (counts < BELOW)
    groups: dict[str | None, list[int]] = {}
    for at, (a, b) in enumerate(columns):
        if (a, b) != (None, None) and not (a and b is None and any(d for _, d in columns)):
            groups.setdefault(a if b else None, []).append(at)
    for row, own in enumerate(hidden):
        for inside in groups.values():
            alone = [at for at in inside if own[at]]
            able = [at for at in inside if not own[at] and counts[row, at] > 0]
            if len(alone) == 1 and able:
                own[min(able, key=lambda at: counts[row, at])] = True
    return ~hidden


def _rounded(counts: NDArray[np.int64], draws: np.random.Generator) -> NDArray[np.int64]:
    over = counts % BASE
    return counts - over + BASE * (draws.random(counts.shape) * BASE < over)


def write(drawn: Drawn, path: Path) -> None:
    """Write the workbook."""
    book = Workbook()
    sheet = book.active
    if sheet is None:
        raise TypeError
    top, left = 1, 1
    for number, table in enumerate(drawn.tables):
        if drawn.layout == "sheets" and number:
            sheet, top, left = book.create_sheet(), 1, 1
        sheet.cell(top, left, f"Table {number + 1}: people")
        for i, header in enumerate(table.headers):
            sheet.cell(top + 2 + i, left, "Area" if i == len(table.headers) - 1 else None)
            for j, word in enumerate(header):
                is_again = i == 0 < len(table.headers) - 1 and j and header[j - 1] == word
                sheet.cell(top + 2 + i, left + 1 + j, None if is_again else word)
        body = top + 2 + len(table.headers)
        numbers = drawn.rounded[number] if drawn.rounded else drawn.counts(table)
        for i, (name, _) in enumerate(drawn.rows):
            sheet.cell(body + i, left, name)
            for j, count in enumerate(numbers[i].tolist()):
                sheet.cell(body + i, left + 1 + j, count if table.shown[i, j] else "*")
        if drawn.layout == "stacked":
            top = body + len(drawn.rows) + 2
        elif drawn.layout == "beside":
            left += len(table.columns) + 2
    book.save(path)


def intervals(drawn: Drawn) -> Iterator[tuple[int, int, int, int, int | None]]:
    """Yield table, row and column of each count that is not exact, with its ends; None is open."""
    size = drawn.people.size
    rows: list[NDArray[np.float64]] = []
    ends: list[tuple[float, float]] = []
    open_: list[tuple[int, int, int, int]] = []
    for number, table in enumerate(drawn.tables):
        counts = drawn.rounded[number] if drawn.rounded else drawn.counts(table)
        for i, (_, places) in enumerate(drawn.rows):
            for j, column in enumerate(table.columns):
                row = np.zeros(drawn.people.shape)
                row[list(places)] = drawn.inside(column)
                count = float(counts[i, j])
                if drawn.rounded:
                    low, high = max(count - BASE + 1, 0), count + BASE - 1
                else:
                    low, high = (count, count) if table.shown[i, j] else (1, np.inf)
                if low < high:
                    open_.append((number, i, j, len(rows)))
                rows.append(row.reshape(size))
                ends.append((low, high))
    matrix = np.array(rows)
    within = LinearConstraint(matrix, *np.array(ends).T)
    for number, i, j, at in open_:
        found: list[int | None] = []
        for sign in (1, -1):
            solved = milp(
                sign * matrix[at],
                constraints=within,
                integrality=np.ones(size, dtype=np.int64),
                bounds=Bounds(0, np.inf),
            )
            found.append(None if solved.fun is None else round(sign * solved.fun))
        yield number, i, j, found[0] or 0, found[1]


def sums(drawn: Drawn) -> Iterator[str]:
    """Yield what adds up in a file by its layout, as ``--sum`` has it."""
    names: dict[Column, str] = {}
    for table in drawn.tables:
        for at, column in enumerate(table.columns):
            names.setdefault(column, ": ".join(header[at] for header in table.headers))
    for whole, name in names.items():
        for feature in (0, 1):
            if whole[feature] is None:
                values = dict.fromkeys(cell[feature] for cell in drawn.cells)
                parts = [
                    tuple(value if i == feature else own for i, own in enumerate(whole))
                    for value in values
                ]
                if all(part in names for part in parts):
                    yield f"{name} = {' + '.join(names[part] for part in parts)}"
    for name, places in drawn.rows:
        if drawn.layout == "listed" and len(places) > 1 and name not in WHOLES:
            yield f"{name} = {' + '.join(PLACES[i] for i in places)}"


def answers(drawn: Drawn) -> list[str]:
    """Return the flags that say all that adds up in a file by its layout, and what does not."""
    flags = [word for each in sums(drawn) for word in ("--sum", each)]
    if len(drawn.tables[0].headers) > 1:
        flags += ["--total", "All", "--total", "Total"]
    wholes = [name for name, places in drawn.rows if len(places) == len(drawn.people)]
    flags += [word for name in wholes for word in ("--total", name)]
    if not wholes:
        alone = [name for name, places in drawn.rows if len(places) == 1]
        flags += [word for name in alone for word in ("--apart", name)]
    return flags


def judge(recon: Recon, drawn: Drawn, folder: Path) -> str:
    """Run the tool on a file; say how it ended."""
    write(drawn, folder / "x.xlsx")
    ending = "right"
    said = recon(folder, "init", "x.xlsx", "--to", "a.yaml", *drawn.flags)
    if said.ending == "asked":
        ending = "answered"
        flags = answers(drawn)
        said = recon(folder, "init", "x.xlsx", "--to", "a.yaml", *drawn.flags, *flags)
    if said.ending != "done":
        return "asked" if said.ending == "asked" else "refused"
    if recon(folder, "run", "-c", "a.yaml", "--until", "audit").code:
        return "refused"
    work = folder / "work" / "a"
    names = json.loads((work / "geounits" / "_names.json").read_text())
    audited = {
        (row["table"], names.get(row["geoid"], "").split(" / ")[-1], row["cell"]): row
        for row in pl.read_parquet(work / "audit" / "**" / "*.parquet").iter_rows(named=True)
    }
    for number, i, j, least, greatest in intervals(drawn):
        row = audited.get((f"TABLE{number + 1}", drawn.rows[i][0], j + 1))
        if row is None:
            return "refused"
        true = int(drawn.counts(drawn.tables[number])[i, j])
        most = np.inf if row["greatest"] is None else row["greatest"]
        if not row["least"] <= true <= most or row["least"] > least:
            return "false"
        if most < (np.inf if greatest is None else greatest):
            return "false"
        if row["least"] < least or (greatest is not None and most > greatest):
            ending = "weak"
    return ending


KINDS: Final = (
    "margins", "named", "crossed", "nobody", "listed", "rounded", "stacked", "beside", "sheets",
)  # fmt: skip


#: Endings that no file may have.
_WRONG: Final = ("weak", "false", "refused")


def main() -> int:
    """Judge files of each kind."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--n", type=int, default=40, help="files of each kind")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=KINDS)
    asked = parser.parse_args()
    recon = Recon()
    total: Counter[str] = Counter()
    for kind in [asked.only] if asked.only else KINDS:
        ended: Counter[str] = Counter()
        for seed in range(asked.seed, asked.seed + asked.n):
            drawn = draw(kind, seed)
            if not drawn.rounded and all(table.shown.all() for table in drawn.tables):
                continue
            with tempfile.TemporaryDirectory() as folder:
                ending = judge(recon, drawn, Path(folder))
            ended[ending] += 1
            if ending in _WRONG:
                sys.stdout.write(f"{kind} {seed}: {ending}\n")
        total += ended
        sys.stdout.write(f"{kind:10} {dict(ended)}\n")
        sys.stdout.flush()
    sys.stdout.write(f"{'all':10} {dict(total)}\n")
    recon.close()
    return int(any(total[ending] for ending in _WRONG))


if __name__ == "__main__":
    sys.exit(main())
