"""The first screen: a verdict that never says safe, and what somebody who decides asks next."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from recon_cli.capabilities.findings.findings import ClaimFindings, Findings, Rule
from recon_cli.capabilities.report import REPORT
from recon_cli.capabilities.report.compose import compose_report
from recon_cli.capabilities.report.findings import gather_findings
from recon_cli.capabilities.report.stage import reportable
from recon_cli.config import load_config
from recon_cli.page.document import ReportDocument
from recon_cli.page.markup import to_text
from recon_cli.pipeline.run import Run
from tests.support.command_line import recon
from tests.support.paths import ROOT

HOSPITAL = ROOT / "fixtures" / "hospital"


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The hospital, reconstructed, with claims and a report."""
    path = tmp_path_factory.mktemp("first") / "recon.yaml"
    path.write_text(
        f"release: {HOSPITAL}/stays.yaml\nwork: work\n"
        f"ingest: {{source: tidy, paths: [{HOSPITAL}/tables.csv]}}\n"
        "reconstruct:\nclaims: {unit_seconds: 0.5}\nreport: {places: 2}\n"
    )
    recon("run", "-q", "-c", path)
    return path


def findings_of(config: Path) -> Findings:
    loaded = load_config(config)
    run = Run(loaded, loaded.load_release())
    return gather_findings(run, tuple(reportable(run.work, besides=REPORT).values()))


def read(folder: Path) -> pl.DataFrame:
    return pl.read_parquet(folder / "**" / "*.parquet", hive_partitioning=False)


def verdict(document: ReportDocument) -> str:
    return to_text(document.headline.sentences[0])


def rule(document: ReportDocument) -> str:
    return next(answer.text for answer in document.answers if answer.question == "Rule")


def test_the_verdict_follows_the_rule(config: Path) -> None:
    findings = findings_of(config)
    assert isinstance(findings.claims, ClaimFindings)
    most = (
        read(config.parent / "work" / "disclosures")
        .group_by("geoid_hospital")
        .agg(pl.col("identity", "attribute").max())
    )
    for kind in ("identity", "attribute"):
        found = verdict(compose_report(replace(findings, rule=Rule(kind))))
        assert found.startswith(f"Yes, stays are given away: at least {most[kind].sum()} of 500")
    tolerant = compose_report(replace(findings, rule=Rule("attribute", 90.0)))
    assert verdict(tolerant).startswith("Not proven to be more than the rule tolerates")
    assert "up to 90% of the stays" in rule(tolerant)


def test_certain_records_alarm_though_no_column_settles_another(config: Path) -> None:
    findings = findings_of(config)
    assert isinstance(findings.claims, ClaimFindings)
    claims = findings.claims
    claims = replace(claims, by_known=claims.by_known.clear(), whole=4, alone=3)
    document = compose_report(replace(findings, claims=claims, rule=Rule("identity")))
    assert verdict(document) == (
        "Yes, whole records are certain: at least 4 of 500 (0.8%); at least 3 people are alone "
        "with these values."
    )
    assert "or, where there are none, whose whole record is certain" in rule(document)


def test_what_is_not_proven_is_not_called_safe(config: Path) -> None:
    findings = findings_of(config)
    assert isinstance(findings.claims, ClaimFindings)
    nobody = replace(findings.claims, by_known=findings.claims.by_known.clear(), whole=0)
    document = compose_report(replace(findings, claims=nobody))
    assert verdict(document).startswith("Not proven: no stay is known to be given away, on these")
    said = json.dumps([document.headline.sentences, document.answers], default=str).lower()
    assert "unknown, not safe" in said
    assert said.count("safe") == 1


def test_the_worst_places_are_named_and_have_pages(config: Path) -> None:
    work = config.parent / "work"
    most = (
        read(work / "disclosures")
        .group_by("geoid_hospital")
        .agg(pl.col("attribute").max())
        .sort("attribute", descending=True)
    )
    markdown = (work / "report" / "report.md").read_text()
    for name, people in most.head(2).iter_rows():
        assert f"[hospital {name}](place-{name}.html): {people} of" in markdown
        assert markdown.count(f"hospital {name}]") == 1
        assert f"Hospital {name}" in (work / "report" / f"place-{name}.html").read_text()
    assert f"place-{most['geoid_hospital'][2]}.html" not in markdown
    assert "from `tables.csv`" in markdown


def test_show_and_report_agree_on_what_is_certain(config: Path) -> None:
    found = findings_of(config).reconstruction
    shown = " ".join(recon("show", "-c", config).output.split())
    certain = found.whole["certain"]  # type: ignore[union-attr]
    assert f"certain at least {certain} of 500 records" in shown
    flagged = read(config.parent / "work" / "microdata")["certain"].sum()
    assert certain > flagged, "claims prove more than arithmetic"
    units = []
    for name in ("N1", "N2", "N3", "N4", "S1", "S2", "S3"):
        said = recon("show", name, "-c", config, "--why", "none").output.split("certain ")[1]
        none = said.lstrip().startswith("not proven of any of")
        units.append(0 if none else int(said.replace("at least", "").split()[0]))
    assert sum(units) == certain


def test_a_hospital_reads_no_words_of_a_census(config: Path) -> None:
    text = (config.parent / "work" / "report" / "report.md").read_text()
    text = text.split("## Provenance")[0].replace("`recon solvar`", "").replace(" solvar/", "")
    for word in ("CEF", "MDG", "PRG", "solvar", "Table 6", "Eq. 4", "block", "tract"):
        assert word not in text, word


def test_places_are_named_beside_their_codes(tmp_path: Path) -> None:
    (tmp_path / "names.csv").write_text("geoid,name\nN4,Moor Cottage\nN,North\nS,\n")
    config = tmp_path / "recon.yaml"
    config.write_text(
        f"release: {HOSPITAL / 'stays.yaml'}\nwork: work\nreport: {{places: 7}}\n"
        f"ingest: {{source: tidy, paths: [{HOSPITAL / 'tables.csv'}], names: names.csv}}\n"
        "reconstruct:\n"
    )
    recon("run", "-c", config)
    page = (tmp_path / "work/report/report.md").read_text()
    assert "| Moor Cottage |" in page
    place = (tmp_path / "work/report/place-N4.html").read_text()
    assert "<small>Moor Cottage</small>" in place
    assert "region N (North)" in place
    assert "hospital N4 (Moor Cottage)" in recon("show", "N4", "-c", config).output
    assert recon("show", "moor cottage", "-c", config).output.startswith("hospital N4 (Moor")
    near = recon("show", "Moor Cotage", "-c", config, code=2).stderr
    assert "no place is called 'Moor Cotage' (near it: Moor Cottage)" in near
    top = recon("show", "-c", config).output
    assert re.search(r"N +North +321", top)
    (tmp_path / "names.csv").write_text("geoid,name\nN4,Moor\nN4,Cottage\n")
    twice = recon("ingest", "-c", config, code=4)
    assert "names.csv: geoid N4 has two names" in twice.output


def test_where_only_counts_were_audited_places_have_pages_too(tmp_path: Path) -> None:
    config = tmp_path / "recon.yaml"
    config.write_text(
        f"release: {HOSPITAL / 'stays.yaml'}\nwork: work\naudit:\nreport:\n"
        f"ingest: {{source: tidy, paths: [{HOSPITAL / 'suppressed' / 'tables.csv'}]}}\n"
    )
    recon("run", "-c", config)
    report = tmp_path / "work" / "report"
    audit = read(tmp_path / "work" / "audit").filter(status="recovered")
    places = {f"place-{geoid}.html" for geoid in audit["geoid"]}
    assert {path.name for path in report.glob("place-*.html")} == places
    html = (report / "report.html").read_text()
    assert set(re.findall(r'href="(place-.*?)"', html)) == places
    one = audit.row(0, named=True)
    page = (report / f"place-{one['geoid']}.html").read_text()
    here = audit.filter(geoid=one["geoid"])
    assert page.count('<td class="short">somebody') == (here["greatest"] > 0).sum() > 0
    assert page.count('<td class="short">nobody') == (here["greatest"] == 0).sum()
    assert "No stays were examined" in page
    shown = recon("show", one["geoid"], "-c", config).output
    assert f"recovered {one['table']} {one['cell']}" in shown
    recon("report", "-q", "-c", config, "--set", "report.places=0")
    assert list(report.glob("place-*")) == []
    sums = (report / "report.md").read_text()
    assert "8 of 8" in sums
    assert "names no place" in sums
    geoids = read(tmp_path / "work" / "geounits").filter(level="hospital")["geoid"]
    assert not [geoid for geoid in geoids if re.search(rf"\b{geoid}\b", sums)]


def test_every_word_that_is_a_link_is_in_the_glossary(config: Path) -> None:
    for html in (config.parent / "work" / "report").glob("*.html"):
        text = html.read_text()
        linked = set(re.findall(r'href="#(.*?)"', text))
        assert linked <= set(re.findall(r'id="(.*?)"', text)), html
        assert "[[" not in text
    assert "[[" not in (config.parent / "work" / "report" / "report.md").read_text()
    assert 'href="#term-rule"' in (config.parent / "work/report/report.html").read_text()
