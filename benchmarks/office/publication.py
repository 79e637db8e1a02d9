"""Made-up offices and what they publish: schools in districts, wards of a hospital.

Counts come from a histogram of every unit, cell by cell of the schema, so that the tables of
districts add up. Stars follow a rule that is in use: counts below five, and where one part of a
sum is starred alone, the smallest other part, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import numpy as np
import polars as pl

from recon_cli.arrays import BoolArray, FloatArray, IntArray
from recon_cli.capabilities.tabulate.statistics import print_statistics
from recon_cli.schema import Release, bits, parse_release

#: Counts below are starred, zeros aside.
BELOW: Final = 5
#: Counts are rounded to its multiples.
BASE: Final = 3
#: Pupils in the mean of a kind of school, and how common the kind is.
_SCHOOLS: Final = ((18, 35, 60, 90, 140, 220), (0.1, 0.15, 0.2, 0.2, 0.2, 0.15))

Law = Literal["stars", "rounded", "exact"]


@dataclass(frozen=True)
class PublishedTable:
    """One table.

    Attributes:
        name: In the schema.
        cells: As the schema writes them.
        groups: Lengths of its runs of cells, each a sum and then its parts.
    """

    name: str
    cells: str
    groups: tuple[int, ...]


@dataclass(frozen=True)
class PrintedShare:
    """Percentages of people with one value of a feature.

    Attributes:
        name: In the schema.
        cells: Of whom, as the schema writes them.
        of: The value, as the schema writes it.
    """

    name: str
    cells: str
    of: str


@dataclass(frozen=True)
class Office:
    """What an office counts, and how it publishes.

    Attributes:
        name: Of the release.
        features: Feature → its values.
        tables: Published for all levels.
        units: Number of units.
        in_district: Units of one district; 0: there are no districts.
        seed: Of its people.
        law: Of its counts.
        is_national: Whether sums of all districts are published.
        shares: Percentages that are printed beside counts, for all levels.
    """

    name: str
    features: dict[str, tuple[str, ...]]
    tables: tuple[PublishedTable, ...]
    units: int
    in_district: int
    seed: int
    law: Law
    is_national: bool = True
    shares: tuple[PrintedShare, ...] = ()

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of values of each feature."""
        return tuple(len(values) for values in self.features.values())

    @property
    def levels(self) -> dict[str, int]:
        """Level → digits of its geoids, finest first."""
        if not self.in_district:
            return {"unit": 4, "all": 1}
        first = 1 + self._district_digits
        return {"unit": first + 3, "district": first, "all": 1}

    @property
    def _district_digits(self) -> int:
        return 4 if self.units > 100 * self.in_district else 2

    @property
    def published(self) -> tuple[str, ...]:
        """The levels with tables, finest first."""
        levels = tuple(self.levels)
        return levels if self.is_national else levels[:-1]

    @property
    def geoids(self) -> tuple[str, ...]:
        """Of the units."""
        if not self.in_district:
            return tuple(f"W{unit:03}" for unit in range(self.units))
        places = (divmod(unit, self.in_district) for unit in range(self.units))
        digits = self._district_digits
        return tuple(f"W{district:0{digits}}{unit:03}" for district, unit in places)

    def schema(self) -> str:
        """The schema as YAML."""
        features = "".join(
            f"  {name}: {{categories: [{', '.join(values)}]}}\n"
            for name, values in self.features.items()
        )
        levels = ", ".join(f"{{level: {n}, digits: {d}}}" for n, d in self.levels.items())
        names = ", ".join(self.features)
        printed = [(table.name, table.cells, "{}") for table in self.tables]
        printed += [(e.name, e.cells, f"{{statistic: {{share: {e.of}}}}}") for e in self.shares]
        tables = "".join(
            f"  - levels: [{', '.join(self.published)}]\n    cells: {cells}\n"
            f"    tables: {{{name}: {of}}}\n"
            for name, cells, of in printed
        )
        return (
            f"release: {self.name}\nrecord: person\ntitle: A made-up office\n"
            f"features:\n{features}geography:\n  levels: [{levels}]\n"
            f"  partition: {self.published[-1]}\n"
            f"microdata: [{names}]\nhistogram: [{names}]\nfamilies:\n{tables}"
        )

    def release(self) -> Release:
        """The schema, read."""
        return parse_release(self.schema(), source=self.name)


_SEX = ("girls", "boys")
_PUPIL = {
    "sex": _SEX,
    "year": ("y7", "y8", "y9", "y10", "y11"),
    "meals": ("free", "paid"),
    "ethnic": ("white", "asian", "black", "mixed", "others"),
    "support": ("none", "some", "plan"),
}
_TWO_WAY = (
    PublishedTable("T1", "[total, {by: year}, {by: sex, cells: [total, {by: year}]}]", (6,) * 3),
    PublishedTable(
        "T2",
        "[total, {by: ethnic}, {where: {meals: free}, cells: [total, {by: ethnic}]}]",
        (6,) * 2,
    ),
    PublishedTable(
        "T3", "[total, {by: support}, {by: sex, cells: [total, {by: support}]}]", (4,) * 3
    ),
    PublishedTable(
        "T4", "[total, {by: ethnic}, {by: sex, cells: [total, {by: ethnic}]}]", (6,) * 3
    ),
)
_THREE_WAY = (
    PublishedTable(
        "T5", "[total, {by: year}, {where: {meals: free}, cells: [total, {by: year}]}]", (6,) * 2
    ),
    PublishedTable(
        "T6",
        "[total, {by: sex, cells: [{by: year, cells: [total, {by: support}]}]}]",
        (1, *(4,) * 10),
    ),
)
_PATIENT = {
    "sex": ("female", "male"),
    "age": ("a0", "a18", "a45", "a65", "a80", "a90"),
    "outcome": ("home", "care", "moved", "rehab", "left", "died"),
}
_WARDS = (
    PublishedTable("W1", "[total, {by: age}, {by: sex, cells: [total, {by: age}]}]", (7,) * 3),
    PublishedTable(
        "W2", "[total, {by: outcome}, {by: sex, cells: [total, {by: outcome}]}]", (7,) * 3
    ),
    PublishedTable(
        "W3", "[total, {by: outcome}, {by: age, cells: [total, {by: outcome}]}]", (7,) * 7
    ),
)

#: Percentages of pupils with free meals, and with a plan of support, to print beside counts.
SHARES: Final = (
    PrintedShare("P1", "[total, {by: ethnic}]", "{meals: free}"),
    PrintedShare("P2", "[total, {by: sex}]", "{support: plan}"),
)
#: Sixty schools, four two-way tables.
SCHOOLS = Office("schools", _PUPIL, _TWO_WAY, 60, 10, seed=75, law="stars")
#: The same, rounded.
ROUNDED = Office("schools", _PUPIL, _TWO_WAY, 60, 10, seed=75, law="rounded")
#: Six hundred schools, six tables, one of three features.
COUNTY = Office("county", _PUPIL, (*_TWO_WAY, *_THREE_WAY), 600, 20, seed=5, law="stars")
#: Forty wards; each pair of the three features has a table, so that one clique holds all.
WARDS = Office("wards", _PATIENT, _WARDS, 40, 0, seed=3, law="rounded")


def histograms(office: Office) -> IntArray:
    """(units × histogram cells): made-up people."""
    rng = np.random.default_rng(office.seed)
    people = _pupils if "meals" in office.features else _patients
    return np.stack([people(rng) for _ in range(office.units)])


def _pupils(rng: np.random.Generator) -> IntArray:
    """A school: few ethnic groups beside a large one, support for more boys than girls."""
    sizes, shares = _SCHOOLS
    number = int(rng.choice(sizes, p=shares) * rng.uniform(0.8, 1.2))
    ethnic = rng.dirichlet([12, 2, 1.2, 1, 0.5])
    girls = rng.uniform(0.4, 0.6)
    free = rng.beta(2, 7) * np.array([1, 1.6, 1.6, 1.6, 1.6])
    free = np.stack([np.minimum(free, 1), 1 - np.minimum(free, 1)])
    support = np.array([[0.82, 0.14, 0.04], [0.74, 0.2, 0.06]])
    sex = np.array([girls, 1 - girls])
    share = np.einsum("x,y,fe,e,xq->xyfeq", sex, np.full(5, 0.2), free, ethnic, support)
    return _drawn(rng, number, share)


def _patients(rng: np.random.Generator) -> IntArray:
    """A ward: what becomes of a patient depends on the age."""
    number = int(rng.uniform(40, 160))
    age = rng.dirichlet([1, 3, 4, 5, 3, 1])
    outcome = rng.dirichlet([9, 3, 2, 2, 1, 1], size=6)
    share = np.einsum("x,a,ao->xao", np.full(2, 0.5), age, outcome)
    return _drawn(rng, number, share)


def _drawn(rng: np.random.Generator, number: int, share: FloatArray) -> IntArray:
    drawn: IntArray = rng.multinomial(number, share.ravel() / share.sum()).astype(np.int64)
    return drawn


def exact_counts(office: Office, people: IntArray) -> pl.DataFrame:
    """All counts of all geounits, zeros included: ``geoid, table, cell, count``."""
    release = office.release()
    inside = np.stack(
        [
            _members(office.sizes, cell.masks)
            for table in office.tables
            for cell in release.table_by_name[table.name].cells
        ]
    )
    names = [
        (table.name, cell.number)
        for table in office.tables
        for cell in release.table_by_name[table.name].cells
    ]
    frames = []
    for digits in (office.levels[level] for level in office.published):
        places, at = np.unique([geoid[:digits] for geoid in office.geoids], return_inverse=True)
        sums = np.zeros((len(places), people.shape[1]), dtype=np.int64)
        np.add.at(sums, at, people)
        counts = sums @ inside.T
        frames.append(
            pl.DataFrame(
                {
                    "geoid": np.repeat(places, len(names)),
                    "table": [table for table, _ in names] * len(places),
                    "cell": [cell for _, cell in names] * len(places),
                    "count": counts.ravel(),
                }
            )
        )
    return pl.concat(frames)


def _members(sizes: Sequence[int], masks: Sequence[int]) -> IntArray:
    """For each histogram cell whether a predicate holds."""
    inside = np.ones((), dtype=np.int64)
    for size, mask in zip(sizes, masks, strict=True):
        values = np.isin(np.arange(size), list(bits(mask))).astype(np.int64)
        inside = np.multiply.outer(inside, values)
    return inside.ravel()


def records(office: Office, people: IntArray) -> pl.DataFrame:
    """A row per person, with the unit."""
    unit, cell = np.nonzero(people)
    copies = people[unit, cell]
    values = np.unravel_index(np.repeat(cell, copies), office.sizes)
    named = {
        name: np.array(words)[at]
        for (name, words), at in zip(office.features.items(), values, strict=True)
    }
    return pl.DataFrame({"geoid_unit": np.array(office.geoids)[np.repeat(unit, copies)], **named})


def stars(office: Office, counts: IntArray) -> BoolArray:
    """Which counts are starred, of all cells of one geounit after the other."""
    width = sum(sum(table.groups) for table in office.tables)
    table = counts.reshape(-1, width)
    starred: BoolArray = (table > 0) & (table < BELOW)
    for group in _groups(office):
        total, parts = group[0], group[1:]
        alone = (starred[:, parts].sum(axis=1) == 1) & ~starred[:, total]
        others = np.where(starred[:, parts] | (table[:, parts] == 0), np.inf, table[:, parts])
        alone &= np.isfinite(others).any(axis=1)
        place = np.flatnonzero(alone)
        starred[place, parts[others[place].argmin(axis=1)]] = True
    return starred.ravel()


def _groups(office: Office) -> Iterator[IntArray]:
    """The cells of each sum and its parts."""
    first = 0
    for length in (n for table in office.tables for n in table.groups):
        if length > 1:
            yield np.arange(first, first + length)
        first += length


def rounded(office: Office, counts: IntArray) -> IntArray:
    """Unbiased random rounding, each count by itself."""
    rest = counts % BASE
    up = np.random.default_rng(office.seed).random(len(counts)) * BASE < rest
    result: IntArray = counts - rest + BASE * up
    return result


def write(office: Office, folder: Path) -> dict[str, int]:
    """Write a run: schema, tidy counts, the law, the same counts exactly, and whom they count.

    Returns:
        How many ``people``, ``counts`` and ``protected`` counts there are.
    """
    folder.mkdir(parents=True, exist_ok=True)
    people = histograms(office)
    frame = exact_counts(office, people)
    counts = frame["count"].to_numpy()
    protected = np.zeros(len(counts), dtype=bool)
    published = pl.Series("count", counts).cast(pl.String)
    law = "statements: []\n"
    if office.law == "stars":
        protected = stars(office, counts)
        published = published.set(pl.Series(protected), "c")
        law = (
            f"statements:\n  - {{markers: [c], law: {{suppressed: {{below: {BELOW}, "
            "complementary: true}}}\n"
        )
    elif office.law == "rounded":
        protected[:] = True
        published = pl.Series("count", rounded(office, counts)).cast(pl.String)
        law = f"statements:\n  - {{law: {{rounded: {{base: {BASE}}}}}}}\n"
    frame.write_csv(folder / "exact.csv")
    records(office, people).write_csv(folder / "records.csv")
    shares = print_statistics(office.release(), records(office, people), None, 0)
    shares = shares.rename({"text": "count"}).cast({"cell": frame["cell"].dtype})
    pl.concat([frame.with_columns(published), shares]).write_csv(folder / "counts.csv")
    frame.select("geoid").unique(maintain_order=True).write_csv(folder / "geounits.csv")
    if office.shares:
        names = ", ".join(share.name for share in office.shares)
        law += f"  - {{tables: [{names}], law: {{printed: {{ties: half_up}}}}}}\n"
    (folder / "schema.yaml").write_text(office.schema())
    (folder / "protection.yaml").write_text(law)
    (folder / "recon.yaml").write_text(
        "release: schema.yaml\nwork: work\n"
        "ingest: {source: tidy, paths: [counts.csv], protection: protection.yaml, "
        "geounits: geounits.csv}\naudit:\n"
    )
    return {
        "people": int(people.sum()),
        "counts": len(counts),
        "protected": int(protected.sum()),
    }
