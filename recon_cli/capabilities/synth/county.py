"""Microdata generation for one county: its places, households and persons as frames."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from recon_cli.arrays import FloatArray, IntArray
from recon_cli.capabilities.synth.ages import (
    AgeSex,
    GroupQuartersResidents,
    draw_age_sex,
    draw_group_quarters,
)
from recon_cli.capabilities.synth.geography import County
from recon_cli.capabilities.synth.households import RELATIONSHIPS, CountyHouseholds, draw_households
from recon_cli.capabilities.synth.origins import AnswerModel, HouseholdAnswers, block_mixes, draw
from recon_cli.capabilities.synth.parameters import Nation
from recon_cli.capabilities.synth.units import (
    FEATURES,
    TYPES,
    assign_person_keys,
    duplicate_households,
    duplicate_sources,
    in_words,
    living_of_members,
    occupied_units,
    vacant_units,
)
from recon_cli.seeding import generator

#: Value of people in households, in place of a kind of group quarters.
IN_HOUSEHOLD = "none"
#: Living arrangement of people in group quarters.
GROUP_QUARTERS = pl.lit("group_quarters")
#: Ids of a county's housing units start at its code times this.
IDS_OF_COUNTY = 10_000_000

PERSONS = pl.Schema(
    {
        "pik": pl.Int64,
        "geoid_block": pl.String,
        "household": pl.Int64,
        "sex": pl.String,
        "age": pl.Int16,
        "race": pl.Int16,
        "hispanic": pl.Boolean,
        "relationship": pl.String,
        "living": pl.String,
        "home": pl.String,
        "data_defined": pl.Boolean,
        "r_keep": pl.Float64,
        "r": pl.Float64,
        "group_quarters": pl.String,
    }
)

HOUSEHOLDS = pl.Schema(
    {
        "household": pl.Int64,
        "geoid_block": pl.String,
        "people": pl.Int32,
        "adults": pl.Int32,
        **{name: pl.String if words else pl.Int8 for name, words in FEATURES.items()},
    }
)

PLACES = pl.Schema({"geoid_block": pl.String, "population": pl.Int32, "units": pl.Int32})


@dataclass(frozen=True)
class CountyRecords:
    """A county as frames; see `generate_county`."""

    places: pl.DataFrame
    households: pl.DataFrame
    persons: pl.DataFrame


def generate_county(nation: Nation, county: County, seed: int) -> CountyRecords:
    """Generate the places, households and persons of one county.

    Args:
        county: Its part of the plan.

    Returns:
        ``places``: one row per block (``geoid_block``, ``population``, ``units``). ``households``:
        one row per housing unit, columns of `HOUSEHOLDS`, see `capabilities.synth.units`.
        ``persons``: one row per person, columns of `PERSONS`, in order of block and household;
        ``household`` is null in group quarters, ``pik`` is null without a person key,
        ``data_defined`` is true when the record has a key and stands for it in its block.
    """
    return _CountyGenerator(nation, county, seed).generate()


@dataclass(frozen=True)
class _CountyGenerator:
    """The inputs from which one county is generated."""

    nation: Nation
    county: County
    seed: int

    def rng(self, purpose: str) -> np.random.Generator:
        return generator(self.seed, "synth", self.county.geoid, purpose)

    @cached_property
    def places(self) -> IntArray:
        """Return the positions of the inhabited blocks among all."""
        return np.flatnonzero(self.county.population > 0)

    @cached_property
    def geoid(self) -> pl.Series:
        """Return the 15 digits of every block of the plan, in its order."""
        codes = zip(self.county.tract.tolist(), self.county.block.tolist(), strict=True)
        prefix = self.county.geoid
        return pl.Series(
            [f"{prefix}{tract + 1:04d}00{block:04d}" for tract, block in codes], dtype=pl.String
        )

    @property
    def first_household(self) -> int:
        """Return the id of the county's first housing unit."""
        return int(self.county.geoid) * IDS_OF_COUNTY + 1

    def generate(self) -> CountyRecords:
        nation, places = self.nation, self.places
        population = self.county.population[places]
        residents = draw_group_quarters(
            nation.quarters, nation.geography, population, self.rng("quarters")
        )
        private = population - np.bincount(residents.block, minlength=len(population))
        homes = draw_households(nation.households, private, self.rng("households"))
        age_sex = draw_age_sex(
            nation.ages, nation.households, homes, self._age_scores(homes), self.rng("ages")
        )
        rows = self._rows(homes, age_sex, residents)
        source = duplicate_sources(nation.linkage, homes, len(rows), self.rng("repeats"))
        rows = duplicate_households(rows, source)
        rows = assign_person_keys(
            nation,
            rows,
            source=source,
            first_person=self.county.first_person,
            seed=self.seed,
            rng=self.rng("keys"),
        )
        units = self._units(homes, rows)
        persons = self._persons(rows, units)
        return CountyRecords(self._places(units), self._households(units), persons)

    def _age_scores(self, homes: CountyHouseholds) -> FloatArray:
        """Draw a standard normal score of each household, correlated within blocks and tracts."""
        rng, tract = self.rng("kinship"), self.county.tract[self.places]
        ages = self.nation.ages
        common = ages.alike_tract
        of_tract = rng.standard_normal(len(self.county.density))[tract]
        of_block = rng.standard_normal(len(tract))
        local = np.sqrt(common) * of_tract + np.sqrt(1 - common) * of_block
        own = rng.standard_normal(homes.count)
        score: FloatArray = np.sqrt(ages.alike) * local[homes.block] + np.sqrt(1 - ages.alike) * own
        return score

    def _rows(
        self, homes: CountyHouseholds, age_sex: AgeSex, residents: GroupQuartersResidents
    ) -> pl.DataFrame:
        """Return all people, those in households first, as numbers."""
        tracts = self.county.mixes[self.county.tract[self.places]]
        blocks = block_mixes(
            self.nation,
            mixes=self.county.mixes,
            tract=self.county.tract[self.places],
            population=self.county.population[self.places],
            diversity=self.county.diversity[self.places],
            rng=self.rng("mixes"),
        )
        family = HouseholdAnswers(self.nation.origins, homes, blocks, tracts)
        inside = family.answer(self.rng("answers"))
        rng = self.rng("residents")
        outside = AnswerModel(self.nation.origins).answer(draw(blocks[residents.block], rng), rng)
        block = self.places[np.concatenate([homes.block[homes.household], residents.block])]
        role = np.concatenate([homes.role, residents.role])
        return pl.DataFrame(
            {
                "block": block,
                "size": self.county.population[block],
                "household": np.concatenate([homes.household, np.full(len(residents.block), -1)]),
                "male": np.concatenate([age_sex.male, residents.male]),
                "age": np.concatenate([age_sex.age, residents.age]),
                "race": np.concatenate([inside.race, outside.race]),
                "hispanic": np.concatenate([inside.hispanic, outside.hispanic]),
                "role": role,
                "relationship": pl.Series(RELATIONSHIPS).gather(role),
                "group_quarters": pl.concat(
                    [
                        pl.repeat(IN_HOUSEHOLD, len(homes.household), eager=True),
                        pl.Series(self.nation.quarters.names).gather(residents.kind),
                    ]
                ),
            }
        )

    def _units(self, homes: CountyHouseholds, rows: pl.DataFrame) -> pl.DataFrame:
        """Return all housing units, occupied and vacant, with the position of their block."""
        rng = self.rng("units")
        block = self.places[homes.block]
        lived = occupied_units(self.nation.units, rows.filter(pl.col("household") >= 0), rng)
        lived = lived.with_columns(block=pl.Series(block, dtype=pl.Int64)).cast(pl.Int64)
        occupied = np.bincount(block, minlength=len(self.county.population))
        empty, vacancy = vacant_units(self.nation.units, occupied, rng)
        vacant = pl.DataFrame(
            {"household": homes.count + np.arange(len(empty)), "block": empty, "vacancy": vacancy}
        )
        zero = [name for name in lived.columns if name not in vacant.columns]
        vacant = vacant.with_columns(pl.lit(0).alias(name) for name in zero)
        return pl.concat([lived, vacant.select(lived.columns).cast(pl.Int64)])

    def _places(self, units: pl.DataFrame) -> pl.DataFrame:
        count = np.bincount(units["block"], minlength=len(self.geoid))
        return pl.DataFrame(
            {"geoid_block": self.geoid, "population": self.county.population, "units": count}
        ).cast(PLACES)

    def _households(self, units: pl.DataFrame) -> pl.DataFrame:
        return (
            in_words(units)
            .with_columns(
                pl.col("household") + self.first_household,
                geoid_block=self.geoid.gather(units["block"]),
            )
            .sort("geoid_block", "household")
            .select(HOUSEHOLDS.names())
            .cast(HOUSEHOLDS)
        )

    def _persons(self, rows: pl.DataFrame, units: pl.DataFrame) -> pl.DataFrame:
        home = pl.col("household")
        kind = pl.Series(TYPES).gather(units["household_type"])
        kinds = units.select("household").with_columns(kind=kind)
        return (
            rows.join(kinds, on="household", how="left", maintain_order="left")
            .with_columns(
                home=pl.coalesce("kind", "group_quarters"),
                geoid_block=self.geoid.gather(rows["block"]),
                household=pl.when(home >= 0).then(home + self.first_household),
                sex=pl.when("male").then(pl.lit("male")).otherwise(pl.lit("female")),
                living=pl.when(home >= 0).then(living_of_members()).otherwise(GROUP_QUARTERS),
            )
            .sort("geoid_block", "household", nulls_last=True, maintain_order=True)
            .select(PERSONS.names())
            .cast(PERSONS)
        )
