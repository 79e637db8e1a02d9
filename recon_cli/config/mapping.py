"""``ingest.mapping:`` what published tables do not say themselves."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field, field_validator

from recon_cli.config.model import ConfigModel, as_list, keys_as_text


def _text(value: object) -> object:
    """Numbers that YAML has read stay the text that they are in the files."""
    many = value if isinstance(value, list | tuple) else [value]
    return as_list([str(each) if type(each) is int else each for each in many])


#: Between a place and what it is part of, as `recon_cli.sources.formats.layout` writes them.
PART_OF = " / "

Columns = Annotated[dict[str, str | None], BeforeValidator(keys_as_text)]
Texts = Annotated[tuple[str, ...], Field(strict=False), BeforeValidator(_text)]
HeaderRows = Annotated[
    tuple[Annotated[int, Field(ge=1)], ...],
    Field(strict=False),
    BeforeValidator(lambda value: [value] if isinstance(value, int) else value),
]


class Dimension(ConfigModel):
    """A dimension column.

    Attributes:
        feature: The feature or recode that it is of; nothing for one that is left out.
        values: Code or label → value of the feature or group of the recode, or ``total``.
    """

    feature: str | None = None
    values: Annotated[dict[str, str], BeforeValidator(keys_as_text)] = Field(default_factory=dict)


class Mapping(ConfigModel):
    """What the files do not say themselves.

    Attributes:
        sheet: Of a workbook: the sheets to read, one or a list; default all that are not hidden.
        header: Numbers of the header rows, from 1.
        place: Header of the column with the geoids.
        parent: Headers of the columns that say what a place is part of, the largest first.
        geoids: What stands in that column → its geoid, where places have names and no codes.
        levels: Read only the rows of these levels.
        where: Header → the values of that column whose rows are read.
        columns: Header of a column of counts → code of its cell; nothing to leave it out.
        columns_of: File name → ``columns`` of that file alone, where files share headers.
        dimensions: Header of a dimension column → how it is read.
        table: The table that all counts are of.
        thousands: What is between groups of three digits.
        unpublished: Texts in place of a count that is not published.
    """

    sheet: Texts = ()
    header: HeaderRows = ()
    place: str | None = None
    parent: Texts = ()
    geoids: Annotated[dict[str, str], BeforeValidator(keys_as_text)] = Field(default_factory=dict)
    levels: Texts = ()
    where: Annotated[dict[str, Texts], BeforeValidator(keys_as_text)] = Field(default_factory=dict)
    columns: Columns = Field(default_factory=dict)
    columns_of: dict[str, Columns] = Field(default_factory=dict)
    dimensions: dict[str, Dimension] = Field(default_factory=dict)
    table: str | None = None
    thousands: Annotated[str, Field(min_length=1, max_length=1)] | None = None
    unpublished: Texts = ()

    @field_validator("geoids")
    @classmethod
    def _one_each(cls, geoids: dict[str, str]) -> dict[str, str]:
        named: dict[str, str] = {}
        for name, geoid in geoids.items():
            if not geoid.isalnum() or not geoid.isascii():
                raise ValueError(f"{geoid!r} of {name!r} is no geoid: letters and digits only")
            other = named.setdefault(geoid, name)
            shorter, longer = sorted((name, other), key=len)
            if shorter != longer and not longer.endswith(f"{PART_OF}{shorter}"):
                raise ValueError(f"{name!r} and {other!r} cannot both be {geoid!r}")
        return geoids
