"""Sources: published formats read as counts, geounits and coverage."""

from recon_cli.sources.legacy import LegacySource, open_legacy, write_legacy
from recon_cli.sources.tidy import Absent, TidySource, open_tidy, tidy_frame, with_zeros, write_tidy

__all__ = [
    "Absent",
    "LegacySource",
    "TidySource",
    "open_legacy",
    "open_tidy",
    "tidy_frame",
    "with_zeros",
    "write_legacy",
    "write_tidy",
]
