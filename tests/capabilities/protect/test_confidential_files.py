"""No message repeats what stands in a file of people, however the file is broken."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
import yaml
from click.testing import CliRunner

from recon_cli.cli import main
from recon_cli.schema import load_release
from tests.support.populations import random_records
from tests.support.workbooks import workbook

#: What only a record has.
MARK = "zqx7"

LINK = {"cef": "truth.parquet", "id": "patient"}
ATTACKER = {"columns": {"Clinic": "geoid_clinic", "Years": "age"}, "id": "Card"}


def held() -> pl.DataFrame:
    """People as an attacker has them; each field of each record holds the secret."""
    people = random_records(load_release("clinic_visits"), 3, 60)
    return people.select(
        Card=pl.format(f"{MARK}-{{}}", pl.int_range(pl.len())),
        Clinic=pl.col("geoid_clinic"),
        gender=pl.col("gender"),
        Years=pl.col("age"),
    )


def in_full(people: pl.DataFrame) -> pl.DataFrame:
    """The same people in the release's words, with the features that the attacker has not."""
    people = people.rename({"Clinic": "geoid_clinic", "Years": "age"})
    others = [f for f in load_release("clinic_visits").features if f.name not in people.columns]
    return people.with_columns(pl.lit(f.values[0]).alias(f.name) for f in others)


def unmatched_quote(text: str) -> str:
    lines = text.splitlines()
    lines[3] = lines[3].replace(",", ',"', 1)
    return "\n".join(lines) + "\n"


def quote_within(text: str) -> str:
    lines = text.splitlines()
    lines[5] = f'{MARK}-1,"010"01"{MARK},woman,3'
    return "\n".join(lines) + "\n"


def field_too_many(text: str) -> str:
    lines = text.splitlines()
    lines[3] += f",{MARK}"
    return "\n".join(lines) + "\n"


def no_header(text: str) -> str:
    return text.split("\n", 1)[1]


def unknown_value(text: str) -> str:
    return text.replace("woman", f"{MARK}man", 1)


def unknown_age(text: str) -> str:
    lines = text.splitlines()
    lines[3] = lines[3].rsplit(",", 1)[0] + f",{MARK}"
    return "\n".join(lines) + "\n"


BROKEN: dict[Callable[[str], str], str] = {
    unmatched_quote: "line 4, column 2: a quote is opened and not closed",
    quote_within: "line 6",
    field_too_many: "line 4: expected 4 fields, found 5",
    no_header: "no column 'Clinic'",
    unknown_value: "record ",
    unknown_age: "record 3",
}


def ask(folder: Path, sections: dict[str, object], command: str) -> str:
    """All that a failed command says, and writes to its log; both must keep the secret."""
    config = {"release": "clinic_visits", "work": "work", "workers": 2, **sections}
    (folder / "c.yaml").write_text(yaml.safe_dump(config))
    log = folder / "log.jsonl"
    words = ["run", "-c", str(folder / "c.yaml"), "--only", command]
    told = CliRunner().invoke(main, [*words, "-vv"])
    logged = CliRunner().invoke(main, [*words, "--log-json", str(log)])
    said = told.output + logged.output + log.read_text()
    assert MARK not in said.lower()
    assert told.exit_code in {2, 4, 7}, said
    return " ".join(said.split())


@pytest.mark.parametrize("damage", BROKEN, ids=lambda each: each.__name__)
def test_an_attackers_csv_file(tmp_path: Path, damage: Callable[[str], str]) -> None:
    people = held()
    in_full(people).rename({"Card": "patient"}).write_parquet(tmp_path / "truth.parquet")
    (tmp_path / "bought.csv").write_text(damage(people.write_csv()))
    attacker = {"path": "bought.csv", **ATTACKER}
    said = ask(tmp_path, {"link": {**LINK, "attackers": {"X": attacker}}}, "link")
    assert BROKEN[damage] in said
    assert "bought.csv" in said


@pytest.mark.parametrize("suffix", ["parquet", "xlsx"])
@pytest.mark.parametrize("damage", ["cut", "value", "header"])
def test_an_attackers_file_in_other_formats(tmp_path: Path, suffix: str, damage: str) -> None:
    people = held()
    in_full(people).rename({"Card": "patient"}).write_parquet(tmp_path / "truth.parquet")
    file = tmp_path / f"bought.{suffix}"
    if damage == "value":
        people = people.with_columns(gender=pl.lit(MARK))
    if damage == "header":
        people = people.rename({"Clinic": MARK})
    if suffix == "parquet":
        people.write_parquet(file)
    else:
        file.write_bytes(workbook(people))
    if damage == "cut":
        file.write_bytes(file.read_bytes()[:-90])
    attacker = {"path": file.name, **ATTACKER}
    ask(tmp_path, {"link": {**LINK, "attackers": {"X": attacker}}}, "link")


#: Stages that read the people themselves, and what they need beside the file.
STAGES: dict[str, dict[str, object]] = {
    "tabulate": {"to": "out.csv"},
    "link": {"id": "Card", "attackers": {"X": {"path": "good.csv"}}},
    "round": {"base": 3},
    "suppress": {"below": 3},
    "noise": {"strategy": "strategy.yaml", "units": "exact"},
    "topdown": {"strategies": ["strategy.yaml"], "units": "exact"},
    "randomize": {"responses": {"gender": {"epsilon": 1}}},
}
STRATEGY = """
strategy: clinic
rho: 2
queries: {all: [gender, age, insurance, smoker, conditions]}
levels:
  clinic: {share: 1/2, queries: {all: 1}}
  district: {share: 1/2, queries: {all: 1}}
"""


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("damage", BROKEN, ids=lambda each: each.__name__)
def test_records_of_the_truth(tmp_path: Path, damage: Callable[[str], str], stage: str) -> None:
    people = in_full(held())
    people.write_csv(tmp_path / "good.csv")
    (tmp_path / "strategy.yaml").write_text(STRATEGY)
    (tmp_path / "truth.csv").write_text(damage(people.write_csv()))
    key = "cef" if stage == "link" else "records"
    said = ask(tmp_path, {stage: {key: "truth.csv", **STAGES[stage]}}, stage)
    assert "truth.csv" in said or "records: column 'gender'" in said or "CEF: column" in said
