"""Seven runs of the hospital, one of each kind of release, made once.

``python -m tests.support.seven_runs FOLDER`` makes them and pictures of their first screens.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import polars as pl

from recon_cli.errors import StageError
from tests.support.browser import chromium, opened
from tests.support.command_line import recon
from tests.support.paths import ROOT

HOSPITAL = ROOT / "fixtures" / "hospital"
HOSPITALS = ("N1", "N2", "N3", "N4", "S1", "S2", "S3")
#: Of the windows that pictures are taken of, in pixels.
_WIDTH, _HEIGHT = 1280, 1300

_ATTACK = "claims: {unit_seconds: 0.5}\nreport: {places: 2}\n"
_STRATEGY = """\
strategy: stays
rho: 2
queries: {ages: AGES, payers: PAYERS}
levels:
  hospital: {share: 1/2, queries: {ages: 1/2, payers: 1/2}}
  region: {share: 1/2, queries: {ages: 1/2, payers: 1/2}}
"""


def _config(folder: Path, ingest: str, rest: str) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / "recon.yaml"
    path.write_text(
        f"release: {HOSPITAL}/stays.yaml\nwork: work\n"
        f"ingest: {{source: tidy, paths: [{ingest}]}}\n{rest}"
    )
    return path


def _protected(folder: Path, command: str, *settings: str) -> None:
    """Protect the stays in ``folder/office``."""
    folder.mkdir(exist_ok=True)
    office = folder / "office.yaml"
    office.write_text(f"release: {HOSPITAL}/stays.yaml\nwork: office\n")
    records = f"{command}.records={HOSPITAL}/stays.csv"
    arguments = [part for each in (records, *settings) for part in ("--set", each)]
    recon("protect", command, "-q", "-c", office, *arguments)


def _exact(folder: Path) -> Path:
    return _config(folder, f"{HOSPITAL}/tables.csv", f"reconstruct:\n{_ATTACK}")


def _suppressed(folder: Path) -> Path:
    tables = f"{HOSPITAL}/suppressed/tables.csv"
    return _config(folder, tables, f"reconstruct:\naudit: {{region_seconds: 0.5}}\n{_ATTACK}")


def _left_out(folder: Path) -> Path:
    """Small counts of diagnoses are left out, without a law that says so."""
    folder.mkdir(exist_ok=True)
    counts = pl.read_csv(HOSPITAL / "tables.csv", infer_schema=False)
    small = (pl.col("table") == "DIAGNOSES") & pl.col("count").cast(pl.Int64).is_between(1, 4)
    counts.filter(~small).write_csv(folder / "tables.csv")
    config = _config(
        folder, "tables.csv", f"reconstruct:\naudit: {{region_seconds: 0.5}}\n{_ATTACK}"
    )
    absent = "absent: {DIAGNOSES: unpublished}, source:"
    config.write_text(config.read_text().replace("source:", absent))
    return config


def _rounded(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "hospitals.csv").write_text("geoid_hospital\n" + "\n".join(HOSPITALS) + "\n")
    listed = f"round.geounits={folder}/hospitals.csv"
    _protected(folder, "round", "round.base=3", listed)
    return _config(
        folder, "office/rounded", f"reconstruct:\naudit: {{region_seconds: 0.5}}\n{_ATTACK}"
    )


def _noisy(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "strategy.yaml").write_text(_STRATEGY)
    strategy = f"noise.strategy={folder}/strategy.yaml"
    _protected(folder, "noise", strategy, "noise.units=exact")
    return _config(folder, "office/noisy", "reconstruct: {tables: [AGES, PAYERS]}\nreport:\n")


def _audited(folder: Path) -> Path:
    """The workflow of docs/protected.md."""
    return _config(folder, f"{HOSPITAL}/suppressed/tables.csv", "audit:\nreport:\n")


def _attacked(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    stays = pl.read_csv(HOSPITAL / "stays.csv").drop("name")
    stays.write_parquet(folder / "truth.parquet")
    known = stays.sample(fraction=0.5, seed=1).select("patient", "geoid_hospital", "sex", "age")
    known.write_csv(folder / "list.csv")
    attack = (
        "link: {cef: truth.parquet, id: patient, gains: [diagnosis], attackers: {LIST: list.csv}}\n"
        "score: {bootstrap: 40}\n"
    )
    return _config(folder, f"{HOSPITAL}/tables.csv", f"reconstruct:\n{attack}report:\n")


#: Kind of release → what writes its config into a folder.
RUNS: dict[str, Callable[[Path], Path]] = {
    "exact": _exact,
    "suppressed": _suppressed,
    "left-out": _left_out,
    "rounded": _rounded,
    "noisy": _noisy,
    "audited": _audited,
    "attacked": _attacked,
}


@cache
def run_of(kind: str, base: Path) -> tuple[Path, str]:
    """The config of a run that is done, and what it printed."""
    config = RUNS[kind](base / kind)
    return config, recon("run", "-c", config).stdout


def shown(config: Path) -> str:
    """What `recon show` says of the release; without records, that there are none."""
    has_records = (config.parent / "work" / "microdata").is_dir()
    return recon("show", "-c", config, code=0 if has_records else StageError.exit_code).output


def main(base: Path) -> None:
    """Make all of them, and a picture of each first screen."""
    base.mkdir(parents=True, exist_ok=True)
    with chromium() as browser:
        for kind in RUNS:
            config, printed = run_of(kind, base)
            said = printed + shown(config) + recon("status", "-c", config).output
            (base / f"{kind}.txt").write_text(said)
            page = config.parent / "work" / "report" / "report.html"
            with opened(browser, page, width=_WIDTH) as sight:
                sight.page.screenshot(
                    path=base / f"{kind}.png",
                    clip={"x": 0, "y": 0, "width": _WIDTH, "height": _HEIGHT},
                    full_page=True,
                )


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
