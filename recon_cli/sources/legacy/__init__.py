"""Legacy state files: fixed-width geographic header and comma-separated segments."""

from recon_cli.sources.legacy.layout import LAYOUT, Layout, legacy_layout
from recon_cli.sources.legacy.reader import CHUNK_RECORDS, LegacySource, open_legacy
from recon_cli.sources.legacy.writer import write_legacy

__all__ = [
    "CHUNK_RECORDS",
    "LAYOUT",
    "Layout",
    "LegacySource",
    "legacy_layout",
    "open_legacy",
    "write_legacy",
]
