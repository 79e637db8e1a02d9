"""`recon check` never says *kept* or *broken* where every solution, enumerated, says otherwise."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from recon_cli.config.sections.check import Rule
from recon_cli.evaluate.check import Finding, Judged, find_narrow, find_recovered, verdict_of
from recon_cli.schema import Release, load_release
from recon_cli.stages.check import GivenConfig, check
from recon_cli.store import read_published
from tests.support.enumeration import Solution, all_records, histogram, published_rows, solutions


def judged(proven: int, possible: int = 0, *gaps: str, **limit: float) -> Judged:
    rule = Rule.model_validate({"certain_records": {}, **(limit or {"most": 0})})
    return Judged(rule, Finding(proven, possible, 10, gaps))


def test_what_reassures_needs_more_proof_than_what_alarms() -> None:
    assert judged(0).verdict == "kept"
    assert judged(1).verdict == "broken"
    assert judged(0, 1).verdict == "undecided"
    assert judged(0, 0, "not asked").verdict == "undecided"
    assert judged(1, 0, "not asked").verdict == "broken"
    assert judged(1, 1, most=2).verdict == "kept"
    assert judged(1, 2, share=0.3).verdict == "kept", "3 of 10, exactly"
    assert judged(1, 3, share=0.3).verdict == "undecided"
    assert judged(4, share=0.3).verdict == "broken"
    assert verdict_of([judged(0), judged(0, 1)]) == "undecided"
    assert verdict_of([judged(1), judged(0, 1)]) == "broken"
    assert verdict_of([judged(0), judged(0)]) == "kept"


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
    recovered = find_recovered(audited(1, *rows), 1, 3)
    assert (recovered.proven, recovered.possible) == (1, 2)
    narrow = find_narrow(audited(1, *rows), 2)
    assert (narrow.proven, narrow.possible) == (3, 4)
    assert find_narrow(audited(2, *rows), 2).possible == 3, "two solutions two apart are known"


SCHEMA = """\
release: wards
title: Plots in wards
features:
  sex: {categories: [women, men]}
  old: {categories: [false, true]}
geography: {levels: [{level: plot, digits: 4}, {level: ward, digits: 3}], partition: ward}
microdata: [sex, old]
histogram: [sex, old]
families:
  - {levels: [LEVELS], cells: [total, {by: sex}], tables: {S: {}}}
  - {levels: [plot], cells: [{by: old}], tables: {O: {}}}
"""


def write_release(folder: Path, seed: int, *, suppress: bool, wards: bool) -> GivenConfig:
    """A tiny ward of two plots, whose counts of 1 and 2 may be withheld."""
    chance = np.random.default_rng(seed)
    people = Counter(
        (f"A10{chance.integers(1, 3)}", int(chance.integers(2)), int(chance.integers(2)))
        for _ in range(int(chance.integers(3, 8)))
    )
    lines = ["geoid,table,cell,count"]
    for place in ("A101", "A102", *(["A10"] if wards else [])):
        here = {key: n for key, n in people.items() if key[0].startswith(place)}
        cells = {("S", 1): sum(here.values())}
        for value in (0, 1):
            cells["S", 2 + value] = sum(n for key, n in here.items() if key[1] == value)
            if place != "A10":
                cells["O", 1 + value] = sum(n for key, n in here.items() if key[2] == value)
        for (table, cell), n in cells.items():
            is_withheld = suppress and cell != 1 and 0 < n < 3
            lines.append(f"{place},{table},{cell},{'*' if is_withheld else n}")
    (folder / "wards.yaml").write_text(SCHEMA.replace("LEVELS", "plot, ward" if wards else "plot"))
    (folder / "counts.csv").write_text("\n".join(lines) + "\n")
    if suppress:
        law = "statements:\n  - {markers: ['*'], law: {suppressed: {below: 3}}}\n"
        (folder / "protection.yaml").write_text(law)
    rules = [
        {"recovered": {"from": 1, "below": 3, "published": False}, "most": 0},
        {"interval": {"at_least": 1}, "most": 0},
        {"recovered": {"from": 1, "below": 3, "published": False}, "most": 4},
        {"interval": {"at_least": 2}, "most": 6},
        {"certain_records": {}, "most": 0},
        {"certain_records": {"columns": ["sex"]}, "most": 0},
        {"disclosed": {"kind": "attribute", "known": 0}, "most": 0},
        {"disclosed": {"kind": "attribute", "known": 1}, "most": 0},
        {"disclosed": {"kind": "identity", "known": 1}, "most": 0},
        {"certain_records": {}, "most": 2},
        {"certain_records": {"columns": ["sex"]}, "most": 4},
    ]
    (folder / "run.yaml").write_text(
        "release: wards.yaml\nwork: work\nworkers: 1\n"
        f"ingest: {{source: tidy, paths: [counts.csv]}}\ncheck: {{rules: {rules}}}\n"
    )
    return GivenConfig(folder / "run.yaml")


def violations(release: Release, folder: Path, rule: Rule) -> int:
    """Counted over all solutions."""
    published = read_published(folder / "work", release, "A10")
    every = solutions(release, published, release.tables)
    if rule.certain_records is not None:
        columns = rule.certain_records.columns or release.histogram
        chosen = [release.histogram.index(name) for name in columns]
        groups = [grouped(histogram(release, each), chosen) for each in every]
        return sum(min(each[key] for each in groups) for key in set().union(*groups))
    if rule.disclosed is not None:
        singled = rule.disclosed.kind == "identity"
        return disclosed(release, every, rule.disclosed.known, singled=singled)
    domain = all_records(release, published)
    widths = []
    for row in published_rows(release, published, release.tables, domain):
        if row.low < row.high:
            sums = {
                sum(row.weights.get(domain.index(record), 0) * n for record, n in each)
                for each in every
            }
            widths.append((min(sums), max(sums)))
    if rule.interval is not None:
        return sum(high - low < rule.interval.at_least for low, high in widths)
    return sum(low == high and 1 <= low < 3 for low, high in widths)


def grouped(counts: Counter[Any], chosen: list[int]) -> Counter[Any]:
    """People by unit and some columns."""
    found: Counter[Any] = Counter()
    for (unit, labels), n in counts.items():
        found[unit, tuple(labels[at] for at in chosen)] += n
    return found


def disclosed(release: Release, every: set[Solution], known: int, *, singled: bool) -> int:
    """The least number of people in groups, all of one size, that are alike on another column."""
    counts = [histogram(release, each) for each in every]
    columns = range(len(release.histogram))
    kinds = set().union(*counts)
    groups = []
    for size in range(known + 1):
        for chosen in itertools.combinations(columns, size):
            for unit, labels in {(u, tuple(v[at] for at in chosen)) for u, v in kinds}:
                sizes = {grouped(each, list(chosen))[unit, labels] for each in counts}
                if len(sizes) > 1 or sizes == {0} or (singled and sizes != {1}):
                    continue
                people = next(iter(sizes))
                for other in set(columns) - set(chosen):
                    finer = [grouped(each, [*chosen, other]) for each in counts]
                    values = {key for each in finer for key in each}
                    if any(
                        min(each[v] for each in finer) == people
                        and v[0] == unit
                        and v[1][:-1] == labels
                        for v in values
                    ):
                        groups.append((unit, chosen, labels))
    return min(
        sum(
            n
            for (unit, values), n in each.items()
            if any(
                u == unit and tuple(values[at] for at in chosen) == labels
                for u, chosen, labels in groups
            )
        )
        for each in counts
    )


@pytest.mark.parametrize(
    ("suppress", "wards"), [(False, False), (True, False), (True, True), (False, True)]
)
def test_verdicts_agree_with_enumeration(tmp_path: Path, *, suppress: bool, wards: bool) -> None:
    verdicts: Counter[str] = Counter()
    for seed in range(5):
        folder = tmp_path / str(seed)
        folder.mkdir()
        given = write_release(folder, seed, suppress=suppress, wards=wards)
        release = load_release(str(folder / "wards.yaml"))
        for each in check(given):
            truth = violations(release, folder, each.rule)
            assert each.rule.most is not None
            if each.verdict == "kept":
                assert truth <= each.rule.most, (seed, each, truth)
            if each.verdict == "broken":
                assert truth > each.rule.most, (seed, each, truth)
            assert each.finding.proven <= truth, (seed, each, truth)
            if not each.finding.gaps:
                assert truth <= each.finding.proven + each.finding.possible, (seed, each, truth)
            verdicts[each.verdict] += 1
    assert verdicts["kept"] > 0
    assert verdicts["broken"] > 0
