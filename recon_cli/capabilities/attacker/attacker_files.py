"""Attackers' files: a commercial file with gaps and errors, and exact columns.

The commercial file is drawn person by person from the true records of a county. Its matches are
planted, so that their number is known: the column `truth` describes each record.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import polars as pl

from recon_cli.arrays import BoolArray, IntArray
from recon_cli.capabilities.synth.ages import ADULT, OLDEST
from recon_cli.capabilities.synth.geography import class_of
from recon_cli.capabilities.synth.parameters import Nation
from recon_cli.schema import Feature, Recode, bits

#: Keys from this one up belong to nobody in the nation.
STRANGERS = 1_000_000_000
STRANGERS_OF_COUNTY = 10_000_000
_WHITE = 1
#: Commercial files list nobody of this age or older.
_OLDEST_LISTED = 100

#: Columns that any attacker file has.
ATTACKER = pl.Schema(
    {
        "pik": pl.Int64,
        "geoid_block": pl.String,
        "sex": pl.String,
        "age": pl.Int16,
        "r": pl.Float64,
    }
)
#: Kinds of records of the commercial file.
TRUTHS = ("exact", "binned", "wrong", "stale", "stranger", "outside")
COMRCL = pl.Schema([*ATTACKER.items(), ("truth", pl.String)])


def exact_columns(persons: pl.DataFrame) -> pl.DataFrame:
    """Make CEF_atkr: block, sex and age of every data-defined person, without error."""
    return persons.filter("data_defined").select(ATTACKER.names()).cast(ATTACKER)


def bins_of(feature: Feature, recode: Recode) -> IntArray:
    """Return the group number of each value of an ordered feature, by value from 0 up."""
    groups = np.full(1 + max(int(value) for value in feature.values), -1, np.int64)
    for number, mask in enumerate(recode.masks):
        groups[[int(feature.values[at]) for at in bits(mask)]] = number
    return groups


@dataclass(frozen=True)
class _Records:
    """Some records: the row of a person in the county for each, and replaced values."""

    row: IntArray
    block: pl.Series
    male: BoolArray
    age: IntArray
    truth: str

    def frame(self, piks: pl.Series) -> pl.DataFrame:
        sexes = pl.Series(["female", "male"])
        return pl.DataFrame(
            {
                "pik": piks.gather(self.row),
                "geoid_block": self.block,
                "sex": sexes.gather(self.male.astype(np.int64)),
                "age": self.age,
                "truth": pl.repeat(self.truth, len(self.row), eager=True, dtype=pl.String),
            }
        )


def commercial_file(
    nation: Nation,
    persons: pl.DataFrame,
    places: pl.DataFrame,
    *,
    agebin: IntArray,
    county: int,
    rng: np.random.Generator,
) -> pl.DataFrame:
    """Generate the commercial file (COMRCL) of one county.

    Args:
        persons: The county's persons, as `capabilities.synth.county.generate_county` makes them.
        places: The county's blocks, also from `generate_county`.
        agebin: The number of the bin of each age, see `bins_of`.
        county: The county's code as a number; gives strangers of different counties different keys.

    Returns:
        Columns of `COMRCL`, by block and key; no key twice in a block.
    """
    return _CommercialFile(nation, persons, agebin, rng).generate(places, county)


@dataclass(frozen=True)
class _CommercialFile:
    """The inputs of the commercial records of one county."""

    nation: Nation
    persons: pl.DataFrame
    agebin: IntArray
    rng: np.random.Generator

    @cached_property
    def block(self) -> pl.Series:
        return self.persons["geoid_block"]

    @cached_property
    def male(self) -> BoolArray:
        return np.asarray((self.persons["sex"] == "male").to_numpy(), np.bool_)

    @cached_property
    def age(self) -> IntArray:
        return self.persons["age"].to_numpy().astype(np.int64)

    @cached_property
    def defined(self) -> BoolArray:
        return np.asarray(self.persons["data_defined"].to_numpy(), np.bool_)

    @cached_property
    def size(self) -> IntArray:
        """Return the class of each person's block size."""
        people = self.persons.select(pl.len().over("geoid_block"))["len"].to_numpy()
        return class_of(self.nation.geography, people.astype(np.int64))

    def generate(self, places: pl.DataFrame, county: int) -> pl.DataFrame:
        """Generate all records, inside and outside inhabited blocks."""
        attacker = self.nation.attacker
        chosen = self._matched()
        unmatched = self._unmatched()
        kind = self.rng.random(len(unmatched))
        wrong, moved = kind < attacker.wrong, kind < attacker.wrong + attacker.stale
        mistaken, taken = self._wrong(unmatched[wrong], chosen)
        stale, lost = self._stale(unmatched[moved & ~wrong])
        parts = [*self._true_records(chosen), mistaken, stale]
        known = pl.concat([part.frame(self.persons["pik"]) for part in parts])
        known = known.unique(["geoid_block", "pik"], keep="first", maintain_order=True)
        there = self.block.gather(np.concatenate([unmatched[~moved], taken, lost]))
        empty = places.filter(pl.col("population") == 0)["geoid_block"]
        more = round(attacker.outside * (len(known) + len(there))) if len(empty) else 0
        away = empty.gather(self.rng.integers(0, max(len(empty), 1), more))
        strangers = [self._strangers(there, "stranger"), self._strangers(away, "outside")]
        first = STRANGERS + county * STRANGERS_OF_COUNTY
        unknown = pl.concat(strangers).with_columns(
            pik=first + pl.int_range(pl.len(), dtype=pl.Int64)
        )
        both = pl.concat([known, unknown.select(known.columns)]).sort("geoid_block", "pik")
        number = pl.Series("r", self.rng.random(len(both)), pl.Float64)
        return both.with_columns(number).select(COMRCL.names()).cast(COMRCL)

    def _matched(self) -> BoolArray:
        """Select the persons whom a record will match: adults and White people more likely."""
        attacker, classes = self.nation.attacker, len(self.nation.geography.lower)
        hispanic = self.persons["hispanic"].to_numpy()
        plain = (self.persons["race"].to_numpy() == _WHITE) & ~hispanic
        weight = np.where(self.age < ADULT, attacker.minors, 1.0)
        weight = weight * np.where(plain, 1.0, np.array(attacker.others)[self.size])
        inside = self.size[self.defined]
        total = np.bincount(inside, weight[self.defined], classes)
        mean = total / np.maximum(np.bincount(inside, minlength=classes), 1)
        rate = (np.array(attacker.matched) / np.where(mean > 0, mean, 1))[self.size] * weight
        return np.asarray(self.defined & (self.rng.random(len(rate)) < rate), np.bool_)

    def _true_records(self, chosen: BoolArray) -> tuple[_Records, _Records]:
        """Make records that match: with the exact age, or with another age of the same bin."""
        lowest = np.searchsorted(self.agebin, np.arange(self.agebin.max() + 1))
        width = np.append(lowest[1:], _OLDEST_LISTED) - lowest
        rows = np.flatnonzero(chosen)
        bin_of = self.agebin[self.age[rows]]
        wide = width[bin_of] > 1
        off = wide & (self.rng.random(len(rows)) >= self.nation.attacker.exact_age)
        near, bin_of = rows[off], bin_of[off]
        size = width[bin_of]
        shift = 1 + np.floor(self.rng.random(len(near)) * (size - 1)).astype(np.int64)
        age = lowest[bin_of] + (self.age[near] - lowest[bin_of] + shift) % size
        exact = self._records(rows[~off], "exact")
        return exact, replace(self._records(near, "binned"), age=age)

    def _records(self, rows: IntArray, truth: str) -> _Records:
        """Make true records of some persons."""
        return _Records(rows, self.block.gather(rows), self.male[rows], self.age[rows], truth)

    def _unmatched(self) -> IntArray:
        """Return the rows of persons in whose blocks to place the records that match nobody."""
        attacker = self.nation.attacker
        rate = (np.array(attacker.records) - np.array(attacker.matched))[self.size]
        whole = np.floor(rate)
        count = np.where(self.defined, whole + (self.rng.random(len(rate)) < rate - whole), 0)
        return np.repeat(np.arange(len(rate)), count.astype(np.int64))

    def _wrong(self, there: IntArray, chosen: BoolArray) -> tuple[_Records, IntArray]:
        """Make records with the right block but another sex or age bin; return their persons."""
        attacker = self.nation.attacker
        rows, first = np.unique(there, return_index=True)
        free = ~chosen[rows]
        taken = np.concatenate([rows[~free], np.delete(there, first)])
        rows = rows[free]
        flip = self.rng.random(len(rows)) < attacker.wrong_sex
        error = np.rint(self.rng.normal(0, attacker.age_error, len(rows))).astype(np.int64)
        age = np.clip(self.age[rows] + error, 0, OLDEST)
        flip |= self.agebin[age] == self.agebin[self.age[rows]]  # else it would be a match
        true = self._records(rows, "wrong")
        return replace(true, male=true.male ^ flip, age=age), taken

    def _stale(self, there: IntArray) -> tuple[_Records, IntArray]:
        """Make records of adults at a past address; return the places left without a record."""
        known = np.flatnonzero(self.defined)
        people = known[self.rng.integers(0, len(known), len(there))] if len(there) else there
        block = self.block.gather(there)
        elsewhere = (self.block.gather(people) != block).to_numpy() & (self.age[people] >= ADULT)
        records = self._records(people[elsewhere], "stale")
        return replace(records, block=block.filter(pl.Series(elsewhere))), there[~elsewhere]

    def _strangers(self, blocks: pl.Series, truth: str) -> pl.DataFrame:
        """Make records of people whom the CEF lacks, as old as the county's adults."""
        adults = np.flatnonzero(self.age >= ADULT)
        if len(adults) == 0:
            blocks = blocks.clear()
        rows = adults[self.rng.integers(0, max(len(adults), 1), len(blocks))]
        nobody = pl.repeat(0, len(self.age), eager=True, dtype=pl.Int64)
        return replace(self._records(rows, truth), block=blocks).frame(nobody)
