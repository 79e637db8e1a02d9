"""The study's ideal experiment: ``python -m benchmarks.leave_one_out_swapped``.

Of a synthetic population some people are left out one at a time; each time the swap is drawn again,
the tables are published and attacked. Prints the tables of ``docs/leave_one_out.md``.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import polars as pl
from rich.console import Console

import recon_cli as recon
from recon_cli.capabilities.synth.county import generate_county
from recon_cli.capabilities.synth.geography import plan_nation
from recon_cli.capabilities.synth.parameters import load_nation
from recon_cli.markdown import markdown_table

SETTINGS = ("targeted", "lo", "hi")
MEASURES = {
    "chance": "the attack says what is true",
    "settled": "it follows in every reconstruction",
    "certain": "the whole record is certain",
}
SIZES = (1, 10, 50, 100, 250)


def make_people(people: int, seed: int) -> pl.DataFrame:
    """The persons of a synthetic nation."""
    nation = load_nation(None)
    counties = plan_nation(nation, people, seed)
    return pl.concat(generate_county(nation, county, seed).persons for county in counties)


def differences(found: pl.DataFrame, setting: str) -> list[tuple[str, ...]]:
    """A row a measure: percent with the people, points without them, in both ways."""
    return [(setting, said, *_rates(found, name)) for name, said in MEASURES.items()]


def by_size(found: pl.DataFrame, setting: str) -> list[tuple[str, ...]]:
    """A row a class of block size, of the chance alone."""
    ends = (*(low - 1 for low in SIZES[1:]), None)
    rows: list[tuple[str, ...]] = []
    for low, high in zip(SIZES, ends, strict=True):
        here = found.filter(pl.col("population").is_between(low, high or 10**9))
        label = f"{low}+" if high is None else f"{low}–{high}"
        if here.height:
            rows.append((setting, label, str(here["people"].sum()), *_rates(here, "chance")))
    return rows


def _rates(found: pl.DataFrame, name: str) -> tuple[str, ...]:
    def share(column: str) -> float:
        """In percent; undecided counts as not so."""
        value = pl.col(column).cast(pl.Float64).fill_null(0.0) * pl.col("people")
        return float(found.select(100 * value.sum() / pl.col("people").sum()).item())

    whole = share(name)
    lost = (whole - share(f"{name}_{how}") for how in ("without", "fixed"))
    return f"{whole:.1f}", *(f"{points:+.1f}" for points in lost)


def changes(found: pl.DataFrame, persons: pl.DataFrame, setting: str) -> list[tuple[str, ...]]:
    """Units whose records differ where the swap is drawn again: median, mean, 95 %, most."""
    homes = persons.group_by("household").len("members")
    sized = found.join(homes, on="household", how="left")
    kinds = {
        "lives alone": pl.col("members") == 1,
        "with others": pl.col("members") > 1,
        "in group quarters": pl.col("household").is_null(),
    }
    rows: list[tuple[str, ...]] = []
    for kind, chosen in kinds.items():
        units = sized.filter(chosen)["units_changed"]
        if len(units):
            ends = np.percentile(units.to_numpy(), [50, 95, 100], method="higher").tolist()
            rows.append((setting, kind, str(len(units)), *map(str, ends)))
    return rows


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=10_000)
    parser.add_argument("--left-out", type=int, default=300)
    parser.add_argument("--draws", type=int, default=1)
    parser.add_argument("--seed", type=int, default=7)
    asked = parser.parse_args()
    console = Console(soft_wrap=True, highlight=False, markup=False)
    release, persons = recon.load_release("sf1_2010"), make_people(asked.people, asked.seed)
    overall: list[tuple[str, ...]] = []
    sizes: list[tuple[str, ...]] = []
    changed: list[tuple[str, ...]] = []
    for setting in SETTINGS:
        started = time.process_time()
        found = recon.leave_one_out_swapped(
            release, persons, chance=recon.KeyedChance.for_study(asked.seed), setting=setting,
            draws=asked.draws, people=asked.left_out, tables="block+tract", seed=asked.seed,
        )  # fmt: skip
        undecided = found.filter(pl.col("status") != "complete")["people"].sum()
        console.print(
            f"{setting}: {found['people'].sum()} people, {undecided} with something undecided, "
            f"{time.process_time() - started:.0f} CPU s"
        )
        overall += differences(found, setting)
        sizes += by_size(found, setting)
        changed += changes(found, persons, setting)
    points = ("with them, %", "drawn again, points", "same pairs, points")
    console.print(markdown_table(("swap", "what is learnt", *points), overall, 2))
    console.print(markdown_table(("swap", "people in the block", "people", *points), sizes, 2))
    console.print(
        markdown_table(("swap", "who", "records", "median", "95 % at most", "most"), changed, 2)
    )


if __name__ == "__main__":
    main()
