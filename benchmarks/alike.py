"""How alike in age the householders of a block are: ``python -m benchmarks.alike``.

`ages.alike` of the synthetic population is fitted here. For each of nineteen values, nations of a
million people are generated from seeds other than those of the calibration page. Their data-defined
people who share block, sex and agebin with nobody, in percent of everybody, stand beside Table 7 of
the 2010 study, and everybody who shares block, sex and age in years with nobody beside its 44
percent. *Misfit* is the sum of squares of what the means over seeds are off, in units of the bounds
that the calibration page has for them. The value with the least misfit is to be packaged. The last
row has the value that each published number would choose alone.

With ``--records`` (real ones, with geoid_block, sex, age): how adults' ages correlate in their
blocks, and in nations of each value. Nothing is fitted to that.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl

import recon_cli as recon
from recon_cli.capabilities.attacker.stage import age_bins
from recon_cli.capabilities.calibrate.measures import load_study
from recon_cli.capabilities.synth.county import generate_county
from recon_cli.capabilities.synth.geography import plan_nation
from recon_cli.capabilities.synth.parameters import load_nation
from recon_cli.markdown import markdown_table
from recon_cli.page.sizes import Sizes

BLOCK = "geoid_block"
STUDY = load_study()
SIZES = Sizes(STUDY.lower)
PUBLISHED = np.array([*STUDY.classes["unique_defined"], STUDY.text["unique_exact"]])
#: As in `recon_cli.capabilities.calibrate.measures`.
BOUNDS = np.array([2.0, 2.0, 2.0, 2.0, 3.0, 3.0, 3.0, 2.0])
#: The number of the bin of each age, and its lowest age.
BINS = age_bins(recon.load_release("sf1_2010"))
LOWEST = np.unique(BINS, return_index=True)[1][BINS]
VALUES = tuple(step / 20 for step in range(19))
#: Adults' ages are compared: children's follow their parents'.
ADULT = 25


def nation(alike: float, people: int, seed: int) -> pl.DataFrame:
    """The people of a nation whose neighbours are so alike."""
    packaged = load_nation()
    ages = packaged.ages.model_copy(update={"alike": alike})
    changed = packaged.model_copy(update={"ages": ages})
    counties = plan_nation(changed, people, seed)
    return pl.concat([generate_county(changed, each, seed).persons for each in counties])


def with_size(people: pl.DataFrame) -> pl.DataFrame:
    """People with ``bin``, and ``size``, the number of the class of their block."""
    bins = pl.Series(BINS).gather(people["age"].cast(pl.Int64))
    return people.with_columns(bin=bins, size=SIZES.number(pl.len().over(BLOCK)))


def unique_shares(people: pl.DataFrame) -> list[float]:
    """In percent what is published: data-defined uniques by class, and all with single years.

    Args:
        people: From `with_size`; without ``data_defined`` everybody is.
    """
    if "data_defined" not in people.columns:
        people = people.with_columns(data_defined=pl.lit(value=True))
    binned, exact = (pl.len().over(BLOCK, "sex", age) == 1 for age in ("bin", "age"))
    share = 100 * (binned & pl.col("data_defined")).mean().over("size")
    marked = people.select("size", share=share, exact=100 * exact)
    return [*_by_class(marked.group_by("size").agg(pl.first("share"))), _mean(marked["exact"])]


def age_correlations(people: pl.DataFrame) -> list[float]:
    """By class, how the ages of two adults of one block correlate (the lowest ages of their bins).

    Args:
        people: From `with_size`.
    """
    adults = people.filter(pl.col("age") >= ADULT)
    ages = pl.Series(LOWEST).gather(adults["age"].cast(pl.Int64))
    adults = adults.with_columns(age=ages - ages.mean())
    blocks = adults.group_by(BLOCK, "size").agg(
        n=pl.len(), total=pl.col("age").sum(), squares=pl.col("age").pow(2).sum()
    )
    pairs = (pl.col("total").pow(2) - pl.col("squares")).sum()
    count = (pl.col("n") * (pl.col("n") - 1)).sum()
    variance = pl.col("squares").sum() / pl.col("n").sum()
    return _by_class(blocks.group_by("size").agg(share=pairs / count / variance))


def _by_class(shares: pl.DataFrame) -> list[float]:
    every = pl.DataFrame({"size": range(len(SIZES.lowest))}, schema={"size": pl.Int8})
    joined = every.join(shares, on="size", how="left").sort("size")
    return joined["share"].fill_null(np.nan).to_list()


def _mean(values: pl.Series) -> float:
    return float(np.mean(values.to_numpy()))


def table(rows: dict[str, Sequence[float]], columns: Sequence[str], places: int) -> str:
    """A Markdown table; what is not a number is left empty."""
    cells = (
        [name, *("" if np.isnan(value) else f"{value:.{places}f}" for value in values)]
        for name, values in rows.items()
    )
    return markdown_table(["alike", *columns], cells, 1)


def main(arguments: Sequence[str] | None = None) -> None:
    """Search, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=1_000_000)
    parser.add_argument("--seeds", type=int, nargs="+", default=[4, 5, 6])
    parser.add_argument("--values", type=float, nargs="+", default=VALUES)
    parser.add_argument("--records", type=Path, help="real records: geoid_block, sex, age")
    options = parser.parse_args(arguments)
    shares, correlations = [], []
    for value in options.values:
        nations = [with_size(nation(value, options.people, seed)) for seed in options.seeds]
        shares.append(np.mean([unique_shares(people) for people in nations], axis=0))
        correlations.append(np.mean([age_correlations(people) for people in nations], axis=0))
    off = (np.array(shares) - PUBLISHED) / BOUNDS
    misfit = np.square(off).sum(axis=1)
    labels = SIZES.labels(range(len(SIZES.lowest)))
    names = [f"{value:.2f}" for value in options.values]
    found = np.column_stack([shares, misfit])
    alone = np.array(options.values)[np.abs(off).argmin(axis=0)]
    rows = {
        "published": [*PUBLISHED, np.nan],
        **dict(zip(names, found, strict=True)),
        "alone": [*alone, np.nan],
    }
    print(table(rows, [*labels, "exact age, all", "misfit"], 2))  # noqa: T201
    print(f"Least misfit: {names[int(misfit.argmin())]}")  # noqa: T201
    if options.records is not None:
        real = with_size(pl.read_parquet(options.records))
        both = {
            "real records": age_correlations(real),
            **dict(zip(names, correlations, strict=True)),
        }
        unique = table({"real records": unique_shares(real)[:-1]}, labels, 2)
        print(f"\nUnique of 100 real people, data-defined or not:\n\n{unique}")  # noqa: T201
        print(f"\nCorrelation of adults' ages:\n\n{table(both, labels, 2)}")  # noqa: T201


if __name__ == "__main__":
    main()
