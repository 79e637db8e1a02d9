"""YAML is read with the line of every key, and a duplicate key is an error."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from recon_cli import strict_yaml
from recon_cli.errors import ConfigError, SchemaError
from recon_cli.protect.settings import load_swap
from recon_cli.strict_yaml import parse_yaml
from recon_cli.synth.parameters import load_nation

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
        ("1: x\n01: y\n", "t:2: 01: duplicate key, first on line 1"),
        ("a: &x {b: 1, b: 2}\nc: *x\n", "t:1: a.b: duplicate key, first on line 1"),
        ("a: [\n", "t:2: not valid YAML: expected the node content, but found '<stream end>'"),
        ("a: b: c\n", "t:1: not valid YAML: mapping values are not allowed here"),
        ("[1]: x\n", "t:1: not valid YAML: found unhashable key"),
        ("a: 2021-13-45\n", "t: not valid YAML: month must be in 1..12"),
        ("a: !!python/object:x y\n", "t:1: not valid YAML: could not determine a constructor"),
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


def test_aliases_are_looked_at_once() -> None:
    doubling = "a0: &a0 {x: 1}\n" + "".join(
        f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]\n" for i in range(1, 40)
    )
    line = parse_yaml(doubling, source="t").line(("a39", 1, 0))
    assert line == 38  # where the alias leads to


@pytest.mark.parametrize("load", [load_nation, lambda path: load_swap(str(path))])
def test_settings_with_a_duplicate_key_are_refused(load: object, tmp_path: Path) -> None:
    path = tmp_path / "settings.yaml"
    path.write_text("rate: 1\nrate: 2\n")
    with pytest.raises(ConfigError, match=r"2: rate: duplicate key, first on line 1"):
        load(path)  # type: ignore[operator]
    path.write_bytes(b"rate: \xff\n")
    with pytest.raises(ConfigError, match=r"not UTF-8 text \(byte 6\)"):
        load(path)  # type: ignore[operator]
