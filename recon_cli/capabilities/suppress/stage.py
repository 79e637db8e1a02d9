"""Suppression until no small count is revealed: rules, law and publication."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import polars as pl

from recon_cli.capabilities.protect.counts import require_one_pattern
from recon_cli.capabilities.protect.counts_stage import CountsStage
from recon_cli.capabilities.protect.stage import Fact, Protected
from recon_cli.capabilities.suppress.options import Suppress
from recon_cli.capabilities.suppress.primary import PrimaryRules
from recon_cli.capabilities.suppress.suppression import (
    SuppressionOptions,
    suppress_counts,
    suppression_protection,
)
from recon_cli.chance import KeyedChance
from recon_cli.execute import OnProgress
from recon_cli.pipeline.run import Run
from recon_cli.publication import Publication
from recon_cli.statement import Protection
from recon_cli.store import Manifest, Piece


class SuppressStage(CountsStage[Suppress, None]):
    """The stage of `recon protect suppress`."""

    section = Suppress
    grain = 300  # each takes 5 ms and more

    @cached_property
    def seed(self) -> int:
        return self.config.fixed_seed

    @property
    def identifier(self) -> str | None:
        """Return the value that dominance uses."""
        return self.config.value

    @cached_property
    def rules(self) -> PrimaryRules:
        config = self.config
        return PrimaryRules(
            config.below,
            zeros_hidden=config.zeros == "hide",
            value=config.value,
            dominance=config.dominance,
            p_percent=config.p_percent,
        )

    @property
    def statements(self) -> Protection:
        """Return suppression, with complementary cells."""
        return suppression_protection(self.rules)

    def settings(self) -> Mapping[str, Any]:
        """Return all options except paths."""
        out = {"records", "counts", "seed", "tables", "to"}
        settings = self.config.model_dump(exclude=out, mode="json")
        return {**settings, "tables": [table.name for table in self.tables]}

    @property
    def notes(self) -> Mapping[str, Any]:
        """Return the rules for sensitive counts."""
        return {"below": self.config.below, "zeros": self.config.zeros}

    def share(self, draw: Callable[[], KeyedChance]) -> None: ...

    def publish(
        self,
        shared: None,  # noqa: ARG002
        truth: Publication,
        records: pl.DataFrame | None,
        on_progress: OnProgress,
    ) -> pl.DataFrame:
        """Suppress, region by region; see `capabilities.suppress.suppression.suppress_counts`."""
        require_one_pattern(truth)
        options = SuppressionOptions(
            self.rules, self.config.safety, self.seed, effort=self.config.region_seconds
        )
        return suppress_counts(
            self.release,
            truth,
            options,
            records=records,
            tables=self.tables,
            on_progress=on_progress,
        )

    def protect(self, shared: None, piece: Piece, on_progress: OnProgress) -> Iterator[Protected]:
        """Protect like other counts; each region has reported its progress.

        Raises:
            SolverError: A region is too large, or a solver could not decide.
        """
        for made in super().protect(shared, piece, on_progress):
            yield replace(made, done=(0, 0))

    def totals(self, truth: Publication, protected: pl.DataFrame) -> Mapping[str, int]:  # noqa: ARG002
        """Count the suppressed cells, by reason."""
        return {
            "cells": int((protected["true"] > 0).sum()),
            "suppressed": protected["count"].null_count(),
            "primary": int(protected["primary"].sum()),
        }

    def facts(self, manifest: Manifest) -> Iterator[Fact]:
        """Report what is suppressed, and what published zeros mean."""
        totals, notes = manifest.totals, manifest.notes
        suppressed, primary = totals["suppressed"], totals["primary"]
        yield self.people, totals["people"]
        yield "counts above zero", totals["cells"]
        yield "suppressed", suppressed
        yield f"  primary, below {notes['below']} or dominated", (primary, suppressed)
        yield "  complementary", (suppressed - primary, suppressed)
        if notes["zeros"] == "publish":
            yield "warning", "zeros are published, so every flag says at least 1"


def open_stage(run: Run) -> SuppressStage:
    """Open the protection of a run."""
    return SuppressStage(run)
