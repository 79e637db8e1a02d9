#!/usr/bin/env python3
"""Check what a proof says of published tables: python3 reconcheck.py TABLES PROOF.

One file of the standard library (Python 3.10), to be read in one sitting. To be trusted are TABLES
(--counts compares it with the publisher's own file), this file, and Python. PROOF is not: a line
that proves nothing is refused by its number.

TABLES  feature NAME SIZE | table NAME | cell TABLE NUMBER MASK… | zero MASK… [assumed]
        pattern TABLE:CELLS… | area CODE PATTERN | unit CODE PATTERN AREA…
        count PLACE TABLE CELL LOW [HIGH|inf]
Features, tables, patterns and places (areas, units) are numbered from 0 in their order. A mask is a
hexadecimal number with a bit for each value of its feature; * is all. A cell is the number of records
whose values lie in its masks; of a cell with several lines, the sum. An area is the units that name
it. `zero`: no such record exists. A cell of a place's pattern without a line `count` is 0.

PROOF   grain FEATURE MASK…     atoms, all that is told apart of a feature; without it, every value
        clique FEATURE…         unknowns are counts by these features; without it, by all of them
        in PLACE… | in all      a scope: the units of these places; every scope begins anew
        p TERM… | q TERM…       added rows narrow bounds; q: each row by itself, both ways
        least N F | most N F    F is at least, at most N; p, q, if follow that refute the contrary
        if N F                  two refutations follow: where F <= N, then where F > N
        set NAME                records `r UNIT NUMBER VALUE…` with all counts, until `end`
        unique UNIT             only one set of records is possible, as far as the grain tells
        differ SET SET N F      two sets of records differ by at least N in F
        contradiction           no records have the counts of the scope
F is PLACE MASK… or PLACE TABLE.CELL. TERM is [WEIGHT*]PLACE:TABLE.CELLS[/CLIQUE], where CELLS, as
3-5,7, are alike but for one feature; [WEIGHT*]PLACE=CLIQUE,CLIQUE:MASK,… is what two cliques say
alike; #N the N-th bound, ^N the N-th `if` above, goal the contrary. -* is -1.

The one rule: rows with weights are added up to a sum of a*x <= R. With m the least that bounds allow
that sum, R < m is a contradiction; else x <= low + (R-m) // a, or x >= high - (R-m) // -a if a < 0.
"""

import argparse
import csv
import hashlib
import sys
from functools import cache, reduce
from operator import or_

MOST_KINDS, MOST_WORK, MOST_DIGITS, MOST_DEPTH = 200_000, 2_000_000_000, 30, 200


class Refused(Exception):
    """Says what is wrong with a line."""


def demand(is_right, why):
    """Refuse what is not right."""
    if not is_right:
        raise Refused(why)


def located(where, function, words):
    """Call a function; what it cannot use is refused with its place."""
    try:
        return function(words)
    except (IndexError, KeyError, ValueError, TypeError, RecursionError) as error:
        raise Refused(f"{where}: not understood") from error
    except Refused as why:
        raise Refused(f"{where}: {why}") from None


def whole(text, least=0):
    """A whole number of at least `least`."""
    demand(text.isascii() and text.removeprefix("-").isdigit(), f"{text[:40]!r} is no number")
    demand(len(text) <= MOST_DIGITS and int(text) >= least, f"{text[:40]} is out of range")
    return int(text)


def cells_of(text):
    """Table and numbers of `2.3-5,7` as (2, 3), (2, 4), (2, 5), (2, 7)."""
    table, _, numbers = text.partition(".")
    ends = [[whole(end) for end in part.split("-")] for part in numbers.split(",")]
    demand(all(0 <= end[-1] - end[0] < MOST_KINDS for end in ends), "no run of cells")
    return [(whole(table), n) for end in ends for n in range(end[0], end[-1] + 1)]


def bits(number):
    """Places of the bits that are set."""
    while number:
        yield (number & -number).bit_length() - 1
        number &= number - 1


class Tables:
    """What was published. Places are numbers, cells are (table, number)."""

    def __init__(self, lines):
        self.sizes, self.names, self.cells, self.zeros, self.patterns = [], [], {}, [], []
        self.codes, self.cells_at, self.counts, self.units, self.home = [], [], [], [], []
        self.assumed = 0  # zeros that are assumptions; home: of a unit, itself and its areas
        for at, line in enumerate(lines, 1):
            if line.strip():
                located(f"tables, line {at}", self.read, line.split())

    def read(self, words):
        match words:
            case ["recon-tables", "1"]:
                pass
            case ["feature", _, size] if not self.cells and not self.zeros:
                demand(1 <= whole(size) <= MOST_KINDS, "too many values, or none")
                self.sizes.append(whole(size))
            case ["table", name]:
                self.names.append(name)
            case ["cell", table, number, *masks] if not self.patterns:
                demand(whole(table) < len(self.names), "no such table")
                cell = whole(table), whole(number)
                self.cells[cell] = (*self.cells.get(cell, ()), self.masks(masks))
            case ["zero", *masks]:
                is_assumed = masks[-1] == "assumed"
                self.zeros.append(self.masks(masks[: len(masks) - is_assumed]))
                self.assumed += is_assumed
            case ["pattern", *parts]:
                self.patterns.append(frozenset(cell for part in parts for cell in cells_of(part)))
                demand(self.patterns[-1] <= self.cells.keys(), "a cell without a line `cell`")
            case ["area" | "unit", code, pattern, *areas] if words[0] == "unit" or not areas:
                at, inside = len(self.codes), {whole(area) for area in areas}
                demand(len(inside) == len(areas), "an area is named twice")
                demand(all(not self.home[area] for area in inside), "a unit is no area")
                self.home.append([at, *sorted(inside)] if words[0] == "unit" else [])
                self.cells_at.append(self.patterns[whole(pattern)])
                self.codes.append(code)
                self.counts.append({})
                self.units.append(set())
                for place in self.home[at]:
                    self.units[place].add(at)
            case ["count", place, table, number, low, *high] if len(high) < 2:
                at, cell = whole(place), (whole(table), whole(number))
                demand(cell in self.cells_at[at], "this cell is not published here")
                demand(cell not in self.counts[at], "this count has a line already")
                top = None if high == ["inf"] else whole([low, *high][-1], whole(low))
                self.counts[at][cell] = whole(low), top
            case _:
                raise Refused(f"not understood: {words[0][:40]}")

    def masks(self, words):
        demand(len(words) == len(self.sizes), f"{len(self.sizes)} masks are expected")
        return tuple(self.mask(size, word) for size, word in zip(self.sizes, words))

    def mask(self, size, word):
        demand(word == "*" or set(word) <= set("0123456789abcdef"), f"{word[:40]!r} is no mask")
        found = (1 << size) - 1 if word == "*" else int(word, 16)
        demand(0 < found < 1 << size, f"{word[:40]!r} is no mask of {size} values")
        return found


def holds(predicates, values):
    """How often a record counts."""
    return sum(all(m >> v & 1 for m, v in zip(masks, values)) for masks in predicates)


class Clique:
    """Kinds of records by some features, an atom of each; a set of kinds is a number's bits."""

    def __init__(self, tables, atoms, features):
        self.tables, self.atoms, self.size, strides = tables, atoms, 1, {}
        for feature in features:
            strides[feature], self.size = self.size, self.size * len(atoms[feature])
            demand(self.size <= MOST_KINDS, f"more than {MOST_KINDS:,} kinds of records")
        self.of_atom = {}
        for feature, stride in strides.items():
            starts = range(0, self.size, stride * len(atoms[feature]))
            first = sum(((1 << stride) - 1) << start for start in starts)
            self.of_atom[feature] = [first << stride * a for a in range(len(atoms[feature]))]

    @cache
    def kinds(self, predicates):
        """The kinds that each predicate counts; none at all where one splits some."""
        found = []
        for masks in predicates:
            found.append((1 << self.size) - 1)
            for feature, (mask, size) in enumerate(zip(masks, self.tables.sizes)):
                atoms, of_atom = self.atoms[feature], self.of_atom.get(feature)
                if of_atom and all(atom & mask in (0, atom) for atom in atoms):
                    found[-1] &= sum(k for atom, k in zip(atoms, of_atom) if atom & mask)
                elif of_atom or mask != (1 << size) - 1:
                    return ()
        return tuple(found)

    @cache
    def counted(self, cells):
        """For each cell the kinds that it counts."""
        each = {cell: self.kinds(self.tables.cells[cell]) for cell in cells}
        return {cell: reduce(or_, kinds, 0) for cell, kinds in each.items()}

    @cache
    def ruled_out(self, place):
        """The kinds that a published zero of a place counts."""
        cells = self.tables.cells_at[place]
        positive = {cell for cell, (_, high) in self.tables.counts[place].items() if high != 0}
        return reduce(or_, map(self.counted(cells).get, cells - positive), 0)


class Scope:
    """Bounds on the number of each kind in each unit of some places; they only narrow."""

    def __init__(self, tables, cliques, units):
        self.tables, self.cliques, self.units, self.open, start = tables, cliques, units, {}, 0
        self.low, self.high, self.trail, self.work, self.broken = {}, {}, [], 0, False
        self.sets, self.branches, self.goal = {}, [], None
        for at, clique in enumerate(cliques):
            zeros = [k for masks in tables.zeros for k in clique.kinds((masks,))]
            for unit in sorted(units):
                kinds = (1 << clique.size) - 1
                for closed in (*zeros, *map(clique.ruled_out, tables.home[unit])):
                    kinds &= ~closed
                self.open[unit, at], start = (start, kinds), start + clique.size

    def count(self, place, predicates, clique=None):
        """Coefficients of a count over the scope's units, and whether no unit lies outside."""
        chosen = range(len(self.cliques)) if clique is None else [clique]
        found = ((at, self.cliques[at].kinds(predicates)) for at in chosen)
        at, counted = next((each for each in found if each[1]), (0, ()))
        demand(counted, "the grain and the cliques do not tell this apart")
        row, units = {}, self.tables.units[place]
        for start, kinds in (self.open[unit, at] for unit in sorted(units & self.units)):
            for kind in (kind for some in counted for kind in bits(some & kinds)):
                row[start + kind] = row.get(start + kind, 0) + 1
        self.spend(len(row) + len(units))
        return row, units <= self.units

    def spend(self, work):
        self.work += work
        demand(self.work <= MOST_WORK, "the proof takes too long")

    @cache
    def published(self, place, text, clique):
        """Coefficients and ends of published cells that together are one count."""
        cells = cells_of(text)
        demand(self.tables.cells_at[place].issuperset(cells), "a cell is not published here")
        predicates, *others = (self.tables.cells[cell] for cell in cells)
        for other in others:
            demand(len(predicates) == len(other) == 1, "cells of one line each are expected")
            apart = [a & b for a, b in zip(predicates[0], other[0]) if a != b]
            demand(apart == [0], "cells are alike but for one feature, and disjoint")
            predicates = (tuple(a | b for a, b in zip(predicates[0], other[0])),)
        lows, highs = zip(*(self.tables.counts[place].get(cell, (0, 0)) for cell in cells))
        row, is_whole = self.count(place, predicates, clique)
        return row, sum(lows) if is_whole else None, None if None in highs else sum(highs)

    def narrow(self, ends, variable, value):
        self.trail.append((ends, variable, ends.get(variable)))
        ends[variable] = value

    def undo(self, mark):
        """Take back what was narrowed since."""
        while len(self.trail) > mark:
            ends, variable, value = self.trail.pop()
            ends[variable] = value
            if value is None:
                del ends[variable]

    def add(self, *terms):
        """The one rule; says whether the rows contradict each other."""
        total, room = {}, 0
        for weight, (row, low, high) in terms:
            end = high if weight > 0 else low
            demand(weight and end is not None, "a row without this end, or with units outside")
            room += weight * end
            self.spend(len(row))
            for variable, a in row.items():
                total[variable] = total.get(variable, 0) + weight * a
        unbounded = [v for v, a in total.items() if a < 0 and v not in self.high]
        for variable, a in total.items():
            if a > 0 or variable in self.high:
                room -= a * (self.low.get(variable, 0) if a > 0 else self.high[variable])
        if room < 0 and not unbounded:
            return True
        for variable in unbounded if unbounded else total:
            a, low, high = total[variable], self.low.get(variable, 0), self.high.get(variable)
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
            located(f"proof, line {self.at}", self.read, words)

    def next(self, *kinds):
        """The words of the next line, if it is of these kinds."""
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
                values = sorted(value for atom in atoms for value in bits(atom))
                demand(values == list(range(size)), "atoms have every value once")
                self.atoms[whole(feature)] = atoms
            case ["clique", *features] if self.scope is None:
                chosen = sorted({whole(feature) for feature in features})
                self.cliques.append(Clique(self.tables, self.atoms, chosen))
            case ["in", *places]:
                every = range(len(self.atoms))
                self.cliques = self.cliques or [Clique(self.tables, self.atoms, every)]
                chosen = range(len(self.tables.codes)) if places == ["all"] else map(whole, places)
                units = set().union(*(self.tables.units[place] for place in chosen))
                self.scope = Scope(self.tables, self.cliques, units)
            case ["p" | "q", *_] if self.scope:
                self.scope.broken |= self.step(words)
            case ["set", name] if self.scope:
                self.scope.sets[name] = self.records()
            case _:
                demand(self.scope, f"not understood here: {words[0][:40]}")
                self.results.append([self.at, " ".join(words), False])
                self.scope.trail.clear()
                self.results[-1][2] = self.statement(words)

    def statement(self, words):
        """Whether a statement is proven."""
        scope = self.scope
        match words:
            case ["least" | "most", bound, *what]:
                is_proven = self.bound(words[0] == "least", whole(bound), what)
                self.facts.append((words[0], whole(bound), what) if is_proven else None)
                return is_proven
            case ["contradiction"]:
                return scope.broken
            case ["unique", unit]:
                joint = [n for n, c in enumerate(self.cliques) if len(c.of_atom) == len(self.atoms)]
                start, kinds = scope.open[whole(unit), joint[0]]
                ends = (
                    (scope.low.get(start + k, 0), scope.high.get(start + k)) for k in bits(kinds)
                )
                is_consistent = whole(unit) in self.consistent and not scope.broken
                return is_consistent and all(low == high for low, high in ends)
            case ["differ", one, other, by, *what]:
                place, predicates = self.predicate(what)
                counts = [0, 0]
                for at, (records, is_whole) in enumerate((scope.sets[one], scope.sets[other])):
                    demand(is_whole, "an area of these records reaches beyond the scope")
                    here = (each for each in records if each[0] in self.tables.units[place])
                    counts[at] = sum(times * holds(predicates, values) for _, times, values in here)
                return abs(counts[0] - counts[1]) >= whole(by)
        raise Refused(f"not understood: {words[0][:40]}")

    def sides(self, bound, what):
        """Rows: a count is at most a bound, it is more; and whether no unit lies outside."""
        row, is_whole = self.scope.count(*self.predicate(what))
        more = {variable: -a for variable, a in row.items()}
        return (row, None, bound), (more, None, -bound - 1), is_whole

    def bound(self, is_least, bound, what):
        """Refute that a count is less, or more."""
        less, more, is_whole = self.sides(bound - is_least, what)
        self.scope.goal = less if is_least else more
        is_open = (is_least or is_whole) and not self.scope.broken
        is_proven = is_open and self.refute(self.scope.goal)
        self.scope.undo(0)
        self.scope.goal, self.scope.branches = None, []
        while not is_proven and self.next("p", "q", "if"):
            pass
        return is_proven

    def refute(self, row):
        """Add a row, and what follows until there is a contradiction."""
        if self.scope.add((1, row)):
            return True
        while words := self.next("p", "q"):
            if self.step(words):
                return True
        words, mark, branches = self.next("if"), len(self.scope.trail), self.scope.branches
        if not words:
            return False
        *rows, is_whole = self.sides(whole(words[1]), words[2:])
        demand(is_whole and len(branches) < MOST_DEPTH, "units outside, or too many `if`")
        for side in rows:
            branches.append(side)
            if not self.refute(side):
                return False
            branches.pop()
            self.scope.undo(mark)
        return True

    def step(self, words):
        """A line p or q; says whether it contradicts."""
        terms = [self.term(word) for word in words[1:]]
        if words[0] == "p":
            return self.scope.add(*terms)
        ways = [(s, row) for _, row in terms for s in (1, -1) if row[1 + (s > 0)] is not None]
        return any(self.scope.add(way) for way in ways)

    def term(self, word):
        """Weight and row, which is coefficients, least and greatest value."""
        weight, star, name = word.rpartition("*")
        weight = -1 if weight == "-" else whole(weight, -(10**MOST_DIGITS)) if star else 1
        if name == "goal":
            demand(self.scope.goal, "nothing is to be refuted")
            return weight, self.scope.goal
        if name[0] == "^":
            return weight, self.scope.branches[whole(name[1:])]
        if name[0] == "#":
            kind, bound, what = self.facts[whole(name[1:])]
            row, is_whole = self.scope.count(*self.predicate(what))
            low = bound if kind == "least" and is_whole else None
            return weight, (row, low, bound if kind == "most" else None)
        if "=" in name:
            place, pair, masks = name.replace("=", ":").split(":")
            what = whole(place), (self.tables.masks(masks.split(",")),)
            one, other = (self.scope.count(*what, whole(clique))[0] for clique in pair.split(","))
            return weight, ({v: one.get(v, 0) - other.get(v, 0) for v in one | other}, 0, 0)
        place, _, rest = name.partition(":")
        text, slash, clique = rest.partition("/")
        return weight, self.scope.published(whole(place), text, whole(clique) if slash else None)

    def predicate(self, words):
        """Place and predicates of a count."""
        if "." in words[1]:
            demand(len(words) == 2, "PLACE TABLE.CELL is expected")
            return whole(words[0]), self.tables.cells[cells_of(words[1])[0]]
        return whole(words[0]), (self.tables.masks(words[1:]),)

    def records(self):
        """Records that have all counts of the scope; whether no area of it reaches beyond."""
        tables, units, found, sums, known = self.tables, self.scope.units, [], {}, {}
        while words := self.next("r"):
            unit, times, *values = map(whole, words[1:])
            is_right = unit in units and len(values) == len(tables.sizes)
            is_right = is_right and all(v < size for v, size in zip(values, tables.sizes))
            demand(is_right and not holds(tables.zeros, values), f"line {self.at}: no such record")
            found.append((unit, times, values))
            for place in tables.home[unit]:
                key = id(tables.cells_at[place]), *values
                if key not in known:
                    weights = ((c, holds(tables.cells[c], values)) for c in tables.cells_at[place])
                    known[key] = [(cell, weight) for cell, weight in weights if weight]
                for cell, weight in known[key]:
                    sums[place, cell] = sums.get((place, cell), 0) + times * weight
        demand(self.next("end"), f"line {self.at + 1}: `r` or `end` is expected")
        places = {place for unit in units for place in tables.home[unit]}
        inside = {place for place in places if tables.units[place] <= units}
        stated = {(place, cell) for place in places for cell in tables.counts[place]}
        for place, cell in sorted(stated | sums.keys()):
            low, high = tables.counts[place].get(cell, (0, 0))
            count = sums.get((place, cell), 0)
            is_right = (count >= low or place not in inside) and (high is None or count <= high)
            name = f"{tables.codes[place]} {tables.names[cell[0]]} {cell[1]}"
            demand(is_right, f"these records have {count} at {name}")
        self.consistent |= units if inside == places else set()
        return found, inside == places


def compare(tables, path):
    """Hold rows `geoid, table, cell, count` of the publisher's own file against the tables."""
    place, table = ({n: i for i, n in enumerate(names)} for names in (tables.codes, tables.names))
    with open(path, newline="", encoding="utf-8-sig") as file:
        rows = {
            (place[row["geoid"]], (table[row["table"]], whole(row["cell"]))): row["count"]
            for row in csv.DictReader(file)
        }
    said = {(at, cell) for at, counts in enumerate(tables.counts) for cell in counts}
    for at, cell in sorted(said | rows.keys()):
        low, high = tables.counts[at].get(cell, (0, 0))
        text = rows.get((at, cell), "0" if high is not None and low == 0 else "no count")
        is_same = not text.isdigit() and low != high or text.isdigit() and low <= int(text)
        is_same = is_same and (high is None or not text.isdigit() or int(text) <= high)
        name = f"{tables.codes[at]} {tables.names[cell[0]]} {cell[1]}"
        demand(is_same, f"{name}: {low} to {high} in the tables, {text!r} in {path}")
    return f"{len(rows):,} counts are as in {path}"


def main():
    parser = argparse.ArgumentParser(description="Check a proof about published tables.")
    parser.add_argument("tables")
    parser.add_argument("proof")
    parser.add_argument(
        "--counts", metavar="CSV", help="compare TABLES with geoid,table,cell,count"
    )
    parser.add_argument("-q", "--quiet", action="store_true", help="only what is not proven")
    options, texts = parser.parse_args(), []
    try:
        for path in (__file__, options.tables, options.proof):
            with open(path, "rb") as file:
                texts.append(file.read())
            print(f"SHA-256 {hashlib.sha256(texts[-1]).hexdigest()}  {path}")
        tables = Tables(texts[1].decode().splitlines())
        if options.counts:
            print(located(options.counts, lambda path: compare(tables, path), options.counts))
        results = Proof(tables, texts[2].decode().splitlines()).results
    except (Refused, OSError, UnicodeDecodeError, MemoryError) as error:
        print(f"refused: {error}", file=sys.stderr)
        return 2
    for line, words, is_proven in results:
        if not (options.quiet and is_proven):
            print("proven    " if is_proven else "NOT PROVEN", f"line {line}:", words)
    proven = sum(is_proven for *_, is_proven in results)
    assumed = f" and {tables.assumed} assumed zeros" if tables.assumed else ""
    print(f"{proven:,} of {len(results):,} proven, from the published counts{assumed} alone")
    return 0 if results and proven == len(results) else 1


if __name__ == "__main__":
    sys.exit(main())
