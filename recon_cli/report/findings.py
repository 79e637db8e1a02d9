"""What a work folder shows, read once: frames of sums, never a row about a place or a person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import polars as pl

from recon_cli.schema import Release
from recon_cli.score.sizes import ALL, Sizes
from recon_cli.store import Manifest

Mode = Literal["relaxed", "exact"]

#: What `recon link` calls the file that was tabulated.
PROTECTED = "HDF"
#: How many solutions a geounit has, as far as is proven.
ONE, SEVERAL, UNDECIDED, OPEN = "one", "several", "undecided", "open"
UNIQUENESS = (ONE, SEVERAL, UNDECIDED, OPEN)

#: Sums of `uniqueness_by_size` beside the class: they add up over partitions.
_SUMS = (
    "units",
    "population",
    *(f"{each}_{what}" for each in UNIQUENESS for what in ("units", "population")),
    "certain",
    "certain_elsewhere",
)


@dataclass(frozen=True)
class Missing:
    """A part that the work folder does not hold.

    Attributes:
        why: Half a sentence: what is not there, or does not fit.
        commands: What makes it, in this order.
    """

    why: str
    commands: tuple[str, ...]


@dataclass(frozen=True)
class ReconstructionFindings:
    """What the reconstructed records show.

    Attributes:
        manifest: Of ``microdata/``.
        people: Records.
        empty: Units without people.
        unbounded: Units whose number of people the tables in use do not bound.
        known: Histogram columns that the tables in use see.
        unknown: The others.
        by_size: As from `uniqueness_by_size`, the first row over all sizes.
    """

    manifest: Manifest
    people: int
    empty: int
    unbounded: int
    known: tuple[str, ...]
    unknown: tuple[str, ...]
    by_size: pl.DataFrame

    @property
    def whole(self) -> Mapping[str, int]:
        """The sums over all sizes."""
        row: dict[str, int] = self.by_size.drop("size").row(0, named=True)
        return row


@dataclass(frozen=True)
class VariabilityFindings:
    """What `recon solvar` found.

    Attributes:
        manifest: Of ``solvar/``.
        mode: What was measured.
        percentiles: Table 6.
        by_size: Table 7.
    """

    manifest: Manifest
    mode: Mode
    percentiles: pl.DataFrame
    by_size: pl.DataFrame

    @property
    def is_settled(self) -> bool:
        """Whether its zeros and certain records are all that there are, and not only at least.

        A unit alone has more solutions than one whose neighbours count too, so that only the
        exact mode tells, and only where every unit is proven.
        """
        proven = self.manifest.statuses.get("proven", 0)
        return self.mode == "exact" and proven == self.manifest.totals["units"]


@dataclass(frozen=True)
class ClaimFindings:
    """What `recon claims` found.

    Attributes:
        manifest: Of ``claims/``.
        people: Of all units.
        whole: Records, at least, that are certain on all columns of claims.
        by_known: Columns ``known``, ``identity``, ``attribute``, ``inferential``: people, at
            least, of whom at most so many columns settle another one.
    """

    manifest: Manifest
    people: int
    whole: int
    by_known: pl.DataFrame

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that claims speak of."""
        return tuple(self.manifest.notes["columns"])

    @property
    def disclosed(self) -> Mapping[str, int]:
        """By kind of disclosure the people of whom any other columns settle one."""
        if self.by_known.is_empty():
            return {"identity": 0, "attribute": 0, "inferential": 0}
        row: dict[str, int] = self.by_known.drop("known").row(-1, named=True)
        return row


@dataclass(frozen=True)
class ScoreFindings:
    """What `recon score` found.

    Attributes:
        manifest: Of ``score/``.
        links: Of ``links/``: its notes name sources, guessers and attackers.
        rates: As from `recon_cli.score.tables.make_rates`.
        gains: As from `recon_cli.score.gains.make_gains`.
        own: The source that is this folder's ``microdata/``, if one is.
    """

    manifest: Manifest
    links: Manifest
    rates: pl.DataFrame
    gains: pl.DataFrame
    own: str | None

    @property
    def truth(self) -> str:
        """The source that is right."""
        return str(self.links.notes["truth"])

    @property
    def attackers(self) -> tuple[str, ...]:
        """Names of the attacker files."""
        return tuple(self.links.notes["attackers"])

    @property
    def guessers(self) -> Mapping[str, str]:
        """Guesser → ``modal`` or ``proportional``."""
        return dict(self.links.notes["guessers"])

    @property
    def usual_guessers(self) -> tuple[str, ...]:
        """The first guesser of each kind that does not leave a person out of his own guess."""
        left_out = set(self.links.notes["leave_one_out"])
        first: dict[str, str] = {}
        for name, kind in self.guessers.items():
            if name not in left_out:
                first.setdefault(kind, name)
        return tuple(first.values())

    @property
    def records(self) -> tuple[str, ...]:
        """The sources that have records, the truth first."""
        return tuple(name for name in self.links.notes["sources"] if name not in self.guessers)

    @property
    def reconstruction(self) -> str | None:
        """The source to speak of: this folder's own records, else the first of any others."""
        if self.own is not None:
            return self.own
        others = [name for name in self.records if name not in (self.truth, PROTECTED)]
        return others[0] if others else None

    def table(self, *names: str) -> pl.DataFrame:
        """The rates of some tables, those that there are."""
        return self.rates.filter(pl.col("table").is_in(names))


@dataclass(frozen=True)
class ConfidenceFindings:
    """What `recon confidence` found.

    Attributes:
        manifest: Of ``confidence/``.
        tenths: Records that are not certain, by ``tenth`` of their confidence: ``records``.
        calibration: As from `recon_cli.score.confidence.calibration`; None without a truth.
    """

    manifest: Manifest
    tenths: pl.DataFrame
    calibration: pl.DataFrame | None


@dataclass(frozen=True)
class LeaveOneOutFindings:
    """What `recon leave-one-out` found.

    Attributes:
        manifest: Of ``leave_one_out/``.
        differences: As from `recon_cli.score.leave_one_out.left_out_differences`.
    """

    manifest: Manifest
    differences: pl.DataFrame


@dataclass(frozen=True)
class Findings:
    """Everything that a report is about.

    Attributes:
        release: The schema.
        manifests: One a stage, in the order of the work.
        reconstruction: ``microdata/`` and ``blocks/``.
        variability: ``solvar/``.
        claims: ``claims/``.
        scores: ``score/``.
        confidence: ``confidence/``; None where no solutions were sampled.
        leave_one_out: ``leave_one_out/``; None where nobody was left out.
    """

    release: Release
    manifests: tuple[Manifest, ...]
    reconstruction: ReconstructionFindings | Missing
    variability: VariabilityFindings | Missing
    claims: ClaimFindings | Missing
    scores: ScoreFindings | Missing
    confidence: ConfidenceFindings | Missing | None = None
    leave_one_out: LeaveOneOutFindings | Missing | None = None


def uniqueness_by_size(
    units: pl.DataFrame,
    certain: pl.DataFrame,
    variability: pl.DataFrame | None,
    sizes: Sizes,
    mode: Mode | None,
) -> pl.DataFrame:
    """How many solutions the units of one partition have, and how many records are certain.

    A proof counts whoever found it: `recon reconstruct` takes all counts at once, `recon solvar`
    in relaxed mode takes each unit alone but searches further.

    Args:
        units: Rows of ``blocks/``.
        certain: The units' geoids and ``certain``: records flagged in ``microdata/``.
        variability: Rows of ``solvar/``, where there are any.
        sizes: The size classes.
        mode: Of ``variability``.

    Returns:
        ``number`` (the size class, Int8), ``units``, ``population``, the same by uniqueness
        (``one_units``, …), ``certain`` and ``certain_elsewhere`` (those of them in units that
        are not proven to have one solution). Inhabited units only.
    """
    joined = _side_by_side(units, certain, variability)
    people = pl.col("population").cast(pl.Int64)
    by_uniqueness = [
        sum_of.alias(f"{each}_{what}")
        for each in UNIQUENESS
        for what, sum_of in (
            ("units", (pl.col("uniqueness") == each).cast(pl.Int64).sum()),
            ("population", people.filter(pl.col("uniqueness") == each).sum()),
        )
    ]
    return (
        joined.filter(pl.col("population") > 0)
        .with_columns(
            number=sizes.number(pl.col("population")),
            uniqueness=_uniqueness(mode),
            # both are lower bounds
            certain=pl.max_horizontal(
                pl.col("certain").fill_null(0), pl.col("certain_records").fill_null(0)
            ).cast(pl.Int64),
        )
        .group_by("number")
        .agg(
            pl.len().cast(pl.Int64).alias("units"),
            people.sum(),
            *by_uniqueness,
            pl.col("certain").sum(),
            pl.col("certain").filter(pl.col("uniqueness") != ONE).sum().alias("certain_elsewhere"),
        )
        .sort("number")
    )


def _side_by_side(
    units: pl.DataFrame, certain: pl.DataFrame, variability: pl.DataFrame | None
) -> pl.DataFrame:
    """Units with their certain records and variability; nulls where nothing was measured."""
    place = units.columns[0]
    joined = units.join(certain, on=place, how="left")
    columns = ("solvar_pct", "solvar_upper_pct", "certain_records")
    if variability is None:
        return joined.with_columns(pl.lit(None, pl.Float64).alias(name) for name in columns)
    return joined.join(variability.select(place, *columns), on=place, how="left")


def _uniqueness(mode: Mode | None) -> pl.Expr:
    """How many solutions a unit has. Only an exact distance is one to another solution."""
    is_one = (pl.col("status") == "unique") | (pl.col("solvar_upper_pct") == 0)
    several = pl.lit(value=mode == "exact") & (pl.col("solvar_pct") > 0)
    return (
        pl.when(is_one.fill_null(value=False))
        .then(pl.lit(ONE))
        .when(pl.col("status") == "open")
        .then(pl.lit(OPEN))
        .when(several.fill_null(value=False))
        .then(pl.lit(SEVERAL))
        .otherwise(pl.lit(UNDECIDED))
    )


def add_up_sizes(parts: Sequence[pl.DataFrame], sizes: Sizes) -> pl.DataFrame:
    """Partitions as one; `uniqueness_by_size` with ``size`` (a label), first over all sizes."""
    summed = (
        pl.concat(parts).group_by("number").agg(pl.col(name).sum() for name in _SUMS).sort("number")
    )
    labels = pl.Series("size", sizes.labels(summed["number"].to_list()), dtype=pl.String)
    everything = summed.select(pl.lit(ALL).alias("size"), *(pl.col(name).sum() for name in _SUMS))
    return pl.concat([everything, summed.select(labels, *_SUMS)])
