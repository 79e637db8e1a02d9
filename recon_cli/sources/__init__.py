"""Sources: published formats read as counts, geounits and coverage."""

from recon_cli.sources.dense import DenseSource
from recon_cli.sources.formats import FORMATS, DimensionMapping, FileMapping
from recon_cli.sources.legacy import LegacySource, open_legacy, write_legacy
from recon_cli.sources.listing import (
    IncompleteSource,
    complete_geounits,
    list_geounits,
    read_geounit_list,
)
from recon_cli.sources.tables import open_tables
from recon_cli.sources.tidy import (
    Absent,
    AbsentCells,
    TidySource,
    open_tidy,
    tidy_frame,
    with_zeros,
    write_tidy,
)

__all__ = [
    "FORMATS",
    "Absent",
    "AbsentCells",
    "DenseSource",
    "DimensionMapping",
    "FileMapping",
    "IncompleteSource",
    "LegacySource",
    "TidySource",
    "complete_geounits",
    "list_geounits",
    "open_legacy",
    "open_tables",
    "open_tidy",
    "read_geounit_list",
    "tidy_frame",
    "with_zeros",
    "write_legacy",
    "write_tidy",
]
