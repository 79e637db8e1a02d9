"""Statuses of a unit after `recon reconstruct`, as in ``blocks/``.

Separate from `recon_cli.ask.question`, since `recon show` needs them and loads no arrays.
"""

from __future__ import annotations

from typing import Final

#: Status of a unit that was not solved because workers died on it.
QUARANTINED: Final = "quarantined"
#: Status of a unit for which neither a solution was found nor a proof that there is none.
UNDECIDED: Final = "undecided"
#: Statuses of units whose people are missing from the records.
MISSING: Final = (QUARANTINED, UNDECIDED)
