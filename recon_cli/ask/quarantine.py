"""What quarantine means to an attack: regions solved part by part, geounits left to propagation.

A solver that crashes, or takes all memory, takes its process with it. So before a solver is
started on a geounit, the geounit is announced to whoever watches the process. What is done after a
death is decided in `recon_cli.pipeline.quarantine`; here it is only obeyed.
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


def _unwatched(_geoid: str, _region: str) -> None:
    """Nobody watches this process."""


@dataclass(frozen=True)
class Quarantine:
    """How to treat the regions of a partition.

    Attributes:
        split_regions: Regions whose components are solved one connected part at a time.
        excluded: Geounits that no solver is started on: units, or regions for parts that span
            several units.
        announce: Called with a geounit and its region before a solver is started on it.
        is_over: No solver is started any more.
    """

    split_regions: frozenset[str] = frozenset()
    excluded: frozenset[str] = frozenset()
    announce: Callable[[str, str], None] = _unwatched
    is_over: bool = False

    @property
    def is_active(self) -> bool:
        """Whether anything is split or excluded."""
        return bool(self.split_regions or self.excluded)

    def of_batch(self, counts: PartitionCounts, system: System) -> BatchQuarantine:
        """The same for one batch of a partition."""
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
        """Components; of regions that are split their connected parts.

        Args:
            unit: For each variable of the batch its unit.
            label: Likewise; variables with equal labels stay together.
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
        """Whether a solver may be started on a part of these units; if so, it is announced."""
        region = self.regions[int(unit[0])]
        is_one_unit = (unit == unit[0]).all()
        is_split = region in self.quarantine.split_regions
        geoid = self.units[int(unit[0])] if is_split and is_one_unit else region
        if self.quarantine.is_over or geoid in self.quarantine.excluded:
            return False
        self.quarantine.announce(geoid, region)
        return True
