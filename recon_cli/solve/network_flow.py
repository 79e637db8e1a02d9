"""Minimum-cost flows and cuts in a network: integral if the capacities are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from ortools.graph.python import max_flow, min_cost_flow

from recon_cli.arrays import IntArray
from recon_cli.errors import SolverError


@dataclass(frozen=True, eq=False)
class Arcs:
    """Arcs of a network, as arrays of equal lengths.

    Attributes:
        capacity: Integral capacity.
        cost: Integral cost of one unit.
    """

    tail: IntArray
    head: IntArray
    capacity: IntArray
    cost: IntArray


def cheapest_flow(supply: IntArray, arcs: Sequence[Arcs]) -> IntArray | None:
    """Find the cheapest flow that carries every supply to a demand.

    Args:
        supply: (nodes,) supply of each node, negative for a demand; all add up to 0.

    Returns:
        The flow on each arc, in order; None if there is no such flow.

    Source: Goldberg (1997), cost scaling; OR-Tools.
    """
    network = min_cost_flow.SimpleMinCostFlow()
    joined = [
        np.concatenate([getattr(each, name) for each in arcs])
        for name in ("tail", "head", "capacity", "cost")
    ]
    numbers = network.add_arcs_with_capacity_and_unit_cost(*joined)
    network.set_nodes_supplies(np.arange(len(supply)), supply)
    if network.solve() != network.OPTIMAL:
        return None
    flow: IntArray = network.flows(numbers).astype(np.int64)
    return flow


class Closures:
    """Closed sets of least cost that contain one node and not another, for many pairs.

    The nodes are sources, which have a worth, and sinks, which have a cost; a set with a source has
    all sinks that the source needs. Computed by minimum cuts.

    Source: Picard (1976), Maximal closure of a graph; OR-Tools.
    """

    def __init__(self, worth: IntArray, cost: IntArray, source: IntArray, sink: IntArray) -> None:
        """Set up a network.

        Args:
            worth: Worth of each source, an integer; negative for a source in no set.
            cost: Cost of each sink, an integer; negative for a sink in no set.
            source: For each need the source that has it.
            sink: For each need the sink that is needed.
        """
        self._worth, self._cost = np.maximum(worth, 0), cost
        self._network = max_flow.SimpleMaxFlow()
        sources, sinks = len(worth), len(cost)
        endless = int(self._worth.sum()) + 1
        self._start, self._end = sources + sinks, sources + sinks + 1
        self._capacity = np.where(cost < 0, endless, cost)
        add = self._network.add_arcs_with_capacity
        self._of_source = add(np.full(sources, self._start), np.arange(sources), self._worth)
        self._of_sink = add(sources + np.arange(sinks), np.full(sinks, self._end), self._capacity)
        add(source, sources + sink, np.full(len(source), endless))
        self._total = int(self._worth.sum())
        self._sources = sources

    def least(self, sink: int, without: int) -> int:
        """Return the least cost minus worth of a closed set with a sink and without a source.

        Args:
            sink: The sink in the set; its cost is not negative.
            without: The source outside the set.
        """
        network = self._network
        network.set_arc_capacity(self._of_sink[sink], 0)
        network.set_arc_capacity(self._of_source[without], 0)
        if network.solve(self._start, self._end) != network.OPTIMAL:
            raise SolverError("a maximum flow was not found")
        flow = int(network.optimal_flow())
        network.set_arc_capacity(self._of_sink[sink], int(self._capacity[sink]))
        network.set_arc_capacity(self._of_source[without], int(self._worth[without]))
        return int(self._cost[sink]) - (self._total - int(self._worth[without]) - flow)

    def sinks(self, sink: int) -> IntArray:
        """Return the sorted sinks of the last set, which contains ``sink``."""
        nodes = np.array(self._network.get_source_side_min_cut(), dtype=np.int64)
        inside = nodes[(nodes >= self._sources) & (nodes < self._start)] - self._sources
        return np.union1d(inside, [sink])
