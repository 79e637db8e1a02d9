"""Compare synthetic populations with the published one: `recon lab calibrate`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from recon_cli.capabilities.attacker import ATTACKER
from recon_cli.capabilities.attacker.stage import age_bins
from recon_cli.capabilities.calibrate.blocks import (
    by_class,
    count_answers,
    count_blocks,
    modal_answer,
    with_bins,
    with_nonmodal,
    zero_solvar,
)
from recon_cli.capabilities.calibrate.measures import judge, load_study, measure
from recon_cli.capabilities.calibrate.options import Calibrate
from recon_cli.capabilities.swap.options import Swap
from recon_cli.capabilities.synth import SYNTH
from recon_cli.capabilities.synth.options import Synth
from recon_cli.capabilities.tabulate.tabulation import publish_records
from recon_cli.execute import OnProgress
from recon_cli.markdown import markdown_table
from recon_cli.pipeline.run import Run, pieces_of
from recon_cli.pipeline.run_stages import run_stage
from recon_cli.pipeline.stages import stage_named
from recon_cli.schema import Release
from recon_cli.store import Piece, open_folder
from recon_cli.store.files import write_named
from recon_cli.version import __version__

PAGE = "calibration.md"
_HEAD = """\
# The synthetic population beside the real one

`recon data synth` generates a population; this page compares it with what was published of the real
one: the 2010 Census and the 2010 study (NBER WP 31995). It is generated. Do not edit it; run

    recon lab calibrate -c configs/nation.yaml

Nations of {people:,} people, seeds {seeds}, version {version}. {verdict}

How to read it: *found* is one column a seed; *off* is the largest difference of a seed from the
published value; *bound* is how large it may be, where the project asked for one.

- **Zero-solvar blocks** are measured as the study did, on the tables tabulated from the HDF, with
  the relaxed system (a block's tables as equalities, its tract's tables as bounds, Eq. 4.9). A
  block counts when bounds propagation alone leaves every histogram cell one value, so the shares
  are proven from below.
- **Nonmodal** is measured among all people. The study's shares are among data-defined people.
- **Unique** people (Table 7) are data-defined ones who share block, sex and agebin with nobody,
  in percent of all people. How alike in age a block's householders are, `ages.alike`, is one
  number, 0.5 for blocks of all sizes. It was fitted to these seven shares and to the 44 percent
  of all people who are unique with single years of age: by least squares, each in units of its
  bound, on nations of other seeds (4, 5, 6; `python -m benchmarks.alike`). Alone, blocks of 1 to
  9 would choose 0.05, those of 10 to 249 0.4 to 0.45, larger ones 0.55 to 0.6 and the 44 percent
  0.8. So blocks of 1 to 9 have somewhat too few unique people, and with single years the nation
  has somewhat too many. Nothing else was fitted anew.
- Nine real tracts, to which nothing was fitted, speak for less likeness rather than for more. Of
  100 people in their blocks of 1 to 9, 10 to 49 and 50 to 99 people 92, 64 and 32 share block,
  sex and agebin with nobody, data-defined or not; here it is 87, 54 and 29. The ages of two
  adults of a block correlate by 0.27, 0.09 and 0.14, here by 0.35, 0.19 and 0.17. But these
  tracts were published because each of their blocks has one solution, so they are not like all
  others.
- **COMRCL** is compared in its blocks that the CEF has people in. Its share outside of them is
  an assumption: no table that we have says it.
- Classes of large blocks hold few blocks: in a nation of a million people some 32 of a thousand
  people or more, so that one of them is 3 per cent.
"""


@dataclass(frozen=True)
class Calibrated:
    """The result of a calibration.

    Attributes:
        judged: Measures, see `recon_cli.capabilities.calibrate.measures.judge`.
        people: Number of people in each nation.
    """

    page: Path
    judged: pl.DataFrame
    people: int
    seeds: tuple[int, ...]


def calibrate(run: Run) -> Calibrated:
    """Make a nation from each seed, measure them, and write the page."""
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
    """Return the same run with another seed, in a work folder of its own."""
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
    """The inputs that all counties share."""

    release: Release
    work: Path
    bins: pl.Series
    lower: Sequence[int]
    mode: int


def answers_of_partition(work: Path, piece: Piece, tick: OnProgress) -> pl.DataFrame:
    """Count one county's answers, from which the mode over all counties is computed."""
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


def calibration_page(judged: pl.DataFrame, people: int, seeds: Sequence[int]) -> str:
    """Write the page.

    Args:
        judged: From `recon_cli.capabilities.calibrate.measures.judge`.
        people: Number of people in each nation.
    """
    asked = judged.filter(pl.col("ok").is_not_null())
    good = int(asked["ok"].sum())
    verdict = f"{good} of {len(asked)} values that have a bound are within it for every seed."
    named = ", ".join(map(str, seeds))
    head = _HEAD.format(people=people, seeds=named, version=__version__, verdict=verdict)
    parts = [head]
    for (title,), rows in judged.partition_by("measure", as_dict=True, maintain_order=True).items():
        parts.append(f"\n## {title}\n\n{_table(rows, seeds)}")
    return "".join(parts)


def _table(rows: pl.DataFrame, seeds: Sequence[int]) -> str:
    bounded = rows["bound"].is_not_null().any()
    names = ["", "published", *(f"seed {seed}" for seed in seeds), "off"]
    names += ["bound", "within"] if bounded else []
    body = []
    for row in rows.iter_rows(named=True):
        cells = [row["size"], _number(row["published"]), *map(_number, row["found"])]
        cells.append(_number(row["off"]))
        if bounded:
            cells += [_number(row["bound"]), {None: "", True: "yes", False: "**no**"}[row["ok"]]]
        body.append(cells)
    return markdown_table(names, body, text_columns=1)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"
