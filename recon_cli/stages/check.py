"""`recon check`: the stages that its rules need, and a verdict on each; publishes nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from recon_cli.config import RunConfig, load_config
from recon_cli.config.model import Section
from recon_cli.config.sections import SECTIONS
from recon_cli.config.sections.solvar import Solvar
from recon_cli.evaluate.fresh import WorkFolder
from recon_cli.execute.limited import results_until
from recon_cli.pipeline.execution import run_stage
from recon_cli.pipeline.order import dependencies, stages_of
from recon_cli.pipeline.run import Run
from recon_cli.pipeline.stages import SOLVAR
from recon_cli.rules.evidence import Evidence
from recon_cli.rules.finding import Finding, Grounds, Judged
from recon_cli.rules.section import AnyRule, Check
from recon_cli.store import INGEST, Stage

#: Number of a rule, what is known of it now, and by what.
_Found = tuple[int, Finding, Grounds]


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


def check(given: GivenConfig, started: float) -> tuple[Judged, ...]:
    """Run the stages that the rules need, and judge each rule by what they proved.

    Args:
        started: When ``check.seconds`` began, by `time.monotonic`; what is not done when they are
            over is undecided.

    Raises:
        ConfigError: Something in the config is wrong.
    """
    section = given.run().config.section(Check)
    nothing = Finding(gaps=("the time was over before the tables were read",))
    known = [(nothing, Grounds()) for _ in section.rules]

    def know(found: _Found) -> None:
        number, finding, grounds = found
        known[number] = finding, grounds

    find = partial(find_violations, given)
    if section.seconds is None:
        find(know)
    else:
        for found in results_until(started + section.seconds, find):
            know(found)
    return tuple(Judged(rule, *known[n]) for n, rule in enumerate(section.rules))


def find_violations(given: GivenConfig, report: Callable[[_Found], None]) -> None:
    """Run the stages that the rules need, and after each look again at the rules that need it.

    Args:
        report: Is called with what is known of a rule, each time that more is.
    """
    run = given.run()
    section = run.config.section(Check)
    expected = run.release.select_tables(section.tables)
    done: frozenset[str] = frozenset()
    for stage in needed_stages(run.config):
        run_stage(stage, run)
        done |= {stage.name}
        evidence = Evidence(WorkFolder(run.work), run.release, expected, done)
        for number, rule in enumerate(section.rules):
            if stage in (INGEST, *rule.subject.stages(run.config.sections)):
                found = rule.subject.violations(evidence)
                if rule.share is not None:
                    found = evidence.with_people(found)
                report((number, found, evidence.grounds(rule.subject)))


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
    """The stages whose proofs the rules ask for."""
    rules: tuple[AnyRule, ...] = config.section(Check).rules
    asked = (stage for rule in rules for stage in rule.subject.stages(config.sections))
    return tuple(dict.fromkeys((INGEST, *asked)))


def _with_sections(config: RunConfig) -> RunConfig:
    """The config with the sections that it lacks, for the stages that the rules need."""
    sections: dict[str, Section] = dict(config.sections)
    for stage in _asked(config):
        if stage.section not in sections:
            # A bound from single units is none from all: only the exact mode can keep a rule.
            default = Solvar(mode="exact") if stage == SOLVAR else None
            sections[stage.section] = default or config.section(SECTIONS[stage.section])
    return replace(config, sections=sections)
