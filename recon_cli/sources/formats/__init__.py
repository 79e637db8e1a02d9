"""Published formats: which columns are place, counts, dimensions and flags."""

from recon_cli.sources.formats.count_sheet import CountColumn, CountSheet, DimensionColumns, Format
from recon_cli.sources.formats.mapping import NO_MAPPING, DimensionMapping, FileMapping
from recon_cli.sources.formats.registry import FORMATS, is_companion, recognise_format

__all__ = [
    "FORMATS",
    "NO_MAPPING",
    "CountColumn",
    "CountSheet",
    "DimensionColumns",
    "DimensionMapping",
    "FileMapping",
    "Format",
    "is_companion",
    "recognise_format",
]
