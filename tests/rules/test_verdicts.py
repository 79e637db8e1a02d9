"""`recon check` never says *kept* or *broken* where every solution, enumerated, says otherwise."""

from __future__ import annotations

import itertools
import re
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml
from hypothesis import given

from benchmarks.soundness.releases import NAMES, TinyRelease, make_release
from benchmarks.soundness.words import Possible
from recon_cli.attack.audit.left_out import with_left_out
from recon_cli.errors import ConfigError, ContradictionError, SolverError, SourceError
from recon_cli.rules.counts import Interval, Recovered
from recon_cli.rules.finding import Finding
from recon_cli.rules.people import Categories, CertainRecords, Disclosed, Geography
from recon_cli.rules.section import SUBJECTS, Judged, Rule, verdict_of
from recon_cli.rules.subject import Subject
from recon_cli.schema import load_release
from recon_cli.stages.check import GivenConfig, check
from tests.support.enumeration import Row, published_rows
from tests.support.properties import SEEDS, examples


def judged(proven: int, possible: int = 0, *gaps: str, of: int | None = 10, **limit: float) -> str:
    rule = Rule.model_validate({"certain_records": {}, **(limit or {"most": 0})})
    return Judged(rule, Finding(proven, possible, of, gaps)).verdict


def test_what_reassures_needs_more_proof_than_what_alarms() -> None:
    assert judged(0) == "kept"
    assert judged(1) == "broken"
    assert judged(0, 1) == "undecided"
    assert judged(0, 0, "not asked") == "undecided"
    assert judged(1, 0, "not asked") == "broken"
    assert judged(1, 1, most=2) == "kept"
    assert judged(1, 2, share=0.3) == "kept", "3 of 10, exactly"
    assert judged(1, 3, share=0.3) == "undecided"
    assert judged(4, share=0.3) == "broken"


def test_a_share_of_nobody_knows_how_many_is_only_exceeded_where_nobody_is_allowed() -> None:
    assert judged(9, 0, "not every number", of=None, share=0.3) == "undecided"
    assert judged(1, 0, "not every number", of=None, share=0) == "broken"


def test_all_rules_together_are_as_the_worst() -> None:
    rule = Rule.model_validate({"certain_records": {}, "most": 0})
    kept, broken, undecided = (Judged(rule, Finding(*each)) for each in ((0,), (1,), (0, 1)))
    assert verdict_of([kept, undecided]) == "undecided"
    assert verdict_of([broken, undecided]) == "broken"
    assert verdict_of([kept, kept]) == "kept"


def audited(required: int, *rows: tuple[int, int | None, bool, str]) -> pl.DataFrame:
    columns = ["least", "greatest", "is_exact", "status"]
    frame = pl.DataFrame(rows, schema=columns, orient="row")
    return frame.with_columns(geoid=pl.lit("A"), table=pl.lit("T"), cell=1, required=required)


def test_an_audit_that_ended_early_keeps_no_rule() -> None:
    rows = (
        (2, 2, True, "recovered"),
        (5, 5, True, "recovered"),
        (0, 9, False, "undecided"),
        (4, 9, False, "undecided"),
        (0, None, False, "undecided"),
        (0, 9, False, "safe"),
        (1, 2, True, "narrowed"),
    )
    recovered = Recovered.model_validate({"from": 1, "below": 3}).settled(audited(1, *rows))
    assert (recovered.proven, recovered.possible) == (1, 2)
    assert recovered.tables == {"T": 1}
    narrow = Interval(at_least=2).narrow(audited(1, *rows))
    assert (narrow.proven, narrow.possible) == (3, 4)
    wider = Interval(at_least=2).narrow(audited(2, *rows))
    assert wider.possible == 3, "two solutions two apart are known"


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


def verdicts(tiny: TinyRelease, folder: Path) -> list[Judged]:
    """What the command says of a release; nothing where it is refused."""
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
    try:
        return list(check(GivenConfig(folder / "run.yaml"), 0.0))
    except (ConfigError, SourceError, ContradictionError, SolverError):
        return []


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
            return [self._certain(columns)] * len(self.possible.worlds)
        if isinstance(subject, Geography):
            return [self._certain(self.seen, world, subject.at_least) for world in self._by(())]
        if isinstance(subject, Categories):
            return [self._certain_of(subject.columns[0])] * len(self.possible.worlds)
        if isinstance(subject, Disclosed):
            return self._disclosed(subject)
        assert isinstance(subject, Recovered | Interval)
        return [self._counts(subject)] * len(self.possible.worlds)

    @property
    def seen(self) -> tuple[str, ...]:
        """The columns of the histogram that some published cell tells apart."""
        release = self.tiny.release
        cells = [
            release.table_by_name[name].cells[number - 1]
            for pattern in self.tiny.published.coverage
            for name, numbers in pattern.cells.items()
            for number in numbers
        ]
        known = release.distinguished_by(cells)
        return tuple(n for n in release.histogram if release.feature_index[n] in known)

    def people(self) -> list[int]:
        return [sum(n for _, n in world) for world in self.possible.worlds]

    def _by(self, columns: tuple[str, ...]) -> list[Counter[Any]]:
        return self.possible.by_unit(tuple(map(self.tiny.release.histogram.index, columns)))

    def _certain(
        self, columns: tuple[str, ...], sizes: Counter[Any] | None = None, at_least: int = 0
    ) -> int:
        """Certain records; of units with fewer people, if these are given."""
        least = self._least(columns)
        asked = least if sizes is None else {key for key in least if sizes[key[:1]] < at_least}
        return sum(least[key] for key in asked)

    def _least(self, columns: tuple[str, ...]) -> dict[Any, int]:
        """The people by unit and columns that live in every population."""
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
        columns, worlds = self.seen, self._by(self.seen)
        settled: set[Any] = set()
        for size in range(min(rule.known, len(columns) - 1) + 1):
            for at in itertools.combinations(range(len(columns)), size):
                for group in {self._group(key, at) for world in worlds for key in world}:
                    inside = [
                        {key: n for key, n in world.items() if n and self._group(key, at) == group}
                        for world in worlds
                    ]
                    others = set(range(len(columns))) - set(at)
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


def check_release(tiny: TinyRelease) -> Counter[tuple[str, str]]:
    """Compare each verdict with all that is possible; how often each was said of a subject."""
    said: Counter[tuple[str, str]] = Counter()
    possible = Possible.of(tiny)
    if possible is None or not possible.worlds:
        return said
    truth = Violations(tiny, possible)
    numbers: dict[Any, list[int]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        found = verdicts(tiny, Path(folder))
    for each in found:
        said[each.rule.name, each.verdict] += 1
        subject = each.rule.subject
        key = each.rule.name, subject.model_dump_json()
        violations = numbers[key] = numbers[key] or truth.of(subject)
        limits: list[float] = [
            each.rule.most or 0 if each.rule.share is None else each.rule.share * people
            for people in truth.people()
        ]
        what = each, violations, possible.worlds
        pairs = list(zip(violations, limits, strict=True))
        if not possible.is_complete:  # beside these worlds there are others, which settle less
            continue
        if each.verdict == "kept":
            assert all(n <= limit for n, limit in pairs), what
        if each.verdict == "broken":
            assert all(n > limit for n, limit in pairs), what
        assert each.finding.proven <= min(violations), what
        if not each.finding.gaps:
            assert max(violations) <= each.finding.proven + each.finding.possible, what
    return said


def test_verdicts_agree_with_enumeration() -> None:
    said: Counter[tuple[str, str]] = Counter()
    for number in range(2 * len(NAMES)):
        tiny = make_release(11, number)
        if tiny is not None:
            said += check_release(tiny)
    for name in SUBJECTS:
        assert said[name, "kept"] > 0, said
        assert said[name, "broken"] > 0, said


@examples(4)
@given(seed=SEEDS)
def test_verdicts_agree_with_enumeration_of_any_release(seed: int) -> None:
    tiny = make_release(seed, seed % len(NAMES))
    if tiny is not None:
        check_release(tiny)


@pytest.mark.parametrize(
    ("totals", "message"),
    [
        ("race,hispanic,count\n1,true,5\n", "us.csv: totals: no row for race 2, hispanic True"),
        ("race,count\n1,5\n", "us.csv has no column 'hispanic' (columns: race, count)"),
        ("race,hispanic,count\n1,true,5\n1,maybe,6\n", "us.csv, row 2: a value of the release"),
        (None, "us.csv cannot be read"),
    ],
)
def test_refused_totals(tmp_path: Path, totals: str | None, message: str) -> None:
    release = load_release("sf1_2010")
    if totals is not None:
        (tmp_path / "us.csv").write_text(totals)
    path = tmp_path / "us.csv"
    rule = Categories(columns=("race", "hispanic"), totals=path)
    assert rule.model_dump(mode="json")["totals"] == "us.csv", "no place of a machine"
    records = pl.DataFrame({"race": [2], "hispanic": [True]}, schema_overrides={"race": pl.Int16})
    with pytest.raises(ConfigError, match=re.escape(message)):
        rule.rare(release, records, rule.read_totals(path, release))
