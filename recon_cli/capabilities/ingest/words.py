"""Names of cells in the sheets that a run reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recon_cli.capabilities.ingest.options import Ingest
from recon_cli.config import RunConfig
from recon_cli.schema import Release
from recon_cli.stage import undisturbed

if TYPE_CHECKING:
    from recon_cli.capabilities.ingest.sheet_words import SheetWords


def sheet_words_of(config: RunConfig, release: Release) -> SheetWords | None:
    """Return the words of the sheets; None where no labels were read."""
    found = next((each for each in config.sections.values() if isinstance(each, Ingest)), None)
    if found is None or found.mapping is None or not found.mapping.labels:
        return None
    with undisturbed():
        from recon_cli.capabilities.ingest.partitions import file_mapping
        from recon_cli.capabilities.ingest.sheet_words import SheetWords

    return SheetWords(release, file_mapping(found))
