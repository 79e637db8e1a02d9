"""The suppression rules of the 1980 census, as Appendix D of NBER WP 31995 applies them.

Counts of 1 or 2 in P1 and P2 are published as zero, unmarked. P3 and P4, the same tables of people
of voting age, are withheld as a whole if the smallest group with anybody has 1 to 14 people: of any
age, as the study's code counts them, or of voting age. Every other table of a release is withheld
if 1 to 14 people live there. There is no complementary suppression, so no count is provably
protected.

The rules are those of the schema ``pl94_1980``: race in seven groups, no totals; a schema of one's
own may have further tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import resources
from typing import Final, Literal

import polars as pl

from recon_cli.capabilities.suppress.suppression import SUPPRESSED
from recon_cli.errors import ConfigError
from recon_cli.publication import Publication
from recon_cli.schema import Release
from recon_cli.statement import Protection, Statement
from recon_cli.statement.suppression import Suppressed, Zeroed

#: Tables whose counts under `BELOW` become zero.
ZEROED: Final = ("P1", "P2")
BELOW: Final = 3
#: The people whose smallest group decides.
Decides = Literal["all_ages", "voting_age"]
#: Table that may be withheld → the table whose smallest group decides.
WITHHELD: Final[Mapping[Decides, Mapping[str, str]]] = {
    "all_ages": {"P3": "P1", "P4": "P2"},
    "voting_age": {"P3": "P3", "P4": "P4"},
}
#: Tables about race and ethnicity only.
_OF_RACE: Final = ("P1", "P2", "P3", "P4")
#: The greatest size of a smallest group for which a table is withheld.
SMALLEST: Final = 14

#: Sums over the geounits of a level, each row a line of Table 18 or 19: how many cells or tables
#: there are, and how many of them the rules change.
RATES: Final = pl.Schema(
    {
        "table": pl.String,
        "panel": pl.String,
        "level": pl.String,
        "total": pl.Int64,
        "affected": pl.Int64,
    }
)

#: Counts of a partition's largest geounits, from which those of states and the nation follow.
GROUPS: Final = pl.Schema(
    {"geoid": pl.String, "table": pl.String, "cell": pl.Int16, "count": pl.Int64}
)
#: Level above the partitions → how many digits of their geoids it has.
_ABOVE: Final = {"state": 2, "nation": 0}

#: Line of Table 18 → the table whose cells are counted.
_CELL_PANELS: Final = {"A": "P1", "B": "P2", "C": "P3", "D": "P4"}
#: Line of Table 19 → the table that is withheld.
_TABLE_PANELS: Final = {"A": "P3", "B": "P4"}


def protection_of_1980(release: Release) -> Protection:
    """Return the laws of the rules.

    Raises:
        ConfigError: The release lacks their tables.
    """
    missing = [name for name in _OF_RACE if name not in release.table_by_name]
    if missing:
        raise ConfigError(
            f"the rules of 1980 need the tables P1 to P4, and {release.name!r} has no "
            f"{missing[0]}: use `release: pl94_1980`"
        )
    withheld = tuple(table.name for table in release.tables if table.name not in ZEROED)
    return Protection(
        (
            Statement(Zeroed(below=BELOW), tables=ZEROED),
            Statement(Suppressed(flagged="may-be-zero"), tables=withheld),
        )
    )


def suppress_as_in_1980(
    release: Release, truth: Publication, decides: Decides = "all_ages"
) -> pl.DataFrame:
    """Apply the rules.

    Args:
        release: Has the tables P1 to P4.
        truth: Exact counts.
        decides: Whose smallest group decides about P3 and P4.

    Returns:
        Columns of `SUPPRESSED`: a row per true count above zero, and a row per cell of each table
        that is withheld; sorted by geoid, table and cell.

    Raises:
        ConfigError: The release lacks the tables.
    """
    protection_of_1980(release)
    level = release.geography.level_names(pl.col("geoid"))
    withheld = _withheld_cells(release, truth.counts, decides)
    counts = truth.counts.join(withheld, on=["geoid", "table", "cell"], how="anti")
    zeroed = pl.col("table").is_in(ZEROED) & (pl.col("count") < BELOW)
    shown = counts.with_columns(
        true="count", count=pl.when(zeroed).then(0).otherwise("count"), primary=pl.lit(value=False)
    )
    hidden = withheld.join(truth.counts, on=["geoid", "table", "cell"], how="left").with_columns(
        true=pl.col("count").fill_null(0),
        count=pl.lit(None, pl.Int32),
        primary=pl.lit(value=True),
    )
    return (
        pl.concat([shown, hidden], how="diagonal_relaxed")
        .with_columns(level=level)
        .select(SUPPRESSED.names())
        .cast(SUPPRESSED)
        .sort("geoid", "table", "cell")
    )


def _withheld(release: Release, counts: pl.DataFrame, decides: Decides) -> pl.DataFrame:
    """Return ``geoid, table`` of the tables that are withheld."""
    smallest = counts.group_by("geoid", "table").agg(pl.col("count").min())
    small = smallest.filter(pl.col("count") <= SMALLEST)
    frames = [
        small.filter(pl.col("table") == of).select("geoid", table=pl.lit(table))
        for table, of in WITHHELD[decides].items()
    ]
    few = _people(counts).filter(pl.col("count") <= SMALLEST)
    frames += [
        few.select("geoid", table=pl.lit(table.name))
        for table in release.tables
        if table.name not in _OF_RACE
    ]
    return pl.concat(frames)


def _people(counts: pl.DataFrame) -> pl.DataFrame:
    """Return ``geoid, count``: the number of people of each inhabited geounit."""
    return counts.filter(pl.col("table") == "P1").group_by("geoid").agg(pl.col("count").sum())


def _withheld_cells(release: Release, counts: pl.DataFrame, decides: Decides) -> pl.DataFrame:
    """Return ``geoid, table, cell`` of the tables that are withheld."""
    level = release.geography.level_names(pl.col("geoid"))
    rows = [
        (table.name, cell.number, name)
        for table in release.tables
        for cell in table.cells
        for name in table.levels
    ]
    schema = {"table": pl.String, "cell": pl.Int16, "level": pl.String}
    cells = pl.DataFrame(rows, schema=schema, orient="row")
    withheld = _withheld(release, counts, decides).with_columns(level=level)
    return withheld.join(cells, on=["table", "level"]).drop("level")


def rates_of_1980(
    release: Release, truth: Publication, decides: Decides = "all_ages"
) -> pl.DataFrame:
    """Count what the rules change, as Tables 18 and 19 do: each rule by itself.

    Only geounits with people count; for tables of people of voting age, only those with such
    people.

    Args:
        release: Has the tables P1 to P4.
        truth: Exact counts.
        decides: Whose smallest group decides about P3 and P4.

    Returns:
        Columns of `RATES`. Panel C of Table 18 is of the cells of P3, as its title says.
    """
    level = release.geography.level_names(pl.col("geoid"))
    return _rates(release, truth.counts.with_columns(level=level), decides)


def groups_of_1980(release: Release, truth: Publication) -> pl.DataFrame:
    """Return the counts that determine the rates of states and of the nation.

    Returns:
        Columns of `GROUPS`: the counts by race and ethnicity of the partition's largest geounits.
    """
    level = release.geography.level_names(pl.col("geoid"))
    largest = level == release.geography.partition_level.name
    counts = truth.counts.filter(largest & pl.col("table").is_in(_OF_RACE))
    return counts.select(GROUPS.names()).cast(GROUPS).sort("geoid", "table", "cell")


def rates_above(
    release: Release, groups: Iterable[pl.DataFrame], decides: Decides = "all_ages"
) -> pl.DataFrame:
    """Count what the rules change in states and in the nation.

    Args:
        release: Has the tables P1 to P4.
        groups: Columns of `GROUPS`, of every partition.
        decides: Whose smallest group decides about P3 and P4.

    Returns:
        Columns of `RATES`.
    """
    every = pl.concat([GROUPS.to_frame(), *groups])
    frames = [RATES.to_frame()]
    for level, digits in _ABOVE.items():
        geoid = pl.col("geoid").str.head(digits)
        counts = every.group_by(geoid, "table", "cell").agg(pl.col("count").sum())
        frames.append(_rates(release, counts.with_columns(level=pl.lit(level)), decides))
    return pl.concat(frames)


def _rates(release: Release, counts: pl.DataFrame, decides: Decides) -> pl.DataFrame:
    """Count the lines of both tables; ``counts`` has ``geoid, table, cell, count, level``."""
    counts = counts.with_columns(count=pl.col("count").cast(int))
    frames = [RATES.to_frame()]
    for panel, table in _CELL_PANELS.items():
        width = len(release.table_by_name[table].cells)
        here = counts.filter(pl.col("table") == table)
        sums = here.group_by("level").agg(
            total=width * pl.col("geoid").n_unique().cast(pl.Int64),
            affected=(pl.col("count") < BELOW).sum(),
        )
        frames.append(_lines("18", panel, sums))
    withheld = _withheld(release, counts, decides).with_columns(is_withheld=pl.lit(value=True))
    for panel, table in _TABLE_PANELS.items():
        here = counts.filter(pl.col("table") == table).select("geoid", "table", "level").unique()
        joined = here.join(withheld, on=["geoid", "table"], how="left")
        sums = joined.group_by("level").agg(total=pl.len(), affected=pl.col("is_withheld").sum())
        frames.append(_lines("19", panel, sums))
    levels = counts.select("geoid", "level").unique()
    sums = (
        _people(counts)
        .join(levels, on="geoid")
        .group_by("level")
        .agg(total=pl.len(), affected=(pl.col("count") <= SMALLEST).sum())
    )
    frames.append(_lines("19", "C", sums))
    return pl.concat(frames).sort("table", "panel", "level")


def _lines(table: str, panel: str, sums: pl.DataFrame) -> pl.DataFrame:
    named = sums.with_columns(table=pl.lit(table), panel=pl.lit(panel))
    return named.select(RATES.names()).cast(RATES)


def compare_rates(release: Release, rates: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """Compare Tables 18 and 19 of all partitions together with the study's.

    Args:
        release: Has the tables P1 to P4.
        rates: Columns of `RATES`, of every partition and of `rates_above`.

    Returns:
        Columns of `RATES`, ``pct``, and ``published_pct``, the study's. It is null for Panel C of
        Table 18, where the study shows the tables of Panel A of Table 19 and not the cells of P3.
    """
    levels = [*(level.name for level in release.geography.levels), *_ABOVE]
    order = {name: at for at, name in enumerate(levels)}
    total = (
        pl.concat([RATES.to_frame(), *rates])
        .group_by("table", "panel", "level")
        .agg(pl.col("total", "affected").sum())
        .with_columns(pct=100 * pl.col("affected") / pl.col("total"))
    )
    return total.join(
        _published(), on=["table", "panel", "level"], how="left", maintain_order="left"
    ).sort("table", "panel", pl.col("level").replace_strict(order, return_dtype=pl.Int64))


def _published() -> pl.DataFrame:
    folder = resources.files(__package__) / "wp31995"
    frames = []
    for number in ("18", "19"):
        frame = pl.read_csv((folder / f"table{number}.csv").read_bytes())
        frames.append(
            frame.select(
                table=pl.lit(number),
                panel=pl.col("panel").str.slice(6, 1),
                level=pl.col("geography")
                .str.to_lowercase()
                .str.replace(" ", "_")
                .replace({"national": "nation"}),
                published_pct=pl.col("pct").cast(pl.Float64),
            )
        )
    every = pl.concat(frames)
    return every.filter(~((pl.col("table") == "18") & (pl.col("panel") == "C")))
