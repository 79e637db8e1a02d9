"""A file of records in somebody else's terms, as a section names it."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from recon_cli.config.model import ConfigModel, ConfigPath, keys_as_text


class RecordsFile(ConfigModel):
    """A file of records as it is.

    Attributes:
        path: A CSV, Parquet or xlsx file, or a folder of partitions; CSV may be ``.csv.gz``.
        layout: A packaged layout, such as ``mdf_2010``: headers and codes of a publication.
        columns: Header in the file → column of the release, where they differ.
        values: Column of the release → code in the file → value of the release, or null for one
            that says nothing.
        sheet: Name of a workbook's sheet.
    """

    path: ConfigPath
    layout: str | None = None
    columns: dict[str, str] = Field(default_factory=dict)
    values: dict[
        str, Annotated[dict[str, str | int | bool | None], BeforeValidator(keys_as_text)]
    ] = Field(default_factory=dict)
    sheet: str | None = None

    @property
    def terms(self) -> dict[str, Any]:
        """Return everything but the path: what its headers and codes mean."""
        return self.model_dump(mode="json", include={"layout", "columns", "values", "sheet"})


def as_records_file(value: object) -> object:
    """Treat a path alone as a file with the release's own columns and values.

    >>> as_records_file("people.csv"), as_records_file({"path": "people.csv"})
    ({'path': 'people.csv'}, {'path': 'people.csv'})
    """
    return value if value is None or isinstance(value, dict | RecordsFile) else {"path": value}


#: A path, or a file with headers and codes of its own.
Records = Annotated[RecordsFile, BeforeValidator(as_records_file)]
