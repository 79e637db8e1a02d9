"""Legacy state files: a geographic header and segments, of fixed columns or delimited."""

from recon_cli.sources.legacy.layout import PRODUCTS, header_suffixes, legacy_layout
from recon_cli.sources.legacy.reader import LegacySource, open_legacy

__all__ = [
    "PRODUCTS",
    "LegacySource",
    "header_suffixes",
    "legacy_layout",
    "open_legacy",
]
