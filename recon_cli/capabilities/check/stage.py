"""Run the stages that the rules of `recon check` need, and judge each rule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from recon_cli.capabilities.audit import AUDIT
from recon_cli.capabilities.audit.options import Audit
from recon_cli.capabilities.check.candidate import without_tables
from recon_cli.capabilities.check.evidence import Before, Evidence
from recon_cli.capabilities.check.finding import Finding, Grounds
from recon_cli.capabilities.check.limited import results_until
from recon_cli.capabilities.check.options import AnyRule, Check, Judged
from recon_cli.capabilities.claims import CLAIMS
from recon_cli.capabilities.findings.fresh import WorkFolder
from recon_cli.capabilities.ingest.options import Ingest
from recon_cli.capabilities.solvar import SOLVAR
from recon_cli.capabilities.solvar.options import Solvar
from recon_cli.config import RunConfig, load_config
from recon_cli.config.model import Section
from recon_cli.config.sections import SECTIONS
from recon_cli.errors import ContradictionError
from recon_cli.pipeline.order import dependencies, stages_of
from recon_cli.pipeline.run import Run
from recon_cli.pipeline.run_stages import run_stage
from recon_cli.plurals import plural
from recon_cli.schema import Release
from recon_cli.schema.files import load_register
from recon_cli.schema.register import compose
from recon_cli.store import INGEST, Stage

#: Number of a rule, its present finding, and the grounds of that.
_Found = tuple[int, Finding, Grounds]


@dataclass(frozen=True)
class GivenConfig:
    """A config as the command line names it; see `recon_cli.config.load_config`.

    Attributes:
        explains: Whether examples of counts come with the counts that give them away.
    """

    path: Path | None
    settings: tuple[str, ...] = ()
    work: Path | None = None
    workers: int | None = None
    explains: bool = False

    def run(self) -> Run:
        """Return the run, with the sections that the rules' stages need."""
        found = load_config(self.path, settings=self.settings, work=self.work, workers=self.workers)
        config = _with_sections(found)
        return Run(config, config.load_release())


def check(given: GivenConfig, started: float) -> tuple[Judged, ...]:
    """Run the stages that the rules need, and judge each rule by their proofs.

    Args:
        started: Start of ``check.seconds``, by `time.monotonic`; rules that are not decided when
            these are over stay undecided.
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
    """Run the stages that the rules need, and re-evaluate after each the rules that need it.

    Args:
        report: Called with the finding of a rule each time that more is known.
    """
    run = given.run()
    section = run.config.section(Check)
    if candidate := section.candidate_of(run.release):
        find_new_violations(run, candidate, report, explains=given.explains)
        return
    expected = run.release.select_tables(section.tables)
    done: frozenset[str] = frozenset()
    work = WorkFolder(run.work)

    def judge(stage: Stage, done: frozenset[str]) -> None:
        evidence = Evidence(work, run.release, expected, done)
        for number, rule in enumerate(section.rules):
            if stage in (INGEST, *rule.subject.stages(run.config.sections)):
                found = rule.subject.violations(evidence)
                if rule.share is not None:
                    found = evidence.with_people(found)
                report((number, found, evidence.grounds(rule.subject.needs)))

    for stage in _with_dependencies(run.config, _asked(run.config)):
        try:
            _run_if_asked(stage, run, Evidence(work, run.release, expected, done))
        except KeyboardInterrupt:
            if work.holds(stage) and work.open(stage).manifest.stopped is not None:
                judge(stage, done | {stage.name})
            raise
        done |= {stage.name}
        judge(stage, done)


def find_new_violations(
    run: Run, candidate: str, report: Callable[[_Found], None], *, explains: bool
) -> None:
    """Report what a candidate adds to other publications, rule by rule.

    The others are examined first, in ``base/`` of the work folder: their results are kept for the
    next candidate.

    Raises:
        ContradictionError: The candidate and the others contradict each other.
    """
    section = run.config.section(Check)
    options = run.section(Audit).model_copy(update={"safety": 1})
    by_counts = [rule for rule in section.rules if rule.name == "recovered"]
    by_records = [rule for rule in section.rules if rule.name != "recovered"]
    base = records = None
    if by_counts:
        ingest = run.config.section(Ingest)
        alone = ingest.complete(compose(load_register(ingest.paths[0]).without(candidate)))
        base = _evidence(_beside(run, "base", alone), (AUDIT,))
    stages = (rule.subject.stages(run.config.sections) for rule in by_records)
    asked = tuple(dict.fromkeys(stage for each in stages for stage in each))
    if by_records:
        left = without_tables(run.release, candidate)
        records = _evidence(_beside(run, "before", left), asked)
    before = Before(candidate, options, explains, base, records)
    others = " and ".join(name for name in run.release.publications if name != candidate)
    try:
        now = _evidence(run, asked)
        for number, rule in enumerate(section.rules):
            found = rule.subject.newly(now, before)
            if rule.share is not None:
                found = now.with_people(found)
            grounds = replace(now.grounds(rule.subject.needs), candidate=candidate)
            report((number, found, grounds))
    except ContradictionError as error:
        raise ContradictionError(
            f"{candidate} cannot be about the same {plural(run.release.record)} as {others}, which "
            f"do not contradict each other: {error}"
        ) from error


def _beside(run: Run, folder: str, release: Release) -> Run:
    """Return the same run for other publications, in a folder of its own."""
    top = run.config.top.model_copy(update={"work": run.work / folder})
    sections: dict[str, Section] = {}
    for name, section in run.config.sections.items():
        kept = {"tables": None} if "tables" in type(section).model_fields else {}
        sections[name] = section.model_copy(update=kept)
    audit = run.config.section(Audit)
    known = tuple(level for level in audit.ask if level in release.geography.by_name)
    sections[AUDIT.section] = audit.model_copy(update={"ask": known, "tables": None})
    return replace(run, config=replace(run.config, top=top, sections=sections), release=release)


def _evidence(run: Run, stages: tuple[Stage, ...]) -> Evidence:
    """Collect the evidence of some stages and of those that they read."""
    expected = run.release.select_tables(run.config.section(Check).tables)
    evidence = Evidence(WorkFolder(run.work), run.release, expected, frozenset())
    for stage in _with_dependencies(run.config, (INGEST, *stages)):
        _run_if_asked(stage, run, evidence)
        evidence = replace(evidence, done=evidence.done | {stage.name})
    return evidence


def _run_if_asked(stage: Stage, run: Run, evidence: Evidence) -> None:
    """Run a stage, unless it refuses these tables because it could prove nothing of people."""
    is_moot = stage in (SOLVAR, CLAIMS) and evidence.is_noise
    if not is_moot and not (stage == CLAIMS and evidence.tells_nothing):
        run_stage(stage, run)


def _with_dependencies(config: RunConfig, asked: tuple[Stage, ...]) -> tuple[Stage, ...]:
    """Return some stages and those that these read from, in order."""
    stages = stages_of(config)
    before = dependencies(stages, config)
    needed: set[str] = set()
    left = [stage.short_name for stage in asked]
    while left:
        name = left.pop()
        if name not in needed:
            needed.add(name)
            left += before[name]
    return tuple(stage for stage in stages if stage.short_name in needed)


def _asked(config: RunConfig) -> tuple[Stage, ...]:
    """Return the stages whose proofs the rules need."""
    rules: tuple[AnyRule, ...] = config.section(Check).rules
    asked = (stage for rule in rules for stage in rule.subject.stages(config.sections))
    return tuple(dict.fromkeys((INGEST, *asked)))


def _with_sections(config: RunConfig) -> RunConfig:
    """Add missing sections to the config, for the stages that the rules need."""
    sections: dict[str, Section] = dict(config.sections)
    for stage in _asked(config):
        if stage.section not in sections:
            # A bound from single units is none from all: only the exact mode can keep a rule.
            default = Solvar(mode="exact") if stage == SOLVAR else None
            sections[stage.section] = default or config.section(SECTIONS[stage.section])
    return replace(config, sections=sections)
