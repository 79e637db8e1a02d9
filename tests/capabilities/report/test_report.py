"""What a report claims, what it says is missing, and the files that it leaves."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from recon_cli.capabilities.findings.findings import (
    Findings,
    ReconstructionFindings,
    ScoreFindings,
    VariabilityFindings,
)
from recon_cli.capabilities.findings.proven import (
    Mode,
    add_up_sizes,
    proven_units,
    uniqueness_by_size,
)
from recon_cli.capabilities.report import REPORT
from recon_cli.capabilities.report.compose import compose_report
from recon_cli.capabilities.report.findings import gather_findings
from recon_cli.capabilities.report.headline import make_headline
from recon_cli.capabilities.report.stage import reportable
from recon_cli.config import load_config
from recon_cli.errors import StageError
from recon_cli.page.markup import to_text
from recon_cli.page.missing import Missing
from recon_cli.page.sizes import Sizes
from recon_cli.page.words import words_of
from recon_cli.pipeline.run import Run
from tests.support import reported
from tests.support.command_line import recon
from tests.support.paths import ROOT

SIZES = Sizes((1, 10, 50))


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.getbasetemp()


def findings_of(work: Path) -> Findings:
    name = "clinic" if work.name == "clinic" else "toy"
    config = load_config(ROOT / "configs" / f"{name}.yaml", work=work)
    run = Run(config, config.load_release())
    return gather_findings(run, tuple(reportable(work, besides=REPORT).values()))


def read(folder: Path) -> pl.DataFrame:
    return pl.read_parquet(folder / "**" / "*.parquet", hive_partitioning=False)


def unique(work: Path) -> int:
    """People in blocks that `recon reconstruct` proved to have one solution."""
    return int(read(work / "blocks").filter(status="unique")["population"].sum())


def headline(findings: Findings) -> str:
    found = make_headline(findings, words_of(findings.release))
    return to_text(" ".join([*found.sentences, *found.notes]))


def units() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "geoid_block": ["a", "b", "c", "d", "e", "f"],
            "population": [5, 20, 75, 0, 8, None],
            "status": ["unique", "solved", "solved", "unique", "open", "open"],
        },
        schema_overrides={"population": pl.Int32},
    )


def placed() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "geoid_block": ["a", "b", "c", "e", "f"],
            "placed": [5, 20, 75, 8, 4],
            "certain": [5, 12, 30, 0, 3],
        }
    )


def solvar() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "geoid_block": ["a", "b", "c", "d", "e", "f"],
            "solvar_pct": [0.0, 0.0, 10.0, 0.0, 0.0, None],
            "solvar_upper_pct": [0.0, 0.0, 20.0, 0.0, None, None],
            "certain_records": [5, 20, 28, 0, 0, None],
            "certain_upper": [5, 20, 30, 0, 4, None],
        }
    )


@pytest.mark.parametrize(
    ("variability", "mode", "expected"),
    [
        (None, None, {"one": 5, "several": 0, "undecided": 95, "open": 12}),
        (
            solvar(),
            "relaxed",
            {"one": 25, "several": 0, "undecided": 75, "open": 12},
        ),
        (solvar(), "exact", {"one": 25, "several": 75, "undecided": 0, "open": 12}),
    ],
)
def test_a_proof_counts_whoever_found_it(
    variability: pl.DataFrame | None, mode: Mode | None, expected: dict[str, int]
) -> None:
    proven = proven_units(units(), placed(), variability, None, mode)
    part = uniqueness_by_size(proven, SIZES, mode)
    whole = add_up_sizes([part, part], SIZES)
    assert whole["size"].to_list() == ["All", "1-9", "10-49", "50+"]
    row = whole.row(0, named=True)
    assert (row["units"], row["population"]) == (2 * 5, 2 * 112), "inhabited ones"
    found = {name.removesuffix("_population"): row[name] // 2 for name in row if "_pop" in name}
    assert found == expected
    assert row["certain"] // 2 == (50 if variability is None else 58), "in open units, too"
    assert row["certain_at_most"] // 2 == (63 if mode == "exact" else 112)
    assert row["certain_elsewhere"] == row["certain"] - 2 * (5 if mode is None else 25)


def test_the_headline_is_the_union_of_all_proofs(base: Path) -> None:
    work = reported.attacked(base)
    findings = findings_of(work)
    solvar, blocks = read(work / "solvar"), read(work / "blocks")
    zero = set(solvar.filter(pl.col("solvar_upper_pct") == 0)["geoid_block"])
    unique = set(blocks.filter(pl.col("status") == "unique")["geoid_block"])
    lived = blocks.filter(pl.col("geoid_block").is_in(list(zero | unique)))["population"].sum()
    assert f"At least {lived:,} of 2,015 people (" in headline(findings)
    assert "“At least”: each block was examined alone" in headline(findings)
    assert isinstance(findings.reconstruction, ReconstructionFindings)
    proven = read(work / "microdata")["certain"].sum()
    assert findings.reconstruction.whole["certain"] >= max(proven, solvar["certain_records"].sum())
    assert findings.reconstruction.whole["certain"] < 2015


def test_without_solvar_and_attackers(base: Path) -> None:
    findings = findings_of(reported.toy(base))
    text = headline(findings)
    assert f"At least {unique(reported.toy(base)):,} of 2,015 people (" in text
    assert "sex, age group, race and hispanic" in text
    assert "there is no solvar/ in the work folder. recon solvar looks for" in text
    document = compose_report(findings)
    gaps = {section.key: section.missing for section in document.sections if section.missing}
    assert gaps["variability"][0].commands == ("recon solvar",)
    assert gaps["attack"][0].commands == ("recon link", "recon score")
    assert [figure.name for figure in document.figures] == ["one-solution", "certain"]


def test_a_release_that_is_not_a_census_has_its_own_words(base: Path) -> None:
    document = compose_report(findings_of(reported.clinic(base)), "Clinics")
    *sections, provenance = document.sections  # the last names folders
    text = json.dumps([document.headline.sentences, document.terms, sections], default=str)
    assert "No clinic** is proven to have exactly one" in text
    assert "gender, age group, insurance, smoker and conditions" in text
    assert "“Proven”: each clinic" in " ".join(document.headline.notes)
    for word in ("block", "tract", "race", "hispanic", "county"):
        assert word not in text, word
    assert document.title == "Clinics"
    assert provenance.key == "provenance"


def test_a_schema_without_attack_counts_nobody_as_unique(base: Path, tmp_path: Path) -> None:
    """As every schema that `recon init` drafts."""
    known = (ROOT / "recon_cli/schema/releases/clinic_visits.yaml").read_text()
    schema = tmp_path / "clinic_visits.yaml"
    schema.write_text(re.sub(r"(?m)^attack:.*\n", "", known))
    work = tmp_path / "work"
    settings = ("--set", f"release={schema}", "--set", "solvar.unit_seconds=0.05")
    for stage in ("ingest", "reconstruct", "solvar", "report"):
        recon(stage, "-q", "-c", ROOT / "configs" / "clinic.yaml", "--work", work, *settings)
    page = (work / "report" / "report.md").read_text()
    assert "unique people | %" not in page
    assert "**Clinics without variability, certain records, by size**" in page
    assert "To get it: add `attack:` to the schema, then `recon run`." in page
    assert (
        "nobody was linked: the release's schema does not say by what. To get it: add `attack:` to "
        "the schema, `link:` with records and `score:` to the config, then `recon run`." in page
    )


def settled(findings: Findings, **changes: int) -> Findings:
    """As if an exact run had settled everything, with other sums."""
    found, variability = findings.reconstruction, findings.variability
    assert isinstance(found, ReconstructionFindings)
    assert isinstance(variability, VariabilityFindings)
    changes = {"undecided_units": 0, "open_units": 0, **changes}
    by_size = found.by_size.with_columns(pl.lit(v).alias(k) for k, v in changes.items())
    by_size = by_size.with_columns(certain_at_most="certain")
    return replace(
        findings,
        reconstruction=replace(found, by_size=by_size),
        variability=replace(variability, mode="exact"),
        scores=Missing("nobody was linked", ("recon link",)),
    )


@pytest.mark.parametrize(
    ("sums", "said", "not_said"),
    [
        ({"one_population": 700, "certain": 1900}, ["700 of 2,015 people (34.7%)"], ["least"]),
        ({"one_population": 0, "certain": 1}, ["No block has exactly", "1 record"], []),
        (
            {"one_population": 2015, "certain": 2015},
            ["All 2,015 people live", "Every record"],
            ["least", "proven"],
        ),
        ({"one_population": 0, "certain": 0}, ["No record", "appears in every"], ["proven"]),
    ],
)
def test_no_more_and_no_less_than_was_shown(
    base: Path, sums: dict[str, int], said: list[str], not_said: list[str]
) -> None:
    findings = settled(findings_of(reported.attacked(base)), **sums)
    text = headline(findings)
    assert all(words in text for words in said), text
    assert not any(words in text for words in not_said), text


@pytest.mark.parametrize(
    ("intervals", "why"),
    [("propagation", "only bounded how many alike records"), ("exact", "did not settle within")],
)
def test_bounded_intervals_leave_room_for_more_certain_records(
    base: Path, intervals: str, why: str
) -> None:
    findings = settled(findings_of(reported.attacked(base)), one_population=0, certain=0)
    found, variability = findings.reconstruction, findings.variability
    assert isinstance(found, ReconstructionFindings)
    assert isinstance(variability, VariabilityFindings)
    manifest = variability.manifest
    manifest = manifest.model_copy(update={"config": {**manifest.config, "intervals": intervals}})
    findings = replace(
        findings,
        reconstruction=replace(found, by_size=found.by_size.with_columns(certain_at_most=5)),
        variability=replace(variability, manifest=manifest),
    )
    text = headline(findings)
    assert "no whole record is proven certain" in text
    assert "is proven to appear in every reconstruction" in text
    assert why in text
    assert "No block has exactly one" in text


def test_nobody_is_called_all_where_nobody_was_counted(base: Path) -> None:
    findings = settled(findings_of(reported.attacked(base)), one_population=2015, certain=2015)
    found = findings.reconstruction
    assert isinstance(found, ReconstructionFindings)
    assert "records are certain: all 2,015." in headline(findings)
    text = headline(replace(findings, reconstruction=replace(found, uncounted=3)))
    assert "records are certain: at least 2,015." in text
    assert "All 2,015" not in text
    assert "Every record" not in text


def test_what_proofs_rest_on_is_said(base: Path) -> None:
    findings = findings_of(reported.toy(base))
    assert "structural zeros" not in headline(findings)
    found = findings.reconstruction
    assert isinstance(found, ReconstructionFindings)
    totals = {**found.manifest.totals, "unlisted": 2}
    found = replace(found, manifest=found.manifest.model_copy(update={"totals": totals}))
    rounded = ("rounded (base 3)",)
    text = headline(replace(findings, assumes_zeros=True, laws=rounded, reconstruction=found))
    assert "if the structural zeros that the schema assumes hold" in text
    assert "if the counts were published by: rounded (base 3)" in text
    assert (
        "Besides the blocks that are counted here 2 units stand for any that are not listed" in text
    )


def test_what_the_budget_left_open_is_said(base: Path) -> None:
    findings = settled(findings_of(reported.attacked(base)), undecided_units=2)
    assert isinstance(findings.variability, VariabilityFindings)
    manifest = findings.variability.manifest
    bounded = manifest.model_copy(update={"statuses": {"proven": manifest.totals["units"] - 2}})
    findings = replace(findings, variability=replace(findings.variability, manifest=bounded))
    assert "“At least”, because 2 blocks were not settled within the budget" in headline(findings)


def test_unknown_features_are_named(base: Path, tmp_path: Path) -> None:
    work = tmp_path / "toy"
    shutil.copytree(reported.toy(base), work)
    shared = ("-q", "-c", ROOT / "configs" / "toy.yaml", "--work", work)
    recon("reconstruct", *shared, "--tables", "P12,PCT12")
    text = headline(findings_of(work))
    assert "No block is proven to have exactly one" in text
    assert "The tables in use do not show race and hispanic" in text
    assert "No record (sex and age group)" in text


def test_precision_is_of_this_folders_records(base: Path) -> None:
    findings = findings_of(reported.attacked(base))
    scores = findings.scores
    assert isinstance(scores, ScoreFindings)
    assert scores.own == scores.reconstruction == "rHDF_bt"
    assert scores.usual_guessers == ("MDG", "PRG")
    rates = scores.rates.filter(
        table="table13_nonmodal", against="CEF_atkr", block_size="All", rate="precision"
    )
    values = dict(rates.select("source", "pct").iter_rows())
    best = max(values["MDG"], values["PRG"])
    text = headline(findings)
    assert f"{values['rHDF_bt']:.1f}% give the true race and hispanic" in text
    assert f"PRG, {best:.1f}%" in text
    everybody = scores.rates.filter(
        table="table12_all", against="CEF_atkr", block_size="All", rate="precision"
    )
    overall = dict(everybody.select("source", "pct").iter_rows())
    first = text.index(f"{overall['rHDF_bt']:.1f}% give the true")
    assert first < text.index("Of the links of people unlike most of their block")
    gain = scores.gains.filter(
        panel="all", against="CEF_atkr", source="rHDF_bt", guesser="MDG"
    ).row(0, named=True)
    assert gain["gain"] == pytest.approx(overall["rHDF_bt"] - overall["MDG"])
    assert gain["low"] < gain["gain"] < gain["high"]
    ends = f"{gain['low']:+.1f} and {gain['high']:+.1f}".replace("-", "\u2212")
    assert f"{gain['gain']:.1f} points more (between {ends})" in text


def test_a_gain_that_may_be_chance_or_is_a_loss_is_called_so(base: Path) -> None:
    findings = findings_of(reported.attacked(base))
    scores = findings.scores
    assert isinstance(scores, ScoreFindings)

    def told(gain: float, low: float, high: float) -> str:
        numbers = {"gain": gain, "low": low, "high": high}
        gains = scores.gains.with_columns(pl.lit(v).alias(k) for k, v in numbers.items())
        return headline(replace(findings, scores=replace(scores, gains=gains)))

    assert "4.1 points more (between \u22122.0 and +9.0), which may be chance" in told(4.1, -2, 9)
    assert "7.7 points fewer (between \u22129.0 and \u22125.0), so guessing" in told(-7.7, -9, -5)
    nothing = scores.gains.with_columns(withheld=pl.lit(value=True))
    quiet = headline(replace(findings, scores=replace(scores, gains=nothing)))
    assert "guesser" not in quiet


def test_every_drawn_number_stands_in_a_table(base: Path) -> None:
    for work in (reported.attacked(base), reported.clinic(base)):
        for figure in compose_report(findings_of(work)).figures:
            cells = {cell for sheet in figure.sheets for row in sheet.rows for cell in row}
            shown = {text.removesuffix("%") for text in figure.chart.texts}
            assert shown, figure.name
            assert shown <= cells, (figure.name, shown - cells)
            assert len(figure.alt) > 100


def test_no_place_and_no_person_is_in_it_where_none_is_wanted(base: Path) -> None:
    work = reported.attacked(base)
    page = reported.write_report(work, "--set", "report.places=0")
    assert not list(page.parent.glob("place-*"))
    geoids = set(read(work / "blocks")["geoid_block"])
    geoids |= {geoid[:11] for geoid in geoids}
    for path in (page, page.with_suffix(".md"), page.parent / "_manifest.json"):
        text = path.read_text()
        assert not [geoid for geoid in geoids if geoid in text]


def test_the_files(base: Path, tmp_path: Path) -> None:
    work = tmp_path / "toy"
    shutil.copytree(reported.toy(base), work, ignore=shutil.ignore_patterns("report"))
    shared = ("-c", ROOT / "configs" / "toy.yaml", "--work", work)
    said = recon("report", *shared, "--title", "Two <tables>", "--to", tmp_path / "out.html").output
    assert f"At least {unique(work):,} of 2,015 people" in " ".join(said.split())
    assert "out.html" in said.replace("\n", "")
    folder = work / "report"
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    charts = {"chart-one-solution.svg", "chart-certain.svg"}
    worst = [name for name in files if name.startswith("place-")]
    inhabited = read(work / "blocks").filter(pl.col("population") > 0).height
    assert len(worst) == inhabited == 41, "certain records in every one of them"
    assert set(files) == {"_manifest.json", "report.html", "report.md", *charts, *worst}
    assert (tmp_path / "out.html").read_bytes() == files["report.html"]

    html = files["report.html"].decode()
    assert "<h1>Two &lt;tables&gt;</h1>" in html
    assert "default-src 'none'" in html
    assert len(html) < 200_000
    assert "{{" not in html
    assert set(re.findall(r"https?://[^\"]*", html)) == {"http://www.w3.org/2000/svg"}
    assert set(re.findall(r"(?:src|href)=[\"'](?!data:|#)(.*?)[\"']", html)) == set(worst)

    markdown = files["report.md"].decode()
    assert markdown.startswith("# Two &lt;tables>\n")
    for chart in re.findall(r"\]\((.*?)\)", markdown):
        assert chart in files
    tables = [line for line in markdown.splitlines() if line.startswith("|")]
    assert len(tables) > 20
    assert "(chart-certain.svg)" in files["report.md"].decode()
    assert files["chart-certain.svg"].startswith(b"<svg")

    assert "up to date" in recon("report", *shared, "--title", "Two <tables>").output
    made = []
    for more in ((), ("--force",)):
        recon("report", *shared, "--set", "report.places=2", *more)
        made.append({path.name: path.read_bytes() for path in folder.iterdir()})
    assert made[0] == made[1]
    assert len(made[0]) == len(files) - 39


def test_what_changed_since_is_not_reported(base: Path, tmp_path: Path) -> None:
    work = tmp_path / "toy"
    shutil.copytree(reported.attacked(base), work, ignore=shutil.ignore_patterns("report"))
    shared = ("-q", "-c", ROOT / "configs" / "toy.yaml", "--work", work)
    recon("reconstruct", *shared, "--set", "reconstruct.seed=3")
    findings = findings_of(work)
    assert isinstance(findings.variability, Missing)
    assert "other microdata/" in findings.variability.why
    assert isinstance(findings.scores, ScoreFindings)
    assert findings.scores.own is None, "what was linked is not what is there"
    recon("solvar", *shared, "--set", "solvar.intervals=propagation")
    findings = findings_of(work)
    assert isinstance(findings.scores, Missing)
    assert "solvar/ changed after score/" in findings.scores.why


def test_stages_come_in_the_order_they_were_made_or_not_at_all(base: Path, tmp_path: Path) -> None:
    made = reported.clinic(base)
    stages = [manifest.stage for manifest in reportable(made, besides=REPORT).values()]
    assert stages == ["ingest", "reconstruct", "solvar"]
    work = Path(shutil.copytree(made, tmp_path / "clinic"))
    (work / "certainty" / "_manifest.json").write_text("{}")
    with pytest.raises(StageError, match=r"certainty/_manifest\.json is damaged"):
        reportable(work, besides=REPORT)


def test_nothing_to_report(tmp_path: Path) -> None:
    shared = ("-c", ROOT / "configs" / "toy.yaml", "--work", tmp_path / "none")
    said = " ".join(recon("report", *shared, code=5).output.split())
    assert "nothing to report in" in said
    assert "recon reconstruct" in said
    assert not (tmp_path / "none" / "report").exists()


def test_tables_alone_claim_nothing(tmp_path: Path) -> None:
    work = tmp_path / "toy"
    recon("ingest", "-q", "-c", ROOT / "configs" / "toy.yaml", "--work", work)
    findings = findings_of(work)
    assert headline(findings).startswith("Unknown: nothing here says whether people are given")
    document = compose_report(findings)
    assert document.figures == ()
    assert [section.key for section in document.sections if not section.missing] == ["provenance"]
    page = reported.write_report(work).read_text()
    assert "Unknown" in page
    assert "<svg" not in page, "no charts"
