"""The run's YAML: what is refused, and in which words."""

from __future__ import annotations

from pathlib import Path

import pytest

from recon_cli.capabilities.ingest.options import Ingest
from recon_cli.capabilities.reconstruct.options import Reconstruct
from recon_cli.capabilities.tabulate.options import Tabulate
from recon_cli.config import SECTIONS, RunConfig, load_config
from recon_cli.errors import ConfigError, SchemaError

GOOD = """\
release: sf1_2010
work: work/al
ingest: {source: sf1-legacy, paths: [al2010.sf1.zip]}
reconstruct:
  tables: block+tract
  seed: 5
"""


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The current folder is not the config's."""
    (here := tmp_path / "here").mkdir()
    monkeypatch.chdir(here)


def load(tmp_path: Path, text: str, *settings: str) -> RunConfig:
    path = tmp_path / "al.yaml"
    path.write_text(text, encoding="utf-8")
    return load_config(path, settings=settings)


def refusal(tmp_path: Path, text: str, *settings: str) -> str:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, text, *settings)
    assert caught.value.exit_code == 2
    return str(caught.value).replace(str(tmp_path / "al.yaml"), "al.yaml")


def test_a_good_file(tmp_path: Path) -> None:
    config = load(tmp_path, GOOD)
    assert config.work == tmp_path / "work" / "al"
    assert config.section(Ingest).paths == (tmp_path / "al2010.sf1.zip",)
    assert config.section(Ingest).absent is None
    assert config.section(Reconstruct) == Reconstruct(tables="block+tract", seed=5)
    assert config.section(Tabulate) == Tabulate()
    assert set(config.sections) == {"ingest", "reconstruct"}
    assert config.load_release().name == "sf1_2010"


def test_every_section_is_found_by_its_module() -> None:
    known = {"ingest": Ingest, "reconstruct": Reconstruct, "tabulate": Tabulate}
    assert known.items() <= SECTIONS.items()
    assert all(kind.__name__.lower() == name.replace("_", "") for name, kind in SECTIONS.items())


@pytest.mark.parametrize(
    ("added", "message"),
    [
        (
            "  tabels: block\n",
            "al.yaml:7: reconstruct.tabels: unknown key "
            "(valid keys: tables, seed, assumptions, objective, engine, within, verify); "
            "did you mean 'tables'?",
        ),
        ("work: elsewhere\n", "al.yaml:7: work: duplicate key, first on line 2"),
        ("  tables: block\n", "al.yaml:7: reconstruct.tables: duplicate key, first on line 5"),
        ("seed: -1\n", "al.yaml:7: seed: must be greater than or equal to 0 (found -1)"),
        ("workers: many\n", "al.yaml:7: workers: must be a valid integer (found 'many')"),
        ("work2: [\n", "al.yaml:8: not valid YAML: expected the node content"),
        ("a: b: c\n", "al.yaml:7: not valid YAML: mapping values are not allowed here"),
    ],
)
def test_a_wrong_line_is_named(tmp_path: Path, added: str, message: str) -> None:
    assert refusal(tmp_path, GOOD + added).startswith(message)


def test_an_unknown_section_lists_the_known_ones(tmp_path: Path) -> None:
    message = refusal(tmp_path, GOOD + "reconstuct: {}\n")
    assert message.startswith("al.yaml:7: reconstuct: unknown key (valid keys: release, work, ")
    assert message.endswith("did you mean 'reconstruct'?")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "sf1-legacy",
            "sf2",
            "al.yaml:3: ingest.source: must be 'sf1-legacy', 'pl-legacy', 'dhc-legacy', "
            "'tidy', 'register', 'census-api', 'json-stat', 'data-census-gov', 'factfinder', "
            "'nhgis', 'nomis', 'eurostat-tsv', 'sdmx-csv', "
            "'ons-bulk', 'ons-filtered', 'statcan-profile' or 'sheet' (found 'sf2')",
        ),
        ("[al2010.sf1.zip]", "[3]", "al.yaml:3: ingest.paths[0]: a path is expected (found 3)"),
        ("[al2010.sf1.zip]", "[]", "al.yaml:3: ingest.paths: at least one is expected (found [])"),
        (
            "block+tract",
            "[]",
            "al.yaml:5: reconstruct.tables: levels joined by '+' or a list of table names is "
            "expected (found [])",
        ),
        ("release: sf1_2010\n", "", "al.yaml: release: missing"),
        (GOOD, "", "al.yaml: empty; a config starts with `release:` and `work:`"),
        (
            GOOD,
            "- release\n",
            "al.yaml: is no config: that has keys and values, such as `release: sf1_2010`; "
            "`recon init FILES` writes one for published files",
        ),
    ],
)
def test_a_wrong_value_is_named(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert refusal(tmp_path, GOOD.replace(old, new)) == message


def test_all_findings_come_at_once(tmp_path: Path) -> None:
    message = refusal(tmp_path, GOOD + "  verify: 3\nwrokers: 2\n")
    assert [line.split(": ")[1] for line in message.splitlines()] == [
        "reconstruct.verify",
        "wrokers",
    ]


def test_settings_win_and_are_typed(tmp_path: Path) -> None:
    config = load(
        tmp_path,
        GOOD,
        "reconstruct.tables=[P1, P12]",
        "reconstruct.verify=false",
        "tabulate.levels=block",
        "workers=3",
    )
    section = config.section(Reconstruct)
    assert (section.tables, section.seed, section.verify) == (("P1", "P12"), 5, False)
    assert config.section(Tabulate).levels == ("block",)
    assert config.top.workers == 3


def test_paths_start_where_they_were_written(tmp_path: Path) -> None:
    config = load(tmp_path, GOOD, "ingest.paths=[x.zip, ../y.zip]", "work=w")
    assert config.section(Ingest).paths == (Path("x.zip"), Path("../y.zip"))
    assert config.work == Path("w")


def test_work_and_workers_from_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "al.yaml").write_text(GOOD)
    config = load_config(tmp_path / "al.yaml", work=Path("other"), workers=2)
    assert (config.work, config.top.workers) == (Path("other"), 2)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        (
            "reconstruct.tabels=block",
            "--set reconstruct.tabels=block: reconstruct.tabels: unknown key "
            "(valid keys: tables, seed, assumptions, objective, engine, within, verify); "
            "did you mean 'tables'?",
        ),
        ("seed", "--set 'seed': expected key.path=value, as in reconstruct.seed=7"),
        ("=3", "--set '=3': expected key.path=value, as in reconstruct.seed=7"),
        ("seed=[", "--set seed=[:1: not valid YAML: expected the node content"),
        ("work.deep=3", "--set 'work.deep=3': work has no keys in it"),
        (
            "reconstruct.seed=x",
            "--set reconstruct.seed=x: reconstruct.seed: must be a valid integer (found 'x')",
        ),
    ],
)
def test_a_wrong_setting_is_named(tmp_path: Path, setting: str, message: str) -> None:
    assert refusal(tmp_path, GOOD, setting).startswith(message)


def test_the_default_file_is_recon_yaml_here() -> None:
    with pytest.raises(ConfigError, match=r"no config: .* a recon\.yaml; `recon init FILES`"):
        load_config()
    Path("recon.yaml").write_text(GOOD)
    assert load_config().work == Path("work/al")


def test_settings_alone_can_be_enough() -> None:
    config = load_config(settings=["release=clinic_visits", "work=w"])
    assert config.load_release().name == "clinic_visits"
    with pytest.raises(ConfigError, match=r"--set: ingest: missing \(it needs source, paths\)"):
        config.section(Ingest)
    with pytest.raises(ConfigError, match="--set: release: missing"):
        load_config(settings=["work=w"])
    with pytest.raises(ConfigError, match=r"--set: work: missing \(or give --work FOLDER\)"):
        _ = load_config(settings=["release=clinic_visits"]).work


def test_a_bare_section_has_its_defaults(tmp_path: Path) -> None:
    config = load(tmp_path, "release: sf1_2010\nwork: w\nreconstruct:\n")
    assert config.sections == {"reconstruct": Reconstruct()}
    assert "ingest.source: missing" in refusal(tmp_path, "release: sf1_2010\ningest:\n")


def test_a_schema_file_starts_from_the_configs_folder(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text("release: own\n")
    config = load(tmp_path, "release: own.yaml\nwork: w\n")
    with pytest.raises(SchemaError, match=r"own\.yaml: title: missing"):
        config.load_release()


def test_an_unknown_release_lists_the_packaged_ones(tmp_path: Path) -> None:
    config = load(tmp_path, "release: sf1_2020\n")
    with pytest.raises(ConfigError, match=r"al\.yaml: release: no packaged schema 'sf1_2020'"):
        config.load_release()


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        (
            "reconstruct.tables=blok+tract",
            "al.yaml: reconstruct.tables: 'blok+tract': no level 'blok' in release 'sf1_2010' ",
        ),
        ("reconstruct.tables=[P1, P99]", "al.yaml: reconstruct.tables: no table 'P99' in "),
        ("tabulate.tables=[P99]", "al.yaml: tabulate.tables: no table 'P99' in release "),
        ("tabulate.levels=[blok]", "al.yaml: tabulate.levels: no level 'blok' (levels: block, "),
    ],
)
def test_what_the_release_does_not_have(tmp_path: Path, setting: str, message: str) -> None:
    config = load(tmp_path, GOOD, setting)
    with pytest.raises(ConfigError) as caught:
        config.load_release()
    assert str(caught.value).replace(str(tmp_path / "al.yaml"), "al.yaml").startswith(message)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        load_config(tmp_path / "none.yaml")
    (tmp_path / "latin.yaml").write_bytes(b"release: \xe9\n")
    with pytest.raises(ConfigError, match="not UTF-8 text"):
        load_config(tmp_path / "latin.yaml")
