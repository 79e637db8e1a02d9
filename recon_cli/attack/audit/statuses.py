"""What is said of a count whose possible values are known: the words of the audit.

See *safety range* in docs/glossary.md.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from recon_cli.arrays import IntArray

#: There is one count left.
RECOVERED: Final = "recovered"
#: More than one count is left, and all of them lie closer together than the safety range.
NARROWED: Final = "narrowed"
#: Two solutions are known whose counts are at least the safety range apart.
SAFE: Final = "safe"
#: The effort ended before one of these was shown.
UNDECIDED: Final = "undecided"
#: Some solution has a count of a size that nobody asked about; further it was not looked at.
OF_NO_INTEREST: Final = "of no interest"
#: What the audit says of a cell.
STATUSES: Final = (RECOVERED, NARROWED, SAFE, UNDECIDED)


def statuses(
    lower: IntArray,
    upper: IntArray,
    seen_lower: IntArray,
    seen_upper: IntArray,
    required: IntArray,
) -> npt.NDArray[np.str_]:
    """One of `STATUSES` for each count; arrays broadcast.

    Args:
        lower: No solution has less.
        upper: No solution has more; `recon_cli.publication.OPEN` where that is not known.
        seen_lower: The least in a known solution.
        seen_upper: The greatest in a known solution; `OPEN` where there are solutions with any
            number above another's.
        required: The safety range, at least 1.
    """
    seen, left = seen_upper - seen_lower, upper - lower
    return np.select(
        [lower == upper, seen >= required, (seen > 0) & (left < required)],
        [RECOVERED, SAFE, NARROWED],
        UNDECIDED,
    )
