"""The rows of a proof: what the kinds resolve, and sums of finer cells that they do not."""

from __future__ import annotations

from typing import Any

import pytest

from recon_cli import reconcheck
from recon_cli.proof.scope_rows import RowSource

#: Values 1 to 4 of one feature; kinds tell 1 and 2 from 3 and 4, and no more.
HALVES = [[0b0011, 0b1100]]


def rows(*masks: str) -> dict[str, tuple[list[int], int, int]]:
    """Coefficients and ends of each row where cells with these masks count 10, 11, …."""
    lines = ["feature a 4", "table T"]
    lines += [f"cell 0 {at} {mask}" for at, mask in enumerate(masks)]
    lines += [f"pattern 0.0-{len(masks) - 1}", "unit U 0"]
    lines += [f"count 0 0 {at} {10 + at} {10 + at}" for at in range(len(masks))]
    read: Any = reconcheck.Tables(lines)
    cliques: list[Any] = [reconcheck.Clique(read, HALVES, [0])]
    scope: Any = reconcheck.Scope(read, cliques, {0})
    found = RowSource(read, cliques).rows(scope)
    ends = zip(found.A.toarray().tolist(), found.least.tolist(), found.most.tolist(), strict=True)
    return dict(zip(found.names, ends, strict=True))


@pytest.mark.parametrize(
    ("masks", "expected"),
    [
        # Counts of 10 and 11 are of the first half together.
        (("1", "2", "c"), {"0:0.0-1": ([1, 0], 21, 21), "0:0.2": ([0, 1], 12, 12)}),
        (("4", "3", "8"), {"0:0.1": ([1, 0], 11, 11), "0:0.0,2": ([0, 1], 22, 22)}),
        # Value 2 is counted twice, or value 4 not at all: no sum is of a half.
        (("1", "2", "3", "2"), {"0:0.2": ([1, 0], 12, 12)}),
        (("4", "3"), {"0:0.1": ([1, 0], 11, 11)}),
        (("5", "a"), {}),
    ],
)
def test_finer_cells_that_partition_a_kind_are_summed(
    masks: tuple[str, ...], expected: dict[str, tuple[list[int], int, int]]
) -> None:
    assert rows(*masks) == expected
