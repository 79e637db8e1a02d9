"""Person keys: who has one, who is duplicated in a block, and which record the key is for."""

from __future__ import annotations

import numpy as np
import polars as pl

from recon_cli.arrays import IntArray
from recon_cli.seeding import digest_seed
from recon_cli.synth.households import CountyHouseholds
from recon_cli.synth.parameters import Nation, PersonKeys

#: A prime above the number of people in any nation: keys are a permutation of what is below it.
KEYS = 999_999_937
#: What a repeated household has in common with its original.
_COPIED = ("male", "age", "race", "hispanic", "role", "relationship")


def duplicate_sources(
    linkage: PersonKeys, homes: CountyHouseholds, persons: int, rng: np.random.Generator
) -> IntArray:
    """For each person the row whose record is duplicated: their own, for nearly all.

    A whole household can be duplicated in its block, in place of a neighbour of the same size.

    Args:
        linkage: Parameters.
        homes: Households; their members are the first rows.
        persons: Number of persons, group quarters included.
        rng: Source of chance.
    """
    source = np.arange(persons)
    order = np.lexsort((rng.random(homes.count), homes.size, homes.block))
    one, two = order[:-1], order[1:]
    alike = (homes.block[one] == homes.block[two]) & (homes.size[one] == homes.size[two])
    chosen = alike & (rng.random(len(one)) < linkage.duplicates)
    chosen[1:] &= ~chosen[:-1]  # an original is not itself a repetition
    shift = np.zeros(homes.count, np.int64)
    shift[two[chosen]] = homes.first[one[chosen]] - homes.first[two[chosen]]
    source[: len(homes.household)] += shift[homes.household]
    return source


def duplicate_households(persons: pl.DataFrame, source: IntArray) -> pl.DataFrame:
    """Give duplicated households the answers of their originals."""
    return persons.with_columns(persons[name].gather(source) for name in _COPIED)


def assign_person_keys(
    nation: Nation,
    persons: pl.DataFrame,
    *,
    source: IntArray,
    first_person: int,
    seed: int,
    rng: np.random.Generator,
) -> pl.DataFrame:
    """Add ``pik``, ``data_defined``, ``r_keep`` and ``r``.

    Args:
        nation: Parameters.
        persons: With ``block`` and ``size``, the population of the block.
        source: From `duplicate_sources`.
        first_person: Number of people in the nation before these.
        seed: Of the nation.
        rng: Source of chance.

    Returns:
        The frame with ``pik`` (null without a key; unique in the nation but for repeated
        households), ``data_defined`` (the record has a key and, of those in the block that share
        it, the smallest ``r_keep``), and two uniform numbers: ``r_keep`` decides among
        repetitions, ``r`` orders records when they are linked.
    """
    count = len(persons)
    has = rng.random(count) < nation.geography.at_size(
        nation.linkage.pik, persons["size"].to_numpy()
    )
    factor = 1 + digest_seed(seed, "synth", "piks", "factor") % (KEYS - 1)
    offset = digest_seed(seed, "synth", "piks", "offset") % KEYS
    pik = ((first_person + np.arange(count)) * factor + offset) % KEYS
    keyed = persons.with_columns(
        pik=pl.when(pl.Series(has[source])).then(pl.Series(pik[source])),
        r_keep=pl.Series(rng.random(count)),
        r=pl.Series(rng.random(count)),
    )
    repeated = pl.Series(np.bincount(source, minlength=count)[source] > 1)
    twins = (
        keyed.lazy()
        .with_row_index("row")
        .filter(repeated & pl.col("pik").is_not_null())
        .sort("r_keep")
        .filter(~pl.struct("block", "pik").is_first_distinct())
        .select("row")
        .collect()["row"]
        .to_numpy()
    )
    defined = has[source]
    defined[twins] = False
    return keyed.with_columns(data_defined=pl.Series(defined))
