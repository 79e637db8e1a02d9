"""The runs of a comparison: one for each protection, and one that links them all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from recon_cli.capabilities.compare.options import ATTACKS, Compare, Protected
from recon_cli.capabilities.ingest.options import Ingest
from recon_cli.capabilities.link.options import FROM_CEF, Link
from recon_cli.capabilities.link.specification import CEF, CEF_ATKR
from recon_cli.capabilities.protect.sections import ProtectingByChance
from recon_cli.capabilities.protect.stage import ProtectionStage
from recon_cli.capabilities.records.files import open_records
from recon_cli.capabilities.records.records_file import RecordsFile
from recon_cli.capabilities.score.options import Score
from recon_cli.capabilities.tabulate.options import Tabulate
from recon_cli.config import RunConfig
from recon_cli.config.model import Section, TableChoice, Top
from recon_cli.errors import ConfigError
from recon_cli.pipeline.order import stages_of
from recon_cli.pipeline.run import Run
from recon_cli.pipeline.run_stages import open_stage
from recon_cli.pipeline.stages import PROTECTIONS, stage_named
from recon_cli.protections import ProtectionMethod, Publishes
from recon_cli.schema import Release
from recon_cli.store import Stage
from recon_cli.store.recipe import COMPARED, COMPARED_UNITS
from recon_cli.store.study import STUDY, is_for_study

#: Name of the run of the truth's own tables.
EXACT: Final = "none"
#: Folders of the truth's own tables where no protection is ``none``, and of the links; the name
#: of no protection begins so.
TRUTH, LINKED = "_truth", "_linked"


def methods_of(protection: Protected) -> list[ProtectionMethod]:
    """List the methods of a protection, in order; empty if it only leaves out counts."""
    return [PROTECTIONS[kind] for kind in protection.sections]


def open_protection(method: ProtectionMethod, run: Run) -> ProtectionStage[Any, Any]:
    """Open the stage of a protection."""
    opened = open_stage(stage_named(method.name), run)
    if not isinstance(opened, ProtectionStage):
        raise TypeError(f"{method.name} opens no protection")
    return opened


def published_by(protection: Protected) -> Publishes:
    """Return the kind of data that the protection publishes."""
    methods = methods_of(protection)
    return methods[-1].publishes if methods else "records"


def is_of_people(protection: Protected) -> bool:
    """Test whether proofs about its publication are about people, that is, about true counts."""
    is_of_counts = all(method.publishes == "counts" for method in methods_of(protection))
    return is_of_counts and protection.published is None


def truth_of(run: Run, config: Compare) -> Path:
    """Return the true records."""
    return config.truth or run.work / "persons"


def home_of(run: Run, name: str) -> Path:
    """Return the work folder of a protection."""
    return run.work / COMPARED / name


def units_path(run: Run) -> Path:
    """Return the list of all units, which is public for every protection."""
    return run.work / COMPARED / COMPARED_UNITS


@dataclass(frozen=True)
class ProtectionRun:
    """The run that protects the truth, publishes and attacks it, in a folder of its own.

    Attributes:
        release: The schema of the publication.
        measuring: Earlier run with the schema of the truth, which adds noise to queries that are no
            tables of that schema.
    """

    config: RunConfig
    release: Release
    measuring: RunConfig | None = None

    def runs(self, run: Run) -> tuple[Run, ...]:
        attack = replace(run, config=self.config, release=self.release)
        if self.measuring is None:
            return (attack,)
        return replace(run, config=self.measuring), attack

    @property
    def stages(self) -> list[Stage]:
        before = [] if self.measuring is None else stages_of(self.measuring)
        return [*before, *stages_of(self.config)]


def protection_run(run: Run, name: str, protection: Protected) -> ProtectionRun:
    """Make the run of one protection."""
    config = _protection_config(run, name, protection)
    if published_by(protection) != "measurements":
        return ProtectionRun(config, run.release)
    release = open_protection(methods_of(protection)[-1], replace(run, config=config)).release
    if release is run.release:
        return ProtectionRun(config, release)
    sections = dict(config.sections)
    first = {kind: sections.pop(kind) for kind in protection.sections}
    measuring = RunConfig(config.top, first, config.source)
    return ProtectionRun(RunConfig(config.top, sections, config.source), release, measuring)


def _protection_config(run: Run, name: str, protection: Protected) -> RunConfig:
    config = run.config.section(Compare)
    work, truth = home_of(run, name), truth_of(run, config)
    methods, publishes = methods_of(protection), published_by(protection)
    made = work / methods[-1].folders[0] if methods else truth
    tables = _published_tables(run.release, config, protection)
    sections: dict[str, Section] = {}
    before = truth
    for method in methods:
        section = protection.sections[method.name]
        given = {"records": before, "population": truth.parent, "tables": tables}
        sections[method.name] = _for_study(section, given, run.config.top.seed)
        before = work / method.folders[0]
    if publishes != "records":
        published = made
    else:
        file = protection.published or RecordsFile(path=made)
        is_study = bool(methods) or is_for_study(file.path)
        published = work / f"published{STUDY if is_study else ''}.parquet"
        levels = None if protection.coarser is None else protection.coarser.levels
        sections["tabulate"] = Tabulate(
            records=file,
            to=published,
            tables=tables,
            levels=levels,
        )
    # A unit that was emptied has no row: it is published as zeros all the same.
    sections["ingest"] = Ingest(source="tidy", paths=(published,), geounits=units_path(run))
    asked = {"reconstruct": config.reconstruct, "solvar": config.solvar, "claims": config.claims}
    sections |= {
        stage: section
        for stage, section in asked.items()
        if section is not None and stage in ATTACKS[publishes]
    }
    if publishes == "measurements":  # the tables to attack are the strategy's
        sections["reconstruct"] = config.reconstruct.model_copy(update={"tables": None})
    top = _top(run, work, workers=1)
    return RunConfig(top, sections, f"{run.config.source}: compare.{name}")


def _published_tables(
    release: Release, config: Compare, protection: Protected
) -> TableChoice | None:
    """Select the tables with exact counts of a release; with fewer levels, those that all have."""
    coarser = protection.coarser
    if coarser is None:
        return config.tables
    chosen = release.select_tables(coarser.tables or config.tables)
    return tuple(t.name for t in chosen if set(coarser.levels or ()) <= set(t.levels))


def _top(run: Run, work: Path, *, workers: int | None) -> Top:
    """Return the top-level keys for another work folder."""
    own = {name: getattr(run.config.top, name) for name in Top.model_fields}
    return Top(**{**own, "work": work, "workers": workers})


def truth_run(run: Run) -> ProtectionRun:
    """Make the run that only publishes the truth's tables, for a comparison without ``none``."""
    made = _protection_config(run, TRUTH, Protected())
    kept = {name: made.sections[name] for name in ("tabulate", "ingest")}
    return ProtectionRun(RunConfig(made.top, kept, made.source), run.release)


def _for_study(section: Section, given: Mapping[str, object], seed: int) -> Section:
    """Return the section of a stage, with given values in place of its own.

    A comparison is for study: its protections can be repeated.
    """
    update = {key: value for key, value in given.items() if key in type(section).model_fields}
    if getattr(section, "tables", None) is not None:
        update.pop("tables")
    if isinstance(section, ProtectingByChance) and section.study_seed is None:
        update["study_seed"] = seed
    return section.model_copy(update=update)


def linking_config(run: Run) -> RunConfig:
    """Make the run that links all reconstructions with the truth, and scores them side by side.

    Guessers and the attacker's knowledge are the same for all and made once.
    """
    config = run.config.section(Compare)
    link = Link.model_validate(
        {
            "cef": truth_of(run, config),
            "sources": {name: home_of(run, name) / "microdata" for name in config.every},
            "guessers": {
                "MDG": {"guess": "modal", "of": CEF},
                "PRG": {"guess": "proportional", "of": CEF},
            },
            "attackers": {CEF_ATKR: FROM_CEF},
            "id": config.id,
            "rows": False,
        }
    )
    score = Score.model_validate({"bootstrap": 0, "threshold": config.threshold})
    top = _top(run, run.work / COMPARED / LINKED, workers=run.config.top.workers)
    sections: dict[str, Section] = {"link": link, "score": score}
    return RunConfig(top, sections, f"{run.config.source}: compare")


@dataclass(frozen=True)
class ComparedRuns:
    """The runs of a comparison.

    Attributes:
        truth: The run whose tables are the truth's own.
        linking: The run that links and scores them; None where nobody can be linked.
    """

    truth: ProtectionRun
    protected: Mapping[str, ProtectionRun]
    linking: RunConfig | None

    @classmethod
    def of(cls, run: Run) -> ComparedRuns:
        """Make the runs that the config asks for."""
        config = run.config.section(Compare)
        protected = {name: protection_run(run, name, each) for name, each in config.every.items()}
        exact = next((n for n, each in config.every.items() if not each.kinds), None)
        truth = truth_run(run) if exact is None else protected[exact]
        return cls(truth, protected, linking_config(run) if _can_link(run, config) else None)

    @property
    def first(self) -> dict[str, ProtectionRun]:
        """Return by name the runs that depend on no other; the truth's own comes first."""
        own = self.truth not in self.protected.values()
        every = {**({EXACT: self.truth} if own else {}), **self.protected}
        return dict(sorted(every.items(), key=lambda each: each[1] is not self.truth))

    def without(self, missing: Mapping[str, str]) -> ComparedRuns:
        """Drop missing runs; if any is missing, nobody is linked."""
        kept = {name: each for name, each in self.protected.items() if name not in missing}
        return replace(self, protected=kept, linking=None if missing else self.linking)


def _can_link(run: Run, config: Compare) -> bool:
    """Test whether the truth identifies people, and the release has columns to link on.

    Raises:
        ConfigError: One of these fails, although the section names a column of identifiers.
    """
    columns = open_records("compare.truth", truth_of(run, config), run.release).columns()
    if "id" in config.model_fields_set:
        if config.id not in columns:
            raise ConfigError(
                f"compare.id: the truth has no column {config.id!r} (columns: {', '.join(columns)})"
            )
        if run.release.attack is None:
            raise ConfigError(
                f"compare.id: release {run.release.name!r} has no `attack:` to link by; add it to "
                "the schema, or leave compare.id out"
            )
    return run.release.attack is not None and config.id in columns
