"""Top-down beside the real demonstration data: ``python -m benchmarks.topdown --page FILE``.

Nine census tracts whose published tables determine sex, age group, race and ethnicity of everybody
(the published reconstruction of the 2010 summary file) are measured with the budgets of the 2020
census and made again; the oracle is the published reconstruction of the demonstration data that the
Census Bureau made of the same people. ``--archive`` takes nineteen others, which nothing was
looked at with.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl
from python_calamine import CalamineWorkbook

from benchmarks.machine import ROOT, recon
from recon_cli.capabilities.measurements.domain import Domain, Histogram, add_up, merge
from recon_cli.capabilities.measurements.hierarchy import Hierarchy, build_hierarchy
from recon_cli.capabilities.measurements.least_squares import StoppingRule
from recon_cli.capabilities.measurements.strategy_file import load_strategy
from recon_cli.capabilities.synth.households import RELATIONSHIPS
from recon_cli.capabilities.topdown.stage import walk
from recon_cli.capabilities.topdown.topdown import Product
from recon_cli.chance import KeyedChance
from recon_cli.markdown import markdown_table
from recon_cli.schema import Release, extend_release, load_release
from recon_cli.schema.spec import FeatureSpec

DATA = ROOT.parent / "shared" / "data"
RELEASE = load_release("sf1_2010")
#: Columns of the archive's records.
RACES = (
    *("White", "Black", "American Indian or Alaskan Native", "Asian"),
    *("Native Hawaiian or Pacific Island", "Some Other Race"),
)
#: With the relationships that production tells apart; the real records do not have them.
RELATED = extend_release(RELEASE, {"relationship": FeatureSpec(categories=list(RELATIONSHIPS))})
#: Synthetic people of whom relationships are taken.
DONORS = 20_000
KEYS = (
    ("block",),
    ("block", "sex"),
    ("block", "race", "hispanic"),
    ("block", "sex", "agebin"),
    ("block", "sex", "agebin", "race", "hispanic"),
    ("block", "sex", "age", "race", "hispanic"),
)
#: Children that a geounit of the optimised geography may have beyond the root of the number of
#: blocks in the tract: the default of the production code.
FANOUT = 12


def read_records(name: str, islander: str) -> pl.DataFrame:
    """Records of the nine tracts in the release's columns."""
    flags = ("white", "black", "aian", "asian", islander, "sor")
    race = pl.sum_horizontal(pl.col(flag).cast(pl.Int16) * 2**i for i, flag in enumerate(flags))
    return pl.read_parquet(DATA / name).select(
        "geoid_block",
        "sex",
        pl.col("age").cast(pl.Int16),
        race=race.cast(pl.Int16),
        hispanic=pl.col("hispanic") == 1,
    )


def archived_records(archive: Path, name: str) -> pl.DataFrame:
    """Records of the tracts of the study's published archive that are not among the nine.

    Args:
        archive: A checkout of uscensusbureau/recon_replication.
        name: ``rhdf`` or ``rmdf``.
    """
    path = archive / "extract" / "provided" / f"{name}_bt_0solvar_extract.xlsx"
    sheet = CalamineWorkbook.from_path(path).get_sheet_by_index(0).to_python()
    text = [[str(value) for value in row] for row in sheet[1:]]
    rows = pl.DataFrame(text, schema=[str(each) for each in sheet[0]], orient="row")
    flags = [pl.col(each).eq("Y").cast(pl.Int16) * 2**i for i, each in enumerate(RACES)]
    nine = read_records("published_records.parquet", "nhopi")["geoid_block"].str.head(11)
    return rows.filter(~pl.col("Block ID").str.head(11).is_in(nine.unique().implode())).select(
        geoid_block="Block ID",
        sex=pl.col("Sex"),
        age=pl.col("Age").cast(pl.Float64).cast(pl.Int16),
        race=pl.sum_horizontal(flags).cast(pl.Int16),
        hispanic=pl.col("Hispanic") == "Y",
    )


def optimised_groups(units: pl.Series, fanout: int = FANOUT) -> pl.DataFrame:
    """Block groups of the production geography: columns ``geoid_block, block_group``.

    Blocks of one tabulation block group in order, cut so that no group has more than the root of
    the number of blocks in the tract, plus ``fanout`` + 1.
    """
    blocks = pl.DataFrame({"geoid_block": units.unique().sort()}).with_columns(
        group=pl.col("geoid_block").str.head(12), tract=pl.col("geoid_block").str.head(11)
    )
    most = pl.len().over("tract").sqrt().cast(pl.Int64) + fanout + 1
    number = pl.int_range(pl.len()).over("group") // most
    return blocks.select(
        "geoid_block",
        block_group=pl.col("group") + number.cast(pl.String).str.zfill(3),
    )


def impute_relationships(records: pl.DataFrame, seed: int) -> pl.DataFrame:
    """Records with the relationship of a synthetic person of the same sex and, nearly, age."""
    with TemporaryDirectory() as folder:
        options = ("-c", ROOT / "configs" / "synthetic.yaml", "--work", folder, "--workers", 1)
        recon("data", "synth", *options, "--set", f"synth.people={DONORS}")
        donors = pl.read_parquet(f"{folder}/persons/**/*.parquet", hive_partitioning=False)
    rng = np.random.default_rng(seed)
    ages: dict[str, pl.DataFrame] = {
        str(sex): part.sort("age") for (sex,), part in donors.group_by("sex")
    }
    found = pl.Series([""]).gather(np.zeros(len(records), dtype=np.int64)).to_numpy().copy()
    for sex, part in ages.items():
        here = (records["sex"] == sex).to_numpy()
        known, wanted = part["age"].to_numpy(), records["age"].to_numpy()[here]
        first, last = np.searchsorted(known, wanted), np.searchsorted(known, wanted, side="right")
        first = np.minimum(first, len(known) - 1)
        drawn = first + (rng.random(len(wanted)) * np.maximum(last - first, 1)).astype(np.int64)
        found[here] = part["relationship"].to_numpy()[drawn]
    return records.with_columns(relationship=pl.Series(found, dtype=pl.String))


def make(
    records: pl.DataFrame,
    hierarchy: Hierarchy,
    seed: int,
    steps: int,
    *,
    alone: bool,
    release: Release = RELEASE,
) -> pl.DataFrame:
    """Both products of the 2020 census; the records of the second.

    Args:
        records: The truth, with the features of ``release``.
        hierarchy: From ``nation`` down; it has the true histogram, unless ``alone``.
        seed: Of the noise.
        steps: Of least squares.
        alone: Start at the tracts, over all cells, as if nothing were known above.
        release: What is told apart.
    """
    measured = ("group_quarters", "relationship")
    without = tuple(name for name in measured if name not in release.feature_index)
    products, truth, tops = [], [], []
    geoids = hierarchy.geoids[-1]
    place = records["geoid_block"].replace_strict(geoids, np.arange(len(geoids)))
    at = place.cast(pl.Int64).to_numpy()
    for name in ("pl94_2020", "dhc_2020"):
        strategy = load_strategy(name, release, without)
        domain = Domain.of(release, strategy)
        products.append(
            Product(domain, strategy, KeyedChance.for_study(seed), rule=StoppingRule(steps))
        )
        ones = np.ones(len(records), dtype=np.int64)
        truth.append(add_up(at, domain.cells(records), ones, len(geoids)))
        tops.append(merge(truth[-1], hierarchy.place(0), 1)[0])
    if alone:
        made = walk(products, hierarchy.only(hierarchy.levels[1:]), truth)[-1]
    else:
        made = walk(products, hierarchy, truth, tops)[-1]
    return _records(products[-1].domain, geoids, made)


def _records(domain: Domain, geoids: pl.Series, made: Sequence[Histogram]) -> pl.DataFrame:
    units = np.repeat(np.arange(len(made)), [len(each.cells) for each in made])
    cells = np.concatenate([each.cells for each in made])
    people = np.concatenate([each.people for each in made])
    return domain.records(geoids.gather(units), cells, people)


def agreements(truth: pl.DataFrame, other: pl.DataFrame, digits: int = 15) -> list[float]:
    """Percent of the true records that have a partner with the same keys."""
    one, two = (with_keys(RELEASE, frame, digits) for frame in (truth, other))
    found = []
    for keys in KEYS:
        counts = [frame.group_by(keys).len() for frame in (one, two)]
        both = counts[0].join(counts[1], on=keys)
        shared = both.select(pl.min_horizontal("len", "len_right").sum()).item()
        found.append(100 * shared / len(truth))
    return found


def with_keys(release: Release, records: pl.DataFrame, digits: int) -> pl.DataFrame:
    """Records with the geounit as ``block`` and the age group."""
    recode = release.recode_by_name["agebin"]
    ages = release.features[release.feature_index["age"]].values
    labels = {
        age: label
        for i, age in enumerate(ages)
        for label, mask in zip(recode.labels, recode.masks, strict=True)
        if mask >> i & 1
    }
    return records.with_columns(
        block=pl.col("geoid_block").str.head(digits),
        agebin=pl.col("age").replace_strict(labels, return_dtype=pl.Int16),
    )


def variants(truth: pl.DataFrame, real: pl.DataFrame, seeds: int, steps: int) -> list[list[str]]:
    """Rows: what was made, and its agreement by keys.

    Args:
        truth: Records, as `read_records` has them.
        real: The demonstration data's of the same tracts.
        seeds: Draws of the noise.
        steps: Of least squares.
    """
    units = pl.concat([truth["geoid_block"], real["geoid_block"]])
    levels = ("nation", "tract", "block_group", "block")
    plain = build_hierarchy(RELEASE, levels, units)
    optimised = build_hierarchy(RELEASE, levels, units, optimised_groups(units))
    rows = [["demonstration data", *_figures([agreements(truth, real)])]]
    related = impute_relationships(truth, 1)
    settings = {
        "optimised block groups, imputed relationships": (related, optimised, RELATED, False),
        "optimised block groups": (truth, optimised, RELEASE, False),
        "tabulation block groups": (truth, plain, RELEASE, False),
        "… starting at the tract": (truth, plain, RELEASE, True),
    }
    for name, (records, hierarchy, release, alone) in settings.items():
        started = time.process_time()
        found = [
            agreements(truth, make(records, hierarchy, seed, steps, alone=alone, release=release))
            for seed in range(1, seeds + 1)
        ]
        spent = (time.process_time() - started) / seeds / len(plain.geoids[1])
        rows.append([name, *_figures(found)])
        print(f"{name}: {spent:.2f} core s a tract", flush=True)  # noqa: T201 - what was asked for
    return rows


def _figures(found: Sequence[Sequence[float]]) -> list[str]:
    return [f"{np.mean(column):.1f}" for column in zip(*found, strict=True)]


def main() -> None:
    """Measure, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument(
        "--archive",
        type=Path,
        help="a checkout of uscensusbureau/recon_replication: its other tracts, not the nine",
    )
    parser.add_argument("--page", type=Path, help="default: only printed")
    options = parser.parse_args()
    if options.archive is None:
        truth = read_records("published_records.parquet", "nhopi")
        real = read_records("rmdf_records_shared.parquet", "nhpi")
    else:
        truth, real = (archived_records(options.archive, name) for name in ("rhdf", "rmdf"))
    tracts = truth["geoid_block"].str.head(11).n_unique()
    print(f"{tracts} tracts, {len(truth):,} people")  # noqa: T201
    header = ["made of the tracts", *(" × ".join(keys) for keys in KEYS)]
    table = markdown_table(header, variants(truth, real, options.seeds, options.steps), 1)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    print(table, f"{peak:,.0f} MB", sep="\n")  # noqa: T201
    if options.page is not None:
        options.page.write_text(table)


if __name__ == "__main__":
    main()
