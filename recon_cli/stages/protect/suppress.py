"""``suppress:`` counts of records, small ones and those that give them away suppressed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from recon_cli.config.model import TableChoice
from recon_cli.config.protecting import ProtectingCounts
from recon_cli.execute import OnProgress
from recon_cli.pipeline.protecting import Fact, Protected
from recon_cli.schema import Release
from recon_cli.stages.protected_counts import CountsStage
from recon_cli.store import Manifest, Piece

if TYPE_CHECKING:
    import polars as pl

    from recon_cli.chance import KeyedChance
    from recon_cli.protect.primary import PrimaryRules
    from recon_cli.publication import Publication
    from recon_cli.statement import Protection


class Suppress(ProtectingCounts):
    """The section ``suppress``.

    Attributes:
        below: Counts under it are sensitive.
        zeros: ``publish``: zeros are published, so a flag says at least 1; ``hide``: they are
            suppressed with the small counts.
        value: A column of the records that dominance and p_percent look at.
        dominance: ``[n, k]``: sensitive if the n largest values are more than k percent of the
            cell's.
        p_percent: Sensitive if all values but the two largest are less than p percent of the
            largest.
        safety: How far apart two possible counts of a sensitive cell must be at least.
        region_seconds: Budget of each region, in deterministic seconds; where it ends, more cells
            than needed are suppressed.
        tables: Of records, as in ``reconstruct``; default every table.
        seed: Of the solvers; default the run's seed.
    """

    below: Annotated[int, Field(ge=2)] = 3
    zeros: Literal["publish", "hide"] = "publish"
    value: str | None = None
    dominance: Annotated[tuple[int, float], Field(strict=False)] | None = None
    p_percent: Annotated[float, Field(gt=0)] | None = None
    safety: Annotated[int, Field(ge=1)] = 1
    region_seconds: Annotated[float, Field(gt=0)] = 600.0
    tables: TableChoice | None = None
    seed: Annotated[int, Field(ge=0)] | None = None

    @model_validator(mode="after")
    def _agree(self) -> Self:
        needs_value = self.dominance is not None or self.p_percent is not None
        if needs_value != (self.value is not None):
            raise ValueError("dominance and p_percent go with a value column, and it with them")
        if self.value is not None and self.counts is not None:
            raise ValueError("a value column needs records, counts have none")
        if self.dominance is not None and not (
            self.dominance[0] >= 1 and 0 < self.dominance[1] <= 100
        ):
            raise ValueError("dominance: [n, k] with n from 1 and k a percentage is expected")
        return self

    def check(self, release: Release) -> None:
        """Refuse unknown tables."""
        release.select_tables(self.tables)


class SuppressStage(CountsStage[Suppress, None]):
    """Counts under a threshold, or that few people dominate, are primary cells.

    Complementary ones are added, over all tables and levels of a region, until for each primary
    cell other records are known that have all published counts and another count there. Writes
    suppressed/ (a tidy publication and its protection.yaml, as recon ingest reads them); accuracy
    and the whole manifest are in private/suppress/. The choice of cells follows from the counts and
    the seed.

    Example:
      recon protect suppress -c clinic.yaml
      recon protect suppress --set suppress.zeros=hide
    """

    section = Suppress
    grain = 300  # each takes 5 ms and more

    @cached_property
    def seed(self) -> int:
        """Of the solvers."""
        return self.run.seed_of(self.config)

    @property
    def identifier(self) -> str | None:
        """The value that dominance looks at."""
        return self.config.value

    @cached_property
    def rules(self) -> PrimaryRules:
        """Which counts are sensitive."""
        from recon_cli.protect.primary import PrimaryRules  # noqa: PLC0415 - loads polars

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
        """Suppression, with complementary cells."""
        from recon_cli.protect.suppression import suppression_protection  # noqa: PLC0415 - polars

        return suppression_protection(self.rules)

    def settings(self) -> Mapping[str, Any]:
        """All keys but where things are."""
        out = {"records", "counts", "seed", "tables", "to"}
        settings = self.config.model_dump(exclude=out, mode="json")
        return {**settings, "tables": [table.name for table in self.tables]}

    @property
    def notes(self) -> Mapping[str, Any]:
        """What is sensitive."""
        return {"below": self.config.below, "zeros": self.config.zeros}

    def share(self, draw: Callable[[], KeyedChance]) -> None:
        """Nothing is left to chance."""

    def publish(
        self,
        shared: None,  # noqa: ARG002
        truth: Publication,
        records: pl.DataFrame | None,
        on_progress: OnProgress,
    ) -> pl.DataFrame:
        """Suppress, region by region; see `recon_cli.protect.suppression.suppress_counts`."""
        from recon_cli.protect.counts import require_one_pattern  # noqa: PLC0415 - loads polars
        from recon_cli.protect.suppression import (  # noqa: PLC0415
            SuppressionOptions,
            suppress_counts,
        )

        require_one_pattern(truth)
        options = SuppressionOptions(
            self.rules, self.config.safety, self.seed, self.config.region_seconds
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
        """As other counts; each region has told of itself.

        Raises:
            SolverError: A region is too large, or a solver could not decide.
        """
        for made in super().protect(shared, piece, on_progress):
            yield replace(made, done=(0, 0))

    def totals(self, truth: Publication, protected: pl.DataFrame) -> Mapping[str, int]:  # noqa: ARG002
        """How many counts are suppressed, and for which reason."""
        return {
            "cells": int((protected["true"] > 0).sum()),
            "suppressed": protected["count"].null_count(),
            "primary": int(protected["primary"].sum()),
        }

    def facts(self, manifest: Manifest) -> Iterator[Fact]:
        """What is suppressed, and what published zeros mean."""
        totals, notes = manifest.totals, manifest.notes
        suppressed, primary = totals["suppressed"], totals["primary"]
        yield self.people, totals["people"]
        yield "counts above zero", totals["cells"]
        yield "suppressed", suppressed
        yield f"  primary, below {notes['below']} or dominated", (primary, suppressed)
        yield "  complementary", (suppressed - primary, suppressed)
        if notes["zeros"] == "publish":
            yield "warning", "zeros are published, so every flag says at least 1"
