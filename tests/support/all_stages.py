"""Work folders that hold the folders of every stage there is, made once.

``python -m tests.support.all_stages`` writes down the columns of every file.
"""

from __future__ import annotations

import random
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Final

import polars as pl

from recon_cli.version import FORMAT
from tests.support.command_line import recon
from tests.support.paths import ROOT

#: Columns of every file, by stage folder, as the form of this version has them.
LAYOUT: Final = ROOT / "tests" / "store" / "layout.txt"

_SCHEMA: Final = """\
release: stays
title: Stays
record: stay
features:
  sex: {categories: [f, m]}
  age: {range: 0..3}
  payer: {categories: [public, private]}
recodes:
  half: {of: age, edges: [0, 2]}
geography:
  levels: [{level: clinic, digits: 2}, {level: region, digits: 1}]
  partition: region
microdata: [sex, age, half, payer]
histogram: [sex, half, payer]
attack: {exact: [sex, age], binned: [sex, half], gains: [payer]}
families:
  - levels: [clinic, region]
    cells: [total, {by: sex, cells: [total, {by: half}]}]
    tables: {AGES: {}}
  - levels: [clinic, region]
    cells: [{by: payer, cells: [total, {by: sex}]}]
    tables: {PAYERS: {}}
"""
_STRATEGY: Final = """\
strategy: stays
rho: 2
queries: {all: [sex, age, payer]}
levels:
  clinic: {share: 1/2, queries: {all: 1}}
  region: {share: 1/2, queries: {all: 1}}
"""
_OFFICE: Final = """\
release: stays.yaml
work: work
seed: 1
workers: 1
round: {records: stays.csv, base: 3}
cellkey: {records: stays.csv, max: 2, variance: 1.08}
suppress: {records: stays.csv}
noise: {records: stays.csv, strategy: strategy.yaml, units: exact}
topdown: {records: stays.csv, strategies: [strategy.yaml], units: exact}
randomize: {records: stays.csv, responses: {payer: {epsilon: 1}}}
tabulate: {records: stays.csv, to: counts.csv}
ingest: {source: tidy, paths: [counts.csv]}
capacity:
audit:
frontier:
reconstruct:
solvar: {unit_seconds: 0.05}
claims: {unit_seconds: 0.05}
joint: {partner: recon.yaml, links: links.yaml}
prove:
contributions:
confidence: {solutions: 5}
leave_one_out: {records: stays.csv}
attribute: {attackers: {LIST: {path: list.csv, id: person}}}
link: {cef: stays.csv, id: person, attackers: {LIST: list.csv}}
score: {bootstrap: 5}
risk:
  truth: true.csv
  measurements: [noisy.csv]
  noise: {clinic: {rho: 0.3}, region: {rho: 0.6}}
compare: {truth: stays.csv, protections: {none: , threes: {round: {base: 3}}}}
report:
"""
_COUNTY: Final = """\
release: sf1_2010
work: work
seed: 1
workers: 1
synth: {people: 120, people_per_county: 120, people_per_tract: 60}
swap: {setting: targeted, study_seed: 1}
report:
"""
_RULES: Final = """\
release: pl94_1980
work: work
workers: 1
census1980: {records: people.csv}
report:
"""
_NOISY: Final = """\
release: ../office/work/noisy/release.yaml
work: work
workers: 1
ingest: {source: tidy, paths: [../office/work/noisy]}
reconstruct:
estimate:
report:
"""
_AREAS: Final = """\
release: areas.yaml
work: work
workers: 1
ingest: {source: tidy, paths: [areas.csv], membership: lookup.csv}
slivers:
report:
"""
_AREA_SCHEMA: Final = """\
release: people
title: People
features: {sex: {categories: [women, men]}}
geography: {unit: atom, areas: [{area: ward}, {area: square}]}
microdata: [sex]
histogram: [sex]
families:
  - {levels: [ward, square], cells: [total, {by: sex}], tables: {T: {}}}
"""
#: Folder → config; the run `noisy` reads what the first one made.
RUNS: Final = {
    "office": _OFFICE,
    "county": _COUNTY,
    "rules": _RULES,
    "noisy": _NOISY,
    "areas": _AREAS,
}


@cache
def everything(base: Path) -> tuple[Path, ...]:
    """The configs of some runs; each stage is of one of them."""
    configs = []
    for name, text in RUNS.items():
        folder = base / name
        folder.mkdir(parents=True)
        (folder / "recon.yaml").write_text(text)
        write_inputs(folder)
        recon("run", "-q", "-c", folder / "recon.yaml")
        configs.append(folder / "recon.yaml")
    return tuple(configs)


def write_inputs(folder: Path) -> None:
    """Write the files that the configs of `RUNS` name, beside them."""
    (folder / "stays.yaml").write_text(_SCHEMA)
    (folder / "strategy.yaml").write_text(_STRATEGY)
    (folder / "areas.yaml").write_text(_AREA_SCHEMA)
    (folder / "links.yaml").write_text(
        "joint: twice\nparts: {stay: stays, visit: stays}\nlinks:\n"
        "  - {equal: {stay: {}, visit: {}}, by: {sex: sex}}\n"
    )
    (folder / "lookup.csv").write_text("atom,ward,square\nx1,E5,S1\nx2,E5,S2\nx3,E6,S2\n")
    (folder / "areas.csv").write_text(
        "level,geoid,table,cell,count\nward,E5,T,1,14\nward,E5,T,2,8\nward,E5,T,3,6\n"
        "ward,E6,T,1,11\nward,E6,T,2,5\nward,E6,T,3,6\nsquare,S1,T,1,12\nsquare,S1,T,2,7\n"
        "square,S1,T,3,5\nsquare,S2,T,1,13\nsquare,S2,T,2,6\nsquare,S2,T,3,7\n"
    )
    draw = random.Random(1)  # noqa: S311 - a fixture
    people = pl.DataFrame(
        {
            "person": [f"p{number}" for number in range(40)],
            "geoid_clinic": draw.choices(["A1", "A2", "B1"], k=40),
            "sex": draw.choices(["f", "m"], k=40),
            "age": draw.choices(range(4), k=40),
            "payer": draw.choices(["public", "private"], k=40),
        }
    )
    people.write_csv(folder / "stays.csv")
    (folder / "people.csv").write_text(
        "geoid_block,age,race,hispanic\n" + "340210001001000,30,1,false\n" * 20
    )
    people.head(20).select("person", "geoid_clinic", "sex", "age").write_csv(folder / "list.csv")
    truth = people.group_by(geoid="geoid_clinic", cell=pl.lit(1)).agg(count=pl.len()).sort("geoid")
    truth = truth.with_columns(table=pl.lit("AGES"))
    truth.select("geoid", "table", "cell", "count").write_csv(folder / "true.csv")
    wider = truth.group_by(pl.col("geoid").str.head(1), "table", "cell", maintain_order=True)
    above = wider.agg(pl.col("count").sum())
    columns = ["geoid", "table", "cell", "count"]
    measured = pl.concat([truth.select(columns), above.select(columns)])
    measured.rename({"count": "noisy"}).write_csv(folder / "noisy.csv")


def layout(configs: tuple[Path, ...]) -> str:
    """The form of the files, and a line a folder, or a file beside its data, with its columns."""
    found: dict[str, pl.Schema] = {}
    for config in configs:
        work = config.parent / "work"
        for path in sorted(work.rglob("*.parquet")):
            inside = path.relative_to(work)
            if inside.parts[0] in {".staging", "compare"}:
                continue
            is_data = "=" in inside.parent.name
            name = str(inside.parent.parent if is_data else inside)
            found.setdefault(name, pl.Schema(pl.read_parquet_schema(path)))
    said = [
        f"{name}: " + ", ".join(f"{column} {kind}" for column, kind in columns.items())
        for name, columns in sorted(found.items())
    ]
    return "\n".join([f"form {FORMAT}", *said, ""])


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        LAYOUT.write_text(layout(everything(Path(name))))
        sys.stdout.write(f"{LAYOUT}\n")
