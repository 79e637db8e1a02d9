"""What an attacker links on changes no count: stages that do not read it stay as they are."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl

from recon_cli.schema import load_release
from recon_cli.schema.load import parse_release
from tests.support.command_line import recon
from tests.support.populations import random_records, random_units

_ATTACK = "attack: {exact: [sex, age], binned: [sex, half], gains: [payer]}\n"
_SCHEMA = """\
release: stays
title: Stays
features: {sex: {categories: [f, m]}, age: {range: 0..3}, payer: {categories: [public, private]}}
recodes: {half: {of: age, edges: [0, 2]}}
geography: {levels: [{level: clinic, digits: 2}, {level: region, digits: 1}], partition: region}
microdata: [sex, age, half, payer]
histogram: [sex, half, payer]
families:
  - levels: [clinic, region]
    cells: [total, {by: sex, cells: [total, {by: half}]}, {by: payer}]
    tables: {STAYS: {}}
"""
_RUN = """\
release: stays.yaml
work: work
seed: 1
workers: 1
tabulate: {records: stays.csv, to: counts.csv}
ingest: {source: tidy, paths: [counts.csv]}
audit:
reconstruct:
solvar:
claims:
leave_one_out: {records: stays.csv, gains: [payer]}
report:
"""
_LINKED = (
    "link: {cef: stays.csv, id: person, attackers: {LIST: stays.csv}}\nscore: {bootstrap: 5}\n"
)


def _stale(config: Path) -> list[str]:
    lines = recon("status", "-c", config).stdout.splitlines()
    words = [line.split() for line in lines if line.startswith("  ") and line[2] != " "]
    return [each[0] for each in words if each[1] != "done"]


def _made(folder: Path) -> dict[str, pl.DataFrame]:
    found = sorted((folder / "work").rglob("*.parquet"))
    return {str(path.relative_to(folder)): pl.read_parquet(path) for path in found}


def test_attack_added_to_a_schema_runs_only_what_reads_it(tmp_path: Path) -> None:
    """And it makes what a run makes that has had it from the start."""
    release = parse_release(_SCHEMA, source="stays")
    people = random_records(release, 3, 30, random_units(release, 3, 4))
    for name, schema, run in (
        ("late", _SCHEMA, _RUN),
        ("early", _ATTACK + _SCHEMA, _RUN + _LINKED),
    ):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "stays.yaml").write_text(schema)
        (folder / "recon.yaml").write_text(run)
        people.with_row_index("person").write_csv(folder / "stays.csv")
        recon("run", "-q", "-c", folder / "recon.yaml")
    late, early = tmp_path / "late", tmp_path / "early"
    assert _stale(late / "recon.yaml") == []
    (late / "stays.yaml").write_text(f"{_SCHEMA}\n# who looks for whom\n{_ATTACK}")
    assert _stale(late / "recon.yaml") == ["solvar", "report"]  # people alone on binned columns
    (late / "recon.yaml").write_text(_RUN + _LINKED)
    recon("run", "-q", "-c", late / "recon.yaml")
    assert _stale(late / "recon.yaml") == []
    left, right = _made(late), _made(early)
    assert left.keys() == right.keys()
    timed = pl.selectors.by_name("seconds", require_all=False)
    assert all(left[name].drop(timed).equals(right[name].drop(timed)) for name in left)


def test_the_digest_is_of_what_a_schema_says_of_counts() -> None:
    one, other = (parse_release(text, source="stays") for text in (_SCHEMA, _SCHEMA + _ATTACK))
    assert one.digest == other.digest
    assert one == replace(other, attack=None)
    for line, changed in (
        ("0..3", "0..4"),
        ("[f, m]", "[m, f]"),
        ("sex, age, half, payer]", "age, sex, half, payer]"),
        ("[f, m]", "[f, 'm ']"),
    ):
        assert parse_release(_SCHEMA.replace(line, changed), source="s").digest != one.digest
    assert load_release("sf1_2010").digest != load_release("pl_2010").digest
