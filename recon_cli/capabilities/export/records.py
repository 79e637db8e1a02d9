"""Records of places with one solution, with the flags of rules on microdata.

Source: the bureau's own archive of its reconstruction has such a workbook of tracts whose blocks
all have zero solution variability.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import polars as pl

from recon_cli.capabilities.check.options import Check
from recon_cli.capabilities.check.people import Categories, Geography
from recon_cli.capabilities.check.tags import PLACE, tag_records
from recon_cli.capabilities.export.marked_copies import NOT_FOR_PUBLICATION
from recon_cli.capabilities.export.published_files import Exported
from recon_cli.capabilities.export.rewriting import MOST_ROWS, written_again
from recon_cli.capabilities.findings.fresh import WorkFolder
from recon_cli.capabilities.findings.proven import Proofs
from recon_cli.capabilities.records.files import known_columns, open_records
from recon_cli.errors import ConfigError, StageError
from recon_cli.pipeline.run import Run
from recon_cli.store.files import write_named

#: Rows above the records: a description, and the headers.
_ABOVE: Final = 2
_TRUE: Final = "FFB3B3"
_MEANINGS: Final = {
    "unique_": "nobody else of the {unit} has the same on {columns}",
    "zero_variability": "the {unit} is proven to have one solution",
    "certain": "the record is proven to be in every solution, on {proven}",
    "below_geography": "the {unit} has fewer than {people:,} people",
    "below_category": "fewer people of the country than the rule asks for have these values",
}


def export_records(run: Run, target: Path, others: Path | None = None) -> Exported:
    """Write a workbook of records of regions whose inhabited units all have one solution.

    Args:
        run: The run; its rules of ``check`` give the thresholds.
        others: Another file of records of the same places; default the reconstructed ones.

    Raises:
        ConfigError: The file is no workbook, or would have too many rows, or the package that
            writes it is not installed.
        StageError: There are no such places, or a folder is missing or damaged.
    """
    if target.suffix.lower() != ".xlsx":
        raise ConfigError(f"{target}: a name that ends in .xlsx is expected")
    release = run.release
    proofs = Proofs.of(WorkFolder(run.work), release)
    place, region = release.geoid_column, release.region
    file = None if others is None else open_records("records", others, release)
    held = None if file is None else file.slices().keys()
    unique = _uniqueness(run, proofs.columns)
    sections = (each for each in run.config.sections.values() if isinstance(each, Check))
    subjects = [rule.subject for section in sections for rule in section.rules]
    people = max((each.at_least for each in subjects if isinstance(each, Geography)), default=PLACE)
    rare = [each for each in subjects if isinstance(each, Categories) and each.totals is not None]
    totals = [each.read_totals(each.totals, release) for each in rare if each.totals is not None]
    found: list[pl.DataFrame] = []
    regions = 0
    for name in proofs.microdata.partitions:
        own = proofs.microdata.read(name)
        units = proofs.units(name, own.select(place, "certain")).filter(
            pl.col("population").fill_null(1) > 0
        )
        whole = units.with_columns(region.enclosing(pl.col(place)).alias("_region")).filter(
            (pl.col("status") == "unique").all().over("_region")
        )
        regions += whole["_region"].n_unique()
        own = own.filter(pl.col(place).is_in(whole[place].implode()))
        records = own.drop("certain")
        if file is not None:
            read = file.read(name, known_columns(release)) if name in (held or ()) else None
            records = records.clear() if read is None else _inside(read, place, region, whole)
        if records.height:
            tagged = tag_records(
                release,
                records,
                unique=unique,
                geography=people,
                zero=whole[place],
                certain=own.select(place, *_shown(proofs, own)),
                totals=totals,
                category=[each.at_least for each in rare],
            )
            found.append(tagged.sort(place, maintain_order=True))
    if not found:
        raise StageError(
            f"{run.work}: no {region.name} is proven to have one solution"
            + ("" if others is None else f" and records in {others}")
            + "; run `recon solvar` to prove more"
        )
    rows = pl.concat(found)
    if rows.height > MOST_ROWS - _ABOVE:
        raise ConfigError(
            f"{target}: {rows.height:,} records, and a sheet has {MOST_ROWS:,} rows: "
            "recon.tag_records tags a frame of any size, which Parquet holds"
        )
    words = {
        "unit": release.geography.unit.name,
        "proven": ", ".join(proofs.columns),
        "people": people,
    }
    tags = [each for each in rows.columns if each.startswith(tuple(_MEANINGS))]
    explained = [(each, _meaning(each, unique, words)) for each in tags]
    write_named(target, records_workbook(rows, tags, explained))
    numbers = {f"{region.name}s with one solution": regions, "records": rows.height}
    return Exported((target,), numbers | {each: int(rows[each].sum()) for each in tags})


def _uniqueness(run: Run, columns: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """Return column sets for uniqueness: the attacker's, with gained columns, and all."""
    attack = run.release.attack
    if attack is None:
        return {"_".join(columns): columns}
    sets = (attack.binned, tuple(dict.fromkeys((*attack.binned, *attack.gains))))
    return {"_".join(each): each for each in sets}


def _shown(proofs: Proofs, own: pl.DataFrame) -> list[str]:
    """Return the columns of certain records, or features that stand for them."""
    release = proofs.release
    return [
        name if name in own.columns else release.column_groups(name).feature
        for name in proofs.columns
    ]


def _inside(read: pl.DataFrame, place: str, region: Any, units: pl.DataFrame) -> pl.DataFrame:
    read = read.cast({place: pl.String})
    where = region.enclosing(pl.col(place))
    return read.filter(where.is_in(units["_region"].unique().implode()))


def _meaning(tag: str, unique: dict[str, tuple[str, ...]], words: dict[str, Any]) -> str:
    if tag.startswith("unique_"):
        columns = ", ".join(unique[tag.removeprefix("unique_")])
        return _MEANINGS["unique_"].format(columns=columns, **words)
    return _MEANINGS[tag].format(**words)


def records_workbook(
    rows: pl.DataFrame, tags: Sequence[str], explained: Sequence[tuple[str, str]]
) -> bytes:
    """Write a sheet of records with coloured flags, and a sheet that explains the flags."""
    try:
        from openpyxl import Workbook  # optional
        from openpyxl.cell import WriteOnlyCell
        from openpyxl.styles import Font, PatternFill
        from openpyxl.utils import get_column_letter
    except ImportError as error:
        raise ConfigError("to write workbooks takes `pip install recon-cli[workbooks]`") from error
    book: Any = Workbook(write_only=True)
    fill, bold = PatternFill("solid", fgColor=_TRUE), Font(bold=True)

    def cell(sheet: Any, value: object, *, head: bool = False) -> Any:
        """Write a cell in which text is never a formula."""
        made = WriteOnlyCell(sheet, value)
        if isinstance(value, str):
            made.data_type = "s"
        if head:
            made.font = bold
        return made

    def filled(sheet: Any) -> Any:
        made = WriteOnlyCell(sheet, value=True)
        made.fill = fill
        return made

    sheet = book.create_sheet("Records")
    sheet.freeze_panes = "A3"
    for at, name in enumerate(rows.columns, start=1):
        sheet.column_dimensions[get_column_letter(at)].width = max(8, min(len(name) + 2, 24))
    last = get_column_letter(rows.width)
    sheet.auto_filter.ref = f"A{_ABOVE}:{last}{rows.height + _ABOVE}"
    sheet.append([cell(sheet, NOT_FOR_PUBLICATION, head=True)])
    sheet.append([cell(sheet, name, head=True) for name in rows.columns])
    for row in _plain(rows).iter_rows():
        sheet.append(
            [
                filled(sheet)
                if name in tags and value
                else cell(sheet, value)
                if isinstance(value, str)
                else value
                for name, value in zip(rows.columns, row, strict=True)
            ]
        )
    words = book.create_sheet("Columns")
    words.column_dimensions["A"].width, words.column_dimensions["B"].width = 40, 90
    for each in explained:
        words.append([cell(words, text) for text in each])
    return written_again(book)


def _plain(rows: pl.DataFrame) -> pl.DataFrame:
    """Convert columns to text, numbers and Booleans, as sheets have."""
    return rows.with_columns(
        pl.col(name).cast(pl.String)
        for name, dtype in rows.schema.items()
        if not dtype.is_numeric() and dtype != pl.Boolean
    )
