"""Run `recon score`: the counts of links → ``score/``, the result tables."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from recon_cli.capabilities.findings.fresh import made_from, own_source
from recon_cli.capabilities.findings.stages import CONFIDENCE, SOLVAR
from recon_cli.capabilities.findings.words import words_of_run
from recon_cli.capabilities.link import LINK
from recon_cli.capabilities.link.inputs import open_linkage_inputs
from recon_cli.capabilities.link.key_encoding import column_codes
from recon_cli.capabilities.link.specification import CEF, HDF
from recon_cli.capabilities.reconstruct import RECONSTRUCT
from recon_cli.capabilities.records.files import RecordFile
from recon_cli.capabilities.score import SCORE
from recon_cli.capabilities.score.collect import (
    Collected,
    Partition,
    add_up,
    collect,
    with_differing,
)
from recon_cli.capabilities.score.confidence import CALIBRATION, calibration, sum_confidence
from recon_cli.capabilities.score.control import Control
from recon_cli.capabilities.score.gains import make_gains, make_passes
from recon_cli.capabilities.score.options import Score
from recon_cli.capabilities.score.rates import Rules
from recon_cli.capabilities.score.rates_page import lay_out, table_title
from recon_cli.capabilities.score.sums import concat
from recon_cli.capabilities.score.tables import Sources, make_rates
from recon_cli.errors import ConfigError
from recon_cli.page.document import ResultTable
from recon_cli.page.sizes import Sizes
from recon_cli.pipeline.opened_stage import MadeStage
from recon_cli.pipeline.run import Run
from recon_cli.progress import Task
from recon_cli.schema import Release
from recon_cli.spreadsheet import csv_bytes
from recon_cli.store import Folder, Manifest, Transaction, open_folder
from recon_cli.store.manifest import MANIFEST
from recon_cli.store.published import PROTECTION
from recon_cli.store.tables import table_files

RATES = "rates"
GAINS = "gains"
PASSES = "passes"
#: Confidence beside the truth, where there is a ``confidence/``.
CALIBRATED = "confidence.csv"


@dataclass(frozen=True)
class Zero:
    """The origin of the proofs of zero variability.

    Attributes:
        folder: ``solvar/``, or ``blocks/`` of the reconstruction, or None.
        condition: Condition that selects the rows that are proofs.
    """

    folder: Folder | None
    condition: pl.Expr
    note: str

    @property
    def solvar(self) -> Folder | None:
        """Return ``solvar/``, if the proofs come from there."""
        is_solvar = self.folder is not None and self.folder.path.name == SOLVAR.name
        return self.folder if is_solvar else None


def open_stage(run: Run) -> MadeStage:
    """Open the stage that makes every result table.

    Raises:
        ConfigError: An alternative source was not linked.
    """
    config = run.config.section(Score)
    folders = {name: open_folder(run.work, LINK, name) for name in LINK.folders[1:]}
    notes = folders["truth"].manifest.notes
    zero = find_zero(run)
    measured = _measured_source(run, folders["truth"].manifest, zero)
    seed = run.section(Score).fixed_seed
    settings = config.model_dump(mode="json") | {"measured": measured}
    shared = {"links": folders["truth"].manifest.key}
    if zero.folder is not None:
        shared[f"{zero.folder.path.name}/"] = zero.folder.manifest.key
    confidence = _open_confidence(run)
    if confidence is not None:
        shared["confidence/"] = confidence.manifest.key
    recipe = run.recipe(SCORE, settings, seed=seed, shared=shared)
    sources = choose_sources(notes, config, measured)
    rules = Rules(
        Sizes(config.sizes),
        Control(config.threshold, config.small, config.digits),
        config.interval,
    )

    def make(stage: Transaction) -> Manifest:
        collected = _collect(run, config, folders, zero, seed)
        rates = make_rates(collected, sources, replace(rules, kind=collected.kind), config.compare)
        gains = make_gains(collected, sources, replace(rules, kind=collected.kind))
        files = result_files(run, rates) | table_files({GAINS: gains}, 4)
        if collected.passes is not None:
            known = replace(rules, kind=collected.kind)
            passes = make_passes(collected, notes["passes"], sources.records, known)
            files |= table_files({PASSES: passes}, 4)
        stage.staging.write_extras("score", files)
        if confidence is not None:
            calibrated = _calibrate_confidence(
                run, confidence, rules, resamples=config.bootstrap, seed=seed
            )
            stage.staging.write_extra("score", CALIBRATED, csv_bytes(calibrated))
        has_intervals = config.bootstrap > 0 or int(folders["truth"].manifest.config["draws"]) > 1
        described = {
            "tables": rates["table"].unique(maintain_order=True).to_list(),
            "zero_variability": zero.note,
            "intervals": collected.kind if has_intervals else "none",
            "withheld": int(rates["withheld"].sum()),
        }
        return stage.publish([], notes=described)

    return MadeStage(recipe, make)


def read_rates(run: Run) -> pl.DataFrame:
    """Read the published rates."""
    folder = open_folder(run.work, SCORE, "score")
    return pl.read_parquet(io.BytesIO(folder.read_extra(f"{RATES}.parquet")))


def sheets(run: Run, rates: pl.DataFrame) -> dict[str, ResultTable]:
    """Arrange the existing tables."""
    words = words_of_run(run)
    return {
        name: lay_out(table_title(name, words), rates.filter(pl.col("table") == name), words)
        for name in rates["table"].unique(maintain_order=True)
    }


def result_files(run: Run, rates: pl.DataFrame) -> dict[str, bytes]:
    """Write all rates, and each table as Parquet, CSV and Markdown: file name → bytes."""
    files = table_files({RATES: rates})
    for name, sheet in sheets(run, rates).items():
        files |= table_files({name: rates.filter(pl.col("table") == name)}, 4)
        files[f"{name}.md"] = sheet.markdown().encode()
    return files


def find_zero(run: Run) -> Zero:
    """Choose the folder with proofs of zero variability: ``solvar/``, else ``blocks/``.

    For protected counts it is ``blocks/``: another solution may have more people even if it lacks
    none of ours, Eq. (loss), so zero variability does not mean one solution.
    """
    is_protected = (run.work / "tables" / PROTECTION).is_file()
    if (run.work / "solvar" / MANIFEST).is_file() and not is_protected:
        folder = open_folder(run.work, SOLVAR, "solvar")
        return Zero(folder, pl.col("solvar_upper_pct") == 0, "solvar/: proven upper bound zero")
    if (run.work / "blocks" / MANIFEST).is_file():
        folder = open_folder(run.work, RECONSTRUCT, "blocks")
        note = "blocks/: proven to have one solution"
        if not is_protected:
            note += "; `recon solvar` may prove more"
        return Zero(folder, pl.col("status") == "unique", note)
    note = "unknown: no solvar/ and no blocks/ in the work folder"
    return Zero(None, pl.lit(value=False), note)


def choose_sources(notes: Mapping[str, Any], config: Score, measured: str | None = None) -> Sources:
    """Choose the sources to show in each table.

    Args:
        notes: Notes of ``links/``.
        measured: The source whose solution variability was measured, if one's was.
    """
    order = tuple(notes["sources"])
    config.require_linked(order)
    return Sources.of(
        order,
        notes["guessers"],
        leave_one_out=notes["leave_one_out"],
        truth=notes["truth"],
        alternatives=config.alternatives or (),
        measured=measured,
    )


def _measured_source(run: Run, links: Manifest, zero: Zero) -> str | None:
    """Return the source that ``solvar/`` measured: the folder's own records, if linked."""
    if zero.solvar is None or not (run.work / "microdata" / MANIFEST).is_file():
        return None
    microdata = open_folder(run.work, RECONSTRUCT, "microdata")
    return own_source(links, microdata) if made_from(zero.solvar.manifest, microdata) else None


def _collect(
    run: Run, config: Score, folders: Mapping[str, Folder], zero: Zero, seed: int
) -> Collected:
    """Sum all partitions, one at a time to save memory."""
    place, sizes = run.release.geoid_column, Sizes(config.sizes)
    truth = folders["truth"]
    draws = int(truth.manifest.config["draws"])
    total: Collected | None = None
    task = Task(
        "score",
        run.release.geography.unit.name,
        truth.manifest.totals["units"],
        record=run.release.record,
    )
    with run.reporter.bar(task) as bar:
        for name in truth.partitions:
            frames = {folder: folders[folder].read(name) for folder in folders}
            partition = Partition(
                name=name,
                zero=_proofs(zero, name, place),
                differing=_differing(zero, name),
                **frames,
            )
            sums = collect(
                partition, place, sizes, draws=draws, resamples=config.bootstrap, seed=seed
            )
            total = sums if total is None else add_up([total, sums])
            people = int(frames["truth"]["population"].sum())
            bar.advance(frames["truth"].height, people)
    if total is None:
        raise ConfigError("score: the truth has no records")
    return total


def _proofs(zero: Zero, partition: str, place: str) -> pl.Series | None:
    if zero.folder is None:
        return None
    if partition not in zero.folder.partitions:
        return pl.Series(place, [], dtype=pl.String)
    return zero.folder.read(partition).filter(zero.condition)[place]


def _differing(zero: Zero, partition: str) -> pl.DataFrame | None:
    """Return the most people of each geounit that another reconstruction changes."""
    if zero.solvar is None or partition not in zero.solvar.partitions:
        return None
    return with_differing(zero.solvar.read(partition))


def _open_confidence(run: Run) -> Folder | None:
    if not (run.work / "confidence" / MANIFEST).is_file():
        return None
    return open_folder(run.work, CONFIDENCE, "confidence")


def _calibrate_confidence(
    run: Run, folder: Folder, rules: Rules, *, resamples: int, seed: int
) -> pl.DataFrame:
    """Compare mean confidence with the share that is right, for the CEF and the HDF if any.

    Args:
        rules: Coverage, disclosure control.

    Returns:
        As `recon_cli.capabilities.score.confidence.calibration`.
    """
    files = open_linkage_inputs(run).files
    frames = [pl.DataFrame(schema=CALIBRATION)]
    for name in (CEF, HDF):
        if name not in files:
            continue
        present = files[name].slices()
        sums = []
        for partition in folder.partitions:
            rows = folder.read(partition)
            key = [each for each in rows.columns if each not in {"certain", "confidence"}]
            truth = rows.select(key).clear()
            if partition in present:
                truth = _truth_columns(run.release, files[name], partition, key)
            sums.append(
                sum_confidence(rows, truth, partition=partition, resamples=resamples, seed=seed)
            )
        frames.append(calibration(concat(sums), name, rules))
    return pl.concat(frames)


def _truth_columns(
    release: Release, file: RecordFile, partition: str, key: Sequence[str]
) -> pl.DataFrame:
    """Return the columns ``key`` of the records of one partition, as in microdata."""
    place, *columns = key
    needed = [place]
    for column in columns:
        feature = release.features[release.feature_index[release.column_groups(column).feature]]
        needed += [column, feature.name, *feature.options]
    records = file.read(partition, list(dict.fromkeys(needed)))
    found = [records[place].cast(pl.String)]
    for column in columns:
        groups = release.column_groups(column)
        labels = pl.Series(column, list(groups.labels), dtype=groups.dtype)
        found.append(labels.gather(column_codes(release, records, column, file.name)))
    return pl.DataFrame(found)
