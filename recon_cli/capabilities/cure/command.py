"""``recon plan cure``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING

import click
import polars as pl

from recon_cli.capabilities.findings.asked import left_out_gaps
from recon_cli.capabilities.ingest.options import Ingest
from recon_cli.capabilities.ingest.words import sheet_words_of
from recon_cli.console.options import ConfiguredCommand, GivenPath, RunOptions, run_options
from recon_cli.console.output import Fact, show
from recon_cli.coverage import LeftOut
from recon_cli.page.words import percentage
from recon_cli.pipeline.run import Run
from recon_cli.schema.description import describe_cell
from recon_cli.spreadsheet import csv_bytes
from recon_cli.stage import undisturbed
from recon_cli.store.files import write_named
from recon_cli.store.protection import read_published
from recon_cli.store.published import open_published, place_name, read_left_out, read_names

if TYPE_CHECKING:
    from recon_cli.capabilities.cure.estimate import Estimate, Found

#: Bases that offices round to.
_BASES = (3, 5, 10)
#: Number of places whose further stars are named.
_SHOWN = 8
#: Number of further stars that are named for each of these places.
_NAMED = 4


@click.command(cls=ConfiguredCommand, sections=("ingest",))
@run_options
@click.option(
    "--fillings",
    type=click.IntRange(1, 20),
    default=2,
    show_default=True,
    help="Number of possible sets of true counts on which to try each cure.",
)
@click.option(
    "--base",
    "bases",
    type=click.IntRange(min=2),
    multiple=True,
    metavar="N",
    help="Base to try rounding to. Repeatable.  [default: 3, 5 and 10]",
)
@click.option(
    "--seconds",
    type=click.FloatRange(min=0, min_open=True),
    default=30.0,
    show_default=True,
    help="Budget of each region and each try, in seconds of solver work, not of clock time.",
)
@click.option("--to", type=GivenPath(dir_okay=False), help="Write the further stars to this CSV.")
def command(
    options: RunOptions, *, fillings: int, bases: tuple[int, ...], seconds: float, to: Path | None
) -> None:
    """Estimate, from the published tables alone, how to stop counts being recovered.

    Where `recon audit` recovers counts, this looks for further counts to withhold, and tries
    rounding to several bases. It needs no true counts: it fills each star (a withheld count) in
    agreement with all published counts, in several ways (--fillings), and tries each cure on each
    filling.

    It is an estimate: the choice of stars and the results of rounding rest on counts that may not
    be the true ones. The effect of the stars it names is proven: the tables are audited with those
    counts withheld. If you have the true counts, use `recon export --suppressed` or `recon
    protect`, and audit the result.

    Example:
      recon plan cure -c pupils.yaml
      recon plan cure -c pupils.yaml --base 5 --to stars.csv
    """
    run = options.run()
    with undisturbed():
        from recon_cli.capabilities.cure.estimate import estimate

    tables, geounits = open_published(run.work, run.release)
    parts = [
        estimate(
            run.release,
            read_published(run.work, run.release, partition),
            fillings=fillings,
            bases=bases or _BASES,
            seconds=seconds,
        )
        for partition in tables.partitions
    ]
    found = reduce(add, parts)
    stars = _named(run, found.stars, read_names(geounits))
    if to is not None:
        write_named(to, csv_bytes(stars.drop("place")))
    if options.verbosity >= 0:
        facts = [*_facts(found, stars, to), *_conditions(run, read_left_out(tables))]
        show("plan cure: an estimate", facts)


def _facts(found: Estimate, stars: pl.DataFrame, to: Path | None) -> Iterator[Fact]:
    """Yield how much is recovered now, which stars would help, and what rounding would leave."""
    yield "protected counts", _told(found.now)
    if found.further:
        yield "further stars", f"{_several(found.further)} {_fillings(len(found.further))}"
        yield "  with the fewest", f"{_told(found.left)}: proven"
        yield from _of_stars(stars, to)
    for base, tries in found.rounded.items():
        recovered = _several([each.recovered for each in tries])
        undecided = max(each.undecided for each in tries)
        more = f", {undecided:,} undecided" if undecided else ""
        yield f"rounding to {base}", f"{recovered} of {tries[0].counts:,} recovered{more}"
    yield (
        "estimate",
        "from the published tables alone: which stars are needed, and what rounding leaves, rests "
        "on counts that need not be the true ones",
    )


def _conditions(run: Run, left_out: Sequence[LeftOut]) -> Iterator[Fact]:
    """Yield what has to be withheld besides further stars, and what was not audited."""
    mapping = run.config.section(Ingest).mapping
    if mapping is not None and mapping.percentages:
        yield (
            "if withheld too",
            "percentages of counts that get a star, and those among them, would give them away: "
            + ", ".join(map(repr, mapping.percentages)),
        )
    yield from (("as far as known", f"without {gap}") for gap in left_out_gaps(left_out))


def _named(run: Run, stars: pl.DataFrame, names: Mapping[str, str]) -> pl.DataFrame:
    """Add the names of places and cells; sort by place, table and cell."""
    sheets = sheet_words_of(run.config, run.release)
    by_name = run.release.table_by_name

    def of_schema(table: str, cell: int) -> str:
        return describe_cell(run.release, by_name[table].cells[cell - 1])

    called: Callable[[str, int], str] = of_schema if sheets is None else sheets.of
    stars = stars.sort("geoid", "table", "cell")
    words = [called(table, cell) for table, cell in stars.select("table", "cell").iter_rows()]
    places = [place_name(geoid, names) for geoid in stars["geoid"]]
    return stars.with_columns(
        name=pl.Series(places, dtype=pl.String),
        place=pl.Series(
            [name or geoid for name, geoid in zip(places, stars["geoid"], strict=True)],
            dtype=pl.String,
        ),
        counts=pl.Series(words, dtype=pl.String),
    )


def _of_stars(stars: pl.DataFrame, to: Path | None) -> Iterator[Fact]:
    """Yield the number of further stars by table, and the stars of the first places."""
    by_table = stars.group_by("table").len().sort("table")
    if by_table.height > 1:
        yield "  by table", ", ".join(f"{name}: {number:,}" for name, number in by_table.rows())
    by_place = stars.group_by("place", maintain_order=True).agg("counts", "count")
    for place, words, counts in by_place.head(_SHOWN).iter_rows():
        shown = [f"{word} ({n:,})" for word, n in zip(words[:_NAMED], counts, strict=False)]
        more = f" and {len(words) - _NAMED} more" if len(words) > _NAMED else ""
        yield f"  {place}", "; ".join(shown) + more
    if by_place.height > _SHOWN:
        rest = f"{by_place.height - _SHOWN:,} more places"
        yield "", f"{rest}: {to}" if to else f"{rest}: --to FILE lists all"


def _fillings(number: int) -> str:
    return "by one filling" if number == 1 else f"by {number} fillings"


def _several(numbers: Sequence[int]) -> str:
    least, most = min(numbers), max(numbers)
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"


def _told(found: Found) -> str:
    share = percentage(found.recovered, found.counts) if found.counts else "0%"
    told = f"{found.recovered:,} of {found.counts:,} recovered ({share})"
    return f"{told}, {found.undecided:,} undecided" if found.undecided else told
