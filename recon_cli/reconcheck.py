#!/usr/bin/env python3
"""Check what a proof says of published tables: reconcheck.py TABLES PROOF.

One file of the standard library (Python 3.10), to be read in one sitting. What must be trusted is
that TABLES says what was published (--counts compares it with the office's own file), this file,
and Python. PROOF is not trusted: a line that proves nothing is refused by its number.

TABLES  feature NAME SIZE | options FEATURE N… | table NAME | cell TABLE NUMBER MASK… [tally FEATURE]
        zero MASK… [assumed] | pattern TABLE:CELLS… | area LEVEL CODE PATTERN
        unit LEVEL CODE PATTERN AREA… | count PLACE TABLE CELL LOW [HIGH|inf]
Features, tables, patterns and places (areas, units) are numbered from 0 in their order. A mask is a
hexadecimal number, a bit for each value of the feature; * is all. A cell counts the records whose
values lie in its masks, a tally what `options` says of them; an area's is the sum over the units
that name it. `zero`: no such record exists. A published cell without a line `count` is 0.

PROOF   grain FEATURE MASK…       atoms, all that is told apart of a feature; else every value
        clique FEATURE…           unknowns are counts by these features; else by all
        in PLACE… | in all        a scope: the units of these places; every scope begins anew
        p TERM… | q TERM…         added rows narrow bounds; q: each row by itself, both ways
        least N F | most N F      F is at least, at most N; p, q, if follow that refute the contrary
        if N F                    two refutations follow: where F <= N, then where F > N
        set NAME                  records `r UNIT NUMBER VALUE…` with all counts, until `end`
        unique UNIT               one set of records is possible, as far as the grain tells apart
        differ SET SET N F        two sets of records differ by at least N in F
        contradiction             no records have the counts of the scope
F is PLACE MASK… or PLACE TABLE.CELL. TERM is [WEIGHT*]PLACE:TABLE.CELLS[/CLIQUE]; or, what two cliques
say alike, [WEIGHT*]PLACE=CLIQUE,CLIQUE:MASK,…; #N, what statement N proved; ^N, the N-th `if` above;
goal, the contrary. -* is -1. CELLS, as 3-5,7, are added; they differ in one feature, and are disjoint.

The one rule: rows with weights are added to a sum of a*x <= R. With m the least that bounds allow the
sum, R < m is a contradiction; else x <= low + (R - m) // a, and for a < 0 x >= high - (R - m) // -a.
"""

import argparse
import csv
import hashlib
import sys

MOST_KINDS, MOST_WORK, MOST_DIGITS, MOST_DEPTH = 200_000, 2_000_000_000, 30, 200


class Refused(Exception):
    """What is wrong with a line."""


def demand(is_right, why):
    """Refuse what is not right."""
    if not is_right:
        raise Refused(why)


def whole(text, least=0):
    """A whole number of at least `least`."""
    demand(text.removeprefix("-").isdecimal() and text.isascii(), f"{text[:40]!r} is no number")
    demand(len(text) <= MOST_DIGITS and int(text) >= least, f"{text[:40]} is out of range")
    return int(text)


def runs(text):
    """`3-5,7` as 3, 4, 5, 7."""
    ends = [(part.partition("-")[0], part.rpartition("-")[2]) for part in text.split(",")]
    demand(all(whole(b) - whole(a) < MOST_KINDS for a, b in ends), "too many cells")
    return [n for a, b in ends for n in range(whole(a, 1), whole(b) + 1)]


def bits(number):
    """Places of the bits that are set."""
    while number:
        yield (number & -number).bit_length() - 1
        number &= number - 1


class Tables:
    """What was published. Places are numbers, cells are (table, number)."""

    def __init__(self, lines):
        self.sizes, self.options, self.tables, self.cells, self.zeros = [], {}, [], {}, []
        self.patterns, self.codes, self.pattern_of = [], [], []
        self.areas_of, self.units_of, self.counts, self.assumed = [], [], [], 0
        for at, line in enumerate(lines, 1):
            if words := line.split():
                located(f"tables, line {at}", self.read, words)

    def read(self, words):
        """One line."""
        match words:
            case ["recon-tables", "1"]:
                pass
            case ["feature", _, size] if not self.cells and not self.zeros:
                demand(whole(size, 1) <= MOST_KINDS, "too many values")
                self.sizes.append(whole(size))
            case ["options", feature, *numbers]:
                demand(len(numbers) == self.sizes[whole(feature)], "a number for every value")
                self.options[whole(feature)] = [whole(number) for number in numbers]
            case ["table", name]:
                self.tables.append(name)
            case ["cell", table, number, *masks]:
                tally = whole(masks[-1]) if masks[-2:-1] == ["tally"] else None
                demand(tally is None or tally in self.options, "a tally needs `options`")
                key = whole(table), whole(number, 1)
                demand(key[0] < len(self.tables) and key not in self.cells, "no table, or twice")
                self.cells[key] = self.masks(masks if tally is None else masks[:-2]), tally
            case ["zero", *masks, "assumed"]:
                self.zeros.append(self.masks(masks))
                self.assumed += 1
            case ["zero", *masks]:
                self.zeros.append(self.masks(masks))
            case ["pattern", *parts]:
                pairs = [part.split(":") for part in parts]
                cells = {(whole(table), cell) for table, numbers in pairs for cell in runs(numbers)}
                demand(cells <= self.cells.keys(), "a cell without a line `cell`")
                self.patterns.append(cells)
            case ["area", _, code, pattern]:
                self.place(code, pattern, [])
            case ["unit", _, code, pattern, *areas]:
                inside = [whole(area) for area in areas]
                demand(len(set(inside)) == len(inside), "an area named twice")
                demand(all(self.areas_of[area] is None for area in inside), "not an area")
                self.place(code, pattern, inside)
                self.areas_of[-1] = (len(self.codes) - 1, *inside)
                for place in self.areas_of[-1]:
                    self.units_of[place].append(len(self.codes) - 1)
            case ["count", place, table, number, low, *rest] if len(rest) < 2:
                at, cell, high = whole(place), (whole(table), whole(number, 1)), (rest or [low])[0]
                demand(cell in self.patterns[self.pattern_of[at]], "this cell is not published")
                demand(cell not in self.counts[at], "this count has a line already")
                high = None if high == "inf" else whole(high, whole(low))
                self.counts[at][cell] = whole(low), high
            case _:
                raise Refused(f"not understood: {words[0][:40]}")

    def place(self, code, pattern, _):
        """Number an area or a unit."""
        demand(whole(pattern) < len(self.patterns), "no such pattern")
        self.codes.append(code)
        self.pattern_of.append(whole(pattern))
        self.areas_of.append(None)
        self.units_of.append([])
        self.counts.append({})

    def masks(self, words):
        """A mask of each feature."""
        demand(len(words) == len(self.sizes), f"{len(self.sizes)} masks are expected")
        return tuple(self.mask(f, word) for f, word in enumerate(words))

    def mask(self, feature, word):
        """One mask; `*` is all values."""
        every = (1 << self.sizes[feature]) - 1
        demand(word == "*" or set(word) <= set("0123456789abcdef"), f"{word[:40]!r} is no mask")
        found = every if word == "*" else int(word, 16)
        demand(0 < found <= every, f"{word[:40]!r} is no mask of {self.sizes[feature]} values")
        return found

    def published(self, place):
        """Cells of a place with their intervals; the upper end is None where it is open."""
        counts = self.counts[place]
        return ((c, counts.get(c, (0, 0))) for c in self.patterns[self.pattern_of[place]])


class Clique:
    """Kinds of records by some features, an atom of each; a set of kinds is a number's bits."""

    def __init__(self, tables, atoms, features):
        self.tables, self.atoms, self.features, self.size = tables, atoms, features, 1
        self.known, self.of_atom, self.of_pattern = {}, {}, {}
        for feature in features:
            stride, self.size = self.size, self.size * len(atoms[feature])
            demand(self.size <= MOST_KINDS, f"more than {MOST_KINDS:,} kinds of records")
            self.of_atom[feature] = stride
        for feature, stride in self.of_atom.items():
            period = stride * len(atoms[feature])
            repeat = sum(1 << start for start in range(0, self.size, period))
            runs_of = [((1 << stride) - 1) << stride * a for a in range(len(atoms[feature]))]
            self.of_atom[feature] = [run * repeat for run in runs_of]

    def kinds(self, masks, tally=None):
        """The kinds that a predicate counts, as (weight, set); None where it splits some."""
        if (masks, tally) not in self.known:
            self.known[masks, tally] = self.find_kinds(masks, tally)
        return self.known[masks, tally]

    def find_kinds(self, masks, tally):
        """The same, unless it is known."""
        found = (1 << self.size) - 1
        for feature, (wanted, size) in enumerate(zip(masks, self.tables.sizes)):
            if feature not in self.of_atom:
                if wanted != (1 << size) - 1 or tally == feature:
                    return None
                continue
            if any(0 != atom & wanted != atom for atom in self.atoms[feature]):
                return None
            pairs = zip(self.atoms[feature], self.of_atom[feature])
            found &= sum(kinds for atom, kinds in pairs if atom & wanted)
        if tally is None:
            return [(1, found)]
        weighted, options = [], self.tables.options[tally]
        for atom, kinds in zip(self.atoms[tally], self.of_atom[tally]):
            weights = {options[value] for value in bits(atom & masks[tally])}
            if len(weights) > 1:
                return None
            weighted += [(weight, kinds & found) for weight in weights if weight]
        return weighted

    def ruled_out(self, place):
        """The kinds that some published zero of a place counts."""
        pattern, found = self.tables.pattern_of[place], 0
        if pattern not in self.of_pattern:
            cells = self.tables.patterns[pattern]
            each = [(c, k) for c in cells for _, k in self.kinds(*self.tables.cells[c]) or () if k]
            self.of_pattern[pattern] = sorted(each, key=lambda pair: -pair[1].bit_count())
        counts = self.tables.counts[place]
        for cell, kinds in self.of_pattern[pattern]:
            if kinds & ~found and counts.get(cell, (0, 0))[1] == 0:
                found |= kinds
        return found


class Scope:
    """Bounds on the counts of each kind in each unit of some places; they only narrow."""

    def __init__(self, tables, cliques, units):
        self.tables, self.cliques, self.units, self.open = tables, cliques, set(units), {}
        self.low, self.high, self.trail, self.rows, self.work = {}, {}, [], {}, 0
        self.broken, self.sets, self.branches, self.goal, start = False, {}, [], None, 0
        for at, clique in enumerate(cliques):
            zeros = [kinds for masks in tables.zeros for _, kinds in clique.kinds(masks) or ()]
            out = {p: clique.ruled_out(p) for unit in units for p in tables.areas_of[unit]}
            for unit in units:
                kinds = (1 << clique.size) - 1
                for closed in (*zeros, *(out[place] for place in tables.areas_of[unit])):
                    kinds &= ~closed
                self.open[unit, at], start = (start, kinds), start + clique.size

    def count(self, place, masks, tally=None, clique=None):
        """Coefficients of a predicate's count over the scope; whether no unit lies outside."""
        chosen = range(len(self.cliques)) if clique is None else [clique]
        found = ((at, self.cliques[at].kinds(masks, tally)) for at in chosen)
        at, weighted = next((pair for pair in found if pair[1] is not None), (0, None))
        demand(weighted is not None, "the grain and the cliques do not tell this apart")
        row, units = {}, self.tables.units_of[place]
        for start, kinds in (self.open[unit, at] for unit in units if unit in self.units):
            row |= {start + k: weight for weight, some in weighted for k in bits(some & kinds)}
        self.spend(len(row) + len(units))
        return row, self.units.issuperset(units)

    def spend(self, work):
        """Bound the time that a proof may take."""
        self.work += work
        demand(self.work <= MOST_WORK, "the proof takes too long")

    def cells(self, place, table, numbers, clique):
        """Coefficients and interval of published cells that are one predicate together."""
        key = place, table, numbers, clique
        if key not in self.rows:
            chosen = [(table, cell) for cell in runs(numbers)]
            published = self.tables.patterns[self.tables.pattern_of[place]]
            demand(published.issuperset(chosen), "a cell that is not published here")
            masks, tally = self.tables.cells[chosen[0]]
            for other, of in (self.tables.cells[cell] for cell in chosen[1:]):
                apart = [(a, b) for a, b in zip(masks, other) if a != b]
                is_one = len(apart) == 1 and not apart[0][0] & apart[0][1] and of == tally
                demand(is_one, "cells of a term differ in one feature, and are disjoint")
                masks = tuple(a | b for a, b in zip(masks, other))
            ends = [self.tables.counts[place].get(cell, (0, 0)) for cell in chosen]
            row, is_whole = self.count(place, masks, tally, clique)
            high = None if any(high is None for _, high in ends) else sum(high for _, high in ends)
            self.rows[key] = row, sum(low for low, _ in ends) if is_whole else None, high
        return self.rows[key]

    def narrow(self, ends, variable, value):
        """Set an end of a variable; `undo` takes back all since a mark."""
        self.trail.append((ends, variable, ends.get(variable)))
        ends[variable] = value

    def undo(self, mark):
        """Bounds as they were."""
        while len(self.trail) > mark:
            ends, variable, value = self.trail.pop()
            ends[variable] = value
            if value is None:
                del ends[variable]

    def add(self, terms):
        """The one rule; says whether the rows contradict each other."""
        total, room = {}, 0
        for weight, (row, low, high) in terms:
            end = high if weight > 0 else low
            demand(weight and end is not None, "the row has no such end, or units lie outside")
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
        for variable, a in total.items() if not unbounded else [(v, total[v]) for v in unbounded]:
            low, high = self.low.get(variable, 0), self.high.get(variable)
            if a > 0 and (high is None or low + room // a < high):
                self.narrow(self.high, variable, low + room // a)
            elif a < 0 and len(unbounded) < 2 and (high or 0) - room // -a > low:
                self.narrow(self.low, variable, (high or 0) - room // -a)
        return False


class Proof:
    """A proof, read line by line."""

    def __init__(self, tables, lines):
        self.tables, self.lines, self.at, self.scope = tables, lines, 0, None
        self.atoms = [[1 << value for value in range(size)] for size in tables.sizes]
        self.cliques, self.facts, self.consistent, self.results = [], [], set(), []

    def next(self, *kinds):
        """The words of the next line, if it is of these kinds; else none."""
        while self.at < len(self.lines) and not self.lines[self.at].strip():
            self.at += 1
        words = self.lines[self.at].split() if self.at < len(self.lines) else []
        if not words or (kinds and words[0] not in kinds):
            return []
        self.at += 1
        return words

    def read(self):
        """Everything."""
        while words := self.next():
            located(f"proof, line {self.at}", self.line, words)

    def line(self, words):
        """One line, and those that belong to it."""
        match words:
            case ["recon-proof", "1"]:
                pass
            case ["grain", feature, *masks] if self.scope is None:
                atoms = [self.tables.mask(whole(feature), word) for word in masks]
                size = self.tables.sizes[whole(feature)]
                is_partition = sum(atoms) == (1 << size) - 1 == sum({1 << v for a in atoms for v in bits(a)})
                demand(is_partition and sum(a.bit_count() for a in atoms) == size, "no partition")
                self.atoms[whole(feature)] = atoms
            case ["clique", *features] if self.scope is None:
                chosen = sorted({whole(f) for f in features})
                self.cliques.append(Clique(self.tables, self.atoms, chosen))
            case ["in", *places]:
                if not self.cliques:
                    every = list(range(len(self.atoms)))
                    self.cliques = [Clique(self.tables, self.atoms, every)]
                numbers = range(len(self.tables.codes)) if places == ["all"] else map(whole, places)
                units = {unit for place in numbers for unit in self.tables.units_of[place]}
                self.scope = Scope(self.tables, self.cliques, sorted(units))
            case ["p" | "q", *_] if self.scope:
                self.scope.broken = self.step(words) or self.scope.broken
                self.scope.trail.clear()
            case ["set", name] if self.scope:
                self.scope.sets[name] = self.records()
            case [_, *_] if self.scope:
                line, is_proven = self.at, self.statement(words)
                self.results.append((is_proven, line, " ".join(words)))
            case _:
                raise Refused(f"not understood here: {words[0][:40]}")

    def statement(self, words):
        """Whether a statement is proven."""
        scope = self.scope
        match words:
            case ["least" | "most", bound, *what]:
                return self.bound(words[0] == "least", whole(bound), what)
            case ["contradiction"]:
                return scope.broken
            case ["unique", unit]:
                joint = [n for n, c in enumerate(self.cliques) if len(c.features) == len(self.atoms)]
                start, kinds = scope.open[whole(unit), joint[0]]
                ends = ((scope.low.get(v, 0), scope.high.get(v)) for v in (start + k for k in bits(kinds)))
                is_shown = whole(unit) in self.consistent and not scope.broken
                return is_shown and all(low == high for low, high in ends)
            case ["differ", one, other, by, *what]:
                totals = [self.total(scope.sets[name][0], what) for name in (one, other)]
                is_shown = scope.sets[one][1] and scope.sets[other][1]
                return is_shown and abs(totals[0] - totals[1]) >= whole(by)
        raise Refused(f"not understood: {words[0][:40]}")

    def bound(self, is_least, bound, what):
        """Refute that the count is less, or more."""
        row, is_whole = self.scope.count(*self.predicate(what))
        contrary = {variable: -a for variable, a in row.items()}
        self.scope.goal = (row, None, bound - 1) if is_least else (contrary, None, -bound - 1)
        is_proven = (is_least or is_whole) and not self.scope.broken and self.refute(self.scope.goal)
        self.scope.undo(0)
        self.scope.goal = None
        while not is_proven and self.next("p", "q", "if"):
            pass
        self.facts.append((is_least, bound, what) if is_proven else None)
        return is_proven

    def refute(self, row):
        """Add a row, and what follows until there is a contradiction."""
        if self.scope.add([(1, row)]):
            return True
        while words := self.next("p", "q"):
            if self.step(words):
                return True
        words, branches = self.next("if"), self.scope.branches
        if not words:
            return False
        demand(len(branches) < MOST_DEPTH, "too many `if` in each other")
        count, is_whole = self.scope.count(*self.predicate(words[2:]))
        demand(is_whole, "`if` asks of units outside")
        contrary = {variable: -a for variable, a in count.items()}
        for row in ((count, None, whole(words[1])), (contrary, None, -whole(words[1]) - 1)):
            branches.append(row)
            mark = len(self.scope.trail)
            is_refuted = self.refute(row)
            self.scope.undo(mark)
            branches.pop()
            if not is_refuted:
                return False
        return True

    def step(self, words):
        """A line p or q; says whether it contradicts."""
        terms = [self.term(word) for word in words[1:]]
        if words[0] == "p":
            return self.scope.add(terms)
        ways = ((1, row) if sign > 0 else (-1, row) for _, row in terms for sign in (1, -1)
                if row[2 if sign > 0 else 1] is not None)
        return any(self.scope.add([way]) for way in ways)

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
            is_least, bound, what = self.facts[whole(name[1:])]
            row, is_whole = self.scope.count(*self.predicate(what))
            ends = (bound if is_whole else None, None) if is_least else (None, bound)
            return weight, (row, *ends)
        if "=" in name:
            place, _, rest = name.partition("=")
            pair, _, words = rest.partition(":")
            masks = self.tables.masks(words.split(","))
            one, other = (self.scope.count(whole(place), masks, None, whole(k))[0] for k in pair.split(","))
            return weight, ({v: one.get(v, 0) - other.get(v, 0) for v in one | other}, 0, 0)
        place, _, rest = name.partition(":")
        cells, _, clique = rest.partition("/")
        table, _, numbers = cells.partition(".")
        at = whole(clique) if clique else None
        return weight, self.scope.cells(whole(place), whole(table), numbers, at)

    def predicate(self, words):
        """Place, masks and tally."""
        if len(words) == 2 and "." in words[1]:
            table, _, cell = words[1].partition(".")
            return whole(words[0]), *self.tables.cells[whole(table), whole(cell)]
        return whole(words[0]), self.tables.masks(words[1:]), None

    def records(self):
        """Records, whose every count in the scope is as published; whether no area lies beyond."""
        tables, found, sums, seen, is_whole = self.tables, [], {}, {}, True
        while (words := self.next("r")):
            unit, times, values = whole(words[1]), whole(words[2]), tuple(map(whole, words[3:]))
            is_right = len(values) == len(tables.sizes) and unit in self.scope.units
            is_right = is_right and all(v < n for v, n in zip(values, tables.sizes))
            demand(is_right, f"line {self.at}: no record of a unit in the scope")
            is_zero = any(all(m >> v & 1 for m, v in zip(z, values)) for z in tables.zeros)
            demand(not is_zero, f"line {self.at}: a record that cannot be")
            found.append((unit, times, values))
            for place in tables.areas_of[unit]:
                key = tables.pattern_of[place], values
                if key not in seen:
                    cells = ((c, tables.cells[c]) for c in tables.patterns[key[0]])
                    weights = [(c, self.weight(values, *what)) for c, what in cells]
                    seen[key] = [(c, w) for c, w in weights if w]
                for cell, weight in seen[key]:
                    sums[place, cell] = sums.get((place, cell), 0) + times * weight
        demand(self.next("end"), f"line {self.at + 1}: `r` or `end` is expected")
        for place in {place for unit in self.scope.units for place in tables.areas_of[unit]}:
            is_inside = self.scope.units.issuperset(tables.units_of[place])
            is_whole = is_whole and is_inside
            for cell, (low, high) in tables.published(place):
                count = sums.get((place, cell), 0)
                is_right = (count >= low or not is_inside) and (high is None or count <= high)
                name = f"{tables.codes[place]} {tables.tables[cell[0]]} {cell[1]}"
                demand(is_right, f"the records have {count} at {name}")
        self.consistent |= self.scope.units if is_whole else set()
        return found, is_whole

    def weight(self, values, masks, tally):
        """What one record adds to a cell."""
        is_counted = all(m >> v & 1 for m, v in zip(masks, values))
        return is_counted * (1 if tally is None else self.tables.options[tally][values[tally]])

    def total(self, records, what):
        """What records add to a count."""
        place, masks, tally = self.predicate(what)
        units = set(self.tables.units_of[place])
        return sum(n * self.weight(v, masks, tally) for unit, n, v in records if unit in units)


def located(where, function, *words):
    """Call a function; whatever it cannot use is refused with its place."""
    try:
        return function(*words)
    except Refused as why:
        raise SystemExit(f"{where}: {why}") from None
    except (IndexError, KeyError, ValueError, TypeError, RecursionError, MemoryError):
        raise SystemExit(f"{where}: not understood") from None
