"""The Python face: frames of pandas, examples everywhere, and representations that fit a screen."""

from __future__ import annotations

import doctest
import inspect
from pathlib import Path

import pandas as pd
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import recon_cli as recon
from recon_cli.api.door import as_polars
from recon_cli.config.model import Section
from recon_cli.config.sections import SECTIONS
from recon_cli.errors import ConfigError
from tests.capabilities.noise.test_protect_noise import STRATEGY
from tests.support.paths import ROOT

RELEASE = recon.load_release("clinic_visits")
PATIENTS = recon.example_patients()
FUNCTIONS = [name for name in recon.__all__ if inspect.isfunction(getattr(recon, name))]


def as_pandas(frame: pl.DataFrame) -> pd.DataFrame:
    return pd.DataFrame(frame.to_dict(as_series=False))


def test_frames_of_pandas_give_what_frames_of_polars_give() -> None:
    counts = recon.tabulate(RELEASE, PATIENTS)
    assert_frame_equal(counts, recon.tabulate(RELEASE, as_pandas(PATIENTS)))
    published = recon.publish(RELEASE, as_pandas(counts))
    assert_frame_equal(published.counts, recon.publish(RELEASE, counts).counts)
    found = recon.reconstruct(RELEASE, published, seed=2).microdata
    assert recon.verify(RELEASE, published, as_pandas(found)).ok
    truth = PATIENTS.with_columns(pik=pl.Series(["a", "b", "c", "d"]))
    linked = recon.link(RELEASE, as_pandas(truth), {"rHDF": as_pandas(found)}, seed=1)
    expected = recon.link(RELEASE, truth, {"rHDF": found}, seed=1)
    assert_frame_equal(linked.links, expected.links)


def test_missing_values_and_whole_numbers_survive() -> None:
    given = pd.DataFrame(
        {
            "text": ["a", None],
            "whole": [3, None],
            "real": [0.5, None],
            "flag": pd.array([True, None], dtype="boolean"),
            "kind": pd.Categorical(["x", "y"]),
            7: [1, 2],
        }
    )
    expected = pl.DataFrame(
        {
            "text": ["a", None],
            "whole": [3, None],
            "real": [0.5, None],
            "flag": [True, None],
            "kind": ["x", "y"],
            "7": [1, 2],
        }
    )
    assert_frame_equal(as_polars(given), expected)
    assert as_polars(given["whole"]).to_list() == [3, None]
    assert as_polars([given])[0].equals(expected)


def test_what_is_no_frame_passes_the_door_unchanged() -> None:
    for value in (PATIENTS, RELEASE, "a", ["a"], {"a": PATIENTS}, None):
        assert as_polars(value) is value


def test_the_names_of_the_module_are_the_api_alone() -> None:
    assert dir(recon) == sorted({*recon.__all__, "__version__", "options", "risk"})
    for name in dir(recon):
        assert getattr(recon, name) is not None


@pytest.mark.parametrize(
    "name", [each for each in FUNCTIONS if hasattr(getattr(recon, each).__wrapped__, "__wrapped__")]
)
def test_examples_run_of_functions_that_are_made_from_a_section(name: str) -> None:
    """Of others `pytest --doctest-modules` finds them."""
    text = inspect.getdoc(getattr(recon, name)) or ""
    example = doctest.DocTestParser().get_doctest(text, {}, name, None, None)
    report: list[str] = []
    doctest.DocTestRunner().run(example, out=report.append)
    assert not report, "".join(report)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_public_function_has_an_example_and_is_documented(name: str) -> None:
    documented = inspect.getdoc(getattr(recon, name)) or ""
    assert ">>> " in documented, "its docstring has no example"
    assert f".. autofunction:: {name}\n" in (ROOT / "docs" / "python.md").read_text()


def test_every_section_is_an_option() -> None:
    assert len(dir(recon.options)) == len(SECTIONS)
    for name in dir(recon.options):
        assert getattr(recon.options, name) in SECTIONS.values()
    with pytest.raises(AttributeError, match=r"no section 'Bound' \(sections: Account, "):
        _ = recon.options.Bound


def test_representations_fit_a_screen(tmp_path: Path) -> None:
    census = recon.load_release("sf1_2010")
    toy = ROOT / "fixtures" / "toy2010.sf1.zip"
    published = recon.read_published(census, [toy], source="sf1-legacy")
    found = recon.reconstruct(census, published, tables="block", seed=1)
    counts = recon.publish(RELEASE, recon.tabulate(RELEASE, PATIENTS))
    records = recon.reconstruct(RELEASE, counts).microdata
    truth = PATIENTS.with_columns(pik=pl.Series(["a", "b", "c", "d"]))
    shown = {
        repr(each)
        for each in (
            *(census, published, found, recon.FileMapping(), recon.KeyedChance.secret()),
            recon.verify(census, published, found.microdata, tables="block"),
            recon.measure_variability(RELEASE, counts, records),
            recon.find_claims(RELEASE, counts, records),
            recon.link(RELEASE, truth, {"rHDF": records}),
            recon.protect(RELEASE, PATIENTS, recon.options.Suppress()),
            recon.WorkFolder(tmp_path, RELEASE),
            recon.options.Report(),
            recon.options.Round(base=5),
        )
    }
    assert {text for text in shown if text.count("\n") > 12 or len(text) > 600} == set()
    assert "<Linkage: links 16 × 11>" in shown
    assert "<Variability: units 1 × 9, intervals 6 × 9, regions 0 × 6>" in shown
    assert f"<WorkFolder {tmp_path}: nothing in it>" in shown


def test_a_run_in_python_makes_what_the_command_makes(tmp_path: Path) -> None:
    read = recon.options.Ingest(source="tidy", paths=(ROOT / "fixtures" / "clinic_visits.csv",))
    work = recon.run(RELEASE, tmp_path / "a", read, recon.options.Reconstruct(), seed=1)
    other = recon.run_config(ROOT / "configs" / "clinic.yaml", work=tmp_path / "b")
    assert set(work.folders) <= set(other.folders)
    assert_frame_equal(work.frame("microdata"), other.frame("microdata"))
    page = recon.report(other)
    assert "<html" in page.page.read_text()
    assert page.charts
    assert all(chart.svg.startswith("<svg") for chart in page.charts.values())
    with pytest.raises(ConfigError, match="no stage publishes a folder 'none'"):
        work.frame("none")


def test_what_is_up_to_date_is_not_run_again(tmp_path: Path) -> None:
    rounded = recon.options.Round(base=5)
    first = recon.run(RELEASE, tmp_path, rounded, records=PATIENTS).frame("rounded")
    again = recon.run(RELEASE, tmp_path, rounded, records=PATIENTS).frame("rounded")
    assert_frame_equal(first, again)
    assert not list(tmp_path.rglob("*records*")), "the records are left behind"


@pytest.mark.parametrize(
    "method",
    [
        recon.options.Round(base=5, study_seed=1),
        recon.options.Suppress(below=3),
        recon.options.Cellkey(study_seed=1),
    ],
    ids=lambda method: type(method).__name__,
)
def test_protected_counts_can_be_attacked(method: Section) -> None:
    protected = recon.protect(RELEASE, PATIENTS, method)
    assert protected.published is not None
    assert protected.accuracy is not None
    audit = recon.audit_counts(RELEASE, protected.published, tables=("PATIENTS",))
    true = recon.tabulate(RELEASE, PATIENTS).filter(table="PATIENTS")
    held = audit.join(true, on=["geoid", "table", "cell"], how="left").with_columns(
        pl.col("count").fill_null(0)
    )
    assert held.height
    assert held.select(pl.col("count").is_between("least", "greatest").all()).item()


def test_noise_is_published_with_its_law(tmp_path: Path) -> None:
    (tmp_path / "strategy.yaml").write_text(STRATEGY)
    strategy = str(tmp_path / "strategy.yaml")
    method = recon.options.Noise(strategy=strategy, units="exact", study_seed=1)
    protected = recon.protect(RELEASE, PATIENTS, method)
    assert protected.published is not None
    assert not protected.published.is_exact


def test_what_protects_nothing_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"Report is no protection \(swap, round, "):
        recon.protect(RELEASE, PATIENTS, recon.options.Report())


def test_an_open_question_is_an_error_with_what_answers_it(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("ward,n\nNorth,4\nSouth,1\n")
    with pytest.raises(ConfigError):
        recon.draft(tmp_path / "t.csv", to=tmp_path / "recon.yaml")
    with pytest.raises(ConfigError, match="No such option"):
        recon.draft(tmp_path / "t.csv", to=tmp_path / "recon.yaml", plaice="ward")
