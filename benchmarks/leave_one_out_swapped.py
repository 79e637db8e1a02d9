"""The study's ideal experiment: ``python -m benchmarks.leave_one_out_swapped``.

Of a synthetic population some people are left out one at a time; each time the swap is drawn again,
the tables are published and attacked. Each household moves by a random number of its own, so
without a person few others move differently; such changes are part of the effect of the person's
answers. Prints the tables of ``docs/leave_one_out.md``.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import polars as pl
from rich.console import Console

import recon_cli as recon
from recon_cli.capabilities.leave_one_out.again import Publish, ScratchAttack, left_out
from recon_cli.capabilities.leave_one_out.options import LeaveOneOut
from recon_cli.capabilities.swap.settings import Swap, Targeted, load_swap
from recon_cli.capabilities.swap.swap import (
    SWAPS,
    apply_moves,
    choose_swaps,
    list_moves,
    with_disclosure_risk,
)
from recon_cli.capabilities.synth.county import generate_county
from recon_cli.capabilities.synth.geography import plan_nation
from recon_cli.capabilities.synth.parameters import load_nation
from recon_cli.capabilities.tabulate.tabulation import publish_records
from recon_cli.chance import KeyedChance
from recon_cli.markdown import markdown_table
from recon_cli.publication import Publication
from recon_cli.schema import Level, Release, Table

_ADULT = 18
_COMPARED = ("chance", "settled", "certain")
SETTINGS = ("targeted", "lo", "hi")
MEASURES = {
    "chance": "the attack says what is true",
    "settled": "it follows in every reconstruction",
    "certain": "the whole record is certain",
}
SIZES = (1, 10, 50, 100, 250)


def draw_moves(
    persons: pl.DataFrame, settings: Swap, chance: KeyedChance, levels: tuple[Level, Level, Level]
) -> pl.DataFrame:
    """Swap the households that people form, state by state.

    Args:
        persons: ``geoid_block``, ``household`` (null in group quarters), ``age``, ``race``,
            ``hispanic``.
        levels: Tract, county and state.

    Returns:
        As `list_moves`.
    """
    tract, county, state = levels
    homes = (
        persons.filter(pl.col("household").is_not_null())
        .group_by("household")
        .agg(
            pl.col("geoid_block").first(),
            people=pl.len().cast(pl.Int32),
            adults=(pl.col("age") >= _ADULT).sum().cast(pl.Int32),
        )
    )
    if isinstance(settings, Targeted):
        homes = with_disclosure_risk(homes, persons)
    named = homes.with_columns(_state=state.enclosing(pl.col("geoid_block")))
    parts = named.partition_by("_state", as_dict=True, include_key=False)
    moves = [SWAPS.to_frame().select("household", new_block="partner_block")]
    moves += [
        list_moves(choose_swaps(part, settings, chance.named(str(name)), (tract, county)))
        for (name,), part in sorted(parts.items())
    ]
    return pl.concat(moves)


@dataclass(frozen=True)
class SwappedPublication:
    """A way to swap records and to publish them.

    Attributes:
        draw: People → which households move where; the same for the same people.
        move: People and that → people with their new units, in the same order.
        publish: Publishes the counts of moved people, each region by itself.
    """

    draw: Callable[[pl.DataFrame], pl.DataFrame]
    move: Callable[[pl.DataFrame, pl.DataFrame], pl.DataFrame]
    publish: Publish


def attack_swapped(
    release: Release,
    tables: Sequence[Table],
    persons: pl.DataFrame,
    swap: SwappedPublication,
    options: LeaveOneOut,
    *,
    share: float = 1.0,
) -> pl.DataFrame:
    """Compare conclusions about people at their true address, before a swap moved some of them.

    Args:
        persons: The confidential records: the unit's geoid, ``household``, the features.

    Returns:
        As `leave_out`, a row for each distinct
        record of a ``household``; without the person the swap is drawn again. Besides
        ``chance_fixed``, ``settled_fixed`` and ``certain_fixed``, without the person and with the
        pairs that were drawn with everybody, and ``units_changed`` (Int32), units whose swapped
        records differ where the swap is drawn again.

    Raises:
        ConfigError: Nothing is gained from these tables.
    """
    place = pl.col(release.geoid_column)
    names = [release.geoid_column, *(feature.name for feature in release.features)]
    pairs = swap.draw(persons)
    swapped = swap.move(persons, pairs)
    attack = ScratchAttack.of(release, tables, persons, swap.publish(swapped), options)
    changed: list[int] = []

    def without(row: int) -> Sequence[Publication]:
        """Publish the person's region alone: nothing else is attacked."""
        region = release.region.enclosing(str(persons[release.geoid_column][row]))
        here = release.geography.inside(place, region)
        others = left_out(persons, row)
        again = swap.move(others, swap.draw(others))
        changed.append(_units_changed(swapped.select(names), again.select(names)))
        kept = swap.move(others, pairs).filter(here)
        again = again.filter(here)
        redrawn = swap.publish(again)
        return redrawn, redrawn if again.equals(kept) else swap.publish(kept)

    people = attack.people(share, "household")
    redrawn, fixed = attack.compare(people, without, ways=2)
    is_partial = (redrawn["status"] == "complete") & (fixed["status"] == "partial")
    return redrawn.with_columns(
        people["household"],
        *(fixed[f"{name}_without"].alias(f"{name}_fixed") for name in _COMPARED),
        status=pl.when(is_partial).then(pl.lit("partial")).otherwise("status"),
        units_changed=pl.Series(changed, dtype=pl.Int32),
    )


def _units_changed(before: pl.DataFrame, after: pl.DataFrame) -> int:
    """Count the units whose records differ."""
    counts = [each.group_by(each.columns).len() for each in (before, after)]
    names = [*before.columns, "len"]
    differ = [
        one.join(other, on=names, how="anti", nulls_equal=True)
        for one, other in (counts, counts[::-1])
    ]
    return pl.concat(differ)[before.columns[0]].n_unique()


def attack_draws(
    release: recon.Release, persons: pl.DataFrame, setting: str, options: LeaveOneOut, draws: int
) -> pl.DataFrame:
    """Attack the block and tract tables of some draws of a swap; see `attack_swapped`."""
    tract, county, state = (
        release.geography.by_name[name] for name in ("tract", "county", "state")
    )
    levels = tract, county, state
    settings, units = load_swap(setting), persons[release.geoid_column].unique().sort()
    chance = recon.KeyedChance.for_study(options.fixed_seed)

    def published(records: pl.DataFrame) -> Publication:
        return publish_records(release, records, units)

    tables = release.select_tables("block+tract")
    frames = []
    for number in range(draws):
        draw = partial(
            draw_moves, settings=settings, chance=chance.named(f"draw {number}"), levels=levels
        )
        swap = SwappedPublication(draw, apply_moves, published)
        share = options.share(persons.height)
        found = attack_swapped(release, tables, persons, swap, options, share=share)
        frames.append(found.with_columns(draw=pl.lit(number, pl.Int32)))
    return pl.concat(frames)


def make_people(people: int, seed: int) -> pl.DataFrame:
    """Return the persons of a synthetic nation."""
    nation = load_nation(None)
    counties = plan_nation(nation, people, seed)
    return pl.concat(generate_county(nation, county, seed).persons for county in counties)


def differences(found: pl.DataFrame, setting: str) -> list[tuple[str, ...]]:
    """Return a row a measure: percent with the people, points without them, in both ways."""
    return [(setting, said, *_rates(found, name)) for name, said in MEASURES.items()]


def by_size(found: pl.DataFrame, setting: str) -> list[tuple[str, ...]]:
    """Return a row a class of block size, of the chance alone."""
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
        options = LeaveOneOut(people=asked.left_out, seed=asked.seed)
        found = attack_draws(release, persons, setting, options, asked.draws)
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
