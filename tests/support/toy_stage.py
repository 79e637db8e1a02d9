"""A stage of three partitions and a few records, which tests of `recon_cli.store` publish."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from recon_cli.store import Recipe, Stage

STAGE = Stage("reconstruct", ("microdata", "blocks"))
RECIPE = Recipe(
    stage=STAGE,
    release="toy",
    release_digest="d" * 64,
    partition_level="county",
    config={"tables": ["P1"]},
    seed=7,
    partitions={"01001": {"tables": "a"}, "01003": {"tables": "b"}, "02001": {"tables": "c"}},
)
#: The same with other settings.
NEXT = replace(RECIPE, seed=8)


def frames(partition: str, seed: int | None = 7) -> dict[str, pl.DataFrame]:
    people = pl.DataFrame({"geoid_block": [partition + "0001"] * 3, "age": [1, 2, seed]})
    return {"microdata": people, "blocks": people.head(1).select("geoid_block")}
