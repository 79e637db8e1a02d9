"""Suppression by the rules of the 1980 census: laws, rates and publication."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from recon_cli.capabilities.census1980.options import Census1980
from recon_cli.capabilities.census1980.rules import (
    compare_rates,
    groups_of_1980,
    protection_of_1980,
    rates_above,
    rates_of_1980,
    suppress_as_in_1980,
)
from recon_cli.capabilities.protect.counts_stage import CountsStage
from recon_cli.capabilities.protect.stage import Fact, Protected
from recon_cli.chance import KeyedChance
from recon_cli.execute import OnProgress
from recon_cli.pipeline.run import Run
from recon_cli.publication import Publication
from recon_cli.statement import Protection
from recon_cli.store import Manifest, Piece, open_folder


class Census1980Stage(CountsStage[Census1980, None]):
    """The stage of `recon protect census1980`."""

    section = Census1980

    @property
    def statements(self) -> Protection:
        return protection_of_1980(self.release)

    def settings(self) -> Mapping[str, Any]:
        _ = self.statements  # refuses another release
        return {"decides": self.config.decides}

    def share(self, draw: Callable[[], KeyedChance]) -> None: ...

    def publish(
        self,
        shared: None,  # noqa: ARG002
        truth: Publication,
        records: pl.DataFrame | None,  # noqa: ARG002
        on_progress: OnProgress,  # noqa: ARG002
    ) -> pl.DataFrame:
        return suppress_as_in_1980(self.release, truth, self.config.decides)

    def protect(self, shared: None, piece: Piece, on_progress: OnProgress) -> Iterator[Protected]:
        """Protect like other counts, and add the people, whose number no table of the rules has."""
        for made in super().protect(shared, piece, on_progress):
            totals = {**made.totals, "people": piece.people}
            yield replace(made, totals=totals, done=(made.done[0], piece.people))

    def kept(self, truth: Publication) -> Sequence[pl.DataFrame]:
        """Return the lines of Tables 18 and 19, and the counts for the states' and nation's."""
        rates = rates_of_1980(self.release, truth, self.config.decides)
        return rates, groups_of_1980(self.release, truth)

    def totals(self, truth: Publication, protected: pl.DataFrame) -> Mapping[str, int]:  # noqa: ARG002
        return {
            "cells": int((protected["true"] > 0).sum()),
            "suppressed": protected["count"].null_count(),
            "zeroed": int(((protected["true"] > 0) & (protected["count"] == 0)).sum()),
        }

    def table(self, manifest: Manifest) -> tuple[pl.DataFrame, list[str]]:  # noqa: ARG002
        """Compare Tables 18 and 19, of states and the nation too, with the study's."""
        rates, groups = (
            list(folder.parts())
            for folder in (
                open_folder(self.run.work, self.stage, name) for name in self.stage.folders[2:4]
            )
        )
        above = rates_above(self.release, groups, self.config.decides)
        header = ["table", "panel", "level", "of", "affected", "%", "study"]
        return compare_rates(self.release, [*rates, above]), header

    def facts(self, manifest: Manifest) -> Iterator[Fact]:
        totals = manifest.totals
        yield self.people, totals["people"]
        yield "counts above zero", totals["cells"]
        yield "  published as zero", (totals["zeroed"], totals["cells"])
        yield "cells withheld with their table", totals["suppressed"]
        yield "Panel C of Table 18", "cells of P3; the study's repeats Table 19, Panel A"


def open_stage(run: Run) -> Census1980Stage:
    """Open the protection of a run."""
    return Census1980Stage(run)
