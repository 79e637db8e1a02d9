"""`recon check`: the stages that its rules need, then a verdict on each; publishes nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from recon_cli.config import RunConfig, load_config
from recon_cli.config.model import Section
from recon_cli.config.sections import SECTIONS
from recon_cli.config.sections.check import Check
from recon_cli.config.sections.solvar import Solvar
from recon_cli.evaluate.check import Judged
from recon_cli.evaluate.fresh import WorkFolder
from recon_cli.evaluate.violations import find_violations
from recon_cli.execute.limited import results_until
from recon_cli.pipeline.execution import run_stage
from recon_cli.pipeline.order import dependencies, stages_of
from recon_cli.pipeline.run import Run
from recon_cli.pipeline.stages import AUDIT, CLAIMS, RECONSTRUCT, SOLVAR
from recon_cli.store import INGEST, Stage

#: Rule → the stages whose proofs it asks for.
_NEEDS = {
    "recovered": (AUDIT,),
    "interval": (AUDIT,),
    "certain_records": (RECONSTRUCT, SOLVAR),
    "disclosed": (RECONSTRUCT, CLAIMS),
}


@dataclass(frozen=True)
class GivenConfig:
    """A config as the command line names it; see `recon_cli.config.load_config`."""

    path: Path | None
    settings: tuple[str, ...] = ()
    work: Path | None = None
    workers: int | None = None

    def run(self) -> Run:
        """The run, with the sections that the rules' stages need.

        Raises:
            ConfigError: Something in it is wrong, or it has no ``check:`` or ``ingest:``.
            SchemaError: The release's schema is malformed.
        """
        found = load_config(self.path, settings=self.settings, work=self.work, workers=self.workers)
        config = _with_sections(found)
        return Run(config, config.load_release())


def check(given: GivenConfig, end: float | None = None) -> tuple[Judged, ...]:
    """Run the stages that the rules need, and judge each rule by what they proved.

    Args:
        given: The config.
        end: When stages are stopped, by `time.monotonic`; what is not done then is undecided.

    Raises:
        ConfigError: Something in the config is wrong.
        ReconError: What a stage raised.
    """
    run = given.run()
    done: list[str] = []
    make = partial(make_stages, given)
    if end is None:
        make(done.append)
    else:
        done.extend(results_until(end, make))
    work, made = WorkFolder(run.work), frozenset(done)
    return tuple(
        Judged(rule, find_violations(work, run.release, rule, made))
        for rule in run.config.section(Check).rules
    )


def make_stages(given: GivenConfig, report: Callable[[str], None]) -> None:
    """Run the stages that the rules need, each unless it is up to date.

    Args:
        given: The config.
        report: Is called with the name of each stage when it is done.

    Raises:
        ReconError: What a stage raised.
    """
    run = given.run()
    for stage in needed_stages(run.config):
        run_stage(stage, run)
        report(stage.name)


def needed_stages(config: RunConfig) -> tuple[Stage, ...]:
    """The stages that the rules need and those that these read from, in order."""
    stages = stages_of(config)
    before = dependencies(stages, config)
    needed: set[str] = set()
    left = [stage.short_name for stage in _asked(config)]
    while left:
        name = left.pop()
        if name not in needed:
            needed.add(name)
            left += before[name]
    return tuple(stage for stage in stages if stage.short_name in needed)


def _asked(config: RunConfig) -> tuple[Stage, ...]:
    """The stages whose proofs the rules ask for; claims tell of some columns what no other does."""
    asked = [INGEST]
    for rule in config.section(Check).rules:
        asked += _NEEDS[rule.name]
        certain = rule.certain_records
        if certain is not None and (certain.columns is not None or "claims" in config.sections):
            asked.append(CLAIMS)
    return tuple(dict.fromkeys(asked))


def _with_sections(config: RunConfig) -> RunConfig:
    """The config with the sections that it lacks, for the stages that the rules need."""
    sections: dict[str, Section] = dict(config.sections)
    for stage in _asked(config):
        if stage.section not in sections:
            # A bound from single units is none from all: only the exact mode can keep a rule.
            default = Solvar(mode="exact") if stage == SOLVAR else None
            sections[stage.section] = default or config.section(SECTIONS[stage.section])
    return replace(config, sections=sections)
