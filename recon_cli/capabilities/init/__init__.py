"""A first config for files that somebody has: what they are, and the text that says so."""

from recon_cli.capabilities.init.document import (
    compose,
    compose_protection,
    grid_lines,
    names_file,
    protection_file,
    schema_file,
)
from recon_cli.capabilities.init.recognition import RecognisedFiles, recognise

__all__ = [
    "RecognisedFiles",
    "compose",
    "compose_protection",
    "grid_lines",
    "names_file",
    "protection_file",
    "recognise",
    "schema_file",
]
