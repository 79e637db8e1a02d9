"""What is known of attempts that killed their worker, and what this one leaves behind.

A solver that crashes, or takes all memory, takes its process with it. So before a solver is let
at a geounit its name is left where the parent can read it. Whoever is named twice is solved with
care, part by part; who is named again is quarantined: no solver, what propagation proves stands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from recon_cli.model.components import Component
from recon_cli.model.grain import IntArray
from recon_cli.model.program import connected_parts


def _tell_nobody(_geoid: str) -> None:
    pass


@dataclass(frozen=True)
class Quarantine:
    """How to treat the regions of a partition.

    Attributes:
        careful: Regions whose components are solved one connected part at a time.
        quarantine: Geounits that no solver is let at: units, or regions for parts that span
            several units.
        enter: Told the geounit before a solver is let at it.
    """

    careful: frozenset[str] = frozenset()
    quarantine: frozenset[str] = frozenset()
    enter: Callable[[str], None] = _tell_nobody


#: Nothing is known of earlier attempts, and nobody is told of this one.
NO_QUARANTINE = Quarantine()


@dataclass(frozen=True)
class BatchQuarantine:
    """A guard over one batch.

    Attributes:
        guard: The guard.
        units: Geoids of the batch's units.
        regions: For each unit the geoid of its region.
    """

    guard: Quarantine
    units: pl.Series
    regions: pl.Series

    def parts(self, component: Component, unit: IntArray, targets: IntArray) -> Iterator[Component]:
        """The component; its connected parts where its region is solved with care.

        Args:
            component: Of one region.
            unit: For each cell of the component its unit.
            targets: For each cell what it counts to; cells of one target stay together.
        """
        if self.regions[int(unit[0])] not in self.guard.careful:
            yield component
            return
        _, labels = connected_parts(component.program.constraints.A, targets)
        for label in np.unique(labels):
            yield component.subset(np.flatnonzero(labels == label))

    def admits(self, unit: IntArray) -> bool:
        """Whether a solver may be let at a part with cells in these units; says that it is."""
        region = self.regions[int(unit[0])]
        alone = region in self.guard.careful and (unit == unit[0]).all()
        name = self.units[int(unit[0])] if alone else region
        if name in self.guard.quarantine:
            return False
        self.guard.enter(name)
        return True
