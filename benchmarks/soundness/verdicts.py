"""Verdicts of `recon check` on tiny releases, compared with all that is possible.

A verdict is *false* where it is *kept* and some possible population has more violations than are
allowed, or is *broken* and some has no more; and where tables that nobody can have keep a rule.
Besides what `benchmarks.soundness.releases` draws there are columns of the files that nobody
reads, and counts that contradict each other.
"""

from __future__ import annotations

import itertools
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl
import yaml

from benchmarks.soundness.releases import TinyRelease
from benchmarks.soundness.words import Possible, Word, refused
from recon_cli.capabilities.audit.left_out import with_left_out
from recon_cli.capabilities.check.counts import Interval, Recovered
from recon_cli.capabilities.check.options import Judged
from recon_cli.capabilities.check.people import Categories, CertainRecords, Disclosed, Geography
from recon_cli.capabilities.check.stage import GivenConfig, check
from recon_cli.capabilities.check.subject import Subject
from recon_cli.errors import ReconError, SolverError
from recon_cli.sources.formats.codes import cells_by_code
from tests.support.enumeration import Row, published_rows

#: Subjects that every release is asked about, with as many violations as are allowed.
RULES: list[dict[str, Any]] = [
    *({"recovered": {"from": 1, "below": 3}, "most": most} for most in (0, 4)),
    *({"recovered": {"from": 0, "below": 9, "published": False}, "most": n} for n in (0, 2)),
    *({"interval": {"at_least": width}, "most": n} for width in (1, 2, 3) for n in (0, 4)),
    *({"certain_records": {}, **limit} for limit in ({"most": 0}, {"most": 1}, {"share": 0.5})),
    *({"geography": {"at_least": n}, "most": most} for n in (2, 4) for most in (0, 2)),
    *(
        {"disclosed": {"kind": kind, "known": known}, "most": most}
        for kind in ("attribute", "identity", "inferential")
        for known in (0, 1)
        for most in (0, 2)
    ),
]

#: How often a release is changed in a way.
_PART: Final = 0.3
#: Ends the names of sheets with columns that nobody reads.
_LEFT_OUT: Final = "_characters.csv"


def verdict_words(tiny: TinyRelease) -> Iterator[Word]:
    """Return each verdict on a release, and whether it is true."""
    possible = Possible.of(tiny)
    if possible is None or not possible.is_complete:  # others beside these worlds settle less
        return
    with tempfile.TemporaryDirectory() as folder:
        try:
            found = verdicts(tiny, Path(folder))
        except SolverError:
            yield Word("answer", None)
            return
        except ReconError as error:
            if possible.worlds:
                yield from refused(tiny, error)
            return
    if not possible.worlds:
        for each in found:
            yield Word("contradictory", each.verdict != "kept", each.rule.name)
        return
    is_unread = any(name.endswith(_LEFT_OUT) for name in tiny.files)
    truth, numbers = Violations(tiny, possible), dict[Any, list[int]]()
    for each in found:
        subject = each.rule.subject
        key = each.rule.name, subject.model_dump_json()
        if key not in numbers:
            numbers[key] = truth.of(subject)
        what = f"{each.rule.model_dump(exclude_none=True)}: {each.finding}: {numbers[key]}"
        is_true = truth.agrees(each, numbers[key])
        if is_unread and each.verdict != "kept":
            is_true = None  # what nobody read is withheld there, and published here
        yield Word(f"{each.rule.name}: {each.verdict}", is_true, what)


def change(tiny: TinyRelease, seed: int) -> TinyRelease:
    """Return a release with a count that is wrong, or columns that nobody reads, at random."""
    random = np.random.default_rng(seed)
    if random.random() < _PART:
        tiny = _contradicted(tiny, random)
    has_ends = b"low" in tiny.files["counts.csv"].splitlines()[0]
    if not has_ends and random.random() < _PART:
        tiny = _with_columns_left_out(tiny, random)
    return tiny


def _contradicted(tiny: TinyRelease, random: np.random.Generator) -> TinyRelease:
    """With one exact count more, which need not be possible then."""
    if not tiny.published.is_exact or not tiny.published.counts.height:
        return tiny
    at = int(random.integers(tiny.published.counts.height))
    counts = tiny.published.counts
    more = pl.col("count") + (pl.int_range(pl.len()) == at)
    counts = counts.with_columns(more.cast(counts.schema["count"]))
    rows = pl.read_csv(tiny.files["counts.csv"], infer_schema=False)
    place = counts.row(at, named=True)
    is_it = pl.all_horizontal(pl.col(n) == str(place[n]) for n in ("geoid", "table", "cell"))
    one_more = (pl.col("count").cast(pl.Int64) + 1).cast(pl.String)
    rows = rows.with_columns(count=pl.when(is_it).then(one_more).otherwise("count"))
    files = {**tiny.files, "counts.csv": rows.write_csv().encode()}
    return replace(tiny, published=replace(tiny.published, counts=counts), files=files)


def _with_columns_left_out(tiny: TinyRelease, random: np.random.Generator) -> TinyRelease:
    """Return the counts as a sheet for each level, with columns that the mapping leaves out."""
    run = yaml.safe_load(tiny.files["run.yaml"])
    code_of = {cell: code for code, cell in cells_by_code(tiny.release).items()}
    rows = pl.read_csv(tiny.files["counts.csv"], infer_schema=False)
    codes = [code_of[table, int(cell)] for table, cell in rows.select("table", "cell").iter_rows()]
    rows = rows.with_columns(code=pl.Series(codes, dtype=pl.String))
    gone = {code for code in sorted(set(codes)) if random.random() < _PART}
    if not gone or len(gone) == len(set(codes)):
        return tiny
    files = {name: data for name, data in tiny.files.items() if name != "counts.csv"}
    paths = []
    for digits, part in rows.group_by(pl.col("geoid").str.len_chars(), maintain_order=True):
        sheet = part.pivot("code", index="geoid", values="count").sort("geoid")
        if set(sheet.columns) <= {"geoid", *gone}:
            return tiny
        name = f"{digits[0]}{_LEFT_OUT}"
        files[name] = sheet.write_csv().encode()
        paths.append(name)
    mapping: dict[str, Any] = {"columns": {c: None if c in gone else c for c in sorted(set(codes))}}
    mapping |= {"unpublished": [""], "header": [1]}
    # Of a column that nobody reads nobody knows that it is zero.
    run["ingest"] |= {
        "source": "sheet",
        "paths": paths,
        "mapping": mapping,
        "absent": "unpublished",
    }
    files["run.yaml"] = yaml.safe_dump(run, sort_keys=False).encode()
    return replace(tiny, files=files)


def verdicts(tiny: TinyRelease, folder: Path) -> list[Judged]:
    """Tell what the command says of a release."""
    for name, data in tiny.files.items():
        (folder / name).write_bytes(data)
    rules = [
        *RULES,
        *({"certain_records": {"columns": [name]}, "most": 1} for name in tiny.release.histogram),
    ]
    for name in tiny.release.histogram:
        labels = tiny.release.column_groups(name).labels
        totals = pl.DataFrame(
            {name: list(map(str, labels)), "count": [5, *[50] * (len(labels) - 1)]}
        )
        totals.write_csv(folder / f"{name}.csv")
        about = {"columns": [name], "at_least": 9, "totals": f"{name}.csv"}
        rules += [{"categories": about, "most": most} for most in (0, 2)]
    shown = sorted({name for pattern in tiny.published.coverage for name in pattern.cells})
    run = yaml.safe_load(tiny.files["run.yaml"]) | {"check": {"rules": rules, "tables": shown}}
    (folder / "run.yaml").write_text(yaml.safe_dump(run))
    return list(check(GivenConfig(folder / "run.yaml"), 0.0))


@dataclass(frozen=True)
class Violations:
    """How many violations of a rule there are in each possible population, by plain search."""

    tiny: TinyRelease
    possible: Possible
    least: dict[tuple[str, ...], dict[Any, int]] = field(default_factory=dict)

    def of(self, subject: Subject) -> list[int]:
        """One number a population."""
        if isinstance(subject, CertainRecords):
            columns = subject.columns or self.seen
            return [self._certain(columns) if columns else 0] * len(self.possible.worlds)
        if isinstance(subject, Geography) and not self.seen:
            return [0] * len(self.possible.worlds)
        if isinstance(subject, Geography):
            return [self._certain(self.seen, world, subject.at_least) for world in self._by(())]
        if isinstance(subject, Categories):
            return [self._certain_of(subject.columns[0])] * len(self.possible.worlds)
        if isinstance(subject, Disclosed):
            return self._disclosed(subject)
        if isinstance(subject, Recovered | Interval):
            return [self._counts(subject)] * len(self.possible.worlds)
        raise TypeError(f"no search for violations of {type(subject).__name__}")

    def agrees(self, judged: Judged, violations: list[int]) -> bool | None:
        """Test whether a verdict, and what it says is proven, is true of every population."""
        rule, found = judged.rule, judged.finding
        limits = [
            (rule.most or 0) if rule.share is None else rule.share * people
            for people in self.people()
        ]
        pairs = list(zip(violations, limits, strict=True))
        if found.proven > min(violations):
            return False
        if not found.gaps and max(violations) > found.proven + found.possible:
            return False
        if judged.verdict == "kept":
            return all(n <= limit for n, limit in pairs)
        if judged.verdict == "broken":
            return all(n > limit for n, limit in pairs)
        return None

    @property
    def seen(self) -> tuple[str, ...]:
        """Return the columns of the histogram that some published cell tells apart."""
        release = self.tiny.release
        cells = [
            release.table_by_name[name].cells[number - 1]
            for pattern in self.tiny.published.coverage
            for name, numbers in pattern.cells.items()
            for number in numbers
        ]
        known = release.distinguished_by(cells)
        of = {name: release.column_groups(name).feature for name in release.histogram}
        return tuple(n for n in release.histogram if release.feature_index[of[n]] in known)

    @property
    def asked(self) -> tuple[str, ...]:
        """These, and every value of their features: what somebody may know or learn."""
        features = [self.tiny.release.column_groups(name).feature for name in self.seen]
        return tuple(dict.fromkeys((*self.seen, *features)))

    def people(self) -> list[int]:
        """Count how many there are in each population."""
        return [sum(n for _, n in world) for world in self.possible.worlds]

    def _by(self, columns: tuple[str, ...]) -> list[Counter[Any]]:
        return self.possible.by_unit(columns)

    def _labels(self, column: str) -> Mapping[Any, Any]:
        """Value of the feature → label of the column."""
        release, groups = self.tiny.release, self.tiny.release.column_groups(column)
        values = release.features[release.feature_index[groups.feature]].values
        return {
            value: label
            for label, mask in zip(groups.labels, groups.masks, strict=True)
            for at, value in enumerate(values)
            if mask >> at & 1
        }

    def _is_defined(self, known: tuple[str, ...], group: tuple[Any, ...], other: str) -> bool:
        """Test whether what is known says by definition what another column is."""
        feature = self.tiny.release.column_groups(other).feature
        return any(
            len({self._labels(other)[v] for v, own in self._labels(name).items() if own == label})
            == 1
            for name, label in zip(known, group, strict=True)
            if self.tiny.release.column_groups(name).feature == feature
        )

    def _certain(
        self, columns: tuple[str, ...], sizes: Counter[Any] | None = None, at_least: int = 0
    ) -> int:
        """Certain records; of units with fewer people, if these are given."""
        least = self._least(columns)
        asked = least if sizes is None else {key for key in least if sizes[key[:1]] < at_least}
        return sum(least[key] for key in asked)

    def _least(self, columns: tuple[str, ...]) -> dict[Any, int]:
        """Return the people by unit and columns that live in every population."""
        if columns not in self.least:
            groups = self._by(columns)
            keys = {key for each in groups for key in each}
            self.least[columns] = {key: min(each[key] for each in groups) for key in keys}
        return self.least[columns]

    def _certain_of(self, column: str) -> int:
        """Certain records with the first value of a column; its totals say that few have it."""
        if column not in self.seen:
            return 0
        at = 1 + self.seen.index(column)
        first = self.tiny.release.column_groups(column).labels[0]
        return sum(n for key, n in self._least(self.seen).items() if key[at] == first)

    def _disclosed(self, rule: Disclosed) -> list[int]:
        """People in groups of which one value is known, whatever population is true."""
        columns, worlds = self.asked, self._by(self.asked)
        settled: set[Any] = set()
        for size in range(min(rule.known, len(columns) - 1) + 1):
            for at in itertools.combinations(range(len(columns)), size):
                known = tuple(columns[i] for i in at)
                for group in {self._group(key, at) for world in worlds for key in world}:
                    inside = [
                        {key: n for key, n in world.items() if n and self._group(key, at) == group}
                        for world in worlds
                    ]
                    others = [
                        other
                        for other in range(len(columns))
                        if other not in at
                        and not self._is_defined(known, group[1:], columns[other])
                    ]
                    if any(self._is_settled(rule.kind, inside, other + 1) for other in others):
                        settled.add((at, group))
        return [
            sum(n for key, n in world.items() if any(self._group(key, a) == g for a, g in settled))
            for world in worlds
        ]

    @staticmethod
    def _group(key: tuple[Any, ...], at: tuple[int, ...]) -> tuple[Any, ...]:
        return (key[0], *(key[1 + i] for i in at))

    @staticmethod
    def _is_settled(kind: str, inside: list[dict[Any, int]], at: int) -> bool:
        values = {key[at] for each in inside for key in each}
        if kind == "attribute":
            return len(values) == 1
        sizes = {sum(each.values()) for each in inside}
        if len(sizes) > 1 or sizes == {0} or (kind == "identity" and sizes != {1}):
            return False
        least = max(
            min(sum(n for key, n in each.items() if key[at] == value) for each in inside)
            for value in values
        )
        return least >= (1 if kind == "identity" else 0.8) * max(sizes) - 1e-9

    def _counts(self, rule: Recovered | Interval) -> int:
        ends = [(row, self._ends(row)) for row in self._asked()]
        if isinstance(rule, Interval):
            return sum(high - low < rule.at_least for _, (low, high) in ends)
        found = sum(low == high and rule.from_ <= low < rule.below for _, (low, high) in ends)
        if rule.published:
            shown = [row for row in self.possible.rows if row.low == row.high and row.cell[0]]
            found += sum(max(rule.from_, 1) <= row.low < rule.below for row in shown)
        return found

    def _ends(self, row: Row) -> tuple[int, int]:
        counts = [self.possible.count(row, world) for world in self.possible.worlds]
        return min(counts), max(counts)

    def _asked(self) -> Iterator[Row]:
        """Withheld counts, and those that are left out where others of their table are not."""
        whole = with_left_out(self.tiny.release, self.tiny.published)
        rows = published_rows(
            self.tiny.release, whole, self.tiny.release.tables, self.possible.domain
        )
        return (row for row in rows if row.low < row.high)
