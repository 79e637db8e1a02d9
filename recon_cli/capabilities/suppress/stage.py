"""Suppression until no small count is revealed: rules, law and publication."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from multiprocessing import parent_process
from typing import Any

import polars as pl

from recon_cli.capabilities.protect.counts import require_one_pattern
from recon_cli.capabilities.protect.counts_stage import CountsStage
from recon_cli.capabilities.protect.stage import Fact, Ingredients, Protected
from recon_cli.capabilities.protect.true_counts import SUPPRESSED
from recon_cli.capabilities.suppress.options import Suppress
from recon_cli.capabilities.suppress.primary import PrimaryRules
from recon_cli.capabilities.suppress.statistics import harmful_statistics
from recon_cli.capabilities.suppress.suppression import (
    SuppressedGroup,
    SuppressionOptions,
    SuppressionTask,
    suppress_counts,
    suppress_group,
    suppress_in_order,
    suppression_protection,
)
from recon_cli.chance import KeyedChance
from recon_cli.errors import ConfigError
from recon_cli.execute import OnProgress, WorkItem, run_items
from recon_cli.pipeline.run import Run
from recon_cli.publication import Publication, gather
from recon_cli.sources.tidy import tidy_frame, with_statistics
from recon_cli.statement import Protection, Statement
from recon_cli.statement.statistics import StatisticLaw, Withheld
from recon_cli.store import Manifest, Piece
from recon_cli.store.protection import read_protection
from recon_cli.store.published import open_published

_KEY = ["geoid", "table", "cell"]


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

    @cached_property
    def statements(self) -> Protection:
        """Return suppression, with complementary cells; of statistics the law of their texts."""
        found = suppression_protection(self.rules)
        names = tuple(table.name for table in self.release.statistics)
        if not names or self.origin.counts is None:
            return found
        withheld = Statement(Withheld(), names, markers=(SUPPRESSED,))
        before = read_protection(open_published(self.origin.counts, self.release)[0], self.release)
        laws = (each for each in before.statements if isinstance(each.law, StatisticLaw))
        return Protection((*found.statements, withheld, *laws))

    @property
    def options(self) -> SuppressionOptions:
        config = self.config
        return SuppressionOptions(self.rules, config.safety, self.seed, config.region_seconds)

    def ingredients(self) -> Ingredients:
        """Return the inputs.

        Raises:
            ConfigError: Statistics are to be published beside counts of records.
        """
        if self.release.statistics and self.origin.counts is None:
            raise ConfigError(
                f"suppress: release {self.release.name!r} has printed statistics "
                f"({self.release.statistics[0].name}), which are read beside counts: write both "
                "with `recon data tabulate`, ingest that file, and name its work folder with "
                "--set suppress.counts=FOLDER"
            )
        return super().ingredients()

    def settings(self) -> Mapping[str, Any]:
        """Return all options except paths."""
        out = {"records", "counts", "seed", "tables", "to"}
        settings = self.config.model_dump(exclude=out, mode="json")
        return {**settings, "tables": [table.name for table in self.tables]}

    @property
    def notes(self) -> Mapping[str, Any]:
        """Return the rules for sensitive counts."""
        return {"below": self.config.below, "zeros": self.config.zeros}

    def truth(self, partition: str) -> tuple[Publication, pl.DataFrame | None]:
        """Return the true counts; records only where rules look at their values."""
        truth, records = super().truth(partition)
        return truth, None if self.config.value is None else records

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
        return suppress_counts(
            replace(self.release, statistics=()),
            truth,
            self.options,
            records=records,
            tables=self.tables,
            on_progress=on_progress,
            for_each=self._for_each,
        )

    def _for_each(
        self, task: SuppressionTask, groups: Sequence[SuppressedGroup], on_progress: OnProgress
    ) -> Sequence[pl.DataFrame]:
        """Suppress groups of one region by workers, unless this process is one of several."""
        if parent_process() is not None or self.run.cluster is not None:
            return suppress_in_order(task, groups, on_progress)
        items = [WorkItem(each.group.name, each, weight=each.group.units) for each in groups]
        most = self.run.workers_for(self.name, max((item.weight for item in items), default=0))
        results = run_items(
            suppress_group, lambda: task, items, workers=most, grain=self.grain, on_tick=on_progress
        )
        return results.values

    def printed(
        self, truth: Publication, protected: pl.DataFrame
    ) -> tuple[pl.DataFrame, Mapping[str, int]]:
        """Withhold the statistics that would give primary counts away."""
        texts = truth.statistics
        if texts.is_empty():
            return texts, {}
        rows = with_statistics(self.tidy(truth, protected), texts)
        source = tidy_frame(self.release, rows, protection=self.statements)
        published = gather(self.release, source, self.statements)
        primary = protected.filter("primary").select(*_KEY, "true")
        harmful = harmful_statistics(self.release, published, primary, self.options)
        shown = texts.join(harmful.select(*_KEY, withheld=True), on=_KEY, how="left")
        text = pl.when("withheld").then(pl.lit(SUPPRESSED)).otherwise("text").alias("text")
        by_table = dict(harmful["table"].value_counts().sort("table").iter_rows())
        return shown.select(*_KEY, text), {
            "statistics": texts.height,
            "statistics_withheld": harmful.height,
            **{f"withheld_{table}": number for table, number in by_table.items()},
        }

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
        if statistics := totals.get("statistics"):
            yield "statistics", statistics
            yield "  withheld", (totals["statistics_withheld"], statistics)
            for table in self.release.statistics:
                if number := totals.get(f"withheld_{table.name}"):
                    yield f"    {table.name}", number
        if notes["zeros"] == "publish":
            yield "warning", "zeros are published, so every flag says at least 1"


def open_stage(run: Run) -> SuppressStage:
    """Open the protection of a run."""
    return SuppressStage(run)
