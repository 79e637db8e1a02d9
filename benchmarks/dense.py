"""Dense tables with few zeros: ``python -m benchmarks.dense``.

Stays in hospitals, published as two-way tables by ward. Each of reconstruction, exact variability
and claims has to end, with what it proved or bounded.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import polars as pl

import recon_cli as recon
from recon_cli.schema import Release, parse_release

SCHEMA = """\
release: stays
title: Hospital stays
features:
  sex: {categories: [woman, man]}
  age: {categories: [young, middle, old]}
  diagnosis: {categories: [heart, lung, bone, other]}
  payer: {categories: [public, private]}
  outcome: {categories: [home, care, died]}
EXTRA
geography: {levels: [{level: ward, digits: 3}, {level: hospital, digits: 1}], partition: hospital}
microdata: [COLUMNS]
histogram: [COLUMNS]
families:
  - {levels: [ward, hospital], cells: [{by: sex, cells: [{by: diagnosis}]}], tables: {SD: {}}}
  - {levels: [ward, hospital], cells: [{by: age, cells: [{by: outcome}]}], tables: {AO: {}}}
  - {levels: [ward, hospital], cells: [{by: diagnosis, cells: [{by: payer}]}], tables: {DP: {}}}
  - {levels: [ward, hospital], cells: [{by: LAST, cells: [{by: age}]}], tables: {LA: {}}}
"""
COLUMNS = ("sex", "age", "diagnosis", "payer", "outcome")
#: Wards, columns, stays.
SIZES = ((7, 5, 500), (50, 6, 50_000))


def release_of(columns: int) -> Release:
    """The schema with five columns or six."""
    extra = "  urgent: {categories: [planned, urgent]}" if columns > len(COLUMNS) else ""
    names = ", ".join([*COLUMNS, "urgent"][:columns])
    text = SCHEMA.replace("EXTRA\n", f"{extra}\n" if extra else "").replace("COLUMNS", names)
    return parse_release(text.replace("LAST", "urgent" if extra else "sex"), source="stays")


def stays(release: Release, wards: int, count: int, seed: int) -> pl.DataFrame:
    """Stays whose values are nearly even: few published zeros."""
    rng = np.random.default_rng(seed)
    names = [f"H{ward:02d}" for ward in range(wards)]
    columns = [pl.Series("geoid_ward", rng.choice(names, count))]
    for feature in release.features:
        shares = rng.dirichlet(np.full(len(feature.values), 8.0))
        values = pl.Series(feature.name, feature.values, feature.dtype)
        columns.append(values.gather(rng.choice(len(shares), count, p=shares)))
    return pl.DataFrame(columns)


def main() -> None:
    """Run the three attacks on both sizes and print how each ended."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    for wards, columns, count in SIZES:
        release = release_of(columns)
        published = recon.publish(release, recon.tabulate(release, stays(release, wards, count, 1)))
        case = f"{wards} wards, {columns} columns, {count:,} stays"
        started = time.perf_counter()
        made = recon.reconstruct(release, published, seed=1)
        _say(case, "reconstruct", started, made.blocks)
        started = time.perf_counter()
        claims = recon.find_claims(release, published, made.microdata)
        _say(case, "claims", started, claims.units)
        started = time.perf_counter()
        found = recon.measure_variability(release, published, made.microdata, mode="exact")
        _say(case, "solvar, exact", started, found.units)


def _say(case: str, what: str, started: float, units: pl.DataFrame) -> None:
    ended = ", ".join(
        f"{n} {status}" for status, n in sorted(units["status"].value_counts().rows())
    )
    seconds = time.perf_counter() - started
    print(f"{case}: {what}: {seconds:.1f} s: {ended}", flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
