"""Batches of regions with a known solution: where solvar, claims and confidence begin."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from recon_cli.arrays import IntArray
from recon_cli.attack.excluded_units import BatchQuarantine, Quarantine
from recon_cli.attack.question import RegionData
from recon_cli.attack.reconstruction.solution import errors_naming, quarantine_of_batch
from recon_cli.attack.variability.incumbent import encode_incumbent
from recon_cli.model.constraints import LinearConstraints
from recon_cli.model.counts import PartitionCounts
from recon_cli.model.plan import Plan
from recon_cli.model.system import System


@dataclass(frozen=True)
class KnownBatch:
    """A batch, and records that have its counts.

    Attributes:
        counts: Those of the partition.
        data: What is known of the partition.
    """

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
        """One for each system; ``quarantine`` is for attempts that died."""
        for system in systems:
            watched = quarantine_of_batch(quarantine, counts, system)
            yield cls(plan, counts, system, data, watched)

    @cached_property
    def missing(self) -> npt.NDArray[np.bool_]:
        """For each unit whether it was not solved when the records were made."""
        return self.watched.units.is_in(self.data.missing.implode()).to_numpy()

    @cached_property
    def regions(self) -> dict[int, str]:
        """The regions' numbers, rising, with their geoids."""
        geoids = self.counts.region_geoids
        return {region: geoids[region] for region in np.unique(self.system.regions).tolist()}

    def incumbent(self, rows: LinearConstraints | None = None) -> IntArray:
        """People in each candidate, counted from the records.

        Args:
            rows: What they must meet; None for the rows of the system.

        Raises:
            StageError: The records are not a solution.
        """
        return encode_incumbent(
            self.plan, self.counts, self.system, self.data.records, self.missing, rows=rows
        )

    def errors_named(self) -> AbstractContextManager[None]:
        """Say in a solver's error which regions it is about."""
        name = self.counts.region_geoids[int(self.system.regions[0])]
        return errors_naming(f"{self.plan.release.region.name}s from", name)
