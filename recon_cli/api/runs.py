"""Stages as functions: the work of commands in a work folder, with config sections as options."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import polars as pl

from recon_cli.api.reconstruction import read_published
from recon_cli.capabilities.compare.options import Compare
from recon_cli.capabilities.records.records_file import RecordsFile
from recon_cli.capabilities.report.options import Report
from recon_cli.config import RunConfig, load_config
from recon_cli.config.model import Section, Top
from recon_cli.errors import ConfigError, StageError
from recon_cli.pipeline.order import stages_of
from recon_cli.pipeline.run import Run
from recon_cli.pipeline.run_stages import run_stage
from recon_cli.pipeline.stages import PROTECTIONS, STAGES
from recon_cli.publication import Publication
from recon_cli.schema import Release, load_release
from recon_cli.statement import load_protection
from recon_cli.store import open_folder
from recon_cli.store.files import UNFINISHED, make_folder, parquet_bytes, remove, write_bytes
from recon_cli.store.folder import manifests_in

#: Keys that name the records a stage works on.
_RECORDS: Final = ("records", "truth")
#: File of given records while the stages run; `recon purge` removes that of a killed process.
_GIVEN: Final = f"{UNFINISHED}records.parquet"


@dataclass(frozen=True, repr=False)
class WorkFolder:
    """The work folder of a run.

    Attributes:
        path: Path of the folder.
        release: The schema of the run.
        sections: Sections of the run.
    """

    path: Path
    release: Release
    sections: tuple[Section, ...] = ()

    def __repr__(self) -> str:
        return f"<WorkFolder {self.path}: {', '.join(self.folders) or 'nothing in it'}>"

    @property
    def folders(self) -> tuple[str, ...]:
        """List the folders that stages published in the work folder; see docs/files.md."""
        found, _ = manifests_in(self.path)
        return tuple(folder.name for folder in found)

    def frame(self, folder: str, file: str = "") -> pl.DataFrame:
        """Read the rows of a folder, such as ``microdata`` or ``private/round/accuracy``.

        Args:
            file: Name of a table in a folder that is not split into partitions, such as
                ``errors`` in ``comparison``.

        Raises:
            ConfigError: No stage publishes such a folder, or the folder has no rows without
                ``file``.
            StageError: The folder is missing or damaged.
        """
        stage = next((each for each in STAGES if folder in each.folders), None)
        if stage is None:
            raise ConfigError(f"no stage publishes a folder {folder!r}; {self.path} has others")
        opened = open_folder(self.path, stage, folder)
        if file:
            return pl.read_parquet(opened.read_extra(f"{file}.parquet"))
        if not opened.partitions:
            raise ConfigError(f"{opened.path} has no partitions; name one of its files")
        return pl.concat([opened.read(name) for name in opened.partitions], how="diagonal_relaxed")

    @property
    def page(self) -> Path:
        """Return the page of the report, or of the comparison.

        Raises:
            StageError: There is neither page.
        """
        pages = (self.path / "comparison" / "comparison.html", self.path / "report" / "report.html")
        found = next((page for page in pages if page.is_file()), None)
        if found is None:
            raise StageError(f"{self.path} has no page: run it with Report() or Compare(…)")
        return found

    @property
    def charts(self) -> Mapping[str, Chart]:
        """Map the name of each chart of the report to its picture."""
        files = sorted((self.path / "report").glob("chart-*.svg"))
        return {
            name: Chart(name, path.read_text(encoding="utf-8"))
            for path in files
            for name in [path.stem.removeprefix("chart-")]
        }


@dataclass(frozen=True, repr=False)
class Chart:
    """A picture of a report; a notebook shows it.

    Attributes:
        name: Name as in file names.
        svg: The picture.
    """

    name: str
    svg: str

    def __repr__(self) -> str:
        return f"<Chart {self.name}>"

    def _repr_svg_(self) -> str:
        return self.svg


@dataclass(frozen=True, repr=False)
class ProtectedData:
    """Records or counts as they can be published, and how far they are from the truth.

    Attributes:
        published: Counts with their law; None for a protection of records.
        records: Records; None for a protection of counts.
        accuracy: Errors of the counts by level, table and size; None for records. They reveal the
            truth, so do not publish them.
    """

    published: Publication | None
    records: pl.DataFrame | None
    accuracy: pl.DataFrame | None

    def __repr__(self) -> str:
        if self.published is not None:
            return f"<ProtectedData: {self.published!r}>"
        rows = 0 if self.records is None else self.records.height
        return f"<ProtectedData: {rows:,} records>"


def run(
    release: Release | str,
    folder: Path | str,
    *sections: Section,
    records: pl.DataFrame | None = None,
    seed: int = 0,
    workers: int = 1,
    force: bool = False,
) -> WorkFolder:
    """Run stages in a work folder, as `recon run` does; stages that are up to date are skipped.

    Args:
        release: A schema, the name of a packaged one, or the path of one.
        folder: The work folder.
        sections: Options of the stages to run, in any order: `recon_cli.options`.
        records: Records for stages that protect or tabulate records and name no file.
        seed: Seed of every stage that has none of its own.
        workers: Number of processes. With more than one, make the call in a module, below
            ``if __name__ == "__main__"``.
        force: Whether to run stages again that are up to date.

    Raises:
        ConfigError: A section does not fit the release.
        ReconError: A stage fails.

    >>> import tempfile
    >>> import recon_cli as recon
    >>> from pathlib import Path
    >>> release, patients = recon.load_release("clinic_visits"), recon.example_patients()
    >>> counts = Path(tempfile.mkdtemp(), "counts.csv")
    >>> recon.tabulate(release, patients).write_csv(counts)
    >>> read = recon.options.Ingest(source="tidy", paths=(counts,))
    >>> work = recon.run(release, counts.parent / "work", read, recon.options.Reconstruct())
    >>> work.frame("microdata").height
    4
    """
    path = Path(folder)
    schema = load_release(release) if isinstance(release, str) else release
    top = Top(release=schema.name, work=path, seed=seed, workers=workers)
    with _given(path, records) as file:
        asked = sections if file is None else [_with_records(each, file) for each in sections]
        named = {_name_of(each): each for each in asked}
        config = RunConfig(top, named, "recon_cli.run")
        return _run(config, config.complete(schema), force=force)


def run_config(
    path: Path | str,
    *settings: str,
    work: Path | str | None = None,
    only: Sequence[str] = (),
    force: bool = False,
) -> WorkFolder:
    """Run every stage that a config has a section for, as `recon run -c` does.

    Args:
        path: The config.
        settings: Settings as for ``--set``: ``reconstruct.seed=7``.
        work: A work folder in place of the config's.
        only: Names of the stages to run; default all that the config has a section for.
        force: Whether to run stages again that are up to date.

    Raises:
        ConfigError: Something in the config is wrong; the message names file, line and key.
        ReconError: A stage fails.

    >>> import tempfile
    >>> from pathlib import Path
    >>> import recon_cli as recon
    >>> release, patients = recon.load_release("clinic_visits"), recon.example_patients()
    >>> folder = Path(tempfile.mkdtemp())
    >>> recon.tabulate(release, patients).write_csv(folder / "counts.csv")
    >>> text = "{release: clinic_visits, work: w, ingest: {source: tidy, paths: [counts.csv]}}"
    >>> _ = (folder / "recon.yaml").write_text(text)
    >>> recon.run_config(folder / "recon.yaml").folders
    ('tables', 'geounits')
    """
    config = load_config(
        Path(path), settings=settings, work=None if work is None else Path(work), workers=1
    )
    return _run(config, config.load_release(), only, force=force)


def protect(
    release: Release,
    records: pl.DataFrame,
    method: Section,
    *,
    folder: Path | str | None = None,
    seed: int = 0,
) -> ProtectedData:
    """Protect records, or their counts, as `recon protect` does.

    Args:
        records: The confidential records.
        method: A protection with its options, such as ``recon.options.Round(base=5)`` or
            ``recon.options.Noise(strategy="pl94_2020", units="exact")``. Its chance is secret,
            unless it has a ``study_seed``.
        folder: A work folder for the result and for the keys that later tables need; without it
            nothing is kept.
        seed: Seed of choices that need not be secret, such as the solvers'.

    Raises:
        ConfigError: ``method`` is no protection, or does not fit the release.
        ReconError: The protection fails.

    >>> import recon_cli as recon
    >>> release, patients = recon.load_release("clinic_visits"), recon.example_patients()
    >>> method = recon.options.Suppress(below=3)
    >>> suppressed = recon.protect(release, patients, method).published
    >>> suppressed.is_exact
    False
    """
    name = _name_of(method)
    if name not in PROTECTIONS:
        raise ConfigError(f"{type(method).__name__} is no protection ({', '.join(PROTECTIONS)})")
    with _kept(folder) as home:
        work = run(release, home, method, records=records, seed=seed)
        declared = PROTECTIONS[name]
        first = declared.folders[0]
        accuracy = next((f"private/{name}/{each}" for each in declared.private), None)
        if declared.publishes in ("records", "answers"):
            return ProtectedData(None, work.frame(first), None)
        schema, there = home / first / "release.yaml", home / first
        published_as = load_release(str(schema)) if schema.is_file() else release
        law = load_protection(there / "protection.yaml", published_as)
        listed = there / "geounits.txt"
        published = read_published(
            published_as,
            [there],
            protection=law,
            geounits=listed if listed.is_file() else None,
        )
        return ProtectedData(published, None, None if accuracy is None else work.frame(accuracy))


def compare(
    release: Release,
    truth: pl.DataFrame,
    options: Compare,
    *,
    folder: Path | str,
    seed: int = 0,
    workers: int = 1,
) -> WorkFolder:
    """Protect the same records in several ways, attack each, and compare error and risk.

    Args:
        truth: The confidential records.
        options: ``recon.options.Compare(protections=…)``, with protections as in a config.
        folder: The work folder; each protection has its own in ``compare/``.
        seed: Seed of the attacks.
        workers: Number of processes, see `run`.

    Returns:
        The work folder, with a ``page``; ``frame("comparison", "comparison")`` has a row for each
        protection.

    Raises:
        ConfigError: A protection does not fit the release.
        ReconError: A stage fails.

    >>> import tempfile
    >>> import recon_cli as recon
    >>> release, patients = recon.load_release("clinic_visits"), recon.example_patients()
    >>> ways = {"exact": None, "rounded": {"round": {"base": 3, "study_seed": 1}}}
    >>> options = recon.options.Compare(protections=ways)
    >>> work = recon.compare(release, patients, options, folder=tempfile.mkdtemp())
    >>> work.page.name
    'comparison.html'
    """
    return run(release, folder, options, records=truth, seed=seed, workers=workers)


def report(work: WorkFolder, options: Report | None = None) -> WorkFolder:
    """Write the report of a work folder's results, as `recon report` does.

    Args:
        work: From `run`.
        options: Title, rule and copy of the page; default those of a config.

    Returns:
        The work folder, with a ``page`` and ``charts``.

    Raises:
        StageError: There is nothing to report, or a folder is damaged.

    >>> import tempfile
    >>> from pathlib import Path
    >>> import recon_cli as recon
    >>> release, patients = recon.load_release("clinic_visits"), recon.example_patients()
    >>> counts = Path(tempfile.mkdtemp(), "counts.csv")
    >>> recon.tabulate(release, patients).write_csv(counts)
    >>> read = recon.options.Ingest(source="tidy", paths=(counts,))
    >>> work = recon.run(release, counts.parent / "work", read, recon.options.Reconstruct())
    >>> recon.report(work).page.name
    'report.html'
    """
    sections = [each for each in work.sections if not isinstance(each, Report)]
    made = run(work.release, work.path, options or Report())
    return replace(made, sections=(*sections, *made.sections))


def _name_of(section: Section) -> str:
    """Return the name of a section: the name of its capability's folder."""
    return type(section).__module__.split(".")[-2]


@contextmanager
def _given(work: Path, records: pl.DataFrame | None) -> Iterator[Path | None]:
    """Write records to a file of the work folder, which is removed after use."""
    if records is None:
        yield None
        return
    file = work / _GIVEN
    make_folder(work)
    write_bytes(file, parquet_bytes(records))
    try:
        yield file
    finally:
        remove(file)


@contextmanager
def _kept(folder: Path | str | None) -> Iterator[Path]:
    """Yield the folder; without one, a temporary folder that is removed after use."""
    if folder is not None:
        yield Path(folder)
        return
    with tempfile.TemporaryDirectory(prefix="recon-") as name:
        yield Path(name)


def _run(
    config: RunConfig, release: Release, only: Sequence[str] = (), *, force: bool
) -> WorkFolder:
    run_ = Run(config, release, force=force)
    stages = stages_of(config)
    known = [stage.short_name for stage in stages]
    if unknown := [name for name in only if name not in known]:
        raise ConfigError(f"{config.source}: no stage {unknown[0]!r} (stages: {', '.join(known)})")
    for stage in stages:
        if not only or stage.short_name in only:
            run_stage(stage, run_)
    return WorkFolder(config.work, release, tuple(config.sections.values()))


def _with_records(section: Section, path: Path) -> Section:
    """Name the file of records in a section that names none."""
    for key in _RECORDS:
        field = type(section).model_fields.get(key)
        if field is not None and getattr(section, key) is None:
            is_file = "RecordsFile" in str(field.annotation)
            return section.model_copy(
                update={key: RecordsFile.model_validate({"path": path}) if is_file else path}
            )
    return section
