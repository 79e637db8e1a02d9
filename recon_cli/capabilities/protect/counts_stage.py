"""Shared parts of protections of counts: from records or exact counts to counts, law, accuracy.

The first folder is a tidy publication with its ``protection.yaml``, which `recon ingest` reads; the
second contains the errors of the counts.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Generic, TypeVar

import polars as pl

from recon_cli.capabilities.account.account import Spend
from recon_cli.capabilities.protect.accuracy import count_copies, sum_errors
from recon_cli.capabilities.protect.counts import (
    Keys,
    protect_counts,
    require_zeros_kept,
    tidy_counts,
)
from recon_cli.capabilities.protect.sections import ProtectingRecords, PublishingCounts
from recon_cli.capabilities.protect.stage import (
    Fact,
    Ingredients,
    Protected,
    ProtectionStage,
    Shared,
)
from recon_cli.capabilities.protect.true_counts import (
    Origin,
    accuracy_files,
    copies_in_a_unit,
    protection_files,
    write_counts,
)
from recon_cli.capabilities.protect.unit_lists import (
    list_files,
    listed_units,
    require_listed,
    unit_list_file,
)
from recon_cli.chance import KeyedChance
from recon_cli.execute import OnProgress
from recon_cli.frames import STATISTICS
from recon_cli.model.margins import cells_of
from recon_cli.publication import Publication
from recon_cli.schema import Table
from recon_cli.sources.tidy import with_statistics
from recon_cli.statement import Law, Protection, Statement, describe_law
from recon_cli.store import InputFile, Manifest, Piece, Staging, open_folder
from recon_cli.store.files import key_of
from recon_cli.store.study import require_study_name

AnyCounts = TypeVar("AnyCounts", bound=ProtectingRecords)


class CountsStage(ProtectionStage[AnyCounts, Shared], Generic[AnyCounts, Shared]):
    """A protection of the counts of records, or of exact counts."""

    # --- what is declared -------------------------------------------------------------------------

    @abstractmethod
    def settings(self) -> Mapping[str, Any]:
        """Return the settings that affect the counts; values that JSON can express."""

    @property
    @abstractmethod
    def statements(self) -> Protection:
        """Return the laws of the published counts."""

    @abstractmethod
    def publish(
        self,
        shared: Shared,
        truth: Publication,
        records: pl.DataFrame | None,
        on_progress: OnProgress,
    ) -> pl.DataFrame:
        """Protect the counts of a partition.

        Args:
            shared: Result of `share`.
            records: Records behind the counts, if known.

        Returns:
            Columns of `recon_cli.capabilities.protect.counts.PROTECTED`.
        """

    @abstractmethod
    def totals(self, truth: Publication, protected: pl.DataFrame) -> Mapping[str, int]:
        """Return further totals of a partition besides ``units`` and ``people``."""

    @property
    def identifier(self) -> str | None:
        """Return a column of the records to keep."""
        return getattr(self.config, "identifier", None)

    @property
    def files(self) -> tuple[InputFile, ...]:
        """Return the outside files that the counts depend on, besides the list of units."""
        return ()

    @property
    def described(self) -> Mapping[str, bytes]:
        """Return files beside counts, laws and list of units: name → content."""
        return {}

    @property
    def spends(self) -> Sequence[Spend]:
        """Return nothing: no ε bounds what these counts reveal."""
        return [Spend("", "all counts", None)]

    def tidy(self, truth: Publication, protected: pl.DataFrame) -> pl.DataFrame:
        """Return the rows to publish; columns of `recon_cli.frames.COUNTS`.

        Counts that were ingested list the geounits. Of records it is public, by the folders of a
        publication, which partitions they are in, but not which geounits within these.
        """
        known = truth.geounits
        if self.origin.counts is None:
            order, partition = self.release.geography.order, self.release.geography.partition
            known = known.filter(
                pl.col("level").is_in([n for n in order if order[n] >= order[partition]])
            )
        return tidy_counts(truth, protected, known["geoid"])

    def printed(
        self,
        truth: Publication,  # noqa: ARG002
        protected: pl.DataFrame,  # noqa: ARG002
    ) -> tuple[pl.DataFrame, Mapping[str, int]]:
        """Return the statistics to publish, columns of `STATISTICS`, and totals of them."""
        return STATISTICS.to_frame(), {}

    def kept(self, truth: Publication) -> Sequence[pl.DataFrame]:  # noqa: ARG002
        """Return further frames of a partition, one for each further folder."""
        return ()

    # --- what is the same for all -----------------------------------------------------------------

    @cached_property
    def tables(self) -> tuple[Table, ...]:
        """Return the tables of records that are counted."""
        return self.release.select_tables(getattr(self.config, "tables", None))

    @cached_property
    def origin(self) -> Origin:
        return Origin(
            self.name,
            self.tables,
            self.config.records or self.run.work / "persons",
            counts=getattr(self.config, "counts", None),
            identifier=self.identifier,
            with_statistics=self.stage.uses_statistics,
        )

    @cached_property
    def units(self) -> pl.Series | None:
        """Return the geoids of all units, inhabited or not; None for those with records."""
        path = getattr(self.config, "geounits", None)
        return None if path is None else listed_units(f"{self.name}.geounits", path, self.release)

    @cached_property
    def beside(self) -> Mapping[str, bytes]:
        """Return the files beside the counts: name → content."""
        laws = protection_files(self.release, self.statements, is_study=self.is_study)
        return {**self.described, **laws, **unit_list_file(self.units)}

    def ingredients(self) -> Ingredients:
        if self.is_study and isinstance(self.config, PublishingCounts):
            require_study_name(f"{self.name}.to", self.config.to)
        listed = list_files(f"{self.name}.geounits", getattr(self.config, "geounits", None))
        return Ingredients(
            self.settings(),
            files=(*self.files, *listed),
            partitions=self.origin.digests(self.release),
        )

    def pieces(self) -> Sequence[Piece]:
        return self.origin.pieces(self.release)

    def truth(self, partition: str) -> tuple[Publication, pl.DataFrame | None]:
        """Return the true counts of a partition, and the records if there are any."""
        truth, records = self.origin.read(self.release, partition)
        if self.units is not None:
            found = truth.geounits.filter(level=self.release.geography.unit.name)["geoid"]
            require_listed(f"{self.name}.geounits", found, self.units)
        return truth, records

    def protect(self, shared: Shared, piece: Piece, on_progress: OnProgress) -> Iterator[Protected]:
        truth, records = self.truth(piece.partition)
        protected = self.publish(shared, truth, records, on_progress)
        unit = truth.geounits.filter(level=self.release.geography.unit.name)
        done = len(unit), int(unit["population"].sum())
        # All levels count the same people; of areas the units are not published.
        of_levels = truth.geounits.group_by("level").agg(pl.col("population").sum())
        people = int(of_levels["population"].max() or 0)  # type: ignore[arg-type]
        sums = sum_errors(self.release, truth, protected)
        statistics, of_statistics = self.printed(truth, protected)
        rows = self.tidy(truth, protected)
        if self.release.statistics:
            rows = with_statistics(rows, statistics)
        frames = (rows, sums, *self.kept(truth))
        totals = {"units": len(unit), "people": people, **self.totals(truth, protected)}
        totals |= of_statistics
        named = dict(zip(self.stage.folders, frames, strict=True))
        yield Protected(piece, named, totals, done=done)

    def write_beside(self, staging: Staging, pieces: Sequence[Piece]) -> None:
        """Write the laws beside the counts, and the accuracy of the whole."""
        counts, accuracy, *_ = self.stage.folders
        sums = [
            pl.read_parquet(staging.partition_folder(accuracy, piece.partition) / piece.part)
            for piece in pieces
        ]
        staging.write_extras(counts, self.beside)
        staging.write_extras(accuracy, accuracy_files(self.release, sums))

    def finish(self) -> None:
        """Write the counts as one file, if requested."""
        if isinstance(self.config, PublishingCounts) and self.config.to is not None:
            folder = open_folder(self.run.work, self.stage, self.stage.folders[0])
            write_counts(folder, self.config.to)


class PerturbedCountsStage(CountsStage[AnyCounts, "KeyedChance"], Generic[AnyCounts]):
    """A protection that perturbs each count by itself, with chance derived from the records."""

    @property
    @abstractmethod
    def law(self) -> Law:
        """Return the law."""

    @property
    def keys(self) -> Keys:
        """Return the source of a cell's chance."""
        return "records"

    @property
    def draws_by_cell(self) -> bool:
        """Report whether chance is used without records that relate cells of the same people."""
        return self.law.has_cost and (self.keys == "cells" or self.origin.counts is not None)

    @property
    def levels(self) -> tuple[str, ...] | None:
        """Return the levels that are protected; None for all."""
        return getattr(self.config, "levels", None)

    @property
    def statements(self) -> Protection:
        require_zeros_kept(self.law)
        return Protection((Statement(self.law, levels=self.levels),))

    def settings(self) -> Mapping[str, Any]:
        return {
            "keys": self.keys,
            "identifier": self.identifier,
            "tables": [table.name for table in self.tables],
            "statements": self.beside["protection.yaml"].decode(),
        }

    @property
    def kept_for(self) -> str:
        """Return the key's use: later and corrected tables publish unchanged cells as before."""
        return key_of(
            {
                "law": self.law.model_dump(mode="json", exclude={"table"}),
                "files": [file.as_json() for file in self.files],
                "identifier": self.identifier,
            }
        )

    def share(self, draw: Callable[[], KeyedChance]) -> KeyedChance:
        return draw()

    @property
    def _corrected(self) -> str:
        """Describe what is drawn again when the data were corrected."""
        if self.draws_by_cell:
            return "draws the counts anew that changed, no other"
        if self.identifier is not None:
            return f"draws the cells anew that a {self.release.record} enters or leaves, no other"
        found = f"draws all cells anew that count a corrected {self.release.record}"
        if hasattr(self.config, "identifier"):
            return f"{found}, also those it stays in; fewer with {self.name}.identifier"
        return f"{found}, also those it stays in"

    def publish(
        self,
        shared: KeyedChance,
        truth: Publication,
        records: pl.DataFrame | None,
        on_progress: OnProgress,  # noqa: ARG002
    ) -> pl.DataFrame:
        return protect_counts(
            self.release,
            truth,
            self.statements,
            records=records,
            chance=shared,
            keys=self.keys,
            identifier=self.identifier,
        )

    def totals(self, truth: Publication, protected: pl.DataFrame) -> Mapping[str, int]:
        copies = [
            count_copies(self.release, protected.filter(level=pattern.level), cells_of(pattern))
            for pattern in truth.coverage
        ]
        return {
            "cells": protected.height,
            "changed": int((protected["count"] != protected["true"]).sum()),
            "false_zeros": int((protected["count"] == 0).sum()),
            "repeated": sum(each.repeated for each in copies),
            "fixed": sum(each.fixed for each in copies),
        }

    @property
    def notes(self) -> Mapping[str, Any]:
        """Return the law, and how often a count is published, which may undo it."""
        copies = copies_in_a_unit(self.release, self.tables)
        return {"law": describe_law(self.law), "copies": copies}

    def facts(self, manifest: Manifest) -> Iterator[Fact]:
        totals, copies = manifest.totals, manifest.notes["copies"]
        yield "law", manifest.notes["law"]
        yield self.people, totals["people"]
        yield "cells above zero", totals["cells"]
        yield "  changed", (totals["changed"], totals["cells"])
        yield "  published as zero", (totals["false_zeros"], totals["cells"])
        yield "  published twice or more", (totals["repeated"], totals["cells"])
        yield "    not alike", (totals["fixed"], totals["repeated"])
        yield (
            f"copies in a {self.release.geography.unit.name}",
            f"{copies['cells']:,} cells, {copies['margins']:,} different, "
            f"one {copies['most']} times",
        )
        if self.law.has_cost:
            yield "a corrected release", self._corrected
        if self.draws_by_cell:
            yield (
                "warning",
                f"each cell is drawn by itself: {self.people} who are counted in several, as of a "
                "place and its only part, are drawn several times",
            )
