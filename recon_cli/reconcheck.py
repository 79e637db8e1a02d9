#!/usr/bin/env python3
"""Check what a proof says of published tables: reconcheck.py TABLES PROOF.

One file of the standard library (Python 3.10), to be read in one sitting. To be trusted are TABLES
(--counts compares it with the publisher's own file), this file, and Python. PROOF is not: a line
that proves nothing is refused by its number.

TABLES  feature NAME SIZE | options FEATURE N… | table NAME | cell TABLE NUMBER MASK… [tally FEATURE]
        zero MASK… [assumed] | pattern TABLE:CELLS… | area CODE PATTERN | unit CODE PATTERN AREA…
        count PLACE TABLE CELL LOW [HIGH|inf]
Features, tables, patterns and places (areas, units) are numbered from 0 in their order. A mask is a
hexadecimal number, a bit for each value of the feature; * is all. A cell counts the records whose
values lie in its masks, a tally what `options` says of them; an area's is the sum over the units
that name it. `zero`: no such record exists. A published cell without a line `count` is 0.

PROOF   grain FEATURE MASK…      atoms, all that is told apart of a feature; else every value
        clique FEATURE…          unknowns are counts by these features; else by all
        in PLACE… | in all       a scope: the units of these places; every scope begins anew
        p TERM… | q TERM…        added rows narrow bounds; q: each row by itself, both ways
        least N F | most N F     F is at least, at most N; p, q, if follow that refute the contrary
        if N F                   two refutations follow: where F <= N, then where F > N
        set NAME                 records `r UNIT NUMBER VALUE…` with all counts, until `end`
        unique UNIT              one set of records is possible, as far as the grain tells apart
        differ SET SET N F       two sets of records differ by at least N in F
        contradiction            no records have the counts of the scope
F is PLACE MASK… or PLACE TABLE.CELL. TERM is [WEIGHT*]PLACE:TABLE.CELLS[/CLIQUE]; or what two cliques
say alike, [WEIGHT*]PLACE=CLIQUE,CLIQUE:MASK,…; #N, what the N-th bound said; ^N, the N-th `if` above;
goal, the contrary. -* is -1. CELLS, as 3-5,7, are added: alike but for one feature, and disjoint.

The one rule: rows with weights are added to a sum of a*x <= R. With m the least that bounds allow the
sum, R < m is a contradiction; else x <= low + (R - m) // a, and for a < 0 x >= high - (R - m) // -a.
"""

import argparse
import csv
import hashlib
import sys
from functools import cache

MOST_KINDS, MOST_WORK, MOST_DIGITS, MOST_DEPTH = 200_000, 2_000_000_000, 30, 200


class Refused(Exception):
    """Says what is wrong with a line."""


def demand(is_right, why):
    """Refuse what is not right."""
    if not is_right:
        raise Refused(why)


def located(where, function, *words):
    """Call a function; what it cannot use is refused with its place."""
    try:
        return function(*words)
    except (IndexError, KeyError, ValueError, TypeError, RecursionError) as error:
        raise Refused(f"{where}: not understood") from error
    except Refused as why:
        raise Refused(f"{where}: {why}") from None


def whole(text, least=0):
    """A whole number of at least `least`."""
    demand(text.isascii() and text.removeprefix("-").isdigit(), f"{text[:40]!r} is no number")
    demand(len(text) <= MOST_DIGITS and int(text) >= least, f"{text[:40]} is out of range")
    return int(text)


def runs(text):
    """`3-5,7` as 3, 4, 5, 7."""
    ends = [[whole(end) for end in part.split("-")] for part in text.split(",")]
    demand(all(0 <= end[-1] - end[0] < MOST_KINDS for end in ends), "no run of cells")
    return [number for end in ends for number in range(end[0], end[-1] + 1)]


def bits(number):
    """Places of the bits that are set."""
    while number:
        yield (number & -number).bit_length() - 1
        number &= number - 1


class Tables:
    """What was published. Places are numbers, cells are (table, number)."""

    def __init__(self, lines):
        self.sizes, self.options, self.names, self.cells, self.zeros = [], {}, [], {}, []
        self.patterns, self.codes, self.pattern_of, self.counts = [], [], [], []
        self.home, self.units_of, self.assumed = [], [], 0  # home: a unit and its areas
        for at, line in enumerate(lines, 1):
            if line.strip():
                located(f"tables, line {at}", self.read, line.split())

    def read(self, words):
        """One line."""
        match words:
            case ["recon-tables", "1"]:
                pass
            case ["feature", _, size] if not self.cells and not self.zeros:
                self.sizes.append(whole(size, 1))
                demand(self.sizes[-1] <= MOST_KINDS, "too many values")
            case ["options", feature, *numbers]:
                demand(len(numbers) == self.sizes[whole(feature)], "a number for every value")
                self.options[whole(feature)] = [whole(number) for number in numbers]
            case ["table", name]:
                self.names.append(name)
            case ["cell", table, number, *masks]:
                key, is_tally = (whole(table), whole(number)), masks[-2:-1] == ["tally"]
                demand(key[0] < len(self.names) and key not in self.cells, "no table, or twice")
                tally = whole(masks[-1]) if is_tally else None
                demand(tally is None or tally in self.options, "a tally needs `options`")
                self.cells[key] = self.masks(masks[:-2] if is_tally else masks), tally
            case ["zero", *masks]:
                is_assumed = masks[-1] == "assumed"
                self.zeros.append(self.masks(masks[:-1] if is_assumed else masks))
                self.assumed += is_assumed
            case ["pattern", *parts]:
                pairs = [part.split(":") for part in parts]
                self.patterns.append({(whole(t), cell) for t, each in pairs for cell in runs(each)})
                demand(self.patterns[-1] <= self.cells.keys(), "a cell without a line `cell`")
            case ["area" | "unit", code, pattern, *areas] if words[0] == "unit" or not areas:
                self.pattern_of.append(whole(pattern))
                demand(whole(pattern) < len(self.patterns), "no such pattern")
                inside = {whole(area) for area in areas}
                demand(len(inside) == len(areas), "an area is named twice")
                demand(all(self.home[area] is None for area in inside), "a unit is no area")
                self.home.append((len(self.codes), *inside) if words[0] == "unit" else None)
                self.units_of.append(set())
                for place in self.home[-1] or ():
                    self.units_of[place].add(len(self.codes))
                self.codes.append(code)
                self.counts.append({})
            case ["count", place, table, number, low, *rest] if len(rest) < 2:
                at, cell = whole(place), (whole(table), whole(number))
                demand(cell in self.patterns[self.pattern_of[at]], "this cell is not published")
                demand(cell not in self.counts[at], "this count has a line already")
                high = None if rest == ["inf"] else whole([low, *rest][-1], whole(low))
                self.counts[at][cell] = whole(low), high
            case _:
                raise Refused(f"not understood: {words[0][:40]}")

    def masks(self, words):
        """A mask of each feature; `*` is all values."""
        demand(len(words) == len(self.sizes), f"{len(self.sizes)} masks are expected")
        return tuple(self.mask(feature, word) for feature, word in enumerate(words))

    def mask(self, feature, word):
        """One mask."""
        every = (1 << self.sizes[feature]) - 1
        demand(word == "*" or set(word) <= set("0123456789abcdef"), f"{word[:40]!r} is no mask")
        found = every if word == "*" else int(word, 16)
        demand(0 < found <= every, f"{word[:40]!r} is no mask of {self.sizes[feature]} values")
        return found

    def weight(self, values, masks, tally):
        """What one record adds to a count."""
        is_counted = all(mask >> value & 1 for mask, value in zip(masks, values))
        return is_counted * (1 if tally is None else self.options[tally][values[tally]])


class Clique:
    """Kinds of records by some features, an atom of each; a set of kinds is a number's bits."""

    def __init__(self, tables, atoms, features):
        self.tables, self.atoms, self.size, self.of_atom = tables, atoms, 1, {}
        strides = []
        for feature in features:
            strides.append(self.size)
            self.size *= len(atoms[feature])
            demand(self.size <= MOST_KINDS, f"more than {MOST_KINDS:,} kinds of records")
        for feature, stride in zip(features, strides):
            starts = range(0, self.size, stride * len(atoms[feature]))
            first = sum(((1 << stride) - 1) << start for start in starts)
            self.of_atom[feature] = [first << stride * a for a in range(len(atoms[feature]))]

    @cache
    def kinds(self, masks, tally=None):
        """The kinds that a predicate counts, as (weight, set); None where it splits some."""
        found = (1 << self.size) - 1
        for feature, (mask, size) in enumerate(zip(masks, self.tables.sizes)):
            if feature not in self.of_atom and (mask != (1 << size) - 1 or tally == feature):
                return None
            if feature in self.of_atom:
                if any(0 != atom & mask != atom for atom in self.atoms[feature]):
                    return None
                pairs = zip(self.atoms[feature], self.of_atom[feature])
                found &= sum(kinds for atom, kinds in pairs if atom & mask)
        if tally is None:
            return [(1, found)]
        weighted, options = [], self.tables.options[tally]
        for atom, kinds in zip(self.atoms[tally], self.of_atom[tally]):
            weights = {options[value] for value in bits(atom & masks[tally])}
            if len(weights) > 1:
                return None
            weighted += [(weight, kinds & found) for weight in weights if weight]
        return weighted

    @cache
    def of_cells(self, pattern):
        """The cells of a pattern with the kinds that they count, many kinds first."""
        cells = [
            (cell, self.kinds(*self.tables.cells[cell])) for cell in self.tables.patterns[pattern]
        ]
        return sorted(((k, c) for c, some in cells for _, k in some or ()), reverse=True)

    @cache
    def ruled_out(self, place):
        """The kinds that a published zero of a place counts."""
        found, counts = 0, self.tables.counts[place]
        for kinds, cell in self.of_cells(self.tables.pattern_of[place]):
            if counts.get(cell, (0, 0))[1] == 0:
                found |= kinds
        return found


class Scope:
    """Bounds on the count of each kind in each unit of some places; they only narrow."""

    def __init__(self, tables, cliques, units):
        self.tables, self.cliques, self.units, self.open = tables, cliques, units, {}
        self.low, self.high, self.trail, self.work = {}, {}, [], 0
        self.broken, self.sets, self.branches, self.goal, start = False, {}, [], None, 0
        for at, clique in enumerate(cliques):
            zeros = [kinds for masks in tables.zeros for _, kinds in clique.kinds(masks) or ()]
            for unit in sorted(units):
                kinds = (1 << clique.size) - 1
                for closed in (*zeros, *map(clique.ruled_out, tables.home[unit])):
                    kinds &= ~closed
                self.open[unit, at], start = (start, kinds), start + clique.size

    def spend(self, work):
        """Bound what a proof may take."""
        self.work += work
        demand(self.work <= MOST_WORK, "the proof takes too long")

    def count(self, place, masks, tally=None, clique=None):
        """Coefficients of a count over the scope's units, and whether no unit lies outside."""
        chosen = range(len(self.cliques)) if clique is None else [clique]
        found = ((at, self.cliques[at].kinds(masks, tally)) for at in chosen)
        at, weighted = next((each for each in found if each[1] is not None), (0, None))
        demand(weighted is not None, "the grain and the cliques do not tell this apart")
        row = {}
        for unit in self.tables.units_of[place] & self.units:
            start, kinds = self.open[unit, at]
            row |= {
                start + kind: weight for weight, some in weighted for kind in bits(some & kinds)
            }
        self.spend(len(row) + len(self.tables.units_of[place]))
        return row, self.tables.units_of[place] <= self.units

    @cache
    def cells(self, place, table, numbers, clique):
        """Coefficients and ends of published cells that together are one count."""
        chosen = [(table, cell) for cell in runs(numbers)]
        pattern = self.tables.patterns[self.tables.pattern_of[place]]
        demand(pattern.issuperset(chosen), "a cell is not published here")
        masks, tally = self.tables.cells[chosen[0]]
        for other, kind in (self.tables.cells[cell] for cell in chosen[1:]):
            apart = [a & b for a, b in zip(masks, other) if a != b]
            demand(
                apart == [0] and kind == tally, "cells are alike but for one feature, and disjoint"
            )
            masks = tuple(a | b for a, b in zip(masks, other))
        lows, highs = zip(*(self.tables.counts[place].get(cell, (0, 0)) for cell in chosen))
        row, is_whole = self.count(place, masks, tally, clique)
        return row, sum(lows) if is_whole else None, None if None in highs else sum(highs)

    def narrow(self, ends, variable, value):
        """Set an end of an unknown."""
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
        if not unbounded and room < 0:
            return True
        for variable in unbounded or total if len(unbounded) < 2 else ():
            a, low, high = total[variable], self.low.get(variable, 0), self.high.get(variable)
            if a > 0 and (high is None or low + room // a < high):
                self.narrow(self.high, variable, low + room // a)
            elif a < 0 and (high or 0) - room // -a > low:
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
        is_wanted = words and (not kinds or words[0] in kinds)
        self.at += bool(is_wanted)
        return words if is_wanted else []

    def read(self, words):
        """One line, and those that belong to it."""
        match words:
            case ["recon-proof", "1"]:
                pass
            case ["grain", feature, *masks] if not self.cliques:
                atoms = [self.tables.mask(whole(feature), word) for word in masks]
                values = [value for atom in atoms for value in bits(atom)]
                size = self.tables.sizes[whole(feature)]
                demand(sorted(values) == list(range(size)), "atoms have every value once")
                self.atoms[whole(feature)] = atoms
            case ["clique", *features] if self.scope is None:
                chosen = sorted({whole(feature) for feature in features})
                self.cliques.append(Clique(self.tables, self.atoms, chosen))
            case ["in", *places]:
                self.cliques = self.cliques or [
                    Clique(self.tables, self.atoms, range(len(self.atoms)))
                ]
                chosen = range(len(self.tables.codes)) if places == ["all"] else map(whole, places)
                units = set().union(*(self.tables.units_of[place] for place in chosen))
                self.scope = Scope(self.tables, self.cliques, units)
            case ["p" | "q", *_] if self.scope:
                self.scope.broken = self.step(words) or self.scope.broken
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
                every = [n for n, c in enumerate(self.cliques) if len(c.of_atom) == len(self.atoms)]
                start, kinds = scope.open[whole(unit), every[0]]
                ends = [
                    (scope.low.get(start + k, 0), scope.high.get(start + k)) for k in bits(kinds)
                ]
                is_consistent = whole(unit) in self.consistent and not scope.broken
                return is_consistent and all(low == high for low, high in ends)
            case ["differ", one, other, by, *what]:
                place, *kind = self.predicate(what)
                counts = [
                    sum(
                        n * self.tables.weight(v, *kind)
                        for u, n, v in scope.sets[name][0]
                        if u in self.tables.units_of[place]
                    )
                    for name in (one, other)
                ]
                is_whole = scope.sets[one][1] and scope.sets[other][1]
                return is_whole and abs(counts[0] - counts[1]) >= whole(by)
        raise Refused(f"not understood: {words[0][:40]}")

    def sides(self, bound, what):
        """A count is at most a bound; it is more. Rows, and whether no unit lies outside."""
        row, is_whole = self.scope.count(*self.predicate(what))
        more = {variable: -a for variable, a in row.items()}
        return (row, None, bound), (more, None, -bound - 1), is_whole

    def bound(self, is_least, bound, what):
        """Refute that a count is less, or more."""
        less, more, is_whole = self.sides(bound - is_least, what)
        self.scope.goal = less if is_least else more
        is_proven = (
            (is_least or is_whole) and not self.scope.broken and self.refute(self.scope.goal)
        )
        self.scope.undo(0)
        self.scope.goal = None
        self.scope.branches.clear()
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
        ways = [(s, row) for _, row in terms for s in (1, -1) if row[2 if s > 0 else 1] is not None]
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
        place, is_separator, rest = name.partition("=")
        if is_separator:
            pair, masks = rest.split(":")
            what = whole(place), self.tables.masks(masks.split(",")), None
            one, other = (self.scope.count(*what, whole(clique))[0] for clique in pair.split(","))
            return weight, ({v: one.get(v, 0) - other.get(v, 0) for v in one | other}, 0, 0)
        place, _, rest = name.partition(":")
        cells, _, clique = rest.partition("/")
        table, _, numbers = cells.partition(".")
        at = whole(clique) if clique else None
        return weight, self.scope.cells(whole(place), whole(table), numbers, at)

    def predicate(self, words):
        """Place, masks and tally."""
        if len(words) == 2 and "." in words[1]:
            table, cell = map(whole, words[1].split("."))
            return whole(words[0]), *self.tables.cells[table, cell]
        return whole(words[0]), self.tables.masks(words[1:]), None

    def records(self):
        """Records with all counts of the scope; whether no area of it reaches beyond."""
        tables, units, found, sums, known = self.tables, self.scope.units, [], {}, {}
        while words := self.next("r"):
            unit, times, *values = map(whole, words[1:])
            is_right = unit in units and len(values) == len(tables.sizes)
            is_right &= all(value < size for value, size in zip(values, tables.sizes))
            is_zero = any(tables.weight(values, masks, None) for masks in tables.zeros)
            demand(is_right and not is_zero, f"line {self.at}: no record of a unit in the scope")
            found.append((unit, times, values))
            for place in tables.home[unit]:
                key = tables.pattern_of[place], *values
                if key not in known:
                    weights = [
                        (c, tables.weight(values, *tables.cells[c]))
                        for c in tables.patterns[key[0]]
                    ]
                    known[key] = [(cell, weight) for cell, weight in weights if weight]
                for cell, weight in known[key]:
                    sums[place, cell] = sums.get((place, cell), 0) + times * weight
        demand(self.next("end"), f"line {self.at + 1}: `r` or `end` is expected")
        places = {place for unit in units for place in tables.home[unit]}
        inside = {place for place in places if tables.units_of[place] <= units}
        for place in places:
            for cell in tables.patterns[tables.pattern_of[place]]:
                low, high = tables.counts[place].get(cell, (0, 0))
                count = sums.get((place, cell), 0)
                is_right = (count >= low or place not in inside) and (high is None or count <= high)
                name = f"{tables.codes[place]} {tables.names[cell[0]]} {cell[1]}"
                demand(is_right, f"the records have {count} at {name}")
        self.consistent |= units if inside == places else set()
        return found, inside == places


def compare(tables, path):
    """Rows `geoid, table, cell, count` of the publisher's own file against the tables."""
    place, table = ({n: i for i, n in enumerate(names)} for names in (tables.codes, tables.names))
    with open(path, newline="", encoding="utf-8-sig") as file:
        rows = {
            (place[row["geoid"]], (table[row["table"]], whole(row["cell"]))): row["count"].strip()
            for row in csv.DictReader(file)
        }
    for (at, cell), text in rows.items():
        low, high = tables.counts[at].get(cell, (0, 0))
        is_same = (
            low <= int(text) and (high is None or int(text) <= high) if text.isdigit() else True
        )
        demand(is_same, f"{tables.codes[at]} {tables.names[cell[0]]} {cell[1]} is {text} in {path}")
    said = [
        (at, cell) for at, counts in enumerate(tables.counts) for cell, c in counts.items() if c[0]
    ]
    demand(rows.keys() >= set(said), f"{len(set(said) - rows.keys())} counts are not in {path}")
    return f"{len(rows):,} counts as in {path}"


def main():
    """The command."""
    parser = argparse.ArgumentParser(description="Check a proof about published tables.")
    parser.add_argument("tables")
    parser.add_argument("proof")
    parser.add_argument(
        "--counts", metavar="CSV", help="compare TABLES with geoid,table,cell,count"
    )
    parser.add_argument("-q", "--quiet", action="store_true", help="only what is not proven")
    options, texts = parser.parse_args(), []
    try:
        for path in (options.tables, options.proof, __file__):
            with open(path, "rb") as file:
                texts.append(file.read())
            print(f"SHA-256 {hashlib.sha256(texts[-1]).hexdigest()}  {path}")
        tables = Tables(texts[0].decode().splitlines())
        if options.counts:
            print(located(options.counts, compare, tables, options.counts))
        results = Proof(tables, texts[1].decode().splitlines()).results
    except (Refused, OSError, UnicodeDecodeError, MemoryError) as error:
        print(f"refused: {error}", file=sys.stderr)
        return 2
    for line, words, is_proven in results:
        if not (options.quiet and is_proven):
            print("proven    " if is_proven else "NOT PROVEN", f"line {line}:", words)
    proven = sum(is_proven for *_, is_proven in results)
    counts = sum(len(counts) for counts in tables.counts)
    assumed = f" and {tables.assumed} assumed zeros" if tables.assumed else ""
    print(f"{proven:,} of {len(results):,} statements, from {counts:,} counts{assumed} alone")
    return 0 if proven == len(results) else 1


if __name__ == "__main__":
    sys.exit(main())
