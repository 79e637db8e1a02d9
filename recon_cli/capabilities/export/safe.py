"""From true counts to those that can be published: the stages that ``--suppressed`` needs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

import polars as pl

from recon_cli.capabilities.export.addresses import CountedFile
from recon_cli.capabilities.protect.true_counts import SUPPRESSED
from recon_cli.config.sections import SECTIONS
from recon_cli.errors import ConfigError, StageError
from recon_cli.pipeline.run import Run
from recon_cli.pipeline.run_stages import run_stage
from recon_cli.pipeline.stages import stage_named
from recon_cli.schema import Release
from recon_cli.sources.read.markers import looks_like_marker
from recon_cli.store import INGEST
from recon_cli.store.manifest import MANIFEST

_SUPPRESS = "suppress"
_CELL: Final = ("geoid", "table", "cell")
_AT: Final = ("sheet", "row", "column")
#: Most places that a note names for each table of statistics.
_MOST_PLACES: Final = 6


@dataclass(frozen=True)
class Marking:
    """The mark of withheld counts.

    Attributes:
        text: Text in place of a count.
        footnote: Footnote of each sheet of a workbook; None for the default.

    Raises:
        ConfigError: When made: a reader could take the text for a count.
    """

    text: str = SUPPRESSED
    footnote: str | None = None

    def __post_init__(self) -> None:
        if not looks_like_marker(self.text) or self.text.isdigit():
            raise ConfigError(
                f"--mark {self.text!r}: expected what nobody takes for a count, such as '*', 'c' "
                "or '[c]'"
            )

    def note(self, below: int) -> str:
        """Return the footnote.

        >>> Marking("c").note(5)
        'c: fewer than 5, or not published so that no such count can be worked out'
        """
        if self.footnote is not None:
            return self.footnote
        return (
            f"{self.text}: fewer than {below:,}, or not published so that no such count can be "
            "worked out"
        )


def with_suppressed(run: Run, below: int | None) -> Run:
    """Suppress the counts of a run's own files, unless that was done already.

    Args:
        run: A run on files with true counts.
        below: Counts under it are sensitive; default as the config, or an earlier run, has it.

    Returns:
        The run, with a section for the suppression.
    """
    stage = stage_named(_SUPPRESS)
    if below is None and (run.work / stage.folders[0] / MANIFEST).is_file():
        return run
    section: Any = run.config.sections.get(_SUPPRESS) or SECTIONS[_SUPPRESS]()
    changed: dict[str, object] = {} if below is None else {"below": below}
    if section.records is None and section.counts is None:
        changed["counts"] = run.work
    sections = {**run.config.sections, _SUPPRESS: section.model_copy(update=changed)}
    run = replace(run, config=replace(run.config, sections=sections))
    for each in (INGEST, stage):
        run_stage(each, run)
    return run


def withheld_counts(file: CountedFile, shown: pl.DataFrame) -> pl.DataFrame:
    """Select the counts of a file that are suppressed.

    Raises:
        StageError: One that is not suppressed differs from the suppressed publication.
    """
    own = shown.select(*_CELL, "count", is_there=pl.lit(value=True))
    counts = file.counts.join(own, on=_CELL, how="left", maintain_order="left")
    is_flag = pl.col("is_there").fill_null(value=False) & pl.col("count").is_null()
    is_same = pl.col("value").fill_null(0) == pl.col("count").fill_null(0)
    other = counts.filter(~is_flag & ~is_same)
    if other.height:
        row = other.row(0, named=True)
        raise StageError(
            f"{file.document.label}: row {row['row']}, column {row['column']}: {row['text']!r} is "
            f"{row['count'] or 0} in suppressed/, which was made of other counts; run "
            "`recon ingest`, then `recon protect suppress` with suppress.counts"
        )
    return counts.filter(is_flag & pl.col("value").is_not_null())


def withheld_shares(file: CountedFile, shown: pl.DataFrame) -> pl.DataFrame:
    """Select the percentages of, or among, suppressed counts, since they would reveal these."""
    hidden = shown.filter(pl.col("count").is_null()).select(_CELL)
    return file.shares.join(hidden, on=_CELL, how="semi").select(_AT).unique(maintain_order=True)


def withheld_statistics(file: CountedFile, printed: pl.DataFrame) -> pl.DataFrame:
    """Select the printed statistics of a file that are withheld, since they give counts away.

    Args:
        printed: Columns of `recon_cli.frames.STATISTICS`: what is to be published.

    Raises:
        StageError: One that is not suppressed differs from the suppressed publication.
    """
    own = printed.select(*_CELL, pl.col("text").alias("shown"))
    rows = file.statistics.join(own, on=_CELL, how="left", maintain_order="left")
    other = rows.filter((pl.col("shown") != SUPPRESSED) & (pl.col("shown") != pl.col("text")))
    if other.height:
        row = other.row(0, named=True)
        raise StageError(
            f"{file.document.label}: row {row['row']}: {row['text']!r} is {row['shown']} in "
            "suppressed/, which was made of other statistics; run `recon ingest`, then "
            "`recon protect suppress` with suppress.counts"
        )
    return rows.filter((pl.col("shown") == SUPPRESSED) & (pl.col("text") != SUPPRESSED))


def told_statistics(release: Release, file: CountedFile, harmful: pl.DataFrame) -> Iterator[str]:
    """Say which statistics of a file are withheld: how many of each table, and where."""
    for table in release.statistics:
        own = harmful.filter(table=table.name)
        if own.height:
            places = own["geoid"].unique(maintain_order=True).to_list()
            more = f" and {len(places) - _MOST_PLACES} more" if len(places) > _MOST_PLACES else ""
            of = file.statistics.filter(table=table.name).height
            yield (
                f"{file.name}: {own.height:,} of {of:,} texts of {table.name} would give counts "
                f"away and are withheld, in {', '.join(places[:_MOST_PLACES])}{more}"
            )
