"""Sources: published formats read as counts, geounits and coverage."""

from recon_cli.sources.dense import DenseSource
from recon_cli.sources.formats import FORMATS, NO_MAPPING, DimensionMapping, FileMapping
from recon_cli.sources.joined import JoinedSource, Part
from recon_cli.sources.legacy import LegacySource, open_legacy, write_legacy
from recon_cli.sources.listing import (
    IncompleteSource,
    complete_geounits,
    list_geounits,
    read_geounit_list,
    read_place_names,
)
from recon_cli.sources.tables import (
    OpenedSource,
    completed,
    open_counts,
    open_source,
    open_tables,
)
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
    "NO_MAPPING",
    "Absent",
    "AbsentCells",
    "DenseSource",
    "DimensionMapping",
    "FileMapping",
    "IncompleteSource",
    "JoinedSource",
    "LegacySource",
    "OpenedSource",
    "Part",
    "TidySource",
    "complete_geounits",
    "completed",
    "list_geounits",
    "open_counts",
    "open_legacy",
    "open_source",
    "open_tables",
    "open_tidy",
    "read_geounit_list",
    "read_place_names",
    "tidy_frame",
    "with_zeros",
    "write_legacy",
    "write_tidy",
]
