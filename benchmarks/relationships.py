"""What measuring relationships does to guessing: ``python -m benchmarks.relationships WORK``.

A synthetic population is measured with both budgets of the 2020 census and made into microdata,
with the relationships that production tells apart and without. Who is unlike the most of his block
is looked up by block, sex and age group: how often is race and ethnicity right, beside a guess in
proportion to the block's true mix? The same again after races were shuffled within blocks: then
the microdata know of a block's mix, but not who in it has which race. Levels are measured from the
state down; or the nation's histogram is known, which tells of a small population who is in it.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
from scipy import stats

from benchmarks.topdown import RELATED, RELEASE, make, optimised_groups, with_keys
from recon_cli.capabilities.measurements.hierarchy import build_hierarchy
from recon_cli.markdown import markdown_table
from recon_cli.schema import Release

LEVELS = ("nation", "state", "county", "tract", "block_group", "block")
PLACE, KEYS, GAINS = "geoid_block", ("geoid_block", "sex", "agebin"), ("race", "hispanic")


def read(work: Path, folder: str) -> pl.DataFrame:
    """A table of a work folder."""
    return pl.read_parquet(work / folder / "**/*.parquet", hive_partitioning=False)


def unlike_their_block(people: pl.DataFrame) -> pl.DataFrame:
    """Nonmodal people of blocks with one most frequent race and ethnicity.

    Returns:
        `KEYS`, `GAINS`, ``guess`` (their share of the block) and ``unique`` on `KEYS`.
    """
    mix = people.group_by(PLACE, *GAINS).agg(alike=pl.len())
    mix = mix.with_columns(
        most=pl.col("alike").max().over(PLACE), everybody=pl.col("alike").sum().over(PLACE)
    ).with_columns(modes=(pl.col("alike") == pl.col("most")).sum().over(PLACE))
    return (
        people.with_columns(unique=pl.len().over(KEYS) == 1)
        .join(mix, on=[PLACE, *GAINS])
        .filter(pl.col("alike") < pl.col("most"), modes=1)
        .select(*KEYS, *GAINS, "unique", guess=pl.col("alike") / pl.col("everybody"))
    )


def right(targets: pl.DataFrame, made: pl.DataFrame) -> tuple[int, float, float]:
    """Of targets with a partner: how many, percent right, percent right of the guess."""
    partners = made.group_by(KEYS).agg(partners=pl.len())
    alike = made.group_by(*KEYS, *GAINS).agg(alike=pl.len())
    found = targets.join(partners, on=KEYS).join(alike, on=[*KEYS, *GAINS], how="left")
    share = found["alike"].fill_null(0) / found["partners"]
    means = (float(np.mean(each.to_numpy())) for each in (share, found["guess"]))
    microdata, guess = means
    return len(found), 100 * microdata, 100 * guess


def shuffled(made: pl.DataFrame, seed: int) -> pl.DataFrame:
    """Records with races and ethnicities dealt out anew within each block."""
    made = made.sort(PLACE)
    chance = pl.Series("chance", np.random.default_rng(seed).random(len(made)))
    dealt = made.select(PLACE, *GAINS).with_columns(chance).sort(PLACE, "chance")
    return made.with_columns(dealt[name] for name in GAINS)


def figures(
    people: pl.DataFrame,
    geography: pl.DataFrame,
    zero: pl.Series,
    release: Release,
    seeds: int,
    *,
    known: bool,
) -> dict[str, list[tuple[int, float, float]]]:
    """For each kind of target, and with races shuffled: what `right` finds, by seed.

    ``known``: the nation's histogram is.
    """
    units = pl.concat([people[PLACE], geography[PLACE]])
    hierarchy = build_hierarchy(release, LEVELS, units, geography)
    targets = unlike_their_block(with_keys(RELEASE, people, 15))
    unique = targets.filter("unique", pl.col(PLACE).is_in(zero.implode()))
    found: dict[str, list[tuple[int, float, float]]] = {}
    for seed in range(1, seeds + 1):
        made = make(people, hierarchy, seed, 100, alone=not known, release=release)
        made = with_keys(RELEASE, made, 15)
        for suffix, records in (("", made), (", races shuffled", shuffled(made, seed))):
            for name, some in (("nonmodal", targets), ("unique, zero solvar", unique)):
                found.setdefault(name + suffix, []).append(right(some, records))
    return found


def row(name: str, which: str, results: Sequence[tuple[int, float, float]]) -> list[str]:
    """Means over seeds, and Student's interval of what the microdata add to the guess."""
    people, microdata, guess = np.array(results, dtype=np.float64).T
    added = microdata - guess
    ends = ""
    if len(added) > 1:
        reach = stats.sem(added) * stats.t.ppf(0.975, len(added) - 1)
        ends = f" ({added.mean() - reach:+.1f} to {added.mean() + reach:+.1f})"
    cells = [f"{people.mean():,.0f}", f"{microdata.mean():.1f}", f"{guess.mean():.1f}"]
    return [name, which, *cells, f"{added.mean():+.1f}{ends}"]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path, help="of `recon run -c configs/nation.yaml`")
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    people, places = read(options.work, "persons"), read(options.work, "places")
    lived_in = (pl.col("units") > 0) | (pl.col("population") > 0)
    geography = optimised_groups(places.filter(lived_in)[PLACE])
    zero = read(options.work, "solvar").filter(solvar_upper_pct=0)[PLACE]
    rows = []
    settings = {
        "measured": (RELATED, False),
        "not measured": (RELEASE, False),
        "measured, nation known": (RELATED, True),
    }
    for name, (release, known) in settings.items():
        results = figures(people, geography, zero, release, options.seeds, known=known)
        rows += [row(name, which, each) for which, each in results.items()]
    header = ["relationships", "targets", "with a partner", "right %", "guess %", "added (95%)"]
    print(markdown_table(header, rows, 2))  # noqa: T201 - what was asked for


if __name__ == "__main__":
    main()
