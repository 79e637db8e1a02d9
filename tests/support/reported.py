"""Work folders that tests of the report look at, each made once.

``python -m tests.support.reported docs/images/report.png`` takes the README's picture of one, and
``python -m tests.support.reported docs/images/reading.png`` that of how an office's sheet is read.
"""

from __future__ import annotations

import json
import sys
import tempfile
from functools import cache
from pathlib import Path

import polars as pl
from playwright.sync_api import FloatRect

from tests.support.browser import chromium, opened
from tests.support.command_line import recon
from tests.support.paths import ROOT


@cache
def toy(base: Path) -> Path:
    """The toy county, reconstructed and nothing else."""
    work = base / "toy"
    for stage in ("ingest", "reconstruct"):
        recon(stage, "-q", "-c", ROOT / "configs" / "toy.yaml", "--work", work)
    return work


@cache
def attacked(base: Path) -> Path:
    """The toy county with solvar, and linked with two attackers' files.

    The truth is another solution of the same tables, so that the run's own is wrong in places.
    """
    work = base / "attacked"
    shared = ("-q", "-c", ROOT / "configs" / "toy.yaml", "--work", work)
    recon("ingest", *shared)
    recon("reconstruct", *shared, "--set", "reconstruct.seed=7")
    people = pl.read_parquet(work / "microdata" / "**" / "*.parquet", hive_partitioning=False)
    truth = people.drop("certain").with_row_index("pik").cast({"pik": pl.String})
    truth.write_parquet(base / "truth.parquet")
    bought = truth.sample(fraction=0.6, seed=1).drop("race", "hispanic")
    bought.write_parquet(base / "bought.parquet")
    recon("reconstruct", *shared)
    recon("solvar", *shared, "--set", "solvar.intervals=propagation")
    link = {
        "cef": str(base / "truth.parquet"),
        "sources": {"rHDF_bt": "microdata"},
        "guessers": {
            "MDG": {"guess": "modal", "of": "CEF"},
            "PRG": {"guess": "proportional", "of": "CEF"},
            "PRG_loo": {"guess": "proportional", "of": "CEF", "leave_one_out": True},
        },
        "attackers": {"CEF_atkr": "cef", "COMRCL": str(base / "bought.parquet")},
    }
    recon("link", *shared, "--set", f"link={json.dumps(link)}")
    recon("score", *shared, "--set", "score.bootstrap=40", "--set", "score.compare=wp31995")
    return work


@cache
def clinic(base: Path) -> Path:
    """A release that is not a census."""
    work = base / "clinic"
    shared = ("-q", "-c", ROOT / "configs" / "clinic.yaml", "--work", work)
    for stage in ("ingest", "reconstruct"):
        recon(stage, *shared)
    quick = ("--set", "solvar.intervals=propagation", "--set", "solvar.unit_seconds=0.05")
    recon("solvar", *shared, *quick)
    return work


def write_report(work: Path, *more: str | Path) -> Path:
    """The report of a work folder; its page."""
    config = "clinic" if work.name == "clinic" else "toy"
    recon("report", "-q", "-c", ROOT / "configs" / f"{config}.yaml", "--work", work, *more)
    return work / "report" / "report.html"


#: Of the picture, in pixels.
_WIDTH = 1000


def main_picture(target: Path) -> None:
    """Take the picture of a report's top and its first chart, for the README."""
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        page = write_report(attacked(Path(folder)), "--title", "A synthetic county")
        with opened(browser, page, width=_WIDTH) as sight:
            hidden = "nav, section:has(#terms, #places), section > p, summary { display: none }"
            sight.page.add_style_tag(content=f"{hidden} h2 {{ margin-top: 3rem }}")
            figure = sight.page.locator("figure").first.bounding_box()
            assert figure is not None
            height = figure["y"] + figure["height"] + 32
            clip: FloatRect = {"x": 0, "y": 0, "width": _WIDTH, "height": height}
            sight.page.screenshot(path=target, full_page=True, clip=clip)


def reading_picture(target: Path) -> None:
    """Take the picture of an office's sheet as it was read, a sum pointed at, for its page."""
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        config = Path(folder) / "pupils.yaml"
        recon("init", ROOT / "fixtures" / "offices" / "schools.xlsx", "--to", config)
        page = config.with_name("pupils.reading.html")
        with opened(browser, page, width=_WIDTH + 200) as sight:
            sight.page.add_style_tag(
                content=".look .long, .look fieldset > div { max-height: 30rem !important }"
            )
            sight.page.locator("#s1r2").check()
            sight.page.locator("#s1").screenshot(path=target)


if __name__ == "__main__":
    taken = Path(sys.argv[1])
    (reading_picture if taken.stem == "reading" else main_picture)(taken)
