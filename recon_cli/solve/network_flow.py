"""Flows of least cost in a network: whole by construction where capacities are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from ortools.graph.python import min_cost_flow

from recon_cli.arrays import IntArray


@dataclass(frozen=True, eq=False)
class Arcs:
    """Arcs of a network; arrays of one length.

    Attributes:
        tail: Where each starts.
        head: Where it ends.
        capacity: What it can carry at most, whole.
        cost: Of one unit, whole.
    """

    tail: IntArray
    head: IntArray
    capacity: IntArray
    cost: IntArray


def cheapest_flow(supply: IntArray, arcs: Sequence[Arcs]) -> IntArray | None:
    """The cheapest flow that carries every supply to a demand.

    Args:
        supply: (nodes,) what each node has to give; below zero: what it needs. They add up to 0.
        arcs: Of the network.

    Returns:
        What each arc carries, in order; None if there is no such flow.

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
