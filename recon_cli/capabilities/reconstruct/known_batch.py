"""Batches of regions with a known solution, from which solvar, claims and confidence start.

Records are converted back to counts of candidates: the solution that others are compared with.

See *incumbent* in docs/glossary.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy import sparse

from recon_cli.arrays import IntArray
from recon_cli.ask.quarantine import BatchQuarantine, Quarantine
from recon_cli.ask.question import RegionData
from recon_cli.capabilities.reconstruct.unit_status import MISSING
from recon_cli.errors import DisagreementError, SolverError, StageError
from recon_cli.model.candidates import Candidates, find_unmentioned
from recon_cli.model.counts import PartitionCounts
from recon_cli.model.plan import Plan
from recon_cli.model.program import LinearConstraints
from recon_cli.model.system import System
from recon_cli.store import Folder, Piece


def missing_units(blocks: pl.DataFrame) -> pl.Series:
    """Return the geoids of units that were not solved, so that some of their people are missing."""
    return blocks.filter(pl.col("status").is_in(MISSING)).to_series(0)


@dataclass(frozen=True)
class ReconstructedRecords:
    """Reads reconstructed records."""

    microdata: Folder
    blocks: Folder

    def read(self, piece: Piece) -> tuple[pl.DataFrame, pl.Series]:
        at = piece.partition, piece.span
        return self.microdata.read(*at), missing_units(self.blocks.read(*at))


@contextmanager
def errors_naming(level: str, geoid: str) -> Iterator[None]:
    """Add the geounit's name to a solver's error.

    Raises:
        SolverError: As raised inside, with the geounit in front.
    """
    try:
        yield
    except DisagreementError as error:
        raise DisagreementError(f"{level} {geoid}: {error}", error.model) from error
    except SolverError as error:
        raise SolverError(f"{level} {geoid}: {error}") from error


def encode_incumbent(
    plan: Plan,
    counts: PartitionCounts,
    system: System,
    microdata: pl.DataFrame,
    missing: npt.NDArray[np.bool_],
    *,
    rows: LinearConstraints | None = None,
) -> IntArray:
    """Count the people of each candidate of a batch, from reconstructed records.

    Args:
        microdata: Records; those of other units are passed over.
        missing: For each unit whether it was quarantined, so that people may be missing.
        rows: Rows that the records must meet; None for the rows of the system.

    Raises:
        StageError: The records are not a solution of the system.
    """
    people = people_in_candidates(plan, counts, system, microdata)
    checked = _without(system.rows if rows is None else rows, missing[system.candidates.unit])
    if not checked.are_met_by(people):
        raise StageError(
            "microdata/ does not reproduce the published counts: run `recon reconstruct` again"
        )
    return people


def people_in_candidates(
    plan: Plan, counts: PartitionCounts, system: System, microdata: pl.DataFrame
) -> IntArray:
    """Count the people of each candidate of a batch, without checking any row.

    Records that no row mentions are skipped: where counts are intervals, any number is possible.

    Raises:
        StageError: Another record is in no candidate.
    """
    column = plan.release.geoid_column
    units = pl.DataFrame(
        {column: counts.geoids.gather(system.units), "unit": np.arange(len(system.units))}
    )
    here = microdata.join(units, on=column, how="inner")
    people = np.zeros(len(system.candidates.unit), dtype=np.int64)
    unseen = [feature.name for feature in plan.release.features if here[feature.name].null_count()]
    unknown = [pl.col(name).is_null() for name in unseen]
    for _, part in here.group_by(unknown) if unseen else [((), here)]:
        place = _places(plan, system.candidates, part)
        if (place < 0).any() and not _are_open(plan, counts, system, part.filter(place < 0)):
            raise StageError(
                "microdata/ has records that no published table allows: it was made from other "
                "tables; run `recon reconstruct` again"
            )
        people += np.bincount(place[place >= 0], minlength=len(people))
    return people


def _are_open(plan: Plan, counts: PartitionCounts, system: System, records: pl.DataFrame) -> bool:
    """Test whether no row mentions the records, where counts are intervals."""
    if counts.intervals is None:
        return False
    unmentioned = find_unmentioned(plan.grain, len(system.units), system.strata, plan.impossible)
    return bool((_places(plan, unmentioned, records) >= 0).all())


def _places(plan: Plan, candidates: Candidates, records: pl.DataFrame) -> IntArray:
    """Return the candidate of each record, −1 if there is none; records share their null columns.

    A null is a feature that no table distinguishes: any candidate that fits the other columns will
    do.
    """
    codes = records["unit"].to_numpy().astype(np.int64)
    known = candidates.unit.astype(np.int64)
    names = [feature.name for feature in plan.release.features]
    seen = [f for f, name in enumerate(names) if not records[name].null_count()]
    atoms = records.select(_atoms(plan, f, records[names[f]].dtype) for f in seen)
    for f in seen:
        size = plan.grain.sizes[f]
        codes = codes * size + atoms[names[f]].to_numpy()
        known = known * size + candidates.atoms[:, f]
    order = np.argsort(known, kind="stable")
    if not len(known):
        return np.full(len(codes), -1, dtype=np.int64)
    at = np.minimum(np.searchsorted(known[order], codes), len(known) - 1)
    return np.where(known[order][at] == codes, order[at], -1)


def _without(rows: LinearConstraints, missing: npt.NDArray[np.bool_]) -> LinearConstraints:
    """Drop the rows that contain candidates of missing units."""
    if not missing.any():
        return rows
    kept = np.flatnonzero(rows.A @ missing.astype(np.int64) == 0)
    return LinearConstraints(sparse.csr_array(rows.A[kept]), rows.least[kept], rows.most[kept])


def _atoms(plan: Plan, f: int, dtype: pl.DataType) -> pl.Expr:
    """Return an expression for the atom of each value of a feature."""
    feature = plan.release.features[f]
    atom_of = {
        value: atom
        for value, position in feature.position.items()
        for atom, mask in enumerate(plan.grain.atoms[f])
        if mask >> position & 1
    }
    old = pl.Series(list(atom_of), dtype=dtype)
    new = pl.Series(list(atom_of.values()), dtype=pl.Int64)
    return pl.col(feature.name).replace_strict(old, new, return_dtype=pl.Int64, default=None)


@dataclass(frozen=True)
class KnownBatch:
    """A batch, and records that have its counts."""

    plan: Plan
    counts: PartitionCounts
    system: System
    data: RegionData
    watched: BatchQuarantine

    @classmethod
    def each(
        cls,
        plan: Plan,
        counts: PartitionCounts,
        systems: Iterable[System],
        data: RegionData,
        quarantine: Quarantine,
    ) -> Iterator[KnownBatch]:
        """Yield a batch for each system; ``quarantine`` is for attempts that died."""
        for system in systems:
            watched = quarantine.of_batch(counts, system)
            yield cls(plan, counts, system, data, watched)

    @cached_property
    def missing(self) -> npt.NDArray[np.bool_]:
        """Return a mask of the units that were unsolved when the records were made."""
        return self.watched.units.is_in(self.data.missing.implode()).to_numpy()

    @cached_property
    def regions(self) -> dict[int, str]:
        """Map the regions' numbers, sorted, to their geoids."""
        geoids = self.counts.region_geoids
        return {region: geoids[region] for region in np.unique(self.system.regions).tolist()}

    def incumbent(self, rows: LinearConstraints | None = None) -> IntArray:
        """Count the people of each candidate, from the records.

        Args:
            rows: Rows that the records must meet; None for the rows of the system.
        """
        return encode_incumbent(
            self.plan, self.counts, self.system, self.data.records, self.missing, rows=rows
        )

    def errors_named(self) -> AbstractContextManager[None]:
        """Name the first region of the batch in a solver's errors."""
        name = self.counts.region_geoids[int(self.system.regions[0])]
        return errors_naming(f"{self.plan.release.region.name}s from", name)
