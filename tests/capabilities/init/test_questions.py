"""What `recon init` refuses by row, and what it asks."""

from __future__ import annotations

import shlex
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import yaml
from click.testing import CliRunner

from recon_cli.api.drafts import draft
from recon_cli.cli import main
from recon_cli.errors import ConfigError
from recon_cli.schema import load_release
from recon_cli.sources.formats.vocabulary import is_total
from tests.support.command_line import recon

ROWS = ["Oak,31,14,17", "Elm,25,13,12", "Ash,40,22,18", "Yew,12,5,7"]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def office(*rows: str, header: str = "School,All pupils,Boys,Girls") -> None:
    Path("office.csv").write_text("\n".join([header, *rows, ""]))


@pytest.mark.parametrize("wrong", ["-3", "2.5", "14%"])
def test_one_number_that_is_no_count_is_told_by_row(wrong: str) -> None:
    office(*ROWS[:2], f"Ash,40,{wrong},18", ROWS[3])
    refused = " ".join(recon("init", "office.csv", code=4).stderr.split())
    assert f"office.csv: row 4, column Boys: '{wrong}' is no count" in refused
    assert "recon init --leave-out Boys" in refused
    assert not Path("recon.yaml").exists()


@pytest.mark.parametrize("at", [0, 2, 3])
def test_a_quote_that_is_not_closed_is_refused_by_row(at: int) -> None:
    office(*ROWS[:at], f'"{ROWS[at]}', *ROWS[at + 1 :])
    refused = recon("init", "office.csv", code=4).stderr
    assert refused == f"error: office.csv: row {at + 2}: a quote is opened and not closed\n"


def test_a_row_with_more_fields_than_the_header_is_refused() -> None:
    office(*ROWS[:2], f"{ROWS[2]},88", ROWS[3])
    refused = recon("init", "office.csv", code=4).stderr
    assert "row 4, column 5: '88' in a column that has no header" in refused


def test_the_draft_of_a_law_is_named() -> None:
    office(*ROWS[:2], "Ash,40,c,c", ROWS[3])
    shown = recon("init", "office.csv", "--to", "audit.yaml").stdout
    assert "law       audit.protection.yaml, a draft" in shown
    assert Path("audit.protection.yaml").is_file()


def test_a_column_of_percentages_is_named() -> None:
    rows = [f"{row},{rate}" for row, rate in zip(ROWS, ("45.2", "52", "55.0", "41.7"), strict=True)]
    office(*rows, header="School,All pupils,Boys,Girls,Boys per cent")
    shown = " ".join(recon("init", "office.csv").stdout.split())
    assert "'Boys per cent' is the share of 'Boys' among 'All pupils'" in shown


def test_a_column_of_means_is_left_out_and_named() -> None:
    rows = [f"{row},{mean}" for row, mean in zip(ROWS, ("11.2", "12", "11.9", "10.4"), strict=True)]
    office(*rows, header="School,All pupils,Boys,Girls,Mean age")
    shown = " ".join(recon("init", "office.csv").stdout.split())
    assert "not used 4 numbers: 'Mean age' of office.csv" in shown


def test_a_total_that_differs_in_one_row_is_a_question() -> None:
    office(*ROWS[:2], "Ash,90,22,18", ROWS[3])
    refused = " ".join(recon("init", "office.csv", code=2).stderr.split())
    assert "row 4: 'All pupils' is 90, and 'Boys' + 'Girls' are 22 + 18" in refused
    assert "they add up in 3 other rows" in refused
    assert "--total 'All pupils'" in refused
    recon("init", "office.csv", "--total", "All pupils")
    assert Path("recon.yaml").exists()


def test_a_total_that_is_off_by_one_is_asked_about_as_any_other() -> None:
    parts = np.random.default_rng(5).poisson([[40.0], [30.0], [12.0]], (3, 12)).T
    total = parts.sum(axis=1)
    total[4] += 1  # no more than what rounding does
    wide = ["Area,All,Car,Bus,Foot"]
    long = ["Area,Mode,Number"]
    for area, whole, own in zip("ABCDEFGHIJKL", total, parts, strict=True):
        wide.append(f"Area {area},{whole}," + ",".join(map(str, own)))
        modes = zip(("All", "Car", "Bus", "Foot"), (whole, *own), strict=True)
        long += [f"Area {area},{mode},{number}" for mode, number in modes]
    for rows in (wide, long):
        Path("ways.csv").write_text("\n".join(rows) + "\n")
        asked = " ".join(recon("init", "ways.csv", code=2).stderr.split())
        assert "'Car' + 'Bus' + 'Foot' are 43 + 35 + 9; they add up in 11 other rows" in asked
        assert "--total All" in asked


@pytest.mark.parametrize(
    ("answer", "left_out"), [("1\n", False), ("3\n1\n", True), ("9\n4\n", False)]
)
def test_a_question_is_a_list_at_a_terminal(
    monkeypatch: pytest.MonkeyPatch, answer: str, left_out: bool
) -> None:
    office(*ROWS[:2], "Ash,90,22,18", ROWS[3])
    monkeypatch.setattr("recon_cli.capabilities.init.command.is_terminal", lambda: True)
    done = CliRunner().invoke(main, ["init", "office.csv"], input=answer)
    assert done.exit_code == 0, done.output
    assert "1  as it is  (--total 'All pupils')" in done.output
    assert "4  leave it as it was read" in done.output
    assert ("All pupils: null" in Path("recon.yaml").read_text()) == left_out


def test_nothing_is_written_where_a_question_is_broken_off(monkeypatch: pytest.MonkeyPatch) -> None:
    office(*ROWS[:2], "Ash,90,22,18", ROWS[3])
    monkeypatch.setattr("recon_cli.capabilities.init.command.is_terminal", lambda: True)
    assert CliRunner().invoke(main, ["init", "office.csv"], input="").exit_code == 1
    assert [path.name for path in Path().iterdir()] == ["office.csv"]


@pytest.mark.parametrize("header", ["Pupils' meals", 'The "big" ones', "$HOME `x` \\ !"])
def test_the_flag_of_an_answer_can_be_pasted(header: str) -> None:
    sizes = (320, 510, 250, 90)
    rows = [row.replace(",", f",{n},", 1) for row, n in zip(ROWS, sizes, strict=True)]
    quoted = '"' + header.replace('"', '""') + '"'
    office(*rows, header=f"Place,{quoted},Pupils,a,b")
    asked = recon("init", "office.csv", code=2).stderr
    flags = [line.strip() for line in asked.splitlines() if line.startswith("    --leave-out")]
    assert len(flags) == 1
    assert shlex.split(flags[0])[:2] == ["--leave-out", header]
    recon("init", "office.csv", "--leave-out", header)


def test_a_dry_run_writes_nothing() -> None:
    office(*ROWS[:2], "Ash,40,c,c", ROWS[3])
    shown = recon("init", "office.csv", "--dry-run", "--to", "there/audit.yaml").stdout
    assert "there/audit.protection.yaml, there/audit.yaml, there/audit.reading.html" in shown
    office(*ROWS[:2], "Ash,90,22,18", ROWS[3])
    recon("init", "office.csv", "--dry-run", code=2)
    assert [path.name for path in Path().iterdir()] == ["office.csv"]


def test_all_files_are_written_beside_the_config_and_run_from_there() -> None:
    office(*ROWS[:2], "Ash,40,c,c", ROWS[3])
    Path("there").mkdir()
    recon("init", "office.csv", "--to", "there/audit.yaml")
    assert [path.name for path in Path().iterdir() if path.is_file()] == ["office.csv"]
    assert {path.name for path in Path("there").iterdir()} == {
        *("audit.yaml", "audit.protection.yaml", "audit.reading.html", "office.yaml")
    }
    assert "recovered" in recon("run", "-c", "there/audit.yaml", "--until", "audit").stdout


def test_persons_are_everybody_and_one_category_is_yes_or_no() -> None:
    rows = [
        f"{place},{sex},{meals},{count}"
        for place, counts in (("E01", (9, 4, 5, 3, 1, 2)), ("E02", (7, 3, 4, 2, 2, 0)))
        for (meals, sex), count in zip(
            ((m, s) for m in ("Total", "Eligible") for s in ("Persons", "Men", "Women")),
            counts,
            strict=True,
        )
    ]
    office(*rows, header="Area code,Sex,Meals,Count")
    recon("init", "office.csv")
    features = {each.name: each.values for each in load_release("office.yaml").features}
    assert features == {"sex": ("men", "women"), "meals": ("eligible", "not_eligible")}
    assert "12 cells, all equal" in recon("run", "--until", "reconstruct").stdout


def test_the_same_feature_under_two_headers_is_one() -> None:
    Path("a.csv").write_text("Area,Total,Boys,Girls\nOak,9,4,5\nElm,7,3,4\nAsh,6,6,0\n")
    Path("b.csv").write_text("Area,All,Female,Male\nOak,9,5,4\nElm,7,4,3\nAsh,6,0,6\n")
    recon("init", "a.csv", "b.csv")
    release = load_release("a.yaml")
    assert [(each.name, each.values) for each in release.features] == [("sex", ("boys", "girls"))]
    assert "all equal" in recon("run", "--until", "reconstruct").stdout


@pytest.mark.parametrize(
    "whole", ["Insgesamt", "Ensemble", "Total general", "Ogółem", "Yhteensä", "Összesen", "Σύνολο"]
)
def test_totals_are_told_in_other_languages(whole: str) -> None:
    office(*ROWS, header=f"Place,{whole},a,b")
    said = " ".join(recon("init", "office.csv").stdout.split())
    assert f"'{whole}' is everybody" in said


def test_a_column_beside_a_sum_is_asked_about() -> None:
    """It was drafted as one more category: that nobody is counted twice would be false."""
    sizes = (320, 510, 250, 90)
    rows = [row.replace(",", f",{n},", 1) for row, n in zip(ROWS, sizes, strict=True)]
    office(*rows, header="Place,Size,Pupils,a,b")
    asked = " ".join(recon("init", "office.csv", code=2).stderr.split())
    assert "'Size' is in no relation to the counts" in asked
    assert "--leave-out Size" in asked
    said = " ".join(recon("init", "office.csv", "--leave-out", "Size").stdout.split())
    assert "'Pupils' is everybody" in said


def test_greek_headers_name_features_in_latin_letters() -> None:
    office(*ROWS, header="Σχολείο,Σύνολο,Αγόρια,Κορίτσια")
    assert "'Κορίτσια' is sex koritsia" in " ".join(recon("init", "office.csv").stdout.split())
    recon("run", "-q", "--until", "reconstruct")


@pytest.mark.parametrize("name", ["Alle", "Allen", "Alt", "Viso"])
def test_words_of_totals_that_are_places_or_categories_are_none(name: str) -> None:
    assert not is_total(name)


@pytest.mark.parametrize(
    ("mark", "law", "ends"),
    [
        ("[c]", "{markers: ['[c]'], law: {suppressed: {flagged: may-be-zero}}}", (0, None)),
        ("1-9", "{markers: [1-9], law: stated}", (1, 9)),
        ("<5%", "{markers: [<5%], law: {suppressed: {flagged: may-be-zero}}}", (0, None)),
        ("n5", "{markers: [n5], law: {suppressed: {flagged: may-be-zero}}}", (0, None)),
        ("-99", "{markers: ['-99'], law: {suppressed: {flagged: may-be-zero}}}", (0, None)),
    ],
)
def test_any_text_in_place_of_counts_has_a_law(
    mark: str, law: str, ends: tuple[int, int | None]
) -> None:
    office(*ROWS[:2], f"Ash,12,{mark},{mark}", f"Fir,10,{mark},{mark}", ROWS[3])
    recon("init", "office.csv")
    statements = yaml.safe_load(Path("recon.protection.yaml").read_text())["statements"]
    assert statements == [yaml.safe_load(law)]
    recon("ingest", "-q")
    counts = pl.read_parquet("work/**/tables/**/*.parquet", hive_partitioning=False)
    withheld = counts.filter(pl.col("count").is_null()).select("low", "high").rows()
    assert withheld == [ends] * 4


def test_nobody_is_asked_who_cannot_see_the_question(monkeypatch: pytest.MonkeyPatch) -> None:
    office(*ROWS[:2], "Ash,90,22,18", ROWS[3])
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    with pytest.raises(ConfigError, match="--total 'All pupils'"):
        draft("office.csv", to="recon.yaml")


def test_a_sum_that_no_row_shows_is_told() -> None:
    header = ",".join(f"{who}: {age}" for who in ("People", "Men", "Women") for age in "abx")
    rows = []
    for n, (a, b, c, d) in enumerate(((12, 31, 9, 17), (40, 8, 22, 35), (5, 19, 44, 28))):
        rows.append(f"W{n},{a + c},{b + d},30,{a},{b},*,{c},{d},*")
    rows.append("W9,63,88,30,21,50,12,42,38,*")
    office(*rows, header=f"School,{header}")
    shown = " ".join(recon("init", "office.csv", "--yes").stdout.split())
    assert "whether 'People: x' is 'Men: x' + 'Women: x': no number shows it" in shown


def test_a_percentage_that_is_wrong_in_one_row_is_asked_by_row() -> None:
    shares = ["45.2", "52.0", "99.9", "41.7"]
    rows = [f"{row},{share}" for row, share in zip(ROWS, shares, strict=True)]
    office(*rows, header="School,All pupils,Boys,Girls,% boys")
    asked = " ".join(recon("init", "office.csv", code=2).stderr.split())
    assert "row 4: '% boys' is 99.9, where 'Boys' is 22 and 'All pupils' 40; it is" in asked
    assert "their quotient in 3 other rows" in asked
    shown = recon("init", "office.csv", "--leave-out", "% boys").stdout
    assert "not used  4 numbers: '% boys'" in shown


def test_two_configs_of_one_file_have_each_its_own_folder() -> None:
    office(*ROWS)
    recon("init", "office.csv")
    recon("init", "office.csv", "--to", "second.yaml")
    works = [
        yaml.safe_load(Path(name).read_text())["work"] for name in ("recon.yaml", "second.yaml")
    ]
    assert works == ["work/office", "work/second"]


def test_percentages_of_a_long_file_some_of_them_whole_are_no_counts() -> None:
    rows = ["Area,Group,Count,Percent"]
    for area, *counts in (
        ("Ashby", 40, 20, 16, 4),
        ("Birch", 46, 27, 2, 17),
        ("Elm", 41, 3, 18, 20),
    ):
        for group, number in zip(("All", "Alpha", "Beta", "Gamma"), counts, strict=True):
            shown = "*" if number < 4 else number
            rows.append(f"{area},{group},{shown},{100 * number / counts[0]:.1f}")
    Path("groups.csv").write_text("\n".join(rows) + "\n")
    shown = " ".join(recon("init", "groups.csv", "--total", "All").stdout.split())
    assert "not used 12 numbers: 'Percent' of groups.csv" in shown


@pytest.mark.parametrize("whole", ["100.0", "100"])
def test_a_value_of_which_all_percentages_are_broken_is_still_counted(whole: str) -> None:
    rows = ["Area,Faith,Count,Percent"]
    for area, *counts in (("Ashby", 26, 12, 10, 4), ("Carr", 46, 27, 13, 6), ("Elm", 41, 1, 7, 33)):
        rows.append(f"{area},All,{counts[0]},{whole}")
        for faith, number in zip("ABC", counts[1:], strict=True):
            rows.append(f"{area},{faith},{number},{100 * number / counts[0]:.1f}")
    Path("faith.csv").write_text("\n".join(rows) + "\n")
    shown = " ".join(recon("init", "faith.csv", "--total", "All").stdout.split())
    assert "not used 12 numbers: 'Percent' of faith.csv" in shown
    assert "'A' is faith a, 'C' is faith c" in shown
