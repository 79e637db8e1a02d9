"""Statuses of a unit after `recon reconstruct`, as in ``blocks/``.

Separate from `recon_cli.ask.question`, since `recon show` needs them and loads no arrays.
"""

from __future__ import annotations

from typing import Final

#: Workers died on it, so it was not solved.
QUARANTINED: Final = "quarantined"
#: Within the effort neither a solution was found nor a proof that there is none.
UNDECIDED: Final = "undecided"
#: People of these units are missing from the records.
MISSING: Final = (QUARANTINED, UNDECIDED)
