"""A small synthetic population that several tests look at."""

from __future__ import annotations

from functools import cache

import polars as pl

from recon_cli.capabilities.synth.county import CountyRecords, generate_county
from recon_cli.capabilities.synth.geography import County, plan_nation
from recon_cli.capabilities.synth.parameters import Nation, load_nation

PEOPLE = 120_000
SEED = 11


def small_counties(nation: Nation) -> Nation:
    """The same nation with counties of some twenty thousand people, for several states."""
    geography = nation.geography.model_copy(
        update={"people_per_county": 20_000, "counties_per_state": 2}
    )
    return nation.model_copy(update={"geography": geography})


@cache
def plan() -> tuple[County, ...]:
    return plan_nation(small_counties(load_nation()), PEOPLE, SEED)


@cache
def counties() -> tuple[CountyRecords, ...]:
    nation = small_counties(load_nation())
    return tuple(generate_county(nation, county, SEED) for county in plan())


@cache
def whole() -> CountyRecords:
    """All counties together."""
    made = counties()
    return CountyRecords(
        pl.concat([county.places for county in made]),
        pl.concat([county.households for county in made]),
        pl.concat([county.persons for county in made]),
    )
