"""Quarantine in an attack: solve regions part by part, and exclude geounits from solvers.

A solver that crashes or exhausts memory ends its process. So before a solver starts on a geounit,
the geounit is announced to the parent process. `recon_cli.pipeline.quarantine` decides what follows
a death; this module carries it out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from recon_cli.arrays import IntArray
from recon_cli.model.components import Component
from recon_cli.model.counts import PartitionCounts
from recon_cli.model.program import connected_parts
from recon_cli.model.system import System


def _unwatched(_geoid: str, _region: str) -> None: ...


@dataclass(frozen=True)
class Quarantine:
    """The treatment of the regions of a partition.

    Attributes:
        split_regions: Regions whose components are solved one connected part at a time.
        excluded: Geounits that no solver is started on: units, or regions for parts that span
            several units.
        announce: Called with a geounit and its region before a solver is started on it.
        is_over: Whether no more solvers may be started.
    """

    split_regions: frozenset[str] = frozenset()
    excluded: frozenset[str] = frozenset()
    announce: Callable[[str, str], None] = _unwatched
    is_over: bool = False

    @property
    def is_active(self) -> bool:
        """Report whether anything is split or excluded."""
        return bool(self.split_regions or self.excluded)

    def of_batch(self, counts: PartitionCounts, system: System) -> BatchQuarantine:
        """Restrict the quarantine to one batch of a partition."""
        units, regions = counts.geoids[system.units], counts.region_geoids[system.regions]
        return BatchQuarantine(self, units, regions)


#: Nothing is split or excluded, and nobody watches.
NO_QUARANTINE = Quarantine()


@dataclass(frozen=True)
class BatchQuarantine:
    """A quarantine over one batch.

    Attributes:
        regions: For each unit the geoid of its region.
    """

    quarantine: Quarantine
    units: pl.Series
    regions: pl.Series

    def parts(
        self, components: Iterable[Component], unit: IntArray, label: IntArray
    ) -> Iterator[Component]:
        """Yield components, split into connected parts where regions are split.

        Args:
            unit: For each variable of the batch its unit.
            label: Label of each variable; variables with equal labels stay together.
        """
        for component in components:
            columns = component.columns
            if self.regions[int(unit[columns[0]])] not in self.quarantine.split_regions:
                yield component
                continue
            _, part = connected_parts(component.program.constraints.A, label[columns])
            for number in np.unique(part):
                yield component.subset(np.flatnonzero(part == number))

    def admits(self, unit: IntArray) -> bool:
        """Announce a part with these units, and return whether a solver may start on it."""
        region = self.regions[int(unit[0])]
        is_one_unit = (unit == unit[0]).all()
        is_split = region in self.quarantine.split_regions
        geoid = self.units[int(unit[0])] if is_split and is_one_unit else region
        if self.quarantine.is_over or geoid in self.quarantine.excluded:
            return False
        self.quarantine.announce(geoid, region)
        return True
