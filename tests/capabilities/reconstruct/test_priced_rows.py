"""Rows over single values, and the kinds of costs of their published cells."""

from __future__ import annotations

import numpy as np

from recon_cli.capabilities.reconstruct.priced_rows import kinds_of_nodes


def test_a_node_has_the_kind_of_its_first_cell_and_of_its_second() -> None:
    """Two places; cells 0 and 2 are of node 1, cell 1 is of node 0, no cell is of node 2."""
    of_cell = np.array([[3, 5, 7], [-1, 6, 8]])
    found = kinds_of_nodes(of_cell, np.array([1, 0, 1]), 3)
    assert [kinds.tolist() for kinds in found] == [
        [[5, 3, -1], [6, -1, -1]],
        [[-1, 7, -1], [-1, 8, -1]],
    ]
