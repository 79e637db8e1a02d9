"""protection.yaml: the first statement that holds wins, and every mistake is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from recon_cli.errors import ConfigError
from recon_cli.schema import load_release
from recon_cli.statement import Exact, Protection, load_protection, protection_text

CLINIC = load_release("clinic_visits")
TABLES = [table.name for table in CLINIC.tables]
LEVELS = [level.name for level in CLINIC.geography.levels]


def load(tmp_path: Path, text: str) -> Protection:
    path = tmp_path / "protection.yaml"
    path.write_text(text)
    return load_protection(path, CLINIC)


def test_the_first_statement_wins_and_the_rest_is_exact(tmp_path: Path) -> None:
    protection = load(
        tmp_path,
        "release: clinic_visits\n"
        "statements:\n"
        f"  - {{tables: {TABLES[0]}, markers: [x], law: suppressed}}\n"
        f"  - {{tables: [{TABLES[0]}, {TABLES[1]}], law: {{suppressed: {{below: 3}}}}}}\n"
        f"  - {{levels: [{LEVELS[-1]}], law: {{rounded: {{base: 5}}}}}}\n",
    )
    first, *_ = LEVELS
    assert protection.number(TABLES[0], first) == 1
    assert protection.number(TABLES[0], first, "*") == 1
    assert protection.number(TABLES[0], first, "x") == 0
    assert protection.number(TABLES[1], LEVELS[-1]) == 1
    assert protection.number(TABLES[2], LEVELS[-1]) == 2
    assert protection.laws[protection.number(TABLES[2], first)] == Exact()
    assert protection.is_exact(TABLES[2], first)
    assert not protection.is_exact(TABLES[0], first)
    text = protection_text(CLINIC, protection.statements)
    assert load(tmp_path, text) == protection


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("statements: []\n", ":1: statements: expected a list of laws"),
        ("release: sf1_2010\nstatements: [{law: exact}]\n", ":1: release: expected the release"),
        ("laws: []\n", ":1: laws: unknown key (keys: release, study, statements)"),
        ("statements:\n  - tables: [X]\n    law: exact\n", ":2: statements.0.tables: no table 'X'"),
        ("statements:\n  - {levels: [moon], law: exact}\n", "no level 'moon' in release"),
        ("statements:\n  - {law: exact, table: P1}\n", "unknown key 'table' (keys: tables, levels"),
        ("statements:\n  - rounded\n", ":2: statements.0: expected a law"),
        (
            "statements:\n  - law: {rounded: {base: 1}}\n",
            ":2: statements.0.law: rounded.base: must",
        ),
        ("statements:\n  - {markers: [x], law: exact}\n", "the law 'exact' publishes numbers only"),
        ("statements: 1\nstatements: 2\n", ":2: statements: "),
    ],
)
def test_a_wrong_file_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, text)
    assert str(tmp_path / "protection.yaml") in str(caught.value)
    assert message in str(caught.value)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        load_protection(tmp_path / "none.yaml", CLINIC)
    (tmp_path / "bytes.yaml").write_bytes(b"\xff")
    with pytest.raises(ConfigError, match="cannot be read: not UTF-8"):
        load_protection(tmp_path / "bytes.yaml", CLINIC)
