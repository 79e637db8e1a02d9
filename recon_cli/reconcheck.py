#!/usr/bin/env python3
"""Check what a proof says of published tables: python3 reconcheck.py TABLES PROOF.

One file of the standard library (Python 3.10), to be read in one sitting. To be trusted are TABLES
(--counts compares it with the publisher's own file), this file, and Python; PROOF is not. The
grammar is in docs/proofs.md; each kind of line is read by one `case` below.

Unknowns are the numbers of records of each kind in each unit: a kind is an atom of every feature
(or of those of a clique). Published cells are rows over them. Printed statistics are rows over sums
of them, which are unknowns, too. The one rule: rows with weights are added up to a sum of a*x <= R.
With m the least that bounds allow that sum, R < m contradicts; else x <= low + (R-m) // a where
a > 0, and x >= high - (R-m) // -a where a < 0.
"""

import argparse
import csv
import hashlib
import sys
from fractions import Fraction
from functools import cache, lru_cache, reduce
from math import ceil, floor, gcd, lcm
from operator import and_, or_

MOST_KINDS, MOST_WORK, MOST_DIGITS = 200_000, 500_000_000, 30
MOST_HELD, MOST_SUMS, LARGEST = 3_000_000, 10**6, 10**60


class Refused(Exception):
    """Raised with the reason why a line is wrong."""


def demand(is_right, why):
    """Refuse the proof unless a condition holds."""
    if not is_right:
        raise Refused(why)


def located(where, function, *words):
    """Call a function; refuse values that it cannot use, with the place in the file."""
    try:
        return function(*words)
    except (LookupError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise Refused(f"{where()}: not understood") from error
    except Refused as why:
        raise Refused(f"{where()}: {why}") from None


@lru_cache(10_000)
def whole(text, least=0):
    """Parse a whole number of at least `least`."""
    demand(len(text) <= MOST_DIGITS and int(text) >= least, f"{text[:40]} is out of range")
    return int(text)


def bits(number):
    """List the positions of the bits that are set."""
    text, at = bin(number)[:1:-1], -1
    while (at := text.find("1", at + 1)) >= 0:
        yield at


def holds(predicates, values):
    """Count how often a record satisfies some predicates."""
    return sum(all(m >> v & 1 for m, v in zip(masks, values)) for masks in predicates)


def ratio(text):
    """Parse a fraction such as 7 or -1/4."""
    top, _, below = text.partition("/")
    return Fraction(whole(top, -(10**MOST_DIGITS)), whole(below or "1", 1))


def ends(text, ties, decimals=None):
    """Return the least and greatest number that print as a text, and whether each is excluded.

    Both lie half of the last place from the digits; the rule of ties decides which is excluded.
    """
    before, _, after = text.removeprefix("-").removeprefix("+").replace(",", ".").partition(".")
    places = len(after) if decimals is None else whole(decimals, len(after))
    is_number = (before + after).isdecimal() and len(text) <= MOST_DIGITS
    demand(is_number and places <= MOST_DIGITS, f"{text[:40]!r} is no number")
    m = 2 * int(before + after) * 10 ** (places - len(after))
    is_odd = m % 4 == 2
    low, high, above, below = {
        "exact": (m, m, False, False),
        "unknown": (m - 1, m + 1, False, False),
        "half_up": (m - 1, m + 1, False, True),
        "half_even": (m - 1, m + 1, is_odd, is_odd),
        "down": (m, m + 2, False, True) if m else (-2, 2, True, True),
        "up": (m - 2, m, True, False) if m else (0, 0, False, False),
    }[ties]
    if text[0] == "-" and m:  # of a negative half some programs round up, and others away from 0
        low, high, above, below = -high, -low, below and ties != "half_up", above
    return Fraction(low, 2 * 10**places), Fraction(high, 2 * 10**places), above, below


def within(number, text):
    """Test whether a number prints as the text of some ends."""
    low, high, above, below = text
    return low < number < high or (number == low and not above) or (number == high and not below)


def both(masks, others):
    return tuple(map(and_, masks, others))


class Statistic:
    """Hold the statistic that a table prints for the people of each of its cells.

    A share is DETAIL times the people in some masks, over those in others. Other kinds summarise
    values of a feature; DETAIL is the definition of a median, or the order of a quantile.
    """

    def __init__(self, tables, kind, detail, *words):
        self.kind, self.detail, size = kind, detail, len(tables.sizes)
        self.base = tuple((1 << size) - 1 for size in tables.sizes)
        if kind == "share":
            self.times, self.part = ratio(detail), tables.masks(words[:size])
            self.base = tables.masks(words[size:])
            return
        self.at, self.values = whole(words[0]), [ratio(word) for word in words[1:]]
        demand(len(self.values) == tables.sizes[self.at], "each value has a number")
        demand(kind in ("mean", "minimum", "maximum", "mode", "median", "quantile"), "what is it?")
        known = ("any", "middle", "low", "high") if kind == "median" else ("-",)
        self.order = ratio(detail) if kind == "quantile" else Fraction(1, 2)
        tables.spend(len(self.values) ** 2)  # memory of the masks, and pairs of values, too
        self.having = {}
        for at, value in enumerate(self.values):
            self.having[value] = self.having.get(value, 0) | 1 << at
        demand(kind == "quantile" or detail in known, "what statistic?")

    def meaning(self, masks, said):
        """Return sums of counts with weights, and rows: weights of these sums, and their least.

        All people who print what is said (ends; None for nobody) fulfil the rows.
        """
        base = both(masks, self.base)
        everybody = [(1, base)]
        if said is None:
            return [everybody], [({0: -1}, 0)]
        if self.kind == "share":
            part = [(1, both(masks, self.part))]
            return [part, everybody], quotient(self.times, 0, said)
        if self.kind == "mean":  # what values have over the least, in units in which it is whole
            first, unit = min(self.values), lcm(*(value.denominator for value in self.values))
            over = {value: int((value - first) * unit) for value in self.having}
            each = [(n, self.within(base, self.having[value])) for value, n in over.items() if n]
            return [each, everybody], quotient(Fraction(1, unit), first, said)
        chosen, rows = self.places(said)
        return [*([(1, self.within(base, some))] for some in chosen), everybody], rows

    def within(self, masks, some):
        """Restrict masks to some of the values."""
        return (*masks[: self.at], masks[self.at] & some, *masks[self.at + 1 :])

    def that(self, test):
        """Return the values that pass a test."""
        return reduce(or_, (bits for value, bits in self.having.items() if test(value)), 0)

    def places(self, said):
        """Return sets of values, and rows over the people with a value in each, then over all."""
        low, high, above, below = said
        if self.kind in ("minimum", "maximum"):
            beyond = low.__gt__ if self.kind == "minimum" else low.__lt__
            return [self.that(beyond), self.having.get(low, 0)], [({0: -1}, 0), ({1: 1}, 1)]
        if self.kind == "mode":
            others = [self.having[value] for value in sorted({*self.having} - {low})]
            rows = [({0: 1, at: -1}, 0) for at in range(1, 1 + len(others))]
            return [self.having.get(low, 0), *others], [*rows, ({0: 1}, 1)]
        pairs = self.pairs(said) if self.detail in ("middle", "low", "high") else ()
        if len(pairs) == 1:
            ((a, b),) = pairs
            lower = [({4: 1, 0: -2}, 1), ({1: 2, 4: -1}, 0)]  # half of all or more are up to a
            upper = [({4: 1, 2: -2}, 0), ({3: 2, 4: -1}, 1)]  # more than half are up to b
            rows = lower * (self.detail != "high") + upper * (self.detail != "low")
            tests = a.__gt__, a.__ge__, b.__gt__, b.__ge__
            return [*map(self.that, tests)], [*rows, ({4: 1}, 1)]
        slack = int(self.kind == "quantile")  # for all definitions of one
        if slack or self.detail == "any":
            above = below = False
        if self.detail == "any":  # interpolated, too, within whole numbers
            low, high = Fraction(floor(low)), Fraction(ceil(high))
        r, s = self.order.as_integer_ratio()
        rows = [({2: r, 0: -s}, -s * slack), ({2: s - r, 1: -s}, -s * slack), ({2: 1}, 1)]
        tests = low.__ge__ if above else low.__gt__, high.__le__ if below else high.__lt__
        return [*map(self.that, tests)], rows

    @lru_cache(10_000)
    def pairs(self, said):
        """List the pairs of middle values whose median prints as is said."""
        values = self.having
        others = values if self.detail == "middle" else ()
        found = ((a, b) for a in values for b in others or [a] if a <= b)
        return [(a, b) for a, b in found if within((a + b) / 2, said)]

    def numbers(self, masks, records):
        """List the possible values of the statistic of records; none where nobody is counted."""
        base, people = both(masks, self.base), {}
        for often, values in records:
            if often and holds((base,), values):
                value = 0 if self.kind == "share" else self.values[values[self.at]]
                people[value] = people.get(value, 0) + often
        if not people:
            return []
        upto = {v: sum(n for w, n in people.items() if w <= v) for v in sorted(people)}
        total = sum(people.values())
        low = min(v for v, n in upto.items() if 2 * n >= total)
        high = min(v for v, n in upto.items() if 2 * n > total)
        match self.kind:
            case "share":
                part = both(masks, self.part)
                return [self.times * sum(n * holds((part,), v) for n, v in records) / total]
            case "mean":
                return [sum(value * n for value, n in people.items()) / total]
            case "minimum" | "maximum":
                return [min(people) if self.kind == "minimum" else max(people)]
            case "mode":
                return [value for value, n in people.items() if n == max(people.values())]
            case "median":
                of = {"low": [low], "high": [high], "middle": [(low + high) / 2]}
                return of.get(self.detail, [low, high, (low + high) / 2])
        at = self.order * total  # by all definitions
        return [value for value, n in upto.items() if n - people[value] + 1 <= at <= n - 1]


def quotient(times, first, said):
    """Return rows by which first + times * (sum 0) / (sum 1) is within what is said."""
    low, high, above, below = said
    rows = [({1: 1}, 1)]
    for sign, end, is_open in ((1, low, above), (-1, high, below)):
        weights = times * sign, (first - end) * sign
        scale = lcm(*(w.denominator for w in weights))
        a, b = (int(weight * scale) for weight in weights)
        rows.append(({0: a // gcd(a, b), 1: b // gcd(a, b)}, int(is_open)))
    return rows


class Tables:
    """The published tables. Places are numbers, cells are (table, number)."""

    def __init__(self, lines):
        self.sizes, self.names, self.cells, self.zeros, self.patterns = [], [], {}, [], []
        self.places, self.cells_at, self.counts, self.units = {}, [], [], []
        self.home, self.assumed, self.work = [], 0, 0  # home: of a unit, itself and its areas
        self.statistics, self.printed, self.number = {}, [], {}  # number: of each text
        for self.at, line in enumerate(lines, 1):
            located(lambda: f"tables, line {self.at}", self.read, line.split())

    def read(self, words):
        match words:
            case ["count", place, table, number, low, *high] if len(high) < 2:
                at, cell = whole(place), (whole(table), whole(number))
                demand(cell not in self.counts[at], "this count has a line already")
                top = None if high == ["inf"] else whole([low, *high][-1], whole(low))
                self.counts[at][cell] = whole(low), top
            case [] | ["recon-tables", "1"]:
                pass
            case ["feature", _, size]:
                self.spend(whole(size, 1) ** 2)  # for its atoms
                self.sizes.append(whole(size))
            case ["table", name]:
                demand(name not in self.names, "this table is named twice")
                self.names.append(name)
            case ["cell", table, number, *masks]:
                cell = whole(table), whole(number)
                self.cells[cell] = (*self.cells.get(cell, ()), self.masks(masks))
            case ["zero", *masks]:
                self.assumed += masks[-1] == "assumed"
                self.zeros.append(self.masks([m for m in masks if m != "assumed"]))
            case ["pattern", *parts]:
                self.patterns.append(frozenset(c for part in parts for c in self.cells_of(part)))
            case ["area" | "unit", code, pattern, *areas] if words[0] == "unit" or not areas:
                demand(code not in self.places, "this place is named twice")
                at = self.places[code] = len(self.counts)
                self.home.append(sorted({at, *map(whole, areas)}) if words[0] == "unit" else [])
                self.cells_at.append(self.patterns[whole(pattern)])
                self.counts.append({})
                self.printed.append({})
                self.units.append(set())
                for place in self.home[at]:
                    self.units[place].add(at)
            case _:
                self.read_statistic(words)

    def read_statistic(self, words):
        match words:
            case ["statistic", table, *what]:
                demand(whole(table) not in self.statistics, "this table has a statistic already")
                self.statistics[whole(table)] = Statistic(self, *what)
            case ["printed", place, table, number, ties, text, *decimals] if len(decimals) < 2:
                at, cell = whole(place), (whole(table), whole(number))
                demand(cell not in self.printed[at], "this text has a line already")
                demand(len(self.cells[cell]) == 1, "a statistic is of a cell of one line")
                is_value = self.statistics[cell[0]].kind in ("minimum", "maximum", "mode")
                demand(ties == "nobody" or is_value == (ties == "exact"), "how was this rounded?")
                said = None if ties == "nobody" else ends(text, ties, *decimals)
                self.printed[at][cell] = text, said
                self.number[at, cell] = len(self.number)
                self.meaning(at, cell)
            case _:
                raise Refused(f"not understood: {words[0][:40]}")

    @lru_cache(1000)
    def meaning(self, place, cell):
        """Return sums and rows of a printed text; see `Statistic.meaning`."""
        found = self.statistics[cell[0]].meaning(self.cells[cell][0], self.printed[place][cell][1])
        self.spend(300 * sum(map(len, found[0])))  # memory, too
        return found

    def masks(self, words):
        return tuple(self.mask(size, word) for size, word in zip(self.sizes, words, strict=True))

    def mask(self, size, word):
        found = (1 << size) - 1 if word == "*" else int(word, 16)
        demand(0 <= found < 1 << size, f"{word[:40]!r} is no mask of {size} values")
        return found

    def cells_of(self, text):
        """Parse `2.3-5,7` as the cells (2, 3), (2, 4), (2, 5), (2, 7)."""
        table, _, numbers = text.partition(".")
        ends = [[whole(end) for end in part.split("-")] for part in numbers.split(",")]
        self.spend(150 * sum(1 + max(0, end[-1] - end[0]) for end in ends))  # memory, too
        return [(whole(table), n) for end in ends for n in range(end[0], end[-1] + 1)]

    @cache
    def lines(self, cells):
        return [(cell, masks) for cell in sorted(cells) for masks in self.cells[cell]]

    @cache
    def allowing(self, cells, feature, value):
        """Return the lines of cells that count a value of a feature, as bits."""
        lines = reversed(self.lines(cells))
        self.spend(len(cells))
        return int("0" + "".join("01"[masks[feature] >> value & 1] for _, masks in lines), 2)

    @cache
    def counting(self, cells, values):
        """List the cells that count a record, each as often as it counts it."""
        lines = self.lines(cells)
        inside = (self.allowing(cells, *each) for each in enumerate(values))
        found = [lines[at][0] for at in bits(reduce(and_, inside))]
        self.spend(100 + len(cells) // 20 + len(self.zeros) + 10 * len(found))  # memory, too
        demand(not holds(self.zeros, values), "there are no records with these values")
        return found

    def name(self, place, cell):
        return f"{list(self.places)[place]} {self.names[cell[0]]} {cell[1]}"

    def spend(self, work):
        self.work += work
        demand(self.work <= MOST_WORK, "this takes too long")


class Clique:
    """Kinds of records by some features, an atom of each; a set of kinds is a number's bits."""

    def __init__(self, tables, atoms, features):
        self.tables, self.atoms, self.size, strides = tables, atoms, 1, {}
        for feature in sorted(features):
            strides[feature], self.size = self.size, self.size * len(atoms[feature])
        demand(self.size <= MOST_KINDS, f"more than {MOST_KINDS:,} kinds of records")
        tables.spend(500_000 + self.size // 8 * sum(map(len, atoms)))  # memory, too
        self.of_atom = {}
        for feature, stride in strides.items():
            period = stride * len(atoms[feature])  # ones, then zeros, again and again
            first = ((1 << stride) - 1) * (((1 << self.size) - 1) // ((1 << period) - 1))
            self.of_atom[feature] = [first << start for start in range(0, period, stride)]

    @lru_cache(4096)
    def kinds(self, predicates):
        """Return the kinds that each predicate counts; none at all if one splits a kind."""
        found = []
        self.tables.spend(len(predicates) * (self.size + sum(map(len, self.atoms))))
        for masks in predicates:
            found.append((1 << self.size) - 1)
            for feature, (mask, size) in enumerate(zip(masks, self.tables.sizes)):
                atoms, of_atom = self.atoms[feature], self.of_atom.get(feature)
                if of_atom and all(atom & mask in (0, atom) for atom in atoms):
                    found[-1] &= sum(k for atom, k in zip(atoms, of_atom) if atom & mask)
                elif of_atom or mask != (1 << size) - 1:
                    return ()
        return tuple(found)

    @lru_cache(10_000)
    def counted(self, cell):
        """Return the kinds that a cell counts."""
        return reduce(or_, self.kinds(self.tables.cells[cell]), 0)

    @lru_cache(4096)
    def ruled_out(self, place):
        """Return the kinds that a published zero of a place counts."""
        cells = self.tables.cells_at[place]
        self.tables.spend(len(cells) * (1 + self.size // 20_000))
        positive = {cell for cell, (_, high) in self.tables.counts[place].items() if high != 0}
        return reduce(or_, map(self.counted, cells - positive), 0)


class Scope:
    """Bounds on the number of each kind in each unit of some places; they only narrow.

    In a free scope published zeros exclude no kind: they may be wrong.
    """

    def __init__(self, tables, cliques, units, free=False):
        self.tables, self.cliques, self.units, self.open, start = tables, cliques, units, {}, 0
        self.low, self.high, self.trail, self.broken, self.sets = {}, {}, [], False, {}
        self.branches, self.goal, self.rows, self.held = [], None, {}, 0
        tables.spend(len(units) * sum(10 + clique.size // 10 for clique in cliques))
        for at, form in enumerate(cliques):
            zeros = reduce(or_, (k for masks in tables.zeros for k in form.kinds((masks,))), 0)
            for unit in sorted(units):
                closed = reduce(or_, map(form.ruled_out, [] if free else tables.home[unit]), zeros)
                self.open[unit, at] = start, ((1 << form.size) - 1) & ~closed
                start += form.size

    def count(self, place, predicates, clique=None):
        """Return coefficients of a count in the scope, and whether no unit lies outside."""
        chosen = range(len(self.cliques)) if clique is None else [clique]
        found = ((at, self.cliques[at].kinds(predicates)) for at in chosen)
        at, counted = next((each for each in found if each[1]), (0, ()))
        demand(counted, "the grain and the cliques do not tell this apart")
        row, units, least = {}, self.tables.units[place], 1 + self.cliques[at].size // 400
        for start, kinds in (self.open[unit, at] for unit in sorted(units & self.units)):
            self.tables.spend(sum((some & kinds).bit_count() + least for some in counted))
            for kind in (kind for some in counted for kind in bits(some & kinds)):
                row[start + kind] = row.get(start + kind, 0) + 1
            demand(len(row) <= MOST_HELD, "a row is too long")
        return row, units <= self.units

    def published(self, place, text, clique):
        """Return coefficients and bounds of published cells that together are one count."""
        if (place, text, clique) in self.rows:
            return self.rows[place, text, clique]
        cells = self.tables.cells_of(text)
        demand(self.tables.cells_at[place].issuperset(cells), "a cell is not published here")
        predicates, *others = (self.tables.cells[cell] for cell in cells)
        for other in others:
            demand(len(predicates) == len(other) == 1, "cells of one line each are expected")
            apart = [a & b for a, b in zip(predicates[0], other[0]) if a != b]
            demand(apart == [0], "cells are alike but for one feature, and disjoint")
            predicates = (tuple(a | b for a, b in zip(predicates[0], other[0])),)
        counts = self.tables.counts[place]
        lows, highs = zip(*(counts.get(cell, (0, 0)) for cell in cells))
        row, is_whole = self.count(place, predicates, clique)
        self.held += len(row) + 100
        if self.held > MOST_HELD:
            self.rows, self.held = {}, len(row)
        found = row, sum(lows) if is_whole else None, None if None in highs else sum(highs)
        self.rows[place, text, clique] = found
        return found

    def statistic(self, place, cell, at, is_row):
        """Return a printed text's row over sums, or a sum's row over kinds, and its bounds."""
        sums, rows = self.tables.meaning(place, cell)
        if is_row:
            weights, least = rows[at]
            return {self.sum(place, cell, k): -a for k, a in weights.items()}, None, -least
        row = {self.sum(place, cell, at): 1}
        for weight, masks in sums[at]:
            counted, is_whole = self.count(place, (masks,))
            demand(is_whole, "a statistic of more units than are here")
            for variable, often in counted.items():
                row[variable] = row.get(variable, 0) - weight * often
        return row, 0, 0

    def sum(self, place, cell, at):
        """Return the unknown that is a sum of a printed text: never less than 0."""
        return -1 - MOST_SUMS * self.tables.number[place, cell] - at

    def narrow(self, ends, variable, value):
        if abs(value) < LARGEST:  # a bound may be left out
            self.trail.append((ends, variable, ends.get(variable)))
            ends[variable] = value

    def undo(self, mark):
        """Undo all narrowing since a mark."""
        while len(self.trail) > mark:
            ends, variable, ends[variable] = self.trail.pop()

    def add(self, *terms):
        """Apply the one rule; return whether the rows contradict each other."""
        total, room = {}, 0
        for weight, (row, low, high) in terms:
            room += weight * (high if weight > 0 else low)  # refused where it is None
            self.tables.spend(len(row) + 1)
            for variable, a in row.items():
                total[variable] = total.get(variable, 0) + weight * a
        unbounded = [v for v, a in total.items() if a < 0 and self.high.get(v) is None]
        room -= sum(a * ((self.low if a > 0 else self.high).get(v) or 0) for v, a in total.items())
        if room < 0 and not unbounded:
            return True
        for variable in unbounded or total:
            a, low, high = total[variable], self.low.get(variable) or 0, self.high.get(variable)
            if a > 0 and (high is None or low + room // a < high):
                self.narrow(self.high, variable, low + room // a)
            if a < 0 and len(unbounded) < 2 and (high or 0) - room // -a > low:
                self.narrow(self.low, variable, (high or 0) - room // -a)
        return False


class Proof:
    """A proof, read line by line."""

    def __init__(self, tables, lines):
        self.tables, self.lines, self.at, self.scope, self.cliques = tables, lines, 0, None, []
        self.atoms = [[1 << value for value in range(size)] for size in tables.sizes]
        self.facts, self.consistent, self.results = [], set(), []
        while words := self.next():
            located(lambda: f"proof, line {self.at}", self.read, words)

    def next(self, *kinds):
        """Return the words of the next line, if it is of these kinds."""
        while self.at < len(self.lines) and not self.lines[self.at].strip():
            self.at += 1
        words = self.lines[self.at].split() if self.at < len(self.lines) else []
        is_wanted = bool(words) and (not kinds or words[0] in kinds)
        self.at += is_wanted
        return words if is_wanted else []

    def read(self, words):
        match words:
            case ["recon-proof", "1"]:
                pass
            case ["grain", feature, *masks] if not self.cliques:
                size = self.tables.sizes[whole(feature)]
                atoms = [self.tables.mask(size, word) for word in masks]
                values = [value for atom in atoms for value in bits(atom)]
                demand(sorted(values) == list(range(size)), "atoms have every value once")
                self.atoms[whole(feature)] = atoms
            case ["clique", *features]:
                self.cliques.append(Clique(self.tables, self.atoms, {*map(whole, features)}))
            case ["in", *places]:
                every, chosen = range(len(self.atoms)), map(whole, {*places})
                self.cliques = self.cliques or [Clique(self.tables, self.atoms, every)]
                chosen = range(len(self.tables.counts)) if places == ["all"] else chosen
                units = set().union(*(self.tables.units[place] for place in chosen))
                self.scope = Scope(self.tables, self.cliques, units)
            case ["p", *terms]:
                self.scope.broken |= self.scope.add(*map(self.term, terms))
            case _:
                demand("".join(words).isprintable(), "what cannot be printed is no statement")
                self.scope.trail.clear()
                self.results.append((self.at, " ".join(words), self.statement(words)))

    def statement(self, words):
        """Check a statement; return whether it is proven."""
        scope = self.scope
        match words:
            case ["least" | "most", bound, *what]:
                fact = words[0] == "most", whole(bound) - (words[0] == "least"), what
                self.facts.append(fact if self.bound(*fact) else None)
                return self.facts[-1] is not None
            case ["contradiction"]:
                return scope.broken
            case ["change", least, *terms]:  # a count that changes is worth its weight at most
                self.scope = Scope(self.tables, self.cliques, scope.units, free=True)
                names = (term.rpartition("*")[2].partition(":") for term in terms)
                cells = [(whole(at), c) for at, _, t in names for c in self.tables.cells_of(t)]
                demand(len(cells) == len({*cells}), "a count is named twice")
                rows = [*map(self.term, terms)]
                spare = max(abs(weight) for weight, _ in rows) * (whole(least, 1) - 1)
                return self.scope.add(*rows, (1, ({}, None, spare)))
            case ["set" | "part", name, *base] if len(base) < 2:  # a part: areas may have more
                scope.sets[name] = self.records(scope.sets[base[0]][0] if base else {})
                return scope.sets[name][1] or words[0] == "part"
            case ["unique", unit]:
                joint = [n for n, c in enumerate(self.cliques) if len(c.of_atom) == len(self.atoms)]
                start, kinds = scope.open[whole(unit), joint[0]]
                self.tables.spend(kinds.bit_count() + kinds.bit_length() // 400)
                every = [start + kind for kind in bits(kinds)]
                is_one = all((scope.low.get(v) or 0) == scope.high.get(v) for v in every)
                return is_one and scope.units <= self.consistent
            case ["differ" | "vary", one, other, by, *what]:
                place, predicates = self.predicate(what)
                sets, total = (scope.sets[one], scope.sets[other]), 0
                demand(words[0] == "vary" or all(w for _, w in sets), "an area reaches further")
                for sign, (records, _) in zip((1, -1), sets):
                    for here in map(records.get, records.keys() & self.tables.units[place]):
                        self.tables.spend(len(here) * len(predicates))
                        total += sign * sum(n * holds(predicates, values) for n, values in here)
                return abs(total) >= whole(by)
        raise Refused(f"not understood: {words[0][:40]}")

    def side(self, is_less, bound, what):
        """Return the row by which a count is at most a bound, or more; and if it is in scope."""
        if "@" in what[-1]:
            row, is_whole = {self.scope.sum(*self.sum_of(*what)): 1}, True
        else:
            row, is_whole = self.scope.count(*self.predicate(what))
        more = {variable: -a for variable, a in row.items()}, None, -bound - 1
        return ((row, None, bound) if is_less else more), is_whole

    def bound(self, is_most, bound, what):
        """Refute that a count is above a bound, or that it is not."""
        self.scope.goal, is_whole = self.side(not is_most, bound, what)
        is_proven = (is_whole or not is_most) and self.refute(self.scope.goal)
        self.scope.undo(0)
        self.scope.goal, self.scope.branches = None, []
        while not is_proven and self.next("p", "if"):
            pass
        return is_proven

    def refute(self, row):
        """Add a row, and propagate until there is a contradiction."""
        is_end, branches = self.scope.add((1, row)), self.scope.branches
        while not is_end and (words := self.next("p")):
            is_end = self.scope.add(*map(self.term, words[1:]))
        words, mark = [] if is_end else self.next("if"), len(self.scope.trail)
        for is_less in (True, False) if words else ():
            branches.append((is_less, whole(words[1]), words[2:]))
            if not self.refute(self.side(*branches[-1])[0]):
                return False
            branches.pop()
            self.scope.undo(mark)
        return is_end or bool(words)

    def term(self, word):
        """Parse weight and row: coefficients, least and greatest value."""
        weight, star, name = word.rpartition("*")
        weight = -1 if weight == "-" else whole(weight, -(10**MOST_DIGITS)) if star else 1
        if name == "goal":
            return weight, self.scope.goal
        if name[0] in "^#":
            known = (self.scope.branches if name[0] == "^" else self.facts)[whole(name[1:])]
            row, is_whole = self.side(*known)
            demand(is_whole or known[0] or name[0] == "^", "of more units than are here")
            return weight, row
        if "=" in name:
            place, pair, masks = name.replace("=", ":").split(":")
            what = whole(place), (self.tables.masks(masks.split(",")),)
            one, other = (self.scope.count(*what, whole(clique))[0] for clique in pair.split(","))
            return weight, ({v: one.get(v, 0) - other.get(v, 0) for v in one | other}, 0, 0)
        place, _, rest = name.partition(":")
        if "%" in rest or "@" in rest:
            return weight, self.scope.statistic(*self.sum_of(place, rest), "%" in rest)
        text, slash, clique = rest.partition("/")
        return weight, self.scope.published(whole(place), text, whole(clique) if slash else None)

    def sum_of(self, place, text):
        """Parse `2.3@1` or `2.3%1`: the cell (2, 3), and which of its sums or rows."""
        cell, _, at = text.replace("%", "@").partition("@")
        (cell,) = self.tables.cells_of(cell)
        return whole(place), cell, whole(at)

    def predicate(self, words):
        """Parse place and predicates of a count."""
        if "." in words[1]:
            (cell,) = self.tables.cells_of(*words[1:])
            return whole(words[0]), self.tables.cells[cell]
        return whole(words[0]), (self.tables.masks(words[1:]),)

    def records(self, base):
        """Parse records with all counts, by unit; return whether no area reaches beyond.

        Units without a line have the records of another set.
        """
        tables, units, found, is_whole = self.tables, self.scope.units, {}, True
        while words := self.next("r"):
            unit, times, *values = map(whole, words[1:])
            fits = all(v < size for v, size in zip(values, tables.sizes, strict=True))
            demand(fits and unit in units, "no such record")
            found.setdefault(unit, []).append((times, tuple(values)))
        self.next("end")
        found = base | found
        for place in sorted({place for unit in units for place in tables.home[unit]}):
            sums, counts, here = {}, tables.counts[place], tables.units[place]
            is_inside, is_whole = here <= units, is_whole and here <= units
            for times, values in (each for unit in here for each in found.get(unit, ())):
                counted = tables.counting(tables.cells_at[place], values)
                tables.spend(len(counted) + 1)
                for cell in counted:
                    sums[cell] = sums.get(cell, 0) + times
            tables.spend(10 + len(here) + len(counts))
            for cell in counts | sums:
                (low, high), count = counts.get(cell, (0, 0)), sums.get(cell, 0)
                if (count < low and is_inside) or (high is not None and count > high):
                    raise Refused(f"these records have {count} at {tables.name(place, cell)}")
            people = [each for unit in here for each in found.get(unit, ())] if is_inside else ()
            for cell, (text, said) in tables.printed[place].items() if is_inside else ():
                tables.spend(10 + 10 * len(people))
                numbers = tables.statistics[cell[0]].numbers(tables.cells[cell][0], people)
                prints = any(within(n, said) for n in numbers) if said else not numbers
                demand(prints, f"these records do not print {text} at {tables.name(place, cell)}")
        self.consistent |= units if is_whole else set()
        return found, is_whole


def compare(tables, rows):
    """Compare rows `geoid, table, cell, count` (or `value`) of the publisher's own file."""
    table, seen, others = {name: at for at, name in enumerate(tables.names)}, {}, 0
    texts = {(at, cell) for at, printed in enumerate(tables.printed) for cell in printed}
    left, withheld = texts.copy(), 0
    for row in rows:
        if row["geoid"] not in tables.places or row["table"] not in table:
            others += 1
            continue
        at, cell = tables.places[row["geoid"]], (table[row["table"]], whole(row["cell"]))
        text = row["count"] if "count" in row else row["value"]
        if cell[0] in tables.statistics:
            mine, _ = tables.printed[at].get(cell, ("_".join(text.split()), None))
            demand(
                "_".join(text.split()) == mine,
                f"{tables.name(at, cell)}: {mine} here, {text!r} there",
            )
            left.discard((at, cell))
            withheld += (at, cell) not in texts
            continue
        low, high = tables.counts[at].get(cell, (0, 0))
        seen[at, cell] = low == high
        top = sys.maxsize if high is None else high
        if not (low <= int(text) <= top if text.isdigit() else low != high):
            raise Refused(f"{tables.name(at, cell)}: {low} to {high} here, {text!r} there")
    for at, counts in enumerate(tables.counts):
        for cell, (low, high) in counts.items():
            if (at, cell) not in seen and low == high != 0:
                raise Refused(f"{tables.name(at, cell)}: {low} here, no count there")
    demand(not left, f"{tables.name(*min(left))} is printed here and not there" if left else "")
    absent = sum((at, c) not in seen for at, cells in enumerate(tables.cells_at) for c in cells)
    rest = f"{others:,} there are of other places or tables, {absent:,} cells here are not there"
    ends = f"{len(seen) - sum(seen.values()):,} are intervals here, whose ends no file has"
    also = f"; {len(texts):,} texts are as there, {withheld:,} prove nothing here" if texts else ""
    return f"{sum(seen.values()):,} counts are as there; {ends}; {rest}{also}"


def main():
    parser = argparse.ArgumentParser(description="Check a proof about published tables.")
    parser.add_argument("tables")
    parser.add_argument("proof")
    parser.add_argument("--counts", metavar="CSV", help="rows geoid,table,cell,count to compare")
    options, texts = parser.parse_args(), []
    try:
        for path in (__file__, options.tables, options.proof):
            with open(path, "rb") as file:
                texts.append(file.read())
            print(f"SHA-256 {hashlib.sha256(texts[-1]).hexdigest()}  {path}")
        tables = Tables(texts[1].decode().splitlines())
        if path := options.counts:
            with open(path, newline="", encoding="utf-8-sig") as file:
                rows = csv.DictReader(file)
                print(located(lambda: f"{path}, line {rows.line_num}", compare, tables, rows))
        proof = Proof(tables, texts[2].decode().splitlines())
    except (Refused, OSError, UnicodeDecodeError, MemoryError) as error:
        print(f"refused: {error}", file=sys.stderr)
        return 2
    for line, words, is_proven in proof.results:
        print("proven    " if is_proven else "NOT PROVEN", f"line {line}:", words)
    proven, total = sum(is_proven for *_, is_proven in proof.results), len(proof.results)
    assumed = f" and {tables.assumed} assumed zeros" if tables.assumed else ""
    print(f"{proven:,} of {total:,} proven, from the published counts{assumed} alone,")
    print("where records are told apart by", " x ".join(str(len(a)) for a in proof.atoms), "values")
    return 0 if total and proven == total else 1


if __name__ == "__main__":
    sys.exit(main())
