"""Synthetic files for tests of linking and scoring, and a specification of everything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import polars as pl

from recon_cli.capabilities.link.partition import LinkageCounts, PartitionLinkage
from recon_cli.capabilities.link.specification import TABLES, Guesser, LinkageSpecification
from recon_cli.schema import AttackKeys, load_release

SF1 = load_release("sf1_2010")
assert SF1.attack is not None
KEYS: AttackKeys = SF1.attack

GUESSERS = (
    Guesser("MDG", "modal", "HDF"),
    Guesser("PRG", "proportional", "HDF"),
    Guesser("MDG_loo", "modal", "HDF", leave_one_out=True),
    Guesser("PRG_loo", "proportional", "HDF", leave_one_out=True),
)


def spec(**changes: object) -> LinkageSpecification:
    """CEF, HDF, one reconstruction, four guessers, CEF_atkr."""
    usual = LinkageSpecification(
        release=SF1,
        keys=KEYS,
        truth="CEF",
        origins=("CEF", "HDF", "rHDF_bt"),
        guessers=GUESSERS,
        attackers=("CEF_atkr",),
        from_truth=("CEF_atkr",),
        comparisons=(("HDF", "CEF"), ("rHDF_bt", "CEF"), ("rHDF_bt", "HDF")),
        baseline="HDF",
        modes={"CEF": 0, "HDF": 0, "rHDF_bt": 0, TABLES: 0},
        seed=1,
    )
    return replace(usual, **changes)  # type: ignore[arg-type]


def people(count: int, seed: int, blocks: int = 12) -> pl.DataFrame:
    """A small population of one county, race following the block, with ids."""
    rng = np.random.default_rng(seed)
    size = rng.dirichlet(np.full(blocks, 0.7))
    block = rng.choice(blocks, count, p=size)
    favourite = rng.choice([1, 2, 8, 3], blocks)
    usual = rng.random(count) < 0.7
    race = np.where(usual, favourite[block], rng.choice([1, 2, 4, 8, 32, 33], count))
    return pl.DataFrame(
        {
            "pik": [f"p{i:06d}" for i in range(count)],
            "geoid_block": [f"01001020{b // 6 + 1}00{b // 3 % 2 + 1}{b:03d}" for b in block],
            "sex": np.where(rng.random(count) < 0.5, "male", "female"),
            "age": rng.integers(0, 100, count),
            "race": race,
            "hispanic": rng.random(count) < 0.15,
        },
        schema_overrides={"age": pl.Int16, "race": pl.Int16},
    )


def swapped(truth: pl.DataFrame, seed: int, share: float = 0.1) -> pl.DataFrame:
    """The population with some people's race and ethnicity exchanged, and without ids."""
    rng = np.random.default_rng(seed)
    move = np.flatnonzero(rng.random(truth.height) < share)
    rows = np.arange(truth.height)
    rows[move] = rng.permutation(move)
    return truth.drop("pik").with_columns(truth["race"][rows], truth["hispanic"][rows])


def aged(records: pl.DataFrame, seed: int) -> pl.DataFrame:
    """Ages moved within their bins, as a reconstruction has them."""
    rng = np.random.default_rng(seed)
    edges = np.array(SF1.recode_by_name["agebin"].labels, np.int64)
    at = np.searchsorted(edges, records["age"].to_numpy(), side="right") - 1
    ends = np.append(edges[1:], 100)
    age = edges[at] + (rng.random(len(at)) * (ends[at] - edges[at])).astype(np.int64)
    return records.with_columns(pl.Series("age", age, pl.Int16))


def attack(
    truth: pl.DataFrame,
    hdf: pl.DataFrame | None = None,
    reconstruction: pl.DataFrame | None = None,
    files: Mapping[str, pl.DataFrame] | None = None,
    **changes: object,
) -> tuple[LinkageCounts, pl.DataFrame]:
    """Run everything; the counts and all links."""
    hdf = truth if hdf is None else hdf
    records = {
        "CEF": truth,
        "HDF": hdf,
        "rHDF_bt": hdf if reconstruction is None else reconstruction,
    }
    links: list[pl.DataFrame] = []
    counted = PartitionLinkage(spec(**changes), records, files or {}).run(links.append)
    return counted, pl.concat(links) if links else pl.DataFrame()
