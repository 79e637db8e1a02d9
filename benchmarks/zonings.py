"""Two zonings, each suppressed by itself: ``python -m benchmarks.zonings``.

Made-up people live in a square that nine wards, and sixteen squares across them, divide. `recon
protect suppress` withholds small counts of each zoning until it gives none of them away, and
`recon audit` says what both together give away, and each alone. Exits with 1 if a recovered count
is not the true one.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np
import polars as pl
import yaml

from tests.support.command_line import recon

_PEOPLE = """\
release: NAME
title: Made-up people
features:
  sex: {categories: [female, male]}
  age: {range: "0..5"}
  origin: {categories: [a, b, c]}
microdata: [sex, age, origin]
histogram: [sex, age, origin]
geography: GEOGRAPHY
families:
  - {levels: LEVELS, cells: [total, {by: sex}], tables: {T1: {}}}
  - {levels: LEVELS, cells: [{by: age}], tables: {T2: {}}}
  - {levels: LEVELS, cells: [{by: sex, cells: [{by: age}]}], tables: {T3: {}}}
  - {levels: LEVELS, cells: [{by: origin}], tables: {T4: {}}}
"""
_ZONINGS = ("ward", "square")
_KEY = ["geoid", "table", "cell"]
_BELOW = 3


def people(seed: int, number: int) -> pl.DataFrame:
    """Columns ``ward, square, sex, age, origin``; codes begin with W and S."""
    rng = np.random.default_rng(seed)
    x, y = rng.random((2, number))
    ward = (x * 3).astype(int) * 3 + (y * 3).astype(int)
    square = ((x * 3 + 0.5).astype(int)) * 4 + (y * 3 + 0.5).astype(int)
    return pl.DataFrame(
        {
            "ward": [f"W{at:02}" for at in ward],
            "square": [f"S{at:02}" for at in square],
            "sex": rng.choice(["female", "male"], number),
            "age": rng.choice(6, number, p=[0.4, 0.25, 0.15, 0.1, 0.06, 0.04]),
            "origin": rng.choice(["a", "b", "c"], number, p=[0.8, 0.15, 0.05]),
        }
    )


def write_schema(path: Path, geography: str, levels: str) -> None:
    """The schema of a release called as the file."""
    text = _PEOPLE.replace("NAME", path.stem).replace("GEOGRAPHY", geography)
    path.write_text(text.replace("LEVELS", levels))


def run(folder: Path, name: str, command: tuple[str, ...], **sections: object) -> Path:
    """Run a command on a config; its work folder."""
    config = {"release": f"{name}.yaml", "work": f"work-{command[-1]}-{name}", "seed": 1}
    path = folder / f"{command[-1]}-{name}.yaml"
    path.write_text(yaml.safe_dump({**config, **sections}))
    recon(*command, "-q", "-c", path)
    return folder / str(config["work"])


def audited(work: Path) -> pl.DataFrame:
    """The audit's rows."""
    return pl.read_parquet(work / "audit" / "**" / "*.parquet", hive_partitioning=False)


def trial(folder: Path, seed: int, number: int) -> tuple[int, int, int, int]:
    """Withheld counts of both, how many are recovered alone, together, and of these wrongly."""
    everybody, alone, published, truth = people(seed, number), 0, [], []
    for zoning in _ZONINGS:
        own = f"[{{level: {zoning}, digits: 3}}, {{level: all, digits: 1}}]"
        levels = f"{{levels: {own}, partition: all}}"
        write_schema(folder / f"{zoning}.yaml", levels, f"[{zoning}, all]")
        records = everybody.rename({zoning: f"geoid_{zoning}"})
        records.select(f"geoid_{zoning}", "sex", "age", "origin").write_csv(
            folder / f"{zoning}.csv"
        )
        work = run(
            folder, zoning, ("protect", "suppress"),
            suppress={"records": f"{zoning}.csv", "below": _BELOW, "to": f"{zoning}-out.csv"},
        )  # fmt: skip
        run(folder, zoning, ("run",), tabulate={"records": f"{zoning}.csv", "to": "true.csv"})
        truth.append(pl.read_csv(folder / "true.csv"))
        ingest = {"source": "tidy", "paths": [str(work / "suppressed")]}
        alone += _recovered(run(folder, zoning, ("run",), ingest=ingest, audit={})).height
        text = {"count": pl.String}
        counts = pl.read_csv(folder / f"{zoning}-out.csv", schema_overrides=text)
        published.append(counts.filter(pl.col("geoid").str.len_chars() == 3))
    pl.concat(published).select(*_KEY, "count").write_csv(folder / "both.csv")
    atoms = everybody.select(*_ZONINGS).unique().sort(*_ZONINGS).with_row_index("atom")
    atoms.with_columns(pl.format("a{}", "atom").alias("atom")).write_csv(folder / "lookup.csv")
    areas = "{unit: atom, areas: [{area: ward}, {area: square}]}"
    write_schema(folder / "both.yaml", areas, "[ward, square]")
    law = {"suppressed": {"below": _BELOW, "complementary": True}}
    (folder / "protection.yaml").write_text(
        yaml.safe_dump({"release": "both", "statements": [{"law": law}]})
    )
    ingest = {"source": "tidy", "paths": ["both.csv"], "membership": "lookup.csv"}
    both = run(
        folder, "both", ("run",), ingest={**ingest, "protection": "protection.yaml"}, audit={}
    )
    found = _recovered(both).join(pl.concat(truth), on=_KEY, how="left")
    wrong = found.filter(pl.col("least") != pl.col("count").fill_null(0)).height
    return audited(both).height, alone, found.height, wrong


def _recovered(work: Path) -> pl.DataFrame:
    return audited(work).filter(pl.col("status") == "recovered").select(*_KEY, "least")


def main() -> None:
    """Print what is recovered."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=400)
    parser.add_argument("--seeds", type=int, default=4)
    given = parser.parse_args()
    wrong = 0
    sys.stdout.write("| seed | withheld | from one | from both |\n|---:|---:|---:|---:|\n")
    for seed in range(1, given.seeds + 1):
        with tempfile.TemporaryDirectory(prefix="recon-zonings-") as folder:
            withheld, alone, together, false = trial(Path(folder), seed, given.people)
        wrong += false
        sys.stdout.write(f"| {seed} | {withheld:,} | {alone:,} | {together:,} |\n")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
