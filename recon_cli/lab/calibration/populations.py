"""`recon lab calibrate`: synthetic populations beside the published one, on a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from recon_cli.config.sections.calibrate import Calibrate
from recon_cli.config.sections.swap import Swap
from recon_cli.config.sections.synth import Synth
from recon_cli.execute import OnProgress
from recon_cli.lab.calibration.blocks import (
    by_class,
    count_answers,
    count_blocks,
    modal_answer,
    with_bins,
    with_nonmodal,
)
from recon_cli.lab.calibration.measures import judge, measure
from recon_cli.lab.calibration.page import calibration_page
from recon_cli.lab.calibration.study import load_study
from recon_cli.lab.calibration.zero import zero_solvar
from recon_cli.pipeline.run import Run, pieces_of
from recon_cli.pipeline.run_stages import run_stage
from recon_cli.pipeline.stages import ATTACKER, SYNTH, stage_named
from recon_cli.schema import Release
from recon_cli.stages.attacker import age_bins
from recon_cli.store import Piece, open_folder
from recon_cli.store.files import write_named
from recon_cli.tabulation import publish_records

PAGE = "calibration.md"


@dataclass(frozen=True)
class Calibrated:
    """What came of a calibration.

    Attributes:
        page: The page that was written.
        judged: Measures, see `recon_cli.lab.calibration.measures.judge`.
        people: In each nation.
        seeds: Of the nations.
    """

    page: Path
    judged: pl.DataFrame
    people: int
    seeds: tuple[int, ...]


def calibrate(run: Run) -> Calibrated:
    """Make a nation from each seed, measure them, and write the page.

    Raises:
        ConfigError: A section is missing or wrong.
        StageError: The work folder cannot be written, or is in use.
    """
    config = run.config.section(Calibrate)
    measures, people = [], 0
    for seed in config.seeds:
        nation = _of_seed(run, seed)
        people = run_stage(SYNTH, nation).manifest.totals["people"]
        run_stage(ATTACKER, nation)
        run_stage(stage_named("swap"), nation)
        measures.append(_measured(nation, seed))
    judged = judge(pl.concat(measures))
    page = config.page or run.work / PAGE
    write_named(page, calibration_page(judged, people, config.seeds).encode())
    return Calibrated(page, judged, people, config.seeds)


def _of_seed(run: Run, seed: int) -> Run:
    """The same run with another seed, in a work folder of its own."""
    top = run.config.top.model_copy(update={"seed": seed, "work": run.work / f"seed-{seed}"})
    sections = dict(run.config.sections)
    sections["synth"] = run.config.section(Synth).model_copy(update={"seed": None})
    sections["swap"] = run.config.section(Swap).model_copy(update={"study_seed": seed})
    return replace(run, config=replace(run.config, top=top, sections=sections))


def _measured(run: Run, seed: int) -> pl.DataFrame:
    study = load_study()
    pieces = pieces_of(open_folder(run.work, SYNTH, "persons").manifest)
    counted = run.map_pieces("answers", answers_of_partition, lambda: run.work, pieces).values
    answers = pl.concat(counted).group_by("hispanic", "race").sum()
    mode = modal_answer(run.release, answers)
    context = CalibrationContext(
        run.release, run.work, pl.Series(age_bins(run.release)), study.lower, mode
    )
    counted = run.map_pieces("calibrate", count_partition, lambda: context, pieces).values
    counts = pl.concat(counted).group_by("size").sum().sort("size")
    return measure(study, counts, answers, seed)


@dataclass(frozen=True)
class CalibrationContext:
    """What all counties share."""

    release: Release
    work: Path
    bins: pl.Series
    lower: Sequence[int]
    mode: int


def answers_of_partition(work: Path, piece: Piece, tick: OnProgress) -> pl.DataFrame:
    """Count one county's answers, which the mode over all counties is taken from."""
    persons = open_folder(work, SYNTH, "persons").read(piece.partition)
    tick(piece.units, len(persons))
    return count_answers(persons)


def count_partition(context: CalibrationContext, piece: Piece, tick: OnProgress) -> pl.DataFrame:
    """Count one county by class of block size; runs in a worker."""
    partition = piece.partition
    persons = open_folder(context.work, SYNTH, "persons").read(partition)
    places = open_folder(context.work, SYNTH, "places").read(partition)
    hdf = open_folder(context.work, stage_named("swap"), "hdf").read(partition)
    comrcl = open_folder(context.work, ATTACKER, "comrcl").read(partition)
    published = publish_records(context.release, hdf, places["geoid_block"])
    zero = zero_solvar(context.release, published, [table.name for table in context.release.tables])
    binned = with_bins(with_nonmodal(context.release, persons, context.mode), context.bins)
    blocks = count_blocks(
        binned, with_bins(hdf, context.bins), with_bins(comrcl, context.bins), zero
    )
    tick(len(places), len(persons))
    return by_class(blocks, context.lower)
