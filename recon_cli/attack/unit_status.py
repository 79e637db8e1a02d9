"""What `recon reconstruct` may leave a unit as; the words of ``blocks/``."""

from __future__ import annotations

from typing import Final

#: Workers died on it, so it was not solved.
QUARANTINED: Final = "quarantined"
