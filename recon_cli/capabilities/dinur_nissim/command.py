"""``recon lab dinur-nissim``."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import click
import polars as pl
import polars.selectors as cs

from recon_cli.capabilities.dinur_nissim import presets
from recon_cli.capabilities.dinur_nissim.page import compose_experiment, compose_one_sum
from recon_cli.capabilities.dinur_nissim.presets import Experiment, Setting
from recon_cli.capabilities.dinur_nissim.subset_sums import AnswerNoise, Kind
from recon_cli.console.options import GivenPath
from recon_cli.console.output import show, show_table
from recon_cli.errors import ConfigError
from recon_cli.page.document import ReportDocument
from recon_cli.page.html import report_files
from recon_cli.spreadsheet import csv_bytes
from recon_cli.store.files import disk, make_folder, write_bytes

PAGE = "dinur-nissim.html"
_ONE_SUM = "5-6"


@click.command()
@click.option("--bits", type=click.IntRange(min=2), default=100, help="Secret bits.  [100]")
@click.option(
    "--queries",
    default="1x,2x,5x,10x",
    metavar="LIST",
    help="Numbers of sums, or multiples of the number of bits: 50,1x,20x.",
)
@click.option(
    "--noise",
    "noises",
    multiple=True,
    default=("none",),
    metavar="KIND[:SIZE]",
    help="Noise of each answer: none, gaussian:SD, laplace:EPSILON, bounded:MOST. Repeatable. "
    " [none]",
)
@click.option(
    "--decoder",
    type=click.Choice(["auto", "least-squares", "least-absolute", "feasible"]),
    default="auto",
    help="Decoder for all answers; auto: by the kind of noise.  [auto]",
)
@click.option(
    "--design",
    type=click.Choice(["random", "m-sequence"]),
    default="random",
    help="Random subsets, or shifts of a maximal sequence of 2ᵏ − 1 bits.  [random]",
)
@click.option(
    "--figure",
    type=click.Choice(["4-1", "4-2", "4-3", "4-4", "5-6", "5-7"]),
    help="A published experiment, in place of the options above.",
)
@click.option(
    "--trials",
    type=click.IntRange(min=1),
    help="Trials of each setting.  [10; with --figure as published]",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, help="Seed of everything.  [0]")
@click.option(
    "--to",
    type=GivenPath(file_okay=False),
    default=Path("dinur-nissim"),
    help="Folder for the results and a page.  [dinur-nissim]",
)
def command(
    *,
    bits: int,
    queries: str,
    noises: tuple[str, ...],
    decoder: str,
    design: str,
    figure: str | None,
    trials: int | None,
    seed: int,
    to: Path,
) -> None:
    """Reconstruct random bits from noisy sums of random subsets.

    Compares simulation with closed form and bounds, for any numbers of bits and sums, or as in a
    figure of JASON's report JSR-19-2F. Writes results.csv and a page.

    Example:
      recon lab dinur-nissim --bits 200 --queries 1x,4x,16x --noise laplace:0.5
      recon lab dinur-nissim --figure 5-7 --trials 1
    """
    if figure == _ONE_SUM:
        results = presets.one_sum(trials or 1000, seed)
        _write(to, results, compose_one_sum(results))
        return
    try:
        asked = (bits, queries, noises, decoder, design)
        experiment = presets.FIGURES[figure] if figure else _asked(*asked)
    except ValueError as error:
        raise ConfigError(str(error)) from error
    with disk(to):  # before the work, not after
        make_folder(to)
    found = presets.run_experiment(experiment, trials or experiment.trials, seed)
    results = pl.concat(list(found), how="vertical_relaxed")
    _write(to, results, compose_experiment(experiment.title, results))


def _write(to: Path, results: pl.DataFrame, document: ReportDocument) -> None:

    write_bytes(to / "results.csv", csv_bytes(results))
    for name, data in report_files(document, PAGE).items():
        write_bytes(to / name, data)
    shown = ["bits", "queries", "noise", "parameter", "epsilon", "mean", "closed_form"]
    frame = results.select([name for name in shown if name in results.columns])
    frame = frame.with_columns(cs.float().round_sig_figs(4).cast(str))
    show_table(frame, [name.replace("_", " ") for name in frame.columns])
    show("dinur-nissim: done", [("page", str(to / PAGE))])


def _asked(
    bits: int, queries: str, noises: tuple[str, ...], decoder: str, design: str
) -> Experiment:

    chosen = tuple(_noise(text) for text in noises)
    settings = tuple(Setting(bits, m, chosen) for m in _numbers(queries, bits))
    return Experiment("Bits from subset sums", settings, 10, decoder, design)  # type: ignore[arg-type]


def _numbers(text: str, bits: int) -> list[int]:
    found = []
    for part in text.split(","):
        times, is_multiple = part.strip().removesuffix("x"), part.strip().endswith("x")
        try:
            value = round(float(times) * bits) if is_multiple else int(times)
        except (ValueError, OverflowError):  # infinite
            raise ValueError(f"--queries {part!r}: a number, or 5x, is expected") from None
        if value < 1:
            raise ValueError(f"--queries {part!r}: at least one query is expected")
        found.append(value)
    return found


def _noise(text: str) -> AnswerNoise:

    kind, _, size = text.partition(":")
    if kind not in get_args(Kind):
        raise ValueError(f"--noise {text!r}: one of {', '.join(get_args(Kind))} is expected")
    try:
        return AnswerNoise(kind, float(size or 0))  # type: ignore[arg-type]
    except ValueError as error:
        raise ValueError(f"--noise {text!r}: {error}") from None
