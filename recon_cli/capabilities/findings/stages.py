"""Names of the stages whose folders are read for findings; none of their code is imported."""

from __future__ import annotations

from typing import Final

from recon_cli.pipeline.stages import stage_named

AUDIT: Final = stage_named("audit")
CLAIMS: Final = stage_named("claims")
CONFIDENCE: Final = stage_named("confidence")
PROVE: Final = stage_named("prove")
RECONSTRUCT: Final = stage_named("reconstruct")
SOLVAR: Final = stage_named("solvar")
