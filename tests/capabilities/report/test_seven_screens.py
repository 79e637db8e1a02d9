"""The first screens of seven kinds of release: no two figures, tiles or sentences disagree."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest
from playwright.sync_api import Browser

from tests.support.browser import needs_browser, opened
from tests.support.command_line import recon
from tests.support.seven_runs import HOSPITAL, RUNS, run_of, shown

#: Kind of release → how its verdict begins, whatever chance does.
VERDICTS = {
    "exact": "Yes, stays are given away: at least",
    "suppressed": "Yes, stays are given away: at least",
    "left-out": "Yes, stays are given away: at least",
    "noisy": "Unknown: the noise bounds no count",
    "audited": "Yes, protected counts are given away: 8 of 8",
    "attacked": "Yes, whole records are certain: at least",
}


@dataclass(frozen=True)
class Screen:
    """What a run says on its first screen and in the terminal, and where its data are.

    Attributes:
        kind: Of the release.
        config: Of the run.
        head: The page above its sections, stresses taken off.
        printed: What the run printed, spaces folded.
        shown: What `recon show` prints, likewise.
        status: What `recon status` prints, likewise.
    """

    kind: str
    config: Path
    head: str
    printed: str
    shown: str
    status: str

    @property
    def work(self) -> Path:
        return self.config.parent / "work"

    @property
    def verdict(self) -> str:
        return self.head.split("\n\n")[2]

    def read(self, folder: str) -> pl.DataFrame:
        return pl.read_parquet(self.work / folder / "**/*.parquet", hive_partitioning=False)

    def answer(self, question: str) -> str:
        found = re.search(rf"^- {question}\. (.*)$", self.head, re.MULTILINE)
        return found[1] if found else ""

    def tile(self, label: str) -> tuple[str, str, str] | None:
        """The rest of its label, its number and what stands below it."""
        line = rf"^- {label}(.*?): ([\d,]+|none)(?: \((.*)\))?$"
        found = re.search(line, self.head, re.MULTILINE)
        return None if found is None else (found[1], found[2], found[3] or "")


def folded(text: str) -> str:
    return " ".join(text.split())


@pytest.fixture(scope="module", params=sorted(RUNS))
def screen(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Screen:
    config, printed = run_of(request.param, tmp_path_factory.getbasetemp())
    page = (config.parent / "work" / "report" / "report.md").read_text()
    return Screen(
        kind=request.param,
        config=config,
        head=page.partition("## How to read")[0].replace("**", ""),
        printed=folded(printed),
        shown=folded(shown(config)),
        status=folded(recon("status", "-c", config).output),
    )


def number(text: str) -> int:
    return int(text.replace(",", ""))


def test_the_verdict_is_as_alarming_as_the_worst_tile(screen: Screen) -> None:
    alarms = [screen.tile("records proven certain"), screen.tile("protected counts recovered")]
    if any(tile is not None and number(tile[1]) for tile in alarms):
        assert screen.verdict.startswith(
            VERDICTS.get(screen.kind, "Yes, whole records are certain")
        )
    elif screen.kind == "rounded":  # by chance: some roundings leave no record certain
        assert screen.verdict.startswith("Not proven: no stay is known to be given away")
    else:
        assert screen.verdict.startswith(VERDICTS[screen.kind])
    assert f"headline {screen.verdict}" in screen.printed
    if screen.work.joinpath("audit").is_dir():
        recovered = screen.read("audit").filter(status="recovered").height
        tile = screen.tile("protected counts recovered")
        assert recovered == (0 if tile is None else number(tile[1]))
        assert f"recovered {recovered} " in screen.printed


def test_verified_cells_are_equal_only_where_they_are(screen: Screen) -> None:
    tile = screen.tile("published cells compared")
    if tile is None:
        assert screen.kind == "audited"
        return
    if screen.kind == "noisy":
        assert tile[1:] == ("none", "noise bounds none")
        assert "verified nothing to verify: noise bounds no count" in screen.printed
        return
    _, compared, words = tile
    told = {what: number(count) for count, what in re.findall(r"([\d,]*\d) (\w+)", words)}
    tables = screen.read("tables")
    is_exact = "low" not in tables.columns or (tables["low"] == tables["high"]).all()
    assert (words == "all equal") == is_exact
    assert is_exact or sum(told.values()) == number(compared)
    assert f"verified {compared} cells, {words}" in screen.printed
    assert f"{compared}, {words}" in folded(recon("verify", "-c", screen.config).stdout)


def test_a_number_of_certain_records_is_one_and_has_its_columns(screen: Screen) -> None:
    tile = screen.tile("records proven certain, with ")
    if tile is None:
        assert screen.kind == "audited"
        return
    columns, certain, _ = tile
    sentence = r"(\d+)(?: of [\d,]+)? stays?(?: \(.*?\))? (?:are|is) certain with all of (.*)\."
    said = re.search(sentence, screen.head)
    if said is not None:
        assert (said[1], said[2]) == (certain, columns)
    elif screen.work.joinpath("claims").is_dir():
        assert certain == "0"
        assert f"No record is proven certain with all of {columns}" in screen.head
    if certain == "0":
        assert "certain not proven of any of" in screen.shown
    else:
        assert f"certain at least {certain} of" in screen.shown
    assert f"with {columns}" in screen.shown
    assert re.search(rf"certain, at least \d+(?: \([\d.]+%\))?, with {columns}", screen.printed)


def test_places_and_records_are_counted_once(screen: Screen) -> None:
    listed = pl.col("geoid").str.contains(r"^[NS]\d$")  # N_ stands for those that are not
    hospitals = screen.read("geounits").filter(listed, level="hospital").height
    assert f"hospitals {hospitals} " in screen.printed
    assert set(re.findall(r"(\d+) hospitals", screen.status)) == {str(hospitals)}
    if screen.kind == "audited":
        return
    tile = screen.tile("hospitals with stays")
    assert tile is not None
    assert tile[1] == str(hospitals)
    assert f"hospitals {hospitals}, {hospitals} with stays" in screen.shown
    stays = screen.tile("stays")
    assert stays is not None
    assert number(stays[1]) == screen.read("microdata").height
    counted = stays[0] != " reconstructed"
    assert counted == (screen.kind not in {"rounded", "noisy"})
    assert ("the tables do not say how many" in screen.printed) == (not counted)
    assert (f"{stays[1]} stays reconstructed" in screen.status) == (not counted)


def test_a_share_needs_a_number_that_is_known(screen: Screen) -> None:
    """Of how many stays, only where the tables say how many there are."""
    if screen.kind not in {"rounded", "noisy"}:
        return
    for line in screen.head.splitlines():
        assert not re.search(r"\d of [\d,]+ stays|certain.*%", line), line
    assert not re.search(r"certain, at least [\d,]+ \(", screen.printed)
    if screen.kind == "rounded":
        unknown = r"stays \d+ reconstructed; the tables do not say how many"
        assert len(re.findall(unknown, screen.printed)) == 2  # reconstruct and claims


def test_protected_counts_were_what_they_are_called(screen: Screen) -> None:
    how = {"suppressed": "suppressed", "left-out": "left out", "audited": "suppressed"}
    if screen.kind in how:
        assert f"that were {how[screen.kind]} (100%) follow from the others" in screen.head
        recovered = screen.read("audit").filter(pl.col("status") == "recovered")
        zeros = int((recovered["greatest"] == 0).sum())
        assert zeros < recovered.height
        assert (f"; {zeros} are 0" in screen.head) == (zeros > 0)


@needs_browser
def test_nothing_is_wider_than_a_telephone(screen: Screen, browser: Browser) -> None:
    page = screen.work / "report" / "report.html"
    with opened(browser, page, width=390) as sight:
        assert sight.overflow() == 0


def test_advice_fits_the_law(screen: Screen) -> None:
    advice = screen.answer("What now")
    stronger = {
        "suppressed": "recon protect suppress",
        "left-out": "recon protect suppress",
        "audited": "recon protect suppress",
        "rounded": "recon protect round",
        "noisy": "recon protect noise",
    }
    for command in set(stronger.values()):
        assert (command in advice) == (stronger.get(screen.kind) == command)
    is_damage = screen.verdict.startswith("Yes") and screen.kind != "audited"
    assert ("recon contributions" in screen.head) == is_damage
    if screen.kind == "noisy":
        for stage in ("claims", "solvar"):
            assert (
                f"To get it: counts without noise, then `recon {stage}`"
                in (screen.work / "report" / "report.md").read_text()
            )
            refused = recon(stage, "-c", screen.config, code=4)
            assert "noise, which bounds none" in refused.stderr


def test_records_are_called_what_they_are(screen: Screen) -> None:
    for text in (screen.head, screen.printed, screen.shown, screen.status):
        assert not re.search(r"\b(people|persons?|everybody)\b", text), text


def test_pages_without_records_count_them_by_their_name(tmp_path: Path) -> None:
    config = tmp_path / "recon.yaml"
    config.write_text(
        f"release: {HOSPITAL}/stays.yaml\nwork: work\ncapacity:\nfrontier:\n"
        f"ingest: {{source: tidy, paths: [{HOSPITAL}/tables.csv]}}\n"
    )
    recon("run", "-q", "-c", config)
    for name in ("capacity", "frontier"):
        page = (tmp_path / "work" / name / f"{name}.md").read_text()
        assert "stays" in page
        found = re.search(r"\b(people|persons?|everybody)\b", page)
        assert found is None, page[found.start() - 80 : found.end() + 40]
