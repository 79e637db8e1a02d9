"""YAML is read with the line of every key, and a duplicate key is an error."""

from __future__ import annotations

import time
from itertools import pairwise
from pathlib import Path

import pytest
import yaml

from recon_cli import strict_yaml
from recon_cli.capabilities.swap.settings import load_swap
from recon_cli.capabilities.synth.parameters import load_nation
from recon_cli.config import load_config
from recon_cli.errors import ConfigError, SchemaError
from recon_cli.strict_yaml import parse_yaml

TEXT = """\
release: r
tables: &tables
  - {name: A}
  - name: B
    levels: [x, y]
again:
  <<: {seed: 1}
  seed: 2
  tables: *tables
"""


#: Base 60, base 8, digits in groups, truth, dates.
AMBIGUOUS = (
    *("1:30:00", "12:30:45", "190:20:30.15", "010", "-07", "08", "1_000", "1_0.5", "0b11"),
    *("yes", "NO", "on", "Off", "2021-01-05", "2021-13-45", "2021-1-5T10:20:30"),
)


def test_the_data_are_those_of_the_plain_parser() -> None:
    assert parse_yaml(TEXT, source="t").data == yaml.safe_load(TEXT)
    assert parse_yaml("", source="t").data is None


@pytest.mark.parametrize(
    ("loc", "line"),
    [
        (("release",), 1),
        (("tables", 1), 4),
        (("tables", 1, "levels", 1), 5),
        (("tables", 1, "levels", 7), 5),
        (("again", "tables", 0, "name"), 3),
        (("again", "seed", "deeper"), 8),
        (("nowhere",), None),
        ((), None),
    ],
)
def test_a_path_has_the_line_of_its_deepest_part(
    loc: tuple[int | str, ...], line: int | None
) -> None:
    assert parse_yaml(TEXT, source="t").line(loc) == line


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\nb: 2\na: 3\n", "t:3: a: duplicate key, first on line 1"),
        ("a:\n  - b: {c: 1,\n    c: 1}\n", "t:3: a.0.b.c: duplicate key, first on line 2"),
        ("1: x\n+1: y\n", "t:2: +1: duplicate key, first on line 1"),
        ("a: &x {b: 1, b: 2}\nc: *x\n", "t:1: a.b: duplicate key, first on line 1"),
        ("a: [\n", "t:2: not valid YAML: expected the node content, but found '<stream end>'"),
        ("a: b: c\n", "t:1: not valid YAML: mapping values are not allowed here"),
        ("[1]: x\n", "t:1: not valid YAML: found unhashable key"),
        ("a: !!python/object:x y\n", "t:1: tag tag:yaml.org,2002:python/object:x: write"),
        ("a: !!binary aGk=\n", "t:1: tag tag:yaml.org,2002:binary: write"),
        ("a: b\nc: \x01\n", "t:2: not valid YAML: special characters are not allowed"),
        ("a: &x 1\nb: &x 2\n", "t:2: anchor &x is there already; rename one"),
        ("a: &x [1, *x]\n", "t:1: *x is part of what it stands for"),
        ("a: *x\n", "t:1: not valid YAML: found undefined alias"),
        (f"a: {'9' * 5000}\n", "t: not valid YAML: a number with too many digits"),
        ("a: \udcff\n", "t:"),  # of a command line
    ],
)
@pytest.mark.parametrize("loader", [yaml.SafeLoader, getattr(yaml, "CSafeLoader", yaml.SafeLoader)])
def test_a_wrong_text_is_refused_by_line(
    loader: type, text: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(strict_yaml, "_LOADER", loader)
    with pytest.raises(SchemaError) as refusal:
        parse_yaml(text, source="t", error=SchemaError)
    assert str(refusal.value).startswith(message)


@pytest.mark.parametrize(
    "word",
    AMBIGUOUS,
)
def test_a_word_that_versions_of_yaml_read_differently_is_refused(word: str) -> None:
    with pytest.raises(ConfigError, match=r"^t:2: .* Versions of YAML differ; write text in quot"):
        parse_yaml(f"b: 1\na: {word}\n", source="t")
    for quoted in (f"'{word}'", f'"{word}"', f"|-\n  {word}"):
        assert parse_yaml(f"b: 1\na: {quoted}\n", source="t").data["a"] == word


@pytest.mark.parametrize(
    "word", ["0", "-10", "0.5", "0-14", "15+", "true", "null", "1.0e-3", "12:77"]
)
def test_a_word_that_all_versions_read_alike_is_read(word: str) -> None:
    assert parse_yaml(f"a: {word}", source="t").data == yaml.safe_load(f"a: {word}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: " + "[" * 20_000 + "]" * 20_000, "t:1: nested deeper than 64 levels"),
        ("a: " + "{a: " * 20_000, "t:1: nested deeper than 64 levels"),
        (
            "a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
            + "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 9)),
            "t:6: more than 100,000 values, an alias counted as all that it stands for",
        ),
        (
            "a0: &a0 {x: 1}\n" + "".join(f"a{i}: &a{i} [*a{i - 1}]\n" for i in range(1, 99)),
            "t:63: nested deeper than 64 levels",
        ),
        ("".join(f"k{i}: 1\n" for i in range(200_000)), "t:50000: more than 100,000 values"),
    ],
)
def test_a_text_beyond_all_limits_is_refused_at_once(text: str, message: str) -> None:
    started = time.process_time()
    with pytest.raises(ConfigError) as refusal:
        parse_yaml(text, source="t")
    assert str(refusal.value).startswith(message)
    assert time.process_time() - started < 3  # a tenth of it is usual


def test_aliases_are_counted_as_what_they_stand_for() -> None:
    doubling = "a0: &a0 {x: 1}\n" + "".join(
        f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]\n" for i in range(1, 14)
    )
    line = parse_yaml(doubling, source="t").line(("a13", 1, 0))
    assert line == 12  # where the alias leads to


@pytest.mark.parametrize(
    "text",
    [
        "a: &a [x, x]\n"
        + "".join(f"{c}: &{c} [*{b}, *{b}]\n" for b, c in pairwise("abcdefghijklmnopqrstuv")),
        "work: " + "[" * 5000,
        "work: " + "{a: " * 100 + "}" * 100,
        "release: r\nwork: w\nseed: 1:30:00\n",
    ],
    ids=["doubled aliases", "open brackets", "nested mappings", "sexagesimal"],
)
def test_a_hostile_config_is_refused_in_one_line(text: str, tmp_path: Path) -> None:
    path = tmp_path / "recon.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=r"recon\.yaml:[0-9]+: ") as refusal:
        load_config(path)
    assert "\n" not in str(refusal.value)


def test_ten_thousand_findings_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "recon.yaml"
    path.write_text("work: w\nrelease: r\n" + "".join(f"k{i}: 1\n" for i in range(10_000)))
    with pytest.raises(ConfigError, match="and 9,980 more findings") as refusal:
        load_config(path)
    assert str(refusal.value).count("\n") == 20


def test_a_file_larger_than_any_config_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "recon.yaml"
    with path.open("wb") as file:
        file.truncate(10**9)
    with pytest.raises(ConfigError, match=r"1,000,000,000 bytes, more than 8,000,000: is it YAML"):
        load_config(path)


@pytest.mark.parametrize("load", [load_nation, lambda path: load_swap(str(path))])
def test_settings_with_a_duplicate_key_are_refused(load: object, tmp_path: Path) -> None:
    path = tmp_path / "settings.yaml"
    path.write_text("rate: 1\nrate: 2\n")
    with pytest.raises(ConfigError, match=r"2: rate: duplicate key, first on line 1"):
        load(path)  # type: ignore[operator]
    path.write_bytes(b"rate: \xff\n")
    with pytest.raises(ConfigError, match=r"not UTF-8 text \(byte 6\)"):
        load(path)  # type: ignore[operator]


def test_numbers_with_an_exponent_are_numbers() -> None:
    text = "a: 1e-10\nb: -2E+3\nc: 1.5e3\nd: '1e-10'\ne: 1e\n"
    found = parse_yaml(text, source="x.yaml").data
    assert found == {"a": 1e-10, "b": -2000.0, "c": 1.5e3, "d": "1e-10", "e": "1e"}
