"""The places with a protected count; other places have only counts that are published exactly."""

from __future__ import annotations

from recon_cli.capabilities.audit import AUDIT
from recon_cli.capabilities.findings.fresh import WorkFolder
from recon_cli.frames import IS_AS_PUBLISHED
from recon_cli.store import INGEST


class ProtectedPlaces:
    """Selector of the places with a count that is not published exactly."""

    def __init__(self, work: WorkFolder) -> None:
        self.audit = work.open(AUDIT)
        self.tables = work.open(INGEST)

    def places(self, partition: str) -> frozenset[str]:
        found = set(self.audit.read(partition, columns=("geoid",))["geoid"].to_list())
        counts = self.tables.read(partition)
        if "low" in counts.columns:
            found |= set(counts.filter(~IS_AS_PUBLISHED)["geoid"].to_list())
        return frozenset(found)
