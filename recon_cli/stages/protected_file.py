"""Protected counts as one file, as an office publishes them."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from recon_cli.pipeline.run import Run
from recon_cli.store import Stage, open_folder
from recon_cli.store.files import remove_unfinished, written_whole

#: What stands in place of a suppressed count.
_SUPPRESSED: Final = "*"


def write_protected(run: Run, stage: Stage, to: Path | None) -> None:
    """Write the counts of a protection, if a file was asked for.

    Columns are ``geoid, table, cell, count``, ``*`` if suppressed; rows are
    those of its folder: counts that are published as zero are left out.

    Raises:
        StageError: The folder is damaged, or the file cannot be written.
    """
    if to is None:
        return
    import polars as pl  # noqa: PLC0415 - slow to load, and not needed where nothing is asked for

    from recon_cli.spreadsheet import harmless  # noqa: PLC0415 - likewise

    folder = open_folder(run.work, stage, stage.folders[0])
    shown = pl.col("count").cast(pl.String).fill_null(_SUPPRESSED)
    remove_unfinished(to)
    with written_whole(to) as aside, aside.open("wb") as file:
        for number, partition in enumerate(folder.partitions):
            counts = folder.read(partition).select("geoid", "table", "cell", "count")
            text = harmless(counts).with_columns(shown)  # a count below zero is no name
            text.write_csv(file, include_header=number == 0)
