"""Randomised answers of records, and estimates of the true counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from math import inf, isinf, nextafter
from typing import Any

from recon_cli.capabilities.account.account import Spend
from recon_cli.capabilities.protect.stage import Fact, Ingredients, Protected, ProtectionStage
from recon_cli.capabilities.randomize.answers import (
    Response,
    estimate_true_counts,
    parse_response,
    randomize_records,
)
from recon_cli.capabilities.randomize.options import Randomize
from recon_cli.capabilities.records.files import RecordFile, open_records
from recon_cli.capabilities.tabulate.stage import record_columns, typed_records
from recon_cli.chance import KeyedChance
from recon_cli.execute import OnProgress
from recon_cli.pipeline.run import Run
from recon_cli.store import Manifest, Piece


class RandomizeStage(ProtectionStage[Randomize, "KeyedChance"]):
    """The stage of `recon protect randomize`."""

    section = Randomize

    @cached_property
    def responses(self) -> Sequence[Response]:
        features = {feature.name: feature for feature in self.release.features}
        return [
            parse_response(features[name], each.epsilon, each.matrix)
            for name, each in self.config.responses.items()
        ]

    @cached_property
    def records(self) -> RecordFile:
        path = self.config.records or self.run.work / "persons"
        return open_records("randomize.records", path, self.release)

    def ingredients(self) -> Ingredients:
        tables = self.release.select_tables(self.config.tables)
        return Ingredients(
            {
                "responses": {each.feature: each.matrix.tolist() for each in self.responses},
                "tables": [table.name for table in tables],
                "interval": self.config.interval,
            },
            partitions={n: {"records": each.digest} for n, each in self.records.slices().items()},
        )

    @property
    def notes(self) -> Mapping[str, Any]:
        """Return ε of each feature; None if a reported value excludes a true one."""
        spent = {each.feature: each.epsilon for each in self.responses}
        return {"epsilon": {n: None if e == float("inf") else e for n, e in spent.items()}}

    @property
    def spends(self) -> Sequence[Spend]:
        found = {each.feature: each.epsilon for each in self.responses}
        return [
            Spend("", name, None if isinf(e) else Fraction(nextafter(e, inf)), is_pure=True)
            for name, e in found.items()
        ]

    @property
    def invariants(self) -> Sequence[str]:
        """List the place and the answers that are not randomised."""
        others = [name for name in self.release.feature_index if name not in self.config.responses]
        return [f"{name} of every record" for name in (self.release.geography.unit.name, *others)]

    def pieces(self) -> Sequence[Piece]:
        return [Piece(name, people=each.rows) for name, each in self.records.slices().items()]

    def share(self, draw: Callable[[], KeyedChance]) -> KeyedChance:
        return draw()

    def protect(
        self,
        shared: KeyedChance,
        piece: Piece,
        on_progress: OnProgress,  # noqa: ARG002
    ) -> Iterator[Protected]:
        release, config = self.release, self.config
        read = self.records.read(piece.partition, [*record_columns(release)])
        true = typed_records(read, self.records.path, release)
        reported = randomize_records(release, true, self.responses, shared)
        tables = release.select_tables(config.tables)
        estimates = estimate_true_counts(release, reported, self.responses, tables, config.interval)
        names = [each.feature for each in self.responses]
        changed = sum(int((true[name] != reported[name]).sum()) for name in names)
        yield Protected(
            piece,
            {"randomized": reported, "randomized_counts": estimates},
            {"people": len(reported), "changed": changed, "cells": len(estimates)},
            done=(reported[release.geoid_column].n_unique(), len(reported)),
        )

    def facts(self, manifest: Manifest) -> Iterator[Fact]:
        totals, found = manifest.totals, manifest.notes["epsilon"]
        for name, value in found.items():
            yield name, "no finite ε" if value is None else f"ε {value:.3g}"
        yield self.people, totals["people"]
        yield "answers replaced", (totals["changed"], totals["people"] * len(found))
        yield "counts estimated", totals["cells"]


def open_stage(run: Run) -> RandomizeStage:
    """Open the protection of a run."""
    return RandomizeStage(run)
