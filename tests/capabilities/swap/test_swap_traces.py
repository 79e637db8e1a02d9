"""What `hdf/` gives away of who lived where: no person keys, no old household numbers."""

from __future__ import annotations

import polars as pl

from recon_cli.capabilities.swap.swap import without_traces
from recon_cli.chance import KeyedChance


def test_households_are_numbered_anew_and_stay_together() -> None:
    homes = pl.DataFrame(
        {"household": range(100, 300), "geoid_block": [f"{n}" for n in range(200)]}
    )
    people = pl.DataFrame(
        {
            "pik": range(401), "household": [*range(100, 300), *range(100, 300), None],
            "geoid_block": [*map(str, range(200)), *map(str, range(200)), "x"], "r": [0.5] * 401,
        }
    )  # fmt: skip
    persons, households = without_traces(people, homes, KeyedChance.for_study(1))
    assert persons.columns == ["household", "geoid_block"]
    assert (households["household"] == homes["household"]).sum() < 10
    assert sorted(households["household"]) == sorted(homes["household"])
    joined = persons.join(households, on="household", suffix="_home")
    assert len(joined) == 400
    assert (joined["geoid_block"] == joined["geoid_block_home"]).all()
    assert persons["household"][-1] is None
