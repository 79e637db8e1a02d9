"""Proven records and units: which are certain or unique, whichever stage proved it.

All numbers of certain records, in report, show and compare, are computed here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import polars as pl

from recon_cli.capabilities.findings.fresh import WorkFolder
from recon_cli.capabilities.findings.stages import CLAIMS, RECONSTRUCT, SOLVAR
from recon_cli.frames import is_place
from recon_cli.page.missing import Missing
from recon_cli.page.sizes import ALL, Sizes
from recon_cli.schema import Release
from recon_cli.store import Folder, Manifest, Span
from recon_cli.store.piece import EVERYWHERE

#: Mode of variability: unit by unit, or with every count of a region.
Mode = Literal["relaxed", "exact"]

#: Proven number of solutions of a geounit.
ONE, SEVERAL, UNDECIDED, OPEN = "one", "several", "undecided", "open"
UNIQUENESS = (ONE, SEVERAL, UNDECIDED, OPEN)

#: Sums of `uniqueness_by_size` beside the class: they add up over partitions.
_SUMS = (
    "units",
    "population",
    *(f"{each}_{what}" for each in UNIQUENESS for what in ("units", "population")),
    "certain",
    "certain_at_most",
    "certain_elsewhere",
)


@dataclass(frozen=True)
class ProvenRecords:
    """The number of certain records by the proofs of all stages together.

    Attributes:
        at_least: Number of records that are proven to be in every solution.
        at_most: Upper bound of the number of certain records.
        columns: Columns on which they are certain, in the schema's order.
        stages: Stages whose proofs are counted.
    """

    at_least: int
    at_most: int
    of: int
    columns: tuple[str, ...]
    stages: tuple[str, ...]


@dataclass(frozen=True)
class Proofs:
    """The proofs about reconstructed records in a work folder, all of them current.

    Attributes:
        solvar: The folder; None where variability was not measured.
        claims: The folder; None where nothing was claimed.
    """

    release: Release
    microdata: Folder
    blocks: Folder
    solvar: Folder | None
    claims: Folder | None

    @classmethod
    def of(cls, work: WorkFolder, release: Release, partition: str | None = None) -> Proofs:
        """Open the proofs of a work folder whose reconstruction fits its tables.

        Args:
            partition: The partition in question; default all.
        """
        solvar, claims = (work.fresh(stage, partition) for stage in (SOLVAR, CLAIMS))
        return cls(
            release,
            work.open(RECONSTRUCT),
            work.open(RECONSTRUCT, "blocks"),
            None if isinstance(solvar, Missing) else solvar,
            None if isinstance(claims, Missing) else claims,
        )

    @property
    def mode(self) -> Mode | None:
        return None if self.solvar is None else self.solvar.manifest.notes["mode"]

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the histogram columns of certain records, which the tables distinguish."""
        return known_columns(self.release, self.microdata)

    @property
    def stages(self) -> tuple[str, ...]:
        found = (self.microdata, self.solvar, self.claims)
        return tuple(each.manifest.stage for each in found if each is not None)

    def claimed(self, partition: str, span: Span = EVERYWHERE) -> pl.DataFrame | None:
        """Return `claimed_records`; None without claims."""
        if self.claims is None:
            return None
        rows = self.claims.read(partition, span)
        return claimed_records(self.release, self.claims.manifest.notes["columns"], rows)

    def units(
        self,
        partition: str,
        records: pl.DataFrame,
        span: Span = EVERYWHERE,
        *,
        mode: Mode | None = None,
    ) -> pl.DataFrame:
        """Return the units of a partition; see `proven_units`.

        Args:
            records: Records of ``microdata/``, for the same units.
            span: Range of geoids.
            mode: Mode in which variability counts as measured; default that of the folder.
        """
        return proven_units(
            self.blocks.read(partition, span),
            placed_records(self.release, records),
            None if self.solvar is None else self.solvar.read(partition, span),
            self.claimed(partition, span),
            mode or self.mode,
        )

    def records(self) -> ProvenRecords:
        """Count certain records over all partitions, on `columns`."""
        place = self.release.geoid_column
        parts = [
            self.units(name, self.microdata.read(name, columns=(place, "certain")))
            for name in self.microdata.partitions
        ]
        sums = pl.concat(part.select("certain", "certain_at_most") for part in parts).sum()
        at_least, at_most = sums.row(0)
        return ProvenRecords(
            at_least, at_most, self.microdata.manifest.rows, self.columns, self.stages
        )


def known_columns(release: Release, microdata: Folder) -> tuple[str, ...]:
    """Return the histogram columns that the tables of reconstructed records distinguish."""
    names = microdata.manifest.notes["columns"]
    return tuple(column for column in release.histogram if column in names)


def unasked_columns(release: Release, claims: Manifest) -> tuple[str, ...]:
    """Return the columns that tables distinguish but ``histogram`` leaves out or merges.

    Args:
        claims: Manifest of ``claims/``, from the same tables.
    """
    shown = dict.fromkeys((*claims.notes["columns"], *claims.notes["unasked"]))
    return tuple(name for name in shown if name not in release.histogram)


def claimed_records(release: Release, columns: Sequence[str], claims: pl.DataFrame) -> pl.DataFrame:
    """Derive bounds of histogram cells from verified claims.

    Returns:
        The geoid column, the histogram columns, ``lower``, and ``exact`` (whether it is also the
        most people). No rows where claims do not speak of every histogram column.
    """
    place, cells = release.geoid_column, release.histogram
    others = [name for name in columns if name not in cells]
    if not set(cells) <= set(columns):
        return pl.DataFrame(schema={place: pl.String, "lower": pl.Int64, "exact": pl.Boolean})
    return claims.filter(
        *(pl.col(name).is_not_null() for name in cells),
        *(pl.col(name).is_null() for name in others),
    ).select(place, *cells, pl.col("count").cast(pl.Int64).alias("lower"), "exact")


def placed_records(release: Release, microdata: pl.DataFrame) -> pl.DataFrame:
    """Return the units' geoids, the records ``placed`` in each, and the ``certain`` ones."""
    return microdata.group_by(release.geoid_column).agg(
        placed=pl.len().cast(pl.Int64), certain=pl.col("certain").sum()
    )


def proven_units(
    units: pl.DataFrame,
    placed: pl.DataFrame,
    variability: pl.DataFrame | None,
    claimed: pl.DataFrame | None,
    mode: Mode | None,
) -> pl.DataFrame:
    """Combine the proofs of all stages about units.

    Args:
        units: Rows of ``blocks/``.
        placed: As from `placed_records`.
        variability: Rows of ``solvar/``, where there are any.
        claimed: As from `claimed_records`, where there are claims.
        mode: Mode in which variability was measured, if it was.

    Returns:
        ``units`` with ``placed``, ``certain`` and ``certain_at_most`` (Int64; a unit alone has
        more solutions than one whose neighbours count too, so that only the exact mode tells how
        many are certain at most), and ``solvar_pct``, ``solvar_upper_pct`` or null; ``status`` is
        ``unique`` where any proof shows it, or all records are certain.
    """
    place = units.columns[0]
    joined = _side_by_side(units, placed, variability)
    if claimed is None:
        joined = joined.with_columns(claimed=pl.lit(0, pl.Int64))
    else:
        sums = claimed.group_by(place).agg(claimed=pl.col("lower").cast(pl.Int64).sum())
        joined = joined.join(sums, on=place, how="left", maintain_order="left")
    proven = ("certain", "certain_records", "claimed")
    least = pl.max_horizontal(pl.col(name).fill_null(0).cast(pl.Int64) for name in proven)
    # With protected counts the number of people may be unknown: then there may be more people.
    is_known = pl.col("population").is_not_null()
    is_one = is_known & ((pl.col("solvar_upper_pct") == 0) | (least == pl.col("population")))
    everybody = pl.coalesce("population", "placed").fill_null(0).cast(pl.Int64)
    shared = pl.col("certain_upper") if mode == "exact" else None
    return joined.with_columns(
        certain=least,
        certain_at_most=pl.max_horizontal(least, pl.min_horizontal(everybody, shared)),
        status=pl.when(is_one.fill_null(value=False)).then(pl.lit("unique")).otherwise("status"),
    ).drop("certain_records", "certain_upper", "claimed")


def uniqueness_by_size(proven: pl.DataFrame, sizes: Sizes, mode: Mode | None) -> pl.DataFrame:
    """Count the solutions of the units of one partition, and the certain records.

    A proof counts whoever found it: `recon reconstruct` uses all counts at once, `recon solvar` in
    relaxed mode examines each unit alone but searches further.

    Args:
        proven: As from `proven_units`.
        mode: Mode in which variability was measured, if it was.

    Returns:
        ``number`` (the size class, Int8), ``units`` (places, not those that stand for others),
        ``population`` (of all), the same by uniqueness (``one_units``, …), ``certain``,
        ``certain_at_most`` and ``certain_elsewhere`` (certain records in units that are not proven
        to have one solution). Only inhabited units count; if the tables do not bound a unit's
        people, its population is the people that were placed in it.
    """
    people = pl.coalesce("population", "placed").fill_null(0).cast(pl.Int64)
    place = is_place(proven.columns[0])
    by_uniqueness = [
        sum_of.alias(f"{each}_{what}")
        for each in UNIQUENESS
        for what, sum_of in (
            ("units", ((pl.col("uniqueness") == each) & place).cast(pl.Int64).sum()),
            ("population", pl.col("population").filter(pl.col("uniqueness") == each).sum()),
        )
    ]
    return (
        proven.with_columns(population=people)
        .filter(pl.col("population") > 0)
        .with_columns(number=sizes.number(pl.col("population")), uniqueness=_uniqueness(mode))
        .group_by("number")
        .agg(
            place.cast(pl.Int64).sum().alias("units"),
            pl.col("population").sum(),
            *by_uniqueness,
            pl.col("certain", "certain_at_most").cast(pl.Int64).sum(),
            pl.col("certain").filter(pl.col("uniqueness") != ONE).sum().alias("certain_elsewhere"),
        )
        .sort("number")
    )


def _side_by_side(
    units: pl.DataFrame, placed: pl.DataFrame, variability: pl.DataFrame | None
) -> pl.DataFrame:
    """Join units with their certain records and variability; nulls where nothing was measured."""
    place = units.columns[0]
    joined = units.join(placed, on=place, how="left", maintain_order="left")
    columns = ("solvar_pct", "solvar_upper_pct", "certain_records", "certain_upper")
    if variability is None:
        return joined.with_columns(pl.lit(None, pl.Float64).alias(name) for name in columns)
    measured = variability.select(place, *columns)
    return joined.join(measured, on=place, how="left", maintain_order="left")


def _uniqueness(mode: Mode | None) -> pl.Expr:
    """Return an expression for a unit's number of solutions; only exact distances show several."""
    several = pl.lit(value=mode == "exact") & (pl.col("solvar_pct") > 0)
    return (
        pl.when(pl.col("status") == "unique")
        .then(pl.lit(ONE))
        .when(pl.col("status") == "open")
        .then(pl.lit(OPEN))
        .when(several.fill_null(value=False))
        .then(pl.lit(SEVERAL))
        .otherwise(pl.lit(UNDECIDED))
    )


def add_up_sizes(parts: Sequence[pl.DataFrame], sizes: Sizes) -> pl.DataFrame:
    """Combine partitions; `uniqueness_by_size` with ``size`` (a label), first over all sizes."""
    summed = (
        pl.concat(parts).group_by("number").agg(pl.col(name).sum() for name in _SUMS).sort("number")
    )
    labels = pl.Series("size", sizes.labels(summed["number"].to_list()), dtype=pl.String)
    everything = summed.select(pl.lit(ALL).alias("size"), *(pl.col(name).sum() for name in _SUMS))
    return pl.concat([everything, summed.select(labels, *_SUMS)])
