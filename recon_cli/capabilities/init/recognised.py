"""Describe published files once they are recognised."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

from recon_cli.capabilities.init.declared import NOTHING_DECLARED, Declared
from recon_cli.capabilities.init.open_question import OpenQuestion
from recon_cli.capabilities.init.proposal.proposal import Proposal
from recon_cli.coverage import LeftOut
from recon_cli.schema import Release


@dataclass(frozen=True)
class RecognisedFiles:
    """Describe files: format, release, protection, and what they leave open.

    Attributes:
        source: The format as which `recon ingest` reads them.
        release: The release as it was named: packaged, or the path of a schema.
        about: A few words on each, for people; may be fewer than paths.
        mapping: Keys of ``ingest.mapping`` that the files need.
        doubts: What stays unknown, a sentence each.
        markers: Texts in place of suppressed counts.
        base: The base to which counts look rounded, if any; the least of several tables.
        bases: Drafted table → the base to which its counts look rounded, where tables differ.
        protection: The file beside the data that declares by which law they were published.
        draft: The text of a schema that was drafted from the files, where no release fits.
        names: Geoid → the name of the place, where files have both.
        questions: What has to be answered before the draft is worth anything.
        readings: Sheets as they were read, with their names.
        left_out: Numbers that are not used, of sheets that are read.
        unread: Numbers of sheets that are not read.
        beside: The texts beside the numbers.
        declared: What a user says of how counts were published.
        places: Geoids of the finest level, where the files list every place.
        printed: Drafted table of statistics → texts in place of its numbers.
        missing: How many counts have no row, of files with a row per count.
    """

    source: str
    release: str
    schema: Release
    paths: tuple[Path, ...]
    about: tuple[str, ...]
    mapping: Mapping[str, object] = field(default_factory=dict)
    doubts: tuple[str, ...] = ()
    markers: tuple[str, ...] = ()
    base: int | None = None
    protection: Path | None = None
    draft: str | None = None
    names: Mapping[str, str] = field(default_factory=dict)
    questions: tuple[OpenQuestion, ...] = ()
    readings: tuple[tuple[str, Proposal], ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    unread: tuple[LeftOut, ...] = ()
    beside: tuple[str, ...] = ()
    declared: Declared = NOTHING_DECLARED
    places: tuple[str, ...] = ()
    printed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    missing: int = 0
    bases: Mapping[str, int] = field(default_factory=dict)

    @cached_property
    def shown_below(self) -> int:
        """Count the numbers that are shown though the declared rule would suppress them."""
        below = self.declared.below
        shown = 0
        for _, reading in self.readings:
            for table in reading.tables:
                inside = np.ix_(table.region.body, np.array(table.counts, dtype=np.intp))
                values = table.grid.values[inside]
                shown += int(((values > 0) & (values < below)).sum())
        return shown

    @property
    def is_protected(self) -> bool:
        """Test whether some counts are not exact, or do not look so."""
        return self.needs_law or self.protection is not None

    @property
    def withholds(self) -> bool:
        """Test whether some counts are not published, or do not look exact."""
        return self.is_protected or bool(self.missing or self.mapping.get("unpublished"))

    @property
    def needs_law(self) -> bool:
        """Test whether some counts look suppressed, rounded or printed, and no file has a law."""
        return self.protection is None and (
            bool(self.markers or self.printed) or self.base is not None
        )
