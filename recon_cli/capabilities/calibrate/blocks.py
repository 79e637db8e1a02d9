"""Counts of each block of a synthetic population, and their sums by class of block size.

The study's measure of solution variability is relaxed: a block's own tables must hold exactly, and
its tract's tables are upper bounds for the block (Eq. 4.9). A block counts as zero if propagation
determines every histogram cell; no solver is used, so the share is a lower bound.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from recon_cli.capabilities.link.baselines import ValueCounts, is_modal, most_frequent
from recon_cli.capabilities.link.key_encoding import KeyEncoder
from recon_cli.capabilities.link.specification import default_keys, parent_level
from recon_cli.model.bounds import propagate
from recon_cli.model.counts import arrange_counts
from recon_cli.model.planning import make_relaxed_plan
from recon_cli.model.program import relax
from recon_cli.model.system import build_systems
from recon_cli.publication import Publication
from recon_cli.schema import Release

BLOCK = "geoid_block"
#: Counts by block; `by_class` sums them.
COUNTS = (
    "blocks",
    "people",
    "unique_defined",
    "unique_exact",
    "nonmodal",
    "zero_solvar",
    "agree_exact",
    "agree_binned",
    "with_pik",
    "data_defined",
    "repeated_blocks",
    "cef_nonmodal",
    "comrcl",
    "matched",
    "same_person",
    "same_person_nonmodal",
)


def with_bins(records: pl.DataFrame, bins: pl.Series) -> pl.DataFrame:
    """Add ``bin``, the number of the age bin; ``bins`` has it for each age from 0 up."""
    return records.with_columns(bin=bins.gather(records["age"].cast(pl.Int64)))


def with_nonmodal(release: Release, persons: pl.DataFrame, mode: int) -> pl.DataFrame:
    """Add ``nonmodal``; see `recon_cli.capabilities.link.baselines.is_modal`.

    Args:
        persons: The CEF of one partition.
        mode: The most frequent gained value of all partitions, see `modal_answer`.
    """
    encoder = KeyEncoder(release, default_keys(release), persons[BLOCK].unique().sort())
    people = encoder.encode(persons, name="persons").records
    counts = people.group_by("unit", "gain").agg(pl.len().alias("n"))
    values = ValueCounts.of(counts, encoder.geoids, parent_level(release), mode)
    return persons.with_columns((~is_modal(values, people)).alias("nonmodal"))


def modal_answer(release: Release, answers: pl.DataFrame) -> int:
    """Return the most frequent race and ethnicity, as `with_nonmodal` takes it.

    Args:
        answers: From `count_answers`, over all partitions.
    """
    encoder = KeyEncoder(release, default_keys(release), pl.Series([], dtype=pl.String))
    return most_frequent(encoder.gain_counts(answers, "persons", answers["people"]))


def count_blocks(
    persons: pl.DataFrame, hdf: pl.DataFrame, comrcl: pl.DataFrame, zero: pl.DataFrame
) -> pl.DataFrame:
    """Count each inhabited block, with columns `COUNTS`.

    Args:
        persons: The CEF, with ``bin`` and ``nonmodal``.
        hdf: The HDF, with ``bin``.
        comrcl: The commercial file, with ``bin``.
        zero: ``geoid_block`` and ``zero_solvar``.
    """
    defined = pl.col("data_defined")
    repeated = pl.col("pik").is_not_null() & ~defined
    keys = [BLOCK, "sex"]
    base = persons.group_by(BLOCK).agg(
        blocks=pl.lit(1),
        people=pl.len(),
        nonmodal=pl.col("nonmodal").sum(),
        with_pik=pl.col("pik").is_not_null().sum(),
        data_defined=defined.sum(),
        repeated_blocks=repeated.any().cast(pl.Int64),
        cef_nonmodal=(defined & pl.col("nonmodal")).sum(),
    )
    full = [*keys, "bin", "race", "hispanic"]
    known = persons.filter(defined).select("pik", *keys, "bin", "nonmodal")
    matched = comrcl.join(known, on=["pik", *keys, "bin"])
    same_person = comrcl.join(known, on=["pik", BLOCK])
    alone = pl.len().over([*keys, "bin"]) == 1
    parts = [
        persons.filter(alone & defined).group_by(BLOCK).agg(unique_defined=pl.len()),
        _unique(persons, [*keys, "age"], "unique_exact"),
        _agreement(
            persons, hdf, [name if name != "bin" else "age" for name in full], "agree_exact"
        ),
        _agreement(persons, hdf, full, "agree_binned"),
        zero.select(BLOCK, pl.col("zero_solvar").cast(pl.Int64)),
        comrcl.group_by(BLOCK).agg(comrcl=pl.len()),
        matched.group_by(BLOCK).agg(matched=pl.len()),
        same_person.group_by(BLOCK).agg(
            same_person=pl.len(), same_person_nonmodal=pl.col("nonmodal").sum()
        ),
    ]
    for part in parts:
        base = base.join(part, on=BLOCK, how="left")
    return base.select(BLOCK, pl.col(COUNTS).fill_null(0).cast(pl.Int64))


def _unique(records: pl.DataFrame, keys: Sequence[str], name: str) -> pl.DataFrame:
    """Count people who share ``keys`` with nobody, by block."""
    groups = records.group_by(keys).agg(pl.len())
    return groups.group_by(BLOCK).agg((pl.col("len") == 1).sum().alias(name))


def _agreement(
    one: pl.DataFrame, two: pl.DataFrame, keys: Sequence[str], name: str
) -> pl.DataFrame:
    """Count records of ``one`` that can be paired with equal ones of ``two``, by block."""
    counts = [records.group_by(keys).agg(count=pl.len()) for records in (one, two)]
    both = counts[0].join(counts[1], on=keys, suffix="_other")
    least = pl.min_horizontal("count", "count_other").sum()
    return both.group_by(BLOCK).agg(least.alias(name))


def by_class(blocks: pl.DataFrame, lower: Sequence[int]) -> pl.DataFrame:
    """Sum `COUNTS` by class of block size: ``size`` is the position of the class."""
    size = pl.sum_horizontal((pl.col("people") >= low).cast(pl.Int64) for low in lower) - 1
    return blocks.group_by(size=size).agg(pl.col(COUNTS).sum()).sort("size")


def count_answers(persons: pl.DataFrame) -> pl.DataFrame:
    """Count ``people``, and those in group ``quarters``, by ``hispanic`` and ``race`` (bits)."""
    return persons.group_by("hispanic", "race").agg(
        people=pl.len(), quarters=pl.col("household").null_count()
    )


def zero_solvar(release: Release, published: Publication, tables: Sequence[str]) -> pl.DataFrame:
    """Return each unit's geoid and ``zero_solvar``.

    Args:
        published: The counts of some whole regions.
        tables: Names of the tables in use.
    """
    plan = make_relaxed_plan(release, release.select_tables(tuple(tables)), published.coverage)
    counts = arrange_counts(plan, published)
    levels = published.geounits["level"].to_numpy()
    frames = [pl.DataFrame(schema={release.geoid_column: pl.String, "zero_solvar": pl.Boolean})]
    for system in build_systems(plan, counts):
        unit = system.candidates.unit
        own = (levels[system.row_geounit] == release.geography.unit.name).astype(bool)
        bounds = propagate(relax(system.rows, own, unit))
        free = np.bincount(unit, weights=bounds.free, minlength=len(system.units))
        frames.append(
            pl.DataFrame(
                {
                    release.geoid_column: counts.geoids.gather(system.units),
                    "zero_solvar": free == 0,
                }
            )
        )
    return pl.concat(frames)
