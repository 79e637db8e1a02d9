"""The release schema: features, recodes, geography and tables of a publication."""

from recon_cli.schema.areas import AreaGeography, AreaLevel, Membership
from recon_cli.schema.features import Feature, Recode, Value, bits, column_dtype, count_combinations
from recon_cli.schema.files import load_release, packaged_releases
from recon_cli.schema.geography import Geography, Level
from recon_cli.schema.load import extend_release, parse_release
from recon_cli.schema.release import AttackKeys, Release
from recon_cli.schema.tables import Cell, StructuralZero, Table

__all__ = [
    "AreaGeography",
    "AreaLevel",
    "AttackKeys",
    "Cell",
    "Feature",
    "Geography",
    "Level",
    "Membership",
    "Recode",
    "Release",
    "StructuralZero",
    "Table",
    "Value",
    "bits",
    "column_dtype",
    "count_combinations",
    "extend_release",
    "load_release",
    "packaged_releases",
    "parse_release",
]
