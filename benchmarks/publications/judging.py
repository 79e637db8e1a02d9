"""Is what was read the truth? Every count, place and relation is compared.

A reading is tables of counts by place and cell, and a schema that says which people a cell counts.
It is *true* if the printed file's own truth is one of the populations that it allows:

* each place read is a set of true people (by the label or code that the file prints), places
  read as apart share nobody, and places read as inside another are inside it;
* there is an assignment of the read cells to conditions on true people such that for each place
  and cell the number read is the number printed there under that condition, what is taken to
  be withheld is withheld, and the true number lies within what the law read allows;
* every kind of true person has a record in the schema that is counted in exactly the cells
  whose conditions it meets (so no two cells are read as apart, as parts or as a whole that are
  not).

Reading is *looser* if it is true and says less than the file: the schema has records that nobody
can be, or numbers are taken to be withheld; *in part* if counts are left out and named; *misnamed*
if all is true but for what is called a place. A file is **silently wrong** if the commands ended
well and its reading is not true, or if a printed count is in no cell and no line of the output
or of the manifest names its column, row or sheet.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from .layout import Printed, Truth
from .people import Condition, Key, both
from .tool import CellName, Count, Masks, Reading

#: How good a reading is, the best first.
VERDICTS: Final = ("right", "looser", "in part", "misnamed", "undecided", "wrong")
_TRIES: Final = 20000
_POINTS: Final = 200_000


@dataclass(frozen=True)
class Verdict:
    """One of `VERDICTS`, and why."""

    name: str
    about: str = ""


class _WrongError(Exception):
    """The reading is not true."""


@dataclass(frozen=True)
class _Wanted:
    """A condition on all but places, by the number of its row in the truth's vectors."""

    condition: Condition
    kinds: NDArray[np.bool_]
    words: frozenset[str]


def judge(truth: Truth, reading: Reading, told: str) -> Verdict:
    """Return the verdict on a reading of a drawn file.

    Args:
        truth: What is true of the file.
        reading: What the tool made of it.
        told: All that the commands printed.
    """
    try:
        places = _places(truth, reading)
        found = _assign(truth, reading, places)
    except _WrongError as wrong:
        return Verdict("wrong", str(wrong))
    if found is None:
        return Verdict("undecided", "too many assignments")
    lost = _lost(truth, reading, places, found)
    words = _said(told) + reading.left_out
    silent = [cell for cell in lost if not _is_told(cell, words)]
    is_misnamed = any(set(condition) - {truth.places} for condition in places.values())
    for is_so, name, about in (
        (silent, "wrong", f"{len(silent)} counts lost in silence, such as {_example(silent)}"),
        (is_misnamed, "misnamed", "categories are read as places"),
        (lost, "in part", f"{len(lost)} counts left out and told, such as {_example(lost)}"),
        (_unused(truth, reading, places, found), "looser", "numbers are taken to be withheld"),
        (_allows_more(reading, found), "looser", "the schema has records that nobody can be"),
    ):
        if is_so:
            return Verdict(name, about)
    return Verdict("right")


def _lost(
    truth: Truth,
    reading: Reading,
    places: dict[str, Condition],
    found: dict[CellName, _Wanted],
) -> list[Printed]:
    """Return the printed counts that no cell has, except for those of hidden sheets."""
    read = {
        truth.key(both(places[geoid], found[cell].condition))
        for geoid, cells in reading.counts.items()
        for cell in cells
    }
    return [
        cell
        for cell in truth.cells
        if cell.kind == "count"
        and cell.shown is not None
        and cell.sheet in truth.answers["sheet"]
        and truth.key(cell.condition) not in read
    ]


def _example(cells: list[Printed]) -> str:
    return f"{cells[0].heading!r} of {cells[0].stub!r}" if cells else ""


def _unused(
    truth: Truth,
    reading: Reading,
    places: dict[str, Condition],
    found: dict[CellName, _Wanted],
) -> bool:
    """Return whether a printed number is taken to be withheld."""
    numbers = {truth.key(cell.condition) for cell in truth.cells if cell.shown is not None}
    return any(
        count.printed is None and truth.key(both(places[geoid], found[cell].condition)) in numbers
        for geoid, cells in reading.counts.items()
        for cell, count in cells.items()
    )


def _places(truth: Truth, reading: Reading) -> dict[str, Condition]:
    """Return whom each geoid stands for."""
    printed: dict[tuple[str, frozenset[int]], Counter[int]] = defaultdict(Counter)
    for cell in truth.cells:
        if cell.kind == "count" and cell.shown:
            for named in cell.condition.items():
                printed[named][cell.shown] += 1
    found: dict[str, Condition] = {}
    for geoid, name in reading.names.items():
        last = name.strip().rsplit(" / ", 1)[-1].strip()
        label, _, code = last.removesuffix(")").rpartition(" (")
        said = (name.strip(), code, geoid, last, label)
        candidates = next((truth.labels[word] for word in said if word in truth.labels), set())
        mine = Counter(c.printed for c in reading.counts[geoid].values() if c.printed)
        best = sorted(
            candidates,
            key=lambda named: (
                -sum((printed[named] & mine).values()),
                named[0] != truth.places,
                sorted(named[1]),
            ),
        )
        found[geoid] = {best[0][0]: best[0][1]} if best else {}
    _check_places(truth, reading, found)
    return found


def _check_places(truth: Truth, reading: Reading, places: dict[str, Condition]) -> None:
    for a, b in itertools.permutations(places, 2):
        inner, outer = truth.key(places[a]), truth.key(places[b])
        if a.startswith(b):
            if not _is_inside(dict(inner), dict(outer)):
                raise _WrongError(f"{reading.names[a]!r} is read as part of {reading.names[b]!r}")
        elif not b.startswith(a) and not _is_apart(dict(inner), dict(outer)):
            raise _WrongError(f"{reading.names[a]!r} and {reading.names[b]!r} are read as apart")
    for whole, place in places.items():
        parts = [p for p in places if p != whole and p.startswith(whole)]
        lengths = [len(p) for p in parts]
        parts = [p for p in parts if len(p) == min(lengths)]
        if parts and not any(gap == whole for gap in reading.unlisted):
            conditions = [dict(truth.key(places[p])) for p in parts]
            named = {name for condition in conditions for name in condition}
            if len(named) == 1:
                name = named.pop()
                have = frozenset().union(*(condition[name] for condition in conditions))
                everybody = truth.world.dimensions[name].everybody
                if have != place.get(name, everybody):
                    raise _WrongError(f"{reading.names[whole]!r} has parts that are not read")


def _is_inside(inner: dict[str, frozenset[int]], outer: dict[str, frozenset[int]]) -> bool:
    return all(name in inner and inner[name] <= leaves for name, leaves in outer.items())


def _is_apart(a: dict[str, frozenset[int]], b: dict[str, frozenset[int]]) -> bool:
    return any(name in a and not a[name] & leaves for name, leaves in b.items())


def _assign(
    truth: Truth, reading: Reading, places: dict[str, Condition]
) -> dict[CellName, _Wanted] | None:
    """Return which condition each read cell stands for; none if that is not found in time."""
    shown: dict[Key, list[Printed]] = defaultdict(list)
    for printed in truth.cells:
        if printed.kind == "count":
            shown[truth.key(printed.condition)].append(printed)
    wanted = _conditions(truth, places)
    covered: dict[CellName, list[str]] = defaultdict(list)
    for geoid, cells in reading.counts.items():
        for name in cells:
            covered[name].append(geoid)
    keys = {
        geoid: [truth.key(both(place, other.condition)) for other in wanted]
        for geoid, place in places.items()
    }
    candidates: dict[CellName, list[int]] = {}
    for cell, geoids in covered.items():
        fitting = [
            number
            for number in range(len(wanted))
            if all(
                _fits(reading.counts[geoid][cell], shown.get(keys[geoid][number], ()))
                for geoid in geoids
            )
            and any(keys[geoid][number] in shown for geoid in geoids)
        ]
        if not fitting:
            values = [reading.counts[geoid][cell].printed for geoid in geoids[:4]]
            raise _WrongError(f"cell {cell} ({reading.labels[cell]}) is no column: {values} …")
        lawful = [
            number
            for number in fitting
            if all(
                _is_lawful(reading.counts[g][cell], truth.world.count(dict(keys[g][number])))
                for g in geoids
            )
        ]
        if not lawful:
            raise _WrongError(f"cell {cell} ({reading.labels[cell]}): a true count is ruled out")
        words = _words(reading.labels[cell])
        candidates[cell] = sorted(
            lawful, key=lambda n: (-len(words & wanted[n].words), len(wanted[n].words))
        )
    return _Search(reading, wanted, candidates).run()


def _conditions(truth: Truth, places: dict[str, Condition]) -> list[_Wanted]:
    """Return all that is asked besides places, and which kinds of people meet it."""
    aside = {name for condition in places.values() for name in condition}
    dimensions = {n: d for n, d in truth.world.dimensions.items() if n not in aside}
    found: dict[Key, tuple[Condition, str]] = {}
    for cell in truth.cells:
        if cell.kind == "count":
            rest = {
                name: leaves for name, leaves in truth.key(cell.condition) if name in dimensions
            }
            found.setdefault(truth.key(rest), (rest, f"{cell.heading} {cell.stub}"))
    kinds = []
    for condition, words in found.values():
        met = np.ones((), dtype=bool)
        for name, dimension in dimensions.items():
            leaves = condition.get(name, dimension.everybody)
            met = np.logical_and.outer(met, [leaf in leaves for leaf in range(dimension.size)])
        kinds.append(_Wanted(condition, met.ravel(), _words(words)))
    return kinds


def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", text.lower()))


def _fits(count: Count, printed: Sequence[Printed]) -> bool:
    if not printed:
        return count.printed == 0
    if count.printed is None:
        return any(not cell.shown for cell in printed)  # a dash may be taken to be withheld
    return any(cell.shown == count.printed for cell in printed)


def _is_lawful(count: Count, true: int) -> bool:
    return count.low <= true and (count.high is None or true <= count.high)


class _Search:
    """Looks for conditions of cells that stand to each other as the schema says."""

    def __init__(
        self, reading: Reading, wanted: list[_Wanted], candidates: dict[CellName, list[int]]
    ) -> None:
        self._reading, self._wanted, self._candidates = reading, wanted, candidates
        self._order = sorted(candidates, key=lambda cell: len(candidates[cell]))
        self._chosen: dict[CellName, int] = {}
        self._tries, self._last = 0, "no assignment of cells"
        self._truly = cache(self._compare)

    def run(self) -> dict[CellName, _Wanted] | None:
        """Return the first that is found; none if there may be one beyond `_TRIES`."""
        for found in self._walk(0):
            return found
        if self._tries > _TRIES:
            return None
        raise _WrongError(self._last)

    def _compare(self, a: int, b: int) -> tuple[bool, bool, bool]:
        x, y = self._wanted[a].kinds, self._wanted[b].kinds
        return not (x & y).any(), not (x & ~y).any(), not (y & ~x).any()

    def _clash(self, cell: CellName, number: int) -> str:
        cells, labels = self._reading.cells, self._reading.labels
        for other, taken in self._chosen.items():
            masks = list(zip(cells[cell], cells[other], strict=True))
            apart, inside, around = self._truly(number, taken)
            for claim, is_said, is_true in (
                ("apart", not all(x & y for x, y in masks), apart),
                ("one inside the other", all(x & ~y == 0 for x, y in masks), inside),
                ("one around the other", all(y & ~x == 0 for x, y in masks), around),
            ):
                if is_said and not is_true:
                    a, b = labels[cell] or "everybody", labels[other] or "everybody"
                    return f"read as {claim}: {a!r}, {b!r}"
        return ""

    def _walk(self, depth: int) -> Iterator[dict[CellName, _Wanted]]:
        if depth == len(self._order):
            found = {cell: self._wanted[number] for cell, number in self._chosen.items()}
            missing = _unrepresented(self._reading, found)
            if not missing:
                yield found
            self._last = f"no record for people who are in {missing}"
            return
        cell = self._order[depth]
        for number in self._candidates[cell]:
            self._tries += 1
            if self._tries > _TRIES:
                return
            reason = self._clash(cell, number)
            if reason:
                self._last = reason
                continue
            self._chosen[cell] = number
            yield from self._walk(depth + 1)
            del self._chosen[cell]


def _unrepresented(reading: Reading, found: dict[CellName, _Wanted]) -> str:
    """Return the cells of a kind of people for whom the schema has no record."""
    cells = list(found)
    table = np.stack([found[cell].kinds for cell in cells], axis=1)
    full = tuple((1 << size) - 1 for size in reading.sizes)
    for signature in np.unique(table, axis=0):
        inside = [
            reading.cells[cell] for cell, is_in in zip(cells, signature, strict=True) if is_in
        ]
        outside = [
            reading.cells[cell] for cell, is_in in zip(cells, signature, strict=True) if not is_in
        ]
        box = full
        for masks in inside:
            box = tuple(x & y for x, y in zip(box, masks, strict=True))
        if not _has_point(box, outside):
            names = [
                reading.labels[cell] or "everybody"
                for cell, is_in in zip(cells, signature, strict=True)
                if is_in
            ]
            return ", ".join(names[:6]) or "no cell"
    return ""


def _has_point(box: Masks, outside: list[Masks]) -> bool:
    """Return whether the box has a point that is in none of the others."""
    if not all(box):
        return False
    left = [masks for masks in outside if all(x & y for x, y in zip(box, masks, strict=True))]
    if not left:
        return True
    first = min(left, key=lambda masks: sum(x & ~y != 0 for x, y in zip(box, masks, strict=True)))
    for at, (x, y) in enumerate(zip(box, first, strict=True)):
        if x & ~y and _has_point((*box[:at], x & ~y, *box[at + 1 :]), left):
            return True
    return False


def _allows_more(reading: Reading, found: dict[CellName, _Wanted]) -> bool:
    """Return whether the schema has records that no true person can be."""
    if math.prod(reading.sizes) > _POINTS:
        return True
    points = np.indices(reading.sizes).reshape(len(reading.sizes), -1)
    cells = list(found)
    columns = []
    for cell in cells:
        met = np.ones(points.shape[1], dtype=bool)
        for values, mask in zip(points, reading.cells[cell], strict=True):
            met &= (mask >> values & 1).astype(bool)
        columns.append(met)
    allowed = {row.tobytes() for row in np.unique(np.stack(columns, axis=1), axis=0)}
    true = np.stack([found[cell].kinds for cell in cells], axis=1)
    return bool(allowed - {row.tobytes() for row in np.unique(true, axis=0)})


def _said(told: str) -> str:
    """Return the lines that speak of what was not used."""
    return "\n".join(line for line in told.splitlines() if not line.startswith("  read as"))


def _is_told(cell: Printed, words: str) -> bool:
    names = {cell.sheet, cell.heading, *cell.heading.split(": "), cell.stub}
    names |= set(cell.stub.split(" / "))
    return any(len(name) > 1 and name in words for name in names)
