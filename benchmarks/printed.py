"""Audits with printed statistics against enumeration: ``python -m benchmarks.printed``.

Makes this many tiny random releases: two wards of a city, each of up to five people by sex, age and
condition, counts below 4 starred, zeros too; and beside them percentages, ratios, means, medians,
modes and extremes, rounded by one of five rules, and some of them withheld. Every least and
greatest count that the audit tells is compared with every population that prints the same. With
``--proofs`` what it tells is proven, too, and each line that the checker accepts compared; with
``--people`` claims, intervals, solvar and reconstructed records. Ends with 1 if something is false,
not accepted, or refused.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import ceil, floor
from typing import Any, Final

import numpy as np
import polars as pl

from recon_cli import api, reconcheck
from recon_cli.arrays import BoolArray
from recon_cli.ask.quarantine import NO_QUARANTINE
from recon_cli.ask.question import RegionData
from recon_cli.capabilities.prove.question import ProofQuestion
from recon_cli.capabilities.prove.statements import Found
from recon_cli.errors import ReconError
from recon_cli.progress import ignore_progress
from recon_cli.publication import Publication
from recon_cli.schema.load import parse_release
from recon_cli.statement import Protection, Statement, parse_law

AGES: Final = (0, 1, 3)
_SCHEMA: Final = """
release: wards
title: Tiny wards with printed statistics
features:
  sex: {categories: [female, male]}
  age: {categories: [a0, a1, a3]}
  ill: {categories: [false, true]}
geography: {levels: [{level: ward, digits: 3}, {level: city, digits: 1}], partition: city}
microdata: [sex, age, ill]
histogram: [sex, age, ill]
families:
  - levels: [ward, city]
    cells: [total]
    tables: {ALL: {}}
  - levels: [ward, city]
    cells: [{by: sex}, {by: ill}]
    tables: {COUNT: {}}
  - levels: [ward]
    cells: [{by: sex, cells: [{by: ill}]}]
    tables: {CROSS: {}}
  - levels: [ward, city]
    cells: [total, {by: sex}, {where: {ill: true}}]
    tables:
      MEAN: {statistic: {mean: age, values: VALUES}}
      LEAST: {statistic: {minimum: age, values: VALUES}}
      MOST: {statistic: {maximum: age, values: VALUES}}
      MODE: {statistic: {mode: age, values: VALUES}}
      MEDIAN: {statistic: {median: age, values: VALUES, definition: middle}}
      PERCENT: {statistic: {share: {ill: true}}}
  - levels: [ward, city]
    cells: [total, {by: ill}]
    tables: {RATIO: {statistic: {ratio: {sex: female}, to: {sex: male}}}}
""".replace("VALUES", "{a0: 0, a1: 1, a3: 3}")
RELEASE: Final = parse_release(_SCHEMA, source="benchmarks.printed")
#: Sex, age and condition of each histogram cell.
CELLS: Final = np.array(list(itertools.product(range(2), range(3), range(2))))
UNIT_CELLS: Final = np.eye(len(CELLS), dtype=int).tolist()
#: Percentages of solvar are written with four places.
_ROUNDED: Final = 1e-3
_RULES: Final = ("half_up", "half_even", "down", "up", "unknown")
_BELOW: Final = 4
_COUNTS: Final = frozenset(table.name for table in RELEASE.tables)


@cache
def members(table: str, number: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return the histogram cells of a cell of a table."""
    of = {table.name: table for table in (*RELEASE.tables, *RELEASE.statistics)}[table]
    masks = of.cells[number - 1].masks
    return np.array([all(masks[f] >> v & 1 for f, v in enumerate(cell)) for cell in CELLS])


@cache
def printed(table: str, number: int, people: tuple[int, ...], rule: str) -> frozenset[str]:
    """Return all texts that a place with these people may print; none without a base."""
    inside = members(table, number)
    here = [
        (n, *cell) for n, cell, is_in in zip(people, CELLS.tolist(), inside, strict=True) if is_in
    ]
    ages = sorted(AGES[age] for n, _, age, _ in here for _ in range(n))
    if table == "RATIO":
        men = sum(n for n, sex, _, _ in here if sex == 1)
        women = sum(n for n, sex, _, _ in here if sex == 0)
        return rounded(Fraction(women, men), 2, rule) if men else frozenset()
    if not ages:
        return frozenset()
    ill = sum(n for n, _, _, is_ill in here if is_ill)
    quotients = {
        "PERCENT": (Fraction(100 * ill, len(ages)), 0),
        "MEAN": (Fraction(sum(ages), len(ages)), 1),
        "MEDIAN": (Fraction(statistics.median(ages)), 1),
    }
    if table in quotients:
        return rounded(*quotients[table], rule)
    if table == "MODE":
        return frozenset(map(str, statistics.multimode(ages)))
    return frozenset({str(ages[0] if table == "LEAST" else ages[-1])})


def rounded(value: Fraction, decimals: int, rule: str) -> frozenset[str]:
    """Return all texts of a number, by a rule of ties."""
    scaled = value * 10**decimals
    low = floor(scaled)
    if rule == "down":
        digits = {low}
    elif rule == "up":
        digits = {ceil(scaled)}
    elif scaled - low == Fraction(1, 2):
        even = low + low % 2
        digits = {"half_up": {low + 1}, "half_even": {even}}.get(rule, {low, low + 1})
    else:
        digits = {floor(scaled + Fraction(1, 2))}
    texts = (str(each).rjust(decimals + 1, "0") for each in digits)
    return frozenset(f"{t[:-decimals]}.{t[-decimals:]}" if decimals else t for t in texts)


@dataclass(frozen=True)
class Tiny:
    """A random release.

    Attributes:
        rows: Geoid, table, cell and text of all that is published.
        rule: How ties are rounded.
    """

    rows: list[tuple[str, str, int, str]]
    rule: str

    def publication(self) -> Publication:
        """Read it as a tidy file."""
        names = tuple(table.name for table in RELEASE.statistics)
        statements = (
            Statement(parse_law("exact"), ("ALL",)),
            Statement(
                parse_law({"suppressed": {"below": _BELOW, "flagged": "may-be-zero"}}),
                ("COUNT", "CROSS"),
            ),
            Statement(parse_law("withheld"), names, markers=("*",)),
            Statement(parse_law({"printed": {"ties": self.rule}}), names),
        )
        frame = pl.DataFrame(
            self.rows, schema=["geoid", "table", "cell", "count"], orient="row"
        ).with_columns(pl.col("cell").cast(pl.Int64))
        return api.publish(RELEASE, frame, protection=Protection(statements))


def make_release(seed: int) -> Tiny:
    """Draw a release."""
    random = np.random.default_rng(seed)
    rule = _RULES[seed % len(_RULES)]
    even = np.full(len(CELLS), 1 / len(CELLS))
    wards = [random.multinomial(random.integers(0, 6), even) for _ in range(2)]
    used = [table.name for table in RELEASE.statistics if random.random() < 0.5]
    people = {"C01": wards[0], "C02": wards[1], "C": wards[0] + wards[1]}
    levels = dict.fromkeys(people, "ward") | {"C": "city"}
    rows = []
    for geoid, x in people.items():
        for table in RELEASE.tables:
            for cell in table.cells if levels[geoid] in table.levels else ():
                count = int(x[members(table.name, cell.number)].sum())
                is_withheld = table.name != "ALL" and count < _BELOW
                rows.append((geoid, table.name, cell.number, "*" if is_withheld else str(count)))
        for name in used:
            for number in range(1, 1 + len(RELEASE.statistic_by_name[name].cells)):
                texts = sorted(printed(name, number, tuple(x.tolist()), rule))
                if texts and random.random() < 0.8:
                    text = "*" if random.random() < 0.1 else texts[random.integers(len(texts))]
                    rows.append((geoid, name, number, text))
    return Tiny(rows, rule)


@cache
def populations(people: int) -> tuple[tuple[int, ...], ...]:
    """Every histogram of this many people."""
    found = []
    for chosen in itertools.combinations_with_replacement(range(len(CELLS)), people):
        histogram = [0] * len(CELLS)
        for cell in chosen:
            histogram[cell] += 1
        found.append(tuple(histogram))
    return tuple(found)


def fits(tiny: Tiny, geoid: str, x: tuple[int, ...]) -> bool:
    """Test whether a place with these people may have published what it did."""
    for place, table, number, text in tiny.rows:
        if place != geoid:
            continue
        if table in _COUNTS:
            count = count_of(table, number, x)
            if not ((count < _BELOW) if text == "*" else count == int(text)):
                return False
        elif text != "*" and text not in printed(table, number, x, tiny.rule):
            return False
    return True


def count_of(table: str, number: int, x: Sequence[int]) -> int:
    """Return the count of a cell of a table."""
    return int(np.array(x)[members(table, number)].sum())


def solutions(tiny: Tiny) -> list[dict[str, tuple[int, ...]]]:
    """Return all people of all places that would have published the same."""
    totals = {place: int(text) for place, table, _, text in tiny.rows if table == "ALL"}
    wards = [
        [x for x in populations(totals[place]) if fits(tiny, place, x)] for place in ("C01", "C02")
    ]
    is_right: dict[tuple[int, ...], bool] = {}
    found = []
    for one, two in itertools.product(*wards):
        both = tuple(a + b for a, b in zip(one, two, strict=True))
        if both not in is_right:
            is_right[both] = fits(tiny, "C", both)
        if is_right[both]:
            found.append({"C01": one, "C02": two, "C": both})
    return found


def judge(tiny: Tiny) -> Counter[str]:
    """Compare what the audit tells of a release with all its solutions."""
    audited = api.audit_counts(RELEASE, tiny.publication())
    known = solutions(tiny)
    found = Counter({"releases": 1, "ends": 2 * audited.height})
    for row in audited.iter_rows(named=True):
        values = {count_of(row["table"], row["cell"], each[row["geoid"]]) for each in known}
        least, greatest = min(values), max(values)
        exact = (row["least"], row["greatest"]) == (least, greatest)
        is_false = row["least"] > least or row["greatest"] < greatest
        is_false |= row["is_exact"] and not exact
        is_false |= row["status"] == "safe" and greatest - least < row["required"]
        found["false"] += is_false
        found["exact"] += exact
        found["recovered"] += row["status"] == "recovered"
        found["recovered by counts"] += row["least_without"] == row["greatest_without"]
        found["undecided"] += row["status"] == "undecided"
    return found


def proven(tiny: Tiny) -> Counter[str]:
    """Prove what the audit tells of a release, and compare accepted lines with all solutions."""
    given = tiny.publication()
    made = api.reconstruct(RELEASE, given)
    found = Found(blocks=made.blocks, audit=api.audit_counts(RELEASE, given))
    options = {"what": ("unique", "audit"), "seconds": 10.0, "seed": 1}
    question = ProofQuestion.of(
        RELEASE, RELEASE.tables, given.coverage, options, is_exact=False, read_found=lambda _: found
    )
    missing = pl.Series("geoid", [], dtype=pl.String)
    part = RegionData(given, microdata=made.microdata, missing=missing)
    frames = question.ask(part, ignore_progress, NO_QUARANTINE).frames
    total, known = Counter[str](frames["proofs"]["status"].to_list()), solutions(tiny)
    total["statements"] = frames["proofs"].height
    for _, text, proof in frames["proof_texts"].iter_rows():
        tables: Any = reconcheck.Tables(text.splitlines())
        for _, line, is_proven in reconcheck.Proof(tables, proof.splitlines()).results:
            total["not proven"] += not is_proven
            word, *words = line.split()
            if word in {"least", "most"} and is_proven:
                bound, place, (table, cell) = int(words[0]), int(words[1]), words[2].split(".")
                at = tables.names[int(table)], int(cell)
                here = list(tables.places)[place]
                values = [count_of(*at, each[here]) for each in known]
                total["false"] += min(values) < bound if word == "least" else max(values) > bound
    return total


def people_told(tiny: Tiny) -> Counter[str]:
    """Compare claims, intervals and solvar of a release with all its solutions."""
    given, known, place = tiny.publication(), solutions(tiny), RELEASE.geoid_column
    records = api.reconstruct(RELEASE, given).microdata
    people = {ward: np.array([each[ward] for each in known]) for ward in known[0]}
    found = Counter({"reconstructed": 1, "false": int(not are_a_solution(records, known))})
    claimed = api.find_claims(RELEASE, given, records, absent=True, at_most=True)
    found["claims"] = claimed.claims.height
    for row in claimed.claims.iter_rows(named=True):
        values = people[row[place]][:, cells_like(row)].sum(axis=1)
        least, most = values.min(), values.max()
        found["false"] += row["count"] > least or (row["exact"] and most > row["count"])
        found["false"] += row["at_most"] is not None and row["at_most"] < most
    measured = api.measure_variability(RELEASE, given, records, mode="exact")
    for row in measured.intervals.iter_rows(named=True):
        values = people[row[place]][:, cells_like(row)].sum(axis=1)
        least, most = values.min(), values.max()
        is_exact = (row["lower"], row["upper"]) == (least, most)
        found.update({"intervals": 1, "exact intervals": is_exact})
        found["false"] += row["lower"] > least or row["upper"] < most
        found["false"] += row["exact"] and not is_exact
    for row in measured.units.filter(pl.col("population") > 0).iter_rows(named=True):
        here = records.filter(pl.col(place) == row[place])
        if any(here[feature.name].null_count() for feature in RELEASE.features):
            continue  # nothing is printed that tells ages apart, of which solvar assumes any
        own = [sum(number_like(each, x) for each in here.iter_rows(named=True)) for x in UNIT_CELLS]
        lost = np.maximum(own - people[row[place]], 0).sum(axis=1)
        percent = 100 * lost.max() / sum(own)
        found["solvar"] += 1
        found["false"] += row["solvar_upper_pct"] < percent - _ROUNDED
        found["false"] += row["solvar_pct"] > percent + _ROUNDED
    return found


def are_a_solution(records: pl.DataFrame, known: Sequence[Mapping[str, tuple[int, ...]]]) -> bool:
    """Test whether records are those of a solution, with any value for one that is not told."""
    names = [feature.name for feature in RELEASE.features]
    rows = records.group_by(RELEASE.geoid_column, *names).len().rows(named=True)
    place = pl.col(RELEASE.geoid_column)
    people = {ward: records.filter(place == ward).height for ward in ("C01", "C02")}
    return any(
        all(number_like(row, each[row[RELEASE.geoid_column]]) == row["len"] for row in rows)
        and all(sum(each[ward]) == number for ward, number in people.items())
        for each in known
    )


def cells_like(row: Mapping[str, Any]) -> BoolArray:
    """Return which cells of a histogram have the values of a row; null is any."""
    fit = np.ones(len(CELLS), dtype=np.bool_)
    for at, feature in enumerate(RELEASE.features):
        if row[feature.name] is not None:
            fit &= CELLS[:, at] == feature.position[row[feature.name]]
    return fit


def number_like(row: Mapping[str, Any], people: Sequence[int]) -> int:
    """Return how many people of a histogram have the values of a row; null is any."""
    return int(np.array(people)[cells_like(row)].sum())


def main() -> None:
    """Print what the audits told of all releases.

    Raises:
        SystemExit: Something was false, or refused.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--releases", type=int, default=500)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--people", action="store_true", help="find claims, and measure solvar")
    parser.add_argument("--proofs", action="store_true", help="prove what the audits tell")
    options = parser.parse_args()
    total, started = Counter({"false": 0, "refused": 0, "undecided": 0}), time.process_time()
    for seed in range(options.first, options.first + options.releases):
        try:
            tiny = make_release(seed)
            total.update(judge(tiny))
            if options.people:
                total.update(people_told(tiny))
            if options.proofs:
                total.update(proven(tiny))
        except ReconError as error:
            total["refused"] += 1
            sys.stdout.write(f"release {seed}: {error}\n")
    for name, number in total.items():
        sys.stdout.write(f"{name:22}{number:8,}\n")
    sys.stdout.write(f"CPU seconds           {time.process_time() - started:8.0f}\n")
    sys.exit(1 if total["false"] or total["refused"] or total["not proven"] else 0)


if __name__ == "__main__":
    main()
