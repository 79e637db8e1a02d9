"""What protections of block counts leave: ``python -m benchmarks.protected [LAW ...]``.

The six files of real tracts, each block's own counts alone, under several laws; reconstructed, and
compared with the records that the counts are of. `--page` writes ``docs/protected_results.md`` from
the kept figures.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from collections.abc import Mapping
from typing import Any, Literal

import polars as pl

import recon_cli as recon
from benchmarks.machine import REFERENCE, RESULTS, ROOT
from recon_cli.api.reconstruction import split
from recon_cli.capabilities.protect.counts import protect_counts, tidy_counts
from recon_cli.capabilities.reconstruct.dense_bounds import propagate_dense
from recon_cli.capabilities.reconstruct.dense_domain import DenseDomain
from recon_cli.capabilities.reconstruct.question import Objective, Reconstruction
from recon_cli.capabilities.tabulate.tabulation import tabulate
from recon_cli.chance import KeyedChance
from recon_cli.model.counts import arrange_counts
from recon_cli.model.planning import make_interval_plan
from recon_cli.model.strata import find_strata
from recon_cli.publication import Publication
from recon_cli.schema import Release, Table, load_release
from recon_cli.statement import Protection, Statement, parse_law

DATA = ROOT.parent / "shared" / "data"
PAGE = ROOT / "docs" / "protected_results.md"
#: Name → law, and where the chance of a cell comes from: the cell, what it counts, or the people
#: whom it counts.
LAWS: Mapping[str, tuple[Any, Literal["cells", "definitions", "records"]]] = {
    "exact": ("exact", "cells"),
    "suppressed < 3": ({"suppressed": {"below": 3}}, "cells"),
    "1980 zeroed": ({"zeroed": {"below": 3}}, "cells"),
    "RR3 independent": ({"rounded": {"base": 3}}, "cells"),
    "RR3 fixed by definition": ({"rounded": {"base": 3}}, "definitions"),
    "RR3 fixed by records": ({"rounded": {"base": 3}}, "records"),
    "nearest 3": ({"rounded": {"base": 3, "how": "nearest"}}, "cells"),
    "RR5 independent": ({"rounded": {"base": 5}}, "cells"),
    "cell key D2 V1.08": ({"cellkey": {"max": 2, "variance": 1.08}}, "records"),
}
_OPTIONS = ("white", "black", "aian", "asian", "nhopi", "sor")
_KEY = ["sex", "agebin", "race", "hispanic"]


def main() -> None:
    """Reconstruct under each law; keep and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("laws", nargs="*", help=f"of {', '.join(LAWS)}; default all")
    parser.add_argument("--blocks", type=int, default=1, help="every n-th block only")
    parser.add_argument("--inside", default="", help="geoid of a geounit; default all")
    parser.add_argument(
        "--coarse", action="store_true", help="counts of all tables and levels; not kept"
    )
    parser.add_argument("--reference", action="store_true", help="keep the figures in git")
    parser.add_argument("--page", action="store_true", help="only write the page")
    options = parser.parse_args()
    path = (REFERENCE if options.reference or options.page else RESULTS) / "protected.json"
    found = json.loads(path.read_text()) if path.exists() else {}
    if not options.page:
        release = load_release("sf1_2010")
        inside = pl.col("geoid_block").str.starts_with(options.inside)
        truth = true_records(release).filter(inside).filter(sampled(options.blocks))
        tables = release.tables if options.coarse else release.select_tables("block")
        if options.coarse:
            found = {}
        for name in options.laws or LAWS:
            found[name] = measure(release, truth, name, tables)
            if options.coarse:
                continue
            path.parent.mkdir(exist_ok=True)
            path.write_text(json.dumps(found, indent=1) + "\n")
    if options.page:
        PAGE.write_text(page(found))
    print(table(found))  # noqa: T201 - the benchmark's output


def sampled(every: int) -> pl.Expr:
    """Every n-th block, in order."""
    return pl.col("geoid_block").rank("dense").sub(1).mod(every) == 0


def true_records(release: Release) -> pl.DataFrame:
    """The records that the six files were tabulated from."""
    bits = [pl.col(name).cast(pl.Int64) * 2**i for i, name in enumerate(_OPTIONS)]
    frame = pl.read_parquet(DATA / "published_records.parquet")
    hispanic, agebin = (release.column_groups(name) for name in ("hispanic", "agebin"))
    ages = release.features[release.feature_index[agebin.feature]]
    bin_of = {
        age: label
        for age, at in ages.position.items()
        for label, mask in zip(agebin.labels, agebin.masks, strict=True)
        if mask >> at & 1
    }
    return frame.select(
        "geoid_block",
        "sex",
        pl.col("age").cast(pl.Int64),
        agebin=pl.col("age").cast(pl.Int64).replace_strict(bin_of, return_dtype=agebin.dtype),
        race=pl.sum_horizontal(bits),
        hispanic=pl.Series(list(hispanic.labels), dtype=hispanic.dtype).gather(
            frame["hispanic"].cast(pl.Int64)
        ),
    )


def measure(
    release: Release, truth: pl.DataFrame, name: str, tables: tuple[Table, ...]
) -> dict[str, Any]:
    """Reconstruct all partitions under a law, from blocks' tables alone or from all.

    Raises:
        SystemExit: A certain record is of nobody, or a published count is not met.
    """
    publication = protected(release, truth, tables, name)
    # A flag below 3 leaves little open: no objective, as a user would have it.
    objective: Objective | None = None if name in {"exact", "suppressed < 3"} else "likely"
    started = time.process_time()
    used = None if set(tables) == set(release.tables) else "block"
    found = recon.reconstruct(release, publication, tables=used, objective=objective)
    seconds = time.process_time() - started
    solved = found.blocks.filter(status="undecided").is_empty()
    if solved and not recon.verify(release, publication, found.microdata, tables=used).ok:
        raise SystemExit("wrong: a published count is not met")
    inhabited = truth["geoid_block"].n_unique()
    result = compare(release, truth, found)
    return {
        **result,
        "blocks": inhabited,
        "milliseconds_a_block": 1000 * seconds / inhabited,
        "bounds_milliseconds_a_block": bounds_milliseconds(release, publication, tables, inhabited),
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def protected(
    release: Release, truth: pl.DataFrame, tables: tuple[Table, ...], name: str
) -> Publication:
    """Counts under a law: of all tables at all levels, or of blocks alone."""
    law, keys = LAWS[name]
    levels = [
        level
        for level in release.geography.levels
        if level == release.geography.unit or set(tables) == set(release.tables)
    ]
    homes = truth["geoid_block"].unique().sort()
    counts = tabulate(release, truth, tables).filter(
        pl.col("geoid").str.len_chars().is_in([level.digits for level in levels])
    )
    exact = recon.publish(release, counts, geounits=homes)
    if name == "exact":
        return exact
    protection = Protection((Statement(parse_law(law)),))
    shown = protect_counts(
        release,
        exact,
        protection,
        chance=KeyedChance.for_study(1),
        records=truth if keys == "records" else None,
        keys="cells" if keys == "cells" else "records",
    ).filter(pl.col("level").is_in([level.name for level in levels]))
    return recon.publish(release, tidy_counts(exact, shown), geounits=homes, protection=protection)


def bounds_milliseconds(
    release: Release, published: Publication, tables: tuple[Table, ...], blocks: int
) -> float:
    """CPU time of dense bounds, without making the plan."""
    if published.is_exact:
        return 0.0
    seconds = 0.0
    for part in split(release, published):
        plan = make_interval_plan(release, tables, part.coverage)
        counts = arrange_counts(plan, part)
        started = time.process_time()
        for first in range(0, len(counts.units), 256):
            batch = slice(first, min(first + 256, len(counts.units)))
            if counts.intervals is not None:
                strata, _, _ = find_strata(plan, counts, batch)
                propagate_dense(DenseDomain.of(plan, strata, batch.stop - batch.start))
        seconds += time.process_time() - started
    return 1000 * seconds / blocks


def compare(release: Release, truth: pl.DataFrame, found: Reconstruction) -> dict[str, Any]:
    """Agreement with the truth, beside guessers who know the likely records' shares.

    Raises:
        SystemExit: A certain record is of nobody.
    """
    place = release.geoid_column
    records = found.microdata.with_columns(pl.col("race").cast(pl.Int64))
    certain = overlap(records.filter("certain"), truth, [place, *_KEY])
    if certain < records["certain"].sum():
        raise SystemExit("wrong: a record that is called certain is of nobody")
    whole = overlap(records, truth, [place, *_KEY])
    matched = overlap(records, truth, [place, "sex", "agebin"])
    shares = records.group_by(place, "race", "hispanic").len("n")
    shares = shares.with_columns(p=pl.col("n") / pl.col("n").sum().over(place))
    first = shares.sort(place, "n", "race", descending=[False, True, False])
    modes = first.group_by(place, maintain_order=True).first()
    people = truth.select(place, pl.col("race"), "hispanic")
    modal = people.join(modes, on=[place, "race", "hispanic"], how="inner").height
    drawn = people.join(shares, on=[place, "race", "hispanic"], how="inner")["p"].sum()
    blocks = found.blocks.filter(pl.col(place).is_in(truth[place].unique().implode()))
    return {
        "people": truth.height,
        "candidates": float(blocks["candidates"].sum()) / blocks.height,
        "certain_pct": 100 * certain / truth.height,
        "unique_blocks_pct": 100 * (blocks["status"] == "unique").sum() / blocks.height,
        "likeliest_blocks_pct": 100
        * blocks["status"].is_in(["likely", "unique"]).sum()
        / blocks.height,
        "agreement_pct": 100 * whole / truth.height,
        "race_given_age_pct": 100 * whole / max(matched, 1),
        "modal_pct": 100 * modal / truth.height,
        "proportional_pct": 100 * float(drawn) / truth.height,
    }


def overlap(left: pl.DataFrame, right: pl.DataFrame, key: list[str]) -> int:
    """People that two multisets of records have in common."""
    both = left.group_by(key).len("a").join(right.group_by(key).len("b"), on=key)
    return int(both.select(pl.min_horizontal("a", "b").sum()).item())


_COLUMNS = {
    "law": "law",
    "blocks": "blocks",
    "candidates": "candidates a block",
    "certain_pct": "certain, % of people",
    "unique_blocks_pct": "unique, % of blocks",
    "agreement_pct": "agreement, %",
    "race_given_age_pct": "race right, %",
    "modal_pct": "modal guess, %",
    "proportional_pct": "proportional, %",
    "bounds_milliseconds_a_block": "bounds, ms a block",
    "milliseconds_a_block": "in all, ms a block",
}


def table(found: Mapping[str, Mapping[str, float]]) -> str:
    """A row a law, as Markdown."""
    rows = [list(_COLUMNS.values()), ["---"] * len(_COLUMNS)]
    for name in LAWS:
        if name in found:
            figures = [_shown(found[name][key]) for key in list(_COLUMNS)[1:]]
            rows.append([name, *figures])
    return "\n".join("| " + " | ".join(row) + " |" for row in rows) + "\n"


def _shown(figure: float) -> str:
    return f"{figure:,}" if isinstance(figure, int) else f"{figure:,.1f}"


def page(found: Mapping[str, Mapping[str, float]]) -> str:
    """The page."""
    peak = max(each["peak_mb"] for each in found.values())
    return f"""# Protected block counts: results

Generated by `python -m benchmarks.protected --page` from `benchmarks/reference/protected.json`; do
not edit.

Blocks of nine real tracts (20,969 people in 2,592 inhabited blocks, or every n-th of these); the
block tables of SF1, each block's own counts alone, published under one law and read back. *Certain*
is what propagation proves; no certain record was false under any law. *Agreement* is the share of
people whose sex, age group, race and ethnicity the records have: the likeliest ones, of exact and
suppressed counts any. *Race right* is the same
among people whose sex and age group they have; read it beside guessers who know only the shares of
the likely records' race and ethnicity in a block. These tracts are mostly alike in race: guessing
does well. Times are CPU time of one process, plan included in the last column only; the largest
process had {peak:,.0f} MB.

{table(found)}
Rounding can be fixed in two ways. By definition, cells of a block that count the same (sex by race
in two tables) are rounded alike; few cells do, and the records agree as well as under independent
rounding. By records, cells in which the same people are counted are rounded alike, whatever they
are meant to count: what is published of a person who is alone in many cells is one draw. The cost
takes published counts for independent all the same, so that its likeliest records are not the
likeliest ones under that law.

Suppressed counts take two to three times as long as exact ones here (three runs of both), where
the time is mostly that of arranging arrays; of `recon reconstruct` as a command, verification and
starting included, they take 1.3 to 1.5 times the CPU time (2.1 and 2.7 s for all blocks on a
quiet machine). About half of the time of rounding to base 5 is that of CP-SAT, in the one block
of fourteen whose relaxation is not whole.

The law that is declared is what every figure rests on: a certain record is certain if counts were
published by that law.
"""


if __name__ == "__main__":
    main()
