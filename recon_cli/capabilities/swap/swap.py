"""Household swapping: the choice of pairs, and the swapped records.

A swap exchanges the blocks of two households of one state. Nobody's answers change, so the nation's
totals stay; block populations stay too when partners are of equal size.

One random number of each household determines the pairs: among eligible households, those with the
closest numbers are paired. So adding or removing a household changes the partners of few others.

See *swapping* in docs/glossary.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import polars as pl

from recon_cli.arrays import FloatArray, IntArray
from recon_cli.capabilities.swap.settings import Experimental, Swap, Targeted, Three
from recon_cli.chance import Draws, KeyedChance, ends_of, uniform
from recon_cli.schema import Level

#: A recorded pair: the two households, their sizes and blocks before, and where they met.
SWAPS = pl.Schema(
    {
        "household": pl.Int64,
        "partner": pl.Int64,
        "geoid_block": pl.String,
        "partner_block": pl.String,
        "people": pl.Int32,
        "partner_people": pl.Int32,
        "reach": pl.String,
    }
)
#: Columns of a household that a swap needs.
NEEDED = ("household", "geoid_block", "people", "adults")
#: Result of a search for pairs: row numbers of the two, and where they met.
PAIRS = pl.Schema({"first": pl.Int64, "second": pl.Int64, "reach": pl.String})


def choose_swaps(
    households: pl.DataFrame,
    settings: Swap,
    chance: KeyedChance,
    levels: tuple[Level, Level],
) -> pl.DataFrame:
    """Choose the pairs of one state.

    Args:
        households: Occupied households: columns `NEEDED`, and for a targeted swap
            ``block_people`` and ``unique_race`` too (see `with_disclosure_risk`).
        chance: Source whose draws for a household do not depend on other households.
        levels: Tract and county.

    Returns:
        Columns of `SWAPS`, no household twice; ``reach`` is ``tract``, ``county`` or ``state``;
        for an experimental swap the pseudo-tract and pseudo-county are meant.
    """
    ordered = households.sort("household").with_row_index("row").cast({"row": pl.Int64})
    ordered = ordered.with_columns(
        tract=levels[0].enclosing(pl.col("geoid_block")),
        county=levels[1].enclosing(pl.col("geoid_block")),
        state=pl.lit(""),
    )
    if isinstance(settings, Targeted):
        pairs = _targeted(ordered, settings, chance)
    else:
        pairs = _experimental(ordered, settings, chance)
    one = ordered[pairs["first"]].select(NEEDED)
    two = ordered[pairs["second"]].select(NEEDED)
    return pl.DataFrame(
        {
            "household": one["household"],
            "partner": two["household"],
            "geoid_block": one["geoid_block"],
            "partner_block": two["geoid_block"],
            "people": one["people"],
            "partner_people": two["people"],
            "reach": pairs["reach"],
        },
        schema=SWAPS,
    ).sort("household")


def _experimental(
    households: pl.DataFrame, settings: Experimental, chance: KeyedChance
) -> pl.DataFrame:
    """Choose pairs of equal noisy size in pseudo-tracts, pseudo-counties and states (Appendix C).

    Partners live in different blocks: a swap within a block would change nothing.
    """
    count = len(households)
    noise = _one_of_three(_draws(households, chance, "size"), settings.size_noise) - 1
    pseudo = _pseudo_tracts(households, settings, chance)
    candidates = households.select("row", "state", "geoid_block").with_columns(
        key=households["people"] + pl.Series(noise),
        tract=pseudo,
        county=pl.Series(households["county"]).gather(_first_of(households, pseudo)),
        chance=pl.Series(_drawn(households, chance, "partner")),
    )
    chosen = np.argsort(_drawn(households, chance, "chosen"))[: round(settings.rate * count)]
    return match_pairs(
        candidates[np.sort(chosen)], ["key"], ["tract", "county", "state"], apart="geoid_block"
    )


def _first_of(households: pl.DataFrame, tracts: pl.Series) -> pl.Series:
    """Return for each tract the row of a household in it."""
    first = households.group_by("tract").agg(pl.col("row").min())
    return tracts.replace_strict(first["tract"], first["row"], return_dtype=pl.Int64)


def _drawn(households: pl.DataFrame, chance: KeyedChance, purpose: str) -> FloatArray:
    """Draw (households,) numbers in [0, 1) for one purpose, as an order."""
    return uniform(_draws(households, chance, purpose).words)


def _draws(households: pl.DataFrame, chance: KeyedChance, purpose: str) -> Draws:
    """Draw (households,) words for one purpose."""
    own = chance.named("swap", purpose)
    return Draws(own.words_of_each(households["household"].cast(pl.String))[:, 0], own)


def _one_of_three(draws: Draws, p: Three) -> IntArray:
    """Draw 0, 1 or 2, with probabilities ``p``, for each household."""
    ends = ends_of(p)
    return draws.choose(np.array(0), lambda _: ends)


def _pseudo_tracts(
    households: pl.DataFrame, settings: Experimental, chance: KeyedChance
) -> pl.Series:
    """Return the pseudo-tract of each household.

    Households of the second kind exchange tracts within their county, those of the third within the
    state: in a random order each gets the tract of the next. So every tract is the pseudo-tract of
    as many households as it has; if one household is removed, one other's pseudo-tract changes.
    """
    kind = _one_of_three(_draws(households, chance, "kind"), settings.pseudo_tract)
    place = _drawn(households, chance, "pseudo-tract")
    tract = households["tract"]
    rows = np.arange(len(households))
    codes = tract.rank("dense").to_numpy() - 1
    county = households["county"].rank("dense").to_numpy()
    mixed = codes.copy()
    for which, group in ((1, county), (2, np.zeros(len(county)))):
        members = rows[kind == which]
        order = members[np.lexsort((place[members], group[members]))]
        mixed[order] = codes[order[_next_in_group(group[order])]]
    return tract.unique().sort().gather(mixed)


def _next_in_group(groups: IntArray) -> IntArray:
    """Return the (n,) next index in the same group of sorted groups; the first for the last."""
    place = np.arange(1, len(groups) + 1)
    starts = np.flatnonzero(np.diff(groups, prepend=groups[:1] - 1))
    lasts = np.append(starts[1:], len(groups))[: len(starts)] - 1
    place[lasts] = starts
    return place


def with_disclosure_risk(households: pl.DataFrame, persons: pl.DataFrame) -> pl.DataFrame:
    """Add the columns that a targeted swap uses.

    Args:
        households: Columns `NEEDED`.
        persons: ``geoid_block``, ``household`` (null in group quarters), ``race``, ``hispanic``.

    Returns:
        The frame with ``block_people`` and ``unique_race``: whether a member's race and
        ethnicity are those of nobody outside the household in the block.
    """
    block = persons.group_by("geoid_block").agg(block_people=pl.len())
    race = ["geoid_block", "race", "hispanic"]
    shared = persons.group_by(race).agg(homes=pl.col("household").n_unique())
    alone = (
        persons.filter(pl.col("household").is_not_null())
        .join(shared.filter(pl.col("homes") == 1), on=race, how="semi")
        .select("household")
        .unique()
        .with_columns(unique_race=pl.lit(value=True))
    )
    return (
        households.join(block, on="geoid_block", how="left", maintain_order="left")
        .join(alone, on="household", how="left", maintain_order="left")
        .with_columns(pl.col("unique_race").fill_null(value=False))
    )


def _targeted(households: pl.DataFrame, settings: Targeted, chance: KeyedChance) -> pl.DataFrame:
    """Pair small blocks and unique races first; same size and number of adults, another block."""
    size = households["block_people"].to_numpy()
    rate, likelier = (
        np.interp(np.log(size), np.log(settings.sizes), values)
        for values in (settings.rates, settings.unique_race)
    )
    weight = np.where(households["unique_race"], likelier, 1.0)
    share = rate * weight / _local_mean(weight, size, settings)
    shares, kind = np.unique(share, return_inverse=True)
    draws = _draws(households, chance, "chosen")
    chosen = draws.choose(kind, lambda which: [Fraction(float(shares[which]))]) == 0
    if not chosen.any():
        return PAIRS.to_frame()
    candidates = households.filter(pl.Series(chosen))
    candidates = candidates.with_columns(chance=pl.Series(_drawn(candidates, chance, "partner")))
    return match_pairs(
        candidates, ["people", "adults"], ["tract", "county", "state"], apart="geoid_block"
    )


def _local_mean(
    weight: np.ndarray[tuple[int], np.dtype[np.float64]],
    size: np.ndarray[tuple[int], np.dtype[np.int64]],
    settings: Targeted,
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return the mean weight among households in blocks of similar size, so that the rates hold."""
    middle = np.sqrt(np.array(settings.sizes[1:]) * np.array(settings.sizes[:-1]))
    group = np.searchsorted(middle, size)
    count = np.maximum(np.bincount(group, minlength=len(settings.sizes)), 1)
    return (np.bincount(group, weight, len(settings.sizes)) / count)[group]


def list_moves(swaps: pl.DataFrame) -> pl.DataFrame:
    """List ``household`` and its ``new_block``, two rows for each pair."""
    return pl.concat(
        [
            swaps.select("household", new_block="partner_block"),
            swaps.select(household="partner", new_block="geoid_block"),
        ]
    )


def apply_moves(records: pl.DataFrame, moves: pl.DataFrame) -> pl.DataFrame:
    """Replace ``geoid_block`` of moved records (persons or households); keep the order."""
    return (
        records.join(moves, on="household", how="left", maintain_order="left")
        .with_columns(geoid_block=pl.coalesce("new_block", "geoid_block"))
        .drop("new_block")
    )


#: Columns, keys and draws, that would identify people or households in the original records.
_TRACEABLE = ("pik", "r_keep", "r")


def without_traces(
    persons: pl.DataFrame, households: pl.DataFrame, chance: KeyedChance
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Remove traces of the old places: person keys, and households' old numbers.

    Households get the same numbers in a random order, so that it stays known who lives together.

    Args:
        persons: With ``household``, null in group quarters.
        households: With ``household``, distinct.
    """
    old = households["household"].sort()
    order = np.argsort(chance.named("number").words(len(old)), kind="stable")
    new = pl.DataFrame({"household": old, "_new": old.gather(order)})
    numbered = (
        each.join(new, on="household", how="left", maintain_order="left")
        .with_columns(household=pl.col("_new"))
        .drop("_new", *_TRACEABLE, strict=False)
        for each in (persons, households)
    )
    people, homes = numbered
    return people, homes


def match_pairs(
    candidates: pl.DataFrame,
    key: Sequence[str],
    reaches: Sequence[str],
    *,
    apart: str | None = None,
) -> pl.DataFrame:
    """Pair rows with equal ``key``: within the first of ``reaches``, then the rest within the next.

    Each row is used at most once. With ``apart``, partners differ in that column; a group passes to
    the next reach when all that remain in it are equal there.

    Args:
        candidates: ``row`` (number), ``chance`` (uniform, decides who meets whom), and the columns
            that the other arguments name. Reaches may be null only in none.
        key: Columns in which partners agree.
        reaches: Columns, finest first; each next one contains the last.
        apart: A column in which partners must differ.

    Returns:
        Columns of `PAIRS`; ``reach`` is the column within which the two met.
    """
    made = [PAIRS.to_frame()]
    left = candidates
    for reach in reaches:
        pairs = _pair_within(left, [*key, reach], apart).with_columns(reach=pl.lit(reach))
        made.append(pairs.select(PAIRS.names()).cast(PAIRS))
        used = pl.concat([pairs["first"], pairs["second"]])
        left = left.filter(~pl.col("row").is_in(used.implode()))
    return pl.concat(made)


def _pair_within(candidates: pl.DataFrame, group: list[str], apart: str | None) -> pl.DataFrame:
    """Pair within groups, as ``first`` and ``second``: the closest, then the remaining."""
    ordered = candidates.sort([*group, "chance", "row"])
    row, chance = ordered["row"].to_numpy(), ordered["chance"].to_numpy()
    groups = ordered.select(pl.struct(group).rle_id()).to_series().to_numpy()
    other = row if apart is None else ordered[apart].rank("dense").to_numpy()
    first, second = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    left = np.arange(len(ordered))
    while len(left) > 1:
        one, two = left[:-1], left[1:]
        may_meet = (groups[one] == groups[two]) & (other[one] != other[two])
        if not may_meet.any():
            break
        distance = np.where(may_meet, chance[two] - chance[one], np.inf)
        closer_before = np.concatenate([[np.inf], distance[:-1]]) <= distance
        closer_after = np.concatenate([distance[1:], [np.inf]]) < distance
        meet = np.flatnonzero(may_meet & ~closer_before & ~closer_after)
        first.append(row[left[meet]])
        second.append(row[left[meet + 1]])
        left = np.delete(left, np.concatenate([meet, meet + 1]))
    frame = pl.DataFrame({"first": np.concatenate(first), "second": np.concatenate(second)})
    return frame.sort("first")
