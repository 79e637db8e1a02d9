"""Published numbers as statements about true counts."""

from recon_cli.statement.law import FLAGGED, Exact, Law
from recon_cli.statement.laws import LAWS, describe_law, law_document, parse_law
from recon_cli.statement.protection import (
    EXACT,
    Protection,
    Statement,
    load_protection,
    protection_text,
)

__all__ = [
    "EXACT",
    "FLAGGED",
    "LAWS",
    "Exact",
    "Law",
    "Protection",
    "Statement",
    "describe_law",
    "law_document",
    "load_protection",
    "parse_law",
    "protection_text",
]
