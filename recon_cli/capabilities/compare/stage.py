"""Run `recon compare`: several protections of the same records, each attacked.

Writes ``compare/NAME/`` and ``comparison/``. Each protection is an ordinary run, with its own
stages and folders: it can be resumed, and examined with `recon status` or `recon report`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from recon_cli.capabilities.compare import COMPARE, PAGE
from recon_cli.capabilities.compare.options import Compare
from recon_cli.capabilities.compare.protections import truth_of
from recon_cli.errors import ConfigError
from recon_cli.pipeline.opened_stage import OpenedStage
from recon_cli.pipeline.run import Run
from recon_cli.stage import undisturbed
from recon_cli.store import Manifest, Recipe, Transaction
from recon_cli.store.files import key_of


def open_stage(run: Run) -> ComparedStage:
    """Open the stage that protects the truth in every way, attacks each, and compares.

    Raises:
        ConfigError: There is no truth, or a protection does not suit it.
    """
    config = run.config.section(Compare)
    if not truth_of(run, config).exists():
        raise ConfigError(
            f"compare.truth: missing: no records at {truth_of(run, config)}; name a file of "
            "records, or make a population with `recon data synth`"
        )
    return ComparedStage(run, config)


@dataclass(frozen=True)
class ComparedStage(OpenedStage):
    """A stage whose inputs are runs of its own.

    Attributes:
        measured: Name of each finished protection → its errors, so that the growing page
            measures each once.
    """

    run: Run
    config: Compare
    measured: dict[str, Any] = field(default_factory=dict)

    def planned(self) -> Recipe:
        """Return the digests of the runs' output, as far as the runs are up to date."""
        with undisturbed():
            from recon_cli.capabilities.compare.runs import planned_digests

        return self._recipe(planned_digests(self.run))

    def prepared(self) -> Recipe:
        """Run what is not up to date; the page appears with the first protection, and grows."""
        with undisturbed():
            from recon_cli.capabilities.compare.runs import run_compared

        return self._recipe(run_compared(self.run, self._show))

    def _show(self, digests: Mapping[str, str], missing: Mapping[str, str]) -> None:
        """Publish the page of the protections that are done.

        Args:
            digests: Name of a finished protection → digest of its run's output.
            missing: Name of another protection → reason why it is missing.
        """
        with undisturbed():
            from recon_cli.capabilities.compare.results import write_comparison

        why = {name: key_of([reason]) for name, reason in missing.items()}
        with self.run.transaction(self._recipe({**digests, **why})) as stage:
            if stage.current is None:
                write_comparison(self.run, stage, missing, self.measured)
        page = self.run.work / COMPARE.folders[0] / PAGE
        there = len(self.config.every) - len(missing)
        self.run.reporter.note(
            f"compare: {there} of {len(self.config.every)} protections are on {page}"
        )

    def _recipe(self, digests: Mapping[str, str]) -> Recipe:
        return self.run.recipe(
            COMPARE,
            {
                "protections": {
                    name: each.model_dump(mode="json", exclude_unset=True)
                    for name, each in self.config.every.items()
                },
                "weights": dict(self.config.weights),
                "all_below": dict(self.config.all_below),
                "risk": self.config.risk,
            },
            shared=digests,
            is_study=True,
        )

    def make(self, stage: Transaction) -> Manifest:
        with undisturbed():
            from recon_cli.capabilities.compare.results import write_comparison

        return write_comparison(self.run, stage, {}, self.measured)
