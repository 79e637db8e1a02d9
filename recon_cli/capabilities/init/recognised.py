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
        source: What `recon ingest` has to read them as.
        release: The release as it was named: packaged, or the path of a schema.
        about: A few words on each, for people; may be fewer than paths.
        mapping: Keys of ``ingest.mapping`` that they need.
        doubts: What could not be told, a sentence each.
        markers: Texts in place of suppressed counts.
        base: What counts look rounded to, if they do; the least of several tables.
        bases: Drafted table → what its own counts look rounded to, where tables differ.
        protection: The file beside them that declares by which law they were published.
        draft: The text of a schema that was drafted from them, where no release fits.
        names: Geoid → what people call the place, where files have both.
        questions: What has to be answered before the draft is worth anything.
        readings: Sheets as they were read, with their names.
        left_out: Numbers of what is read that are not used.
        unread: And those of sheets that are not read.
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
        """Count the numbers that are shown though the rule that is said would suppress them."""
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
        """Test whether some counts are, or look, other than exact."""
        return self.needs_law or self.protection is not None

    @property
    def withholds(self) -> bool:
        """Test whether some counts are not published, or look other than exact."""
        return self.is_protected or bool(self.missing or self.mapping.get("unpublished"))

    @property
    def needs_law(self) -> bool:
        """Test whether nothing says how what looks suppressed, rounded or printed was made."""
        return self.protection is None and (
            bool(self.markers or self.printed) or self.base is not None
        )
