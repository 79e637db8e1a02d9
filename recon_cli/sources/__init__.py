"""Sources: published formats, read as counts, geounits and coverage."""

from recon_cli.sources.formats import (
    NO_MAPPING,
    DimensionMapping,
    FileMapping,
    ShareMapping,
    StatisticMapping,
)
from recon_cli.sources.legacy import open_legacy
from recon_cli.sources.listing import (
    complete_geounits,
    list_geounits,
    read_geounit_list,
    read_place_names,
)
from recon_cli.sources.tables import OpenedSource, completed, open_counts, open_source, open_tables
from recon_cli.sources.tidy import (
    Absent,
    AbsentCells,
    open_tidy,
    tidy_frame,
    with_zeros,
    write_tidy,
)

__all__ = [
    "NO_MAPPING",
    "Absent",
    "AbsentCells",
    "DimensionMapping",
    "FileMapping",
    "OpenedSource",
    "ShareMapping",
    "StatisticMapping",
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
    "write_tidy",
]
