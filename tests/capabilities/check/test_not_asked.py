"""What was not looked at keeps no rule: values that a column joins, tables that nobody solved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml

from recon_cli.capabilities.check.options import Judged
from recon_cli.capabilities.check.stage import GivenConfig, check
from recon_cli.errors import ContradictionError
from tests.support.command_line import recon

DISCLOSED = {"disclosed": {"kind": "attribute", "known": 1}, "most": 0}
#: Who is 0 or 2 is a girl, who is 1 or 3 a boy.
BY_AGE = "A101,T,1,3\nA101,T,4,3\nA101,T,5,3\nA101,T,8,3\n"


def schema(histogram: list[str], *families: dict[str, Any]) -> str:
    return yaml.safe_dump(
        {
            "release": "r",
            "title": "Pupils",
            "features": {"sex": {"categories": ["f", "m"]}, "age": {"range": "0..3"}},
            "recodes": {"bin": {"of": "age", "edges": [0, 2]}},
            "geography": {
                "levels": [{"level": "school", "digits": 4}, {"level": "town", "digits": 2}],
                "partition": "town",
            },
            "microdata": ["sex", "age", "bin"],
            "histogram": histogram,
            "families": list(families),
        },
        sort_keys=False,
    )


BY_AGE_AND_SEX = {
    "levels": ["school"],
    "cells": [{"by": "age", "cells": [{"by": "sex"}]}],
    "tables": {"T": {}},
}
BY_BIN = {"levels": ["school"], "cells": [{"by": "bin"}, {"by": "sex"}], "tables": {"B": {}}}
TOWN = {"levels": ["town"], "cells": [{"by": "age"}], "tables": {"A": {}}}


def office(folder: Path, release: str, counts: str, rules: list[Any], **sections: Any) -> Path:
    """A folder with a publication and rules about it; the run's config."""
    folder.mkdir(exist_ok=True)
    (folder / "r.yaml").write_text(release)
    (folder / "c.csv").write_text("geoid,table,cell,count\n" + counts)
    run = {
        "release": "r.yaml",
        "work": "work",
        "workers": 1,
        "ingest": {"source": "tidy", "paths": ["c.csv"]},
        **sections,
        "check": {"rules": rules},
    }
    (folder / "recon.yaml").write_text(yaml.safe_dump(run, sort_keys=False))
    return folder / "recon.yaml"


def judged(path: Path) -> tuple[Judged, ...]:
    return check(GivenConfig(path), 0.0)


@pytest.mark.parametrize("column", ["bin", "age"])
def test_single_ages_under_a_recode_are_asked(column: str, tmp_path: Path) -> None:
    """Every girl and boy is given away by the age, whatever columns the histogram has."""
    path = office(tmp_path, schema(["sex", column], BY_AGE_AND_SEX), BY_AGE, [DISCLOSED])
    (rule,) = judged(path)
    assert (rule.verdict, rule.finding.proven) == ("broken", 12)


def test_a_column_says_nothing_new_of_one_that_it_defines(tmp_path: Path) -> None:
    """Ages of girls and boys alike: whoever knows the age knows its bin, and nothing else."""
    counts = "".join(f"A101,T,{cell},2\n" for cell in range(1, 9))
    for columns in (["sex", "bin", "age"], ["sex", "age"], ["sex", "bin"]):
        path = office(tmp_path, schema(columns, BY_AGE_AND_SEX), counts, [DISCLOSED])
        (rule,) = judged(path)
        assert rule.finding.proven == 0, columns
        asked = "tables show age, which the schema's `histogram` lacks"
        assert rule.verdict == ("kept" if "age" in columns else "undecided"), columns
        assert (asked in rule.finding.gaps) == ("age" not in columns)


def test_ages_that_only_coarser_tables_tell_apart_leave_it_open(tmp_path: Path) -> None:
    counts = "A101,B,1,4\nA101,B,2,4\nA101,B,3,4\nA101,B,4,4\n" + "".join(
        f"A1,A,{cell},2\n" for cell in range(1, 5)
    )
    release = schema(["sex", "bin"], BY_BIN, TOWN)
    (rule,) = judged(office(tmp_path, release, counts, [DISCLOSED]))
    assert (rule.verdict, rule.finding.proven) == ("undecided", 0)
    assert "tables show age, which the schema's `histogram` lacks" in rule.finding.gaps


def test_a_known_person_is_told_of_by_the_age(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("name,geoid_school,age\nIda,A101,0\nMax,A101,1\n")
    sections = {
        "reconstruct": None,
        "solvar": {"mode": "exact"},
        "attribute": {"attackers": {"L": {"path": "p.csv"}}},
    }
    release = schema(["sex", "bin"], BY_AGE_AND_SEX)
    path = office(tmp_path, release, BY_AGE, [DISCLOSED], **sections)
    recon("run", "-c", path, "--until", "attribute")
    (file,) = (tmp_path / "work").rglob("attributed.csv")
    told = pl.read_csv(file).select("id", "column", "value", "because")
    assert told.rows() == [("Ida", "sex", "f", "T_2 = 0"), ("Max", "sex", "m", "T_3 = 0")]


def test_tables_that_contradict_each_other_keep_nothing(tmp_path: Path) -> None:
    """Nine pupils, four girls, four boys: no count is withheld, and nobody has these counts."""
    family = {
        "levels": ["school", "town"],
        "cells": ["total", {"by": "sex"}],
        "tables": {"T": {}},
    }
    counts = "".join(f"{g},T,{cell},{n}\n" for g in ("A101", "A1") for cell, n in ((1, 9), (2, 4)))
    rules = [{"recovered": {"from": 1, "below": 3, "published": False}, "most": 0}]
    path = office(tmp_path, schema(["sex"], family), counts + "A101,T,3,4\nA1,T,3,4\n", rules)
    with pytest.raises(ContradictionError, match="the least change"):
        judged(path)
    recon("audit", "-c", path, code=6)
    (tmp_path / "c.csv").write_text((tmp_path / "c.csv").read_text().replace(",9", ",8"))
    assert [each.verdict for each in judged(path)] == ["kept"]


#: A mean and a median that nothing is made of.
MEANS = "Ward,All,Well,Ill,Mean age,Median pay\nAton,40,*,*,41.5,307.5\nBton,55,*,*,39.4,299.5\n"
MEANS += "Cton,80,66,14,38.5,312.5\n"
RULES = [
    {"disclosed": {"kind": "attribute", "known": 1}, "most": 0},
    {"recovered": {"from": 1, "below": 9, "published": False}, "most": 0},
    {"interval": {"at_least": 1}, "most": 0},
    {"certain_records": {}, "most": 100},
]


def drafted(folder: Path, **mapping: Any) -> Path:
    """What `recon init` drafts of statistics beside stars, with rules."""
    (folder / "means.csv").write_text(MEANS)
    recon("init", folder / "means.csv", "--force", "--to", folder / "recon.yaml")
    run = yaml.safe_load((folder / "recon.yaml").read_text())
    run["ingest"]["mapping"] |= mapping
    (folder / "recon.yaml").write_text(yaml.safe_dump(run | {"check": {"rules": RULES}}))
    return folder / "recon.yaml"


def test_statistics_beside_stars_keep_nothing(tmp_path: Path) -> None:
    path = drafted(tmp_path)
    for rule in judged(path):
        assert rule.verdict == "undecided"
        assert "'Mean age' of means.csv, 'Median pay' of means.csv" in rule.finding.gaps[0]
    document = recon("check", "-c", path, code=21).output
    assert (
        "numbers that are not used and may give counts away: 'Mean age' of means.csv"
        in " ".join(document.split())
    )
    recon("run", "-c", path, "--until", "report")
    (page,) = (tmp_path / "work").rglob("report.md")
    told = "Not asked about: numbers that are not used and may give counts away: 'Mean age' of"
    assert told in page.read_text()


def test_percentages_of_exact_counts_are_asked_about(tmp_path: Path) -> None:
    """Of 40 in Aton 37 are well: the percentage says what the star hides."""
    rows = ("Aton,40,*,*,92.5,7.5", "Bton,55,*,*,96.4,3.6", "Cton,80,66,14,82.5,17.5")
    lines = ["Ward,All,Well,Ill,Well %,Ill %", *rows]
    (tmp_path / "pct.csv").write_text("\n".join([*lines, ""]))
    path = tmp_path / "recon.yaml"
    recon("init", tmp_path / "pct.csv", "--to", path)
    run = yaml.safe_load(path.read_text())
    path.write_text(yaml.safe_dump(run | {"check": {"rules": RULES}}))
    assert {rule.rule.name: rule.verdict for rule in judged(path)}["recovered"] == "broken"


def test_an_officers_reason_counts_as_used_and_is_repeated(tmp_path: Path) -> None:
    reasons = {"Mean age": "rounded to a half", "Median pay": "the same"}
    path = drafted(tmp_path, leave_out=reasons)
    verdicts = {rule.rule.name: rule for rule in judged(path)}
    assert verdicts["certain_records"].verdict == "kept"
    left_out = ("'Mean age' of means.csv: rounded to a half", "'Median pay' of means.csv: the same")
    assert all(rule.grounds.left_out == left_out for rule in verdicts.values())
    recon("run", "-c", path, "--until", "report")
    (page,) = (tmp_path / "work").rglob("report.md")
    assert "with a reason: 'Mean age' of means.csv: rounded to a half" in page.read_text()
    assert "Not asked about" not in page.read_text()


@pytest.mark.parametrize("mapping", [{"where": {"Year": ["2020"]}}, {"where": {"Kind": ["n"]}}])
def test_rows_that_are_not_chosen_are_left_out(tmp_path: Path, mapping: dict[str, Any]) -> None:
    (tmp_path / "c.csv").write_text(
        "geoid,Sex,Year,Kind,Value\n"
        + "".join(f"A101,{s},2020,n,{n}\n" for s, n in (("f", 4), ("m", 5)))
        + "".join(
            f"A101,{s},{'2020' if 'Kind' in mapping['where'] else '2019'},"
            f"{'pct' if 'Kind' in mapping['where'] else 'n'},44.4\n"
            for s in "fm"
        )
    )
    family = {"levels": ["school"], "cells": [{"by": "sex"}], "tables": {"T": {}}}
    (tmp_path / "r.yaml").write_text(schema(["sex"], family))
    ((header, _),) = mapping["where"].items()
    dimensions = {name: {"feature": None} for name in ("Year", "Kind")}
    said = mapping | {"dimensions": dimensions}
    run = {
        "release": "r.yaml",
        "work": "work",
        "workers": 1,
        "ingest": {"source": "sheet", "paths": ["c.csv"], "mapping": said},
        "check": {"rules": [{"certain_records": {}, "most": 100}]},
    }
    path = tmp_path / "recon.yaml"
    path.write_text(yaml.safe_dump(run))
    (rule,) = judged(path)
    assert rule.verdict == "undecided"
    assert rule.finding.gaps[0].startswith(
        f"numbers that are not used and may give counts away: {header!r} of"
    )
    said["leave_out"] = {header: "of others"}
    path.write_text(yaml.safe_dump(run))
    assert [each.verdict for each in judged(path)] == ["kept"]
