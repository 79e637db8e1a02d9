"""Find the files to read, and the kind of each."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from recon_cli.errors import ConfigError, SourceError
from recon_cli.sources.documents import document_of, open_documents
from recon_cli.sources.formats import is_companion
from recon_cli.sources.legacy import PRODUCTS
from recon_cli.sources.tidy_file import is_tidy

TIDY: Final = "tidy"
#: A state's files; their names tell the product.
LEGACY: Final = "legacy"

_TIDY_SUFFIXES: Final = (".csv", ".parquet")
_READABLE: Final = (
    "state zips (al2010.sf1.zip), a folder of their members, .csv or .parquet files, or tables as "
    "they are downloaded (.csv, .tsv, .txt, .xlsx, .xls, .ods, .json, or zips of them)"
)
#: Tables of any other format; their content tells which.
TABLES: Final = "tables"
_TABLE_SUFFIXES: Final = (
    *(".csv", ".tsv", ".tab", ".txt", ".json", ".gz", ".zip"),
    *(".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"),
)


def files_at(path: Path) -> Sequence[tuple[str, Path]]:
    """Return the kind and the path of each file to read at a path.

    Raises:
        ConfigError: There is nothing to read.
    """
    if not path.exists():
        raise ConfigError(f"no such file or folder: {path}; expected {_READABLE}")
    if path.is_file():
        kind = _kind(path) or (TABLES if path.suffix.lower() == ".txt" else None)
        if kind is None:
            raise ConfigError(f"{path}: cannot be read; expected {_READABLE}")
        return [(kind, path)]
    files = sorted(entry for entry in path.iterdir() if entry.is_file())
    suffixes = {f".{suffix}" for suffix, _ in PRODUCTS.values()}
    members = [(LEGACY, path)] if any(file.suffix.lower() in suffixes for file in files) else []
    found = members + [(kind, file) for file in files if (kind := _kind(file)) is not None]
    if not found:
        raise ConfigError(f"{path}: nothing in this folder can be read; expected {_READABLE}")
    if members and len(found) > 1:
        raise ConfigError(
            f"{path}: holds a state's members and {found[1][1].name} besides; name one of them"
        )
    return found


def _kind(file: Path) -> str | None:
    suffix = file.suffix.lower()
    if suffix == ".parquet":
        return TIDY
    if suffix == ".zip":
        return TABLES if _holds_tables(file) else LEGACY
    if suffix not in _TABLE_SUFFIXES or is_companion(document_of(file)):
        return None
    return TIDY if suffix in _TIDY_SUFFIXES and is_tidy(file) else TABLES


def _holds_tables(archive: Path) -> bool:
    """Test whether a zip has tables, not a state's members."""
    try:
        documents = open_documents(archive)
    except SourceError:
        return False  # the reader of a state's zips says what is wrong with it
    members = [each for each in documents if each.label != str(archive)]
    return any(Path(each.name).suffix.lower() in _TABLE_SUFFIXES for each in members)
