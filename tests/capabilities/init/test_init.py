"""The first config: what it finds, what it says, and that it runs."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path
from typing import get_args

import polars as pl
import pytest
import yaml

from recon_cli.capabilities.ingest.options import Ingest
from recon_cli.capabilities.init import recognition
from recon_cli.capabilities.init.document import compose, descriptions
from recon_cli.capabilities.init.recognition import recognise
from recon_cli.capabilities.reconstruct.options import Reconstruct
from recon_cli.capabilities.solvar.options import Solvar
from recon_cli.config import SECTIONS, load_config
from recon_cli.config.model import ConfigModel, Top
from tests.support.command_line import recon
from tests.support.layouts import LAYOUTS, counts_of
from tests.support.layouts import SCHEMA as SEX_BY_AGE
from tests.support.paths import ROOT
from tests.support.website import Reply, website

TOY = ROOT / "fixtures" / "toy2010.sf1.zip"
CLINIC = ROOT / "fixtures" / "clinic_visits.csv"
SCHEMA = ROOT / "recon_cli" / "schema" / "releases" / "clinic_visits.yaml"
OFFERED = ("ingest", "reconstruct", "solvar", "claims", "link", "score", "report")
#: ``#key: value`` with its indent; a comment for people has a blank behind ``#``.
SWITCHED_OFF = re.compile(r"^( *)#(\w+:.*|  .*)$", re.MULTILINE)


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_PROXY", "*")


def test_from_nothing_to_a_finished_run() -> None:
    with website(Reply(TOY.read_bytes())) as site:
        fetched = recon("fetch", "al", "--mirror", site.url)
    assert "next: recon init data/al2010.sf1.zip" in fetched.stdout
    written = recon("init", "data/al2010.sf1.zip")
    assert "init: wrote recon.yaml" in written.stdout
    assert "Alabama, in part: 2,015 people" in written.stdout
    assert "next: recon run" in written.stdout
    recon("run", "--workers", 1, "--until", "solvar")  # the page takes as long again
    assert "every published cell is reproduced" in recon("verify").stdout
    made = {path.name for path in Path("work/al2010").iterdir() if path.is_dir()}
    assert {"tables", "geounits", "microdata", "blocks", "solvar"} <= made


def test_what_a_config_for_a_state_asks_for() -> None:
    recon("init", TOY)
    config = load_config(Path("recon.yaml"))
    asked = {"ingest", "reconstruct", "solvar", "claims", "report"}
    assert set(config.sections) == asked
    assert (config.top.release, config.work) == ("sf1_2010", Path("work/toy2010"))
    assert config.section(Ingest).source == "sf1-legacy"
    assert config.section(Ingest).paths[0].resolve() == TOY
    assert config.section(Reconstruct).tables == "block+tract"
    assert config.section(Solvar).mode == "relaxed"


def test_every_key_is_there_and_switched_on_it_still_loads() -> None:
    recon("init", TOY)
    text = Path("recon.yaml").read_text()
    assert all(len(line) <= 78 for line in text.splitlines() if line.lstrip().startswith("# "))
    Path("all.yaml").write_text(SWITCHED_OFF.sub(r"\1\2", text))
    said = yaml.safe_load(Path("all.yaml").read_text())
    assert list(said)[: len(Top.model_fields)] == list(Top.model_fields)
    for name in set(OFFERED) & set(SECTIONS):
        assert list(said[name]) == list(SECTIONS[name].model_fields), name
    config, plain = load_config(Path("all.yaml")), load_config(Path("recon.yaml"))
    assert set(config.sections) == set(OFFERED) & set(SECTIONS)
    for name in Top.model_fields:
        assert getattr(config.top, name) == getattr(plain.top, name)
    for name, section in plain.sections.items():
        assert config.sections[name] == section, "what is switched off is the default"


def test_comments_are_the_models_own_words() -> None:
    text = " ".join(compose(recognise([TOY]), Path("recon.yaml")).replace("#", "").split())
    models: list[type[ConfigModel]] = [
        Top,
        *(SECTIONS[name] for name in OFFERED if name in SECTIONS),
    ]
    for model in models:
        described = descriptions(model)
        assert set(described) == set(model.model_fields), f"{model.__name__}: a key has no words"
        assert all(words in text for words in described.values())
    assert "how to read each. (sf1-legacy or pl-legacy or dhc-legacy or" in text
    assert "before it is stored. (true or false)" in text
    assert "Coverage of intervals, in percent. (number, more than 0, less than 100)" in text
    assert "default one per core. (whole number, 1 or more)" in text


def test_paths_are_relative_to_the_config() -> None:
    for folder in ("data", "runs/deep"):
        Path(folder).mkdir(parents=True)
    Path("data/ä b.zip").write_bytes(TOY.read_bytes())
    done = recon("init", "data/ä b.zip", "--to", "runs/deep/my run.yaml")
    assert "next: recon run -c 'runs/deep/my run.yaml'" in done.stdout
    config = load_config(Path("runs/deep/my run.yaml"))
    assert config.section(Ingest).paths[0].resolve() == Path("data/ä b.zip").resolve()
    assert yaml.safe_load(Path("runs/deep/my run.yaml").read_text())["ingest"]["paths"] == [
        "../../data/ä b.zip"
    ]
    assert config.work.resolve() == Path("runs/deep/work/my run").resolve()


def test_a_file_that_is_there_stays() -> None:
    Path("recon.yaml").write_text("mine")
    assert "recon.yaml: is there already" in recon("init", TOY, code=2).stderr
    assert Path("recon.yaml").read_text() == "mine"
    recon("init", TOY, "--force")
    assert load_config(Path("recon.yaml")).top.release == "sf1_2010"


def test_a_folder_of_zips() -> None:
    Path("data").mkdir()
    for state in ("al", "ny"):
        Path(f"data/{state}2010.sf1.zip").write_bytes(TOY.read_bytes())
    Path("data/sha256sums.txt").write_text("")
    assert "sf1-legacy, 2 paths" in recon("init", "data").stdout
    config = load_config(Path("recon.yaml"))
    assert [path.name for path in config.section(Ingest).paths] == [
        "al2010.sf1.zip",
        "ny2010.sf1.zip",
    ]
    assert config.work == Path("work/sf1_2010")


def test_unpacked_members() -> None:
    with zipfile.ZipFile(TOY) as archive:
        archive.extractall("toy")
    recon("init", "toy")
    assert load_config(Path("recon.yaml")).section(Ingest).paths == (Path("toy"),)
    recon("ingest")
    refused = recon("init", "toy", "--to", "toy/recon.yaml", code=2)
    assert "every file in there is input" in refused.stderr
    Path("toy/toy2010.sf1.zip").write_bytes(TOY.read_bytes())
    refused = recon("init", "toy", "--force", code=2)
    assert "holds a state's members and toy2010.sf1.zip besides" in refused.stderr


def test_the_record_of_a_whole_state_says_its_name_and_people() -> None:
    with zipfile.ZipFile(TOY) as old, zipfile.ZipFile("whole.zip", "w") as new:
        for name in old.namelist():
            text = old.read(name)
            if "geo" in name:
                first = text.splitlines()[0].decode("latin-1")
                state = f"{first[:8]}040{first[11:18]}0000000{first[25:]}"
                state = f"{state[:226]}{'New Alabama':<90}{state[316:318]}{4779736:>9}{state[327:]}"
                text = state.encode("latin-1") + b"\n" + text
            new.writestr(name, text)
    assert recognise([Path("whole.zip")]).about == ("New Alabama: 4,779,736 people",)


def test_tidy_files_of_a_packaged_release() -> None:
    done = recon("init", CLINIC)
    assert "clinic_visits (Patients of community clinics" in done.stdout
    config = load_config(Path("recon.yaml"))
    assert config.section(Ingest).source == "tidy"
    assert config.section(Reconstruct).tables == "clinic+district"
    counts = pl.read_csv(CLINIC, infer_schema=False)
    Path("tables").mkdir()
    counts[: len(counts) // 2].write_csv("tables/one.csv")
    counts[len(counts) // 2 :].cast({"cell": pl.Int64, "count": pl.Int64}).write_parquet(
        "tables/two.parquet"
    )
    Path("tables/notes.txt").write_text("")
    recon("init", "tables", "--force")
    recon("ingest")
    paths = load_config(Path("recon.yaml")).section(Ingest).paths
    assert [path.name for path in paths] == ["one.csv", "two.parquet"]


def test_a_release_of_your_own() -> None:
    Path("schemas").mkdir()
    text = SCHEMA.read_text().replace("PATIENTS", "VISITORS").replace("clinic_visits", "mine")
    Path("schemas/mine.yaml").write_text(text)
    Path("mine.csv").write_text(CLINIC.read_text().replace("PATIENTS", "VISITORS"))
    unknown = recon("init", "mine.csv", code=2).stderr
    assert "mine.csv: fits no packaged release; give --release NAME or a schema.yaml" in unknown
    assert "clinic_visits: mine.csv: line" in unknown
    assert not Path("recon.yaml").exists()
    Path("runs").mkdir()
    recon("init", "mine.csv", "--release", "schemas/mine.yaml", "--to", "runs/mine.yaml")
    config = load_config(Path("runs/mine.yaml"))
    assert config.load_release().name == "mine"
    assert yaml.safe_load(Path("runs/mine.yaml").read_text())["release"] == "../schemas/mine.yaml"
    wrong = recon("init", "mine.csv", "--release", "clinic_visits", code=4).stderr
    assert "no table 'VISITORS' in release 'clinic_visits'" in wrong


def test_what_numbers_tell_of_a_file_of_a_known_release_is_in_its_mapping() -> None:
    rows = [f"W{n},{n},{n},-,50.5" if n % 2 else f"W{n},{2 * n},{n},{n},9.5" for n in range(11, 17)]
    Path("wards.csv").write_text("\n".join(["Ward,Total,Men,Women,Share of homes", *rows, ""]))
    flags = ("--leave-out", "Share of homes")
    recon("init", "wards.csv", "--to", "first", *flags)

    recon("init", "wards.csv", "--release", "wards.yaml", "--to", "second")

    mapping = yaml.safe_load(Path("second").read_text())["ingest"]["mapping"]
    assert mapping == {"columns": {"Share of homes": None}, "zeros": ["-"]}
    assert "6" in recon("ingest", "-c", "second").stdout


def test_files_that_fit_several_releases(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("twin.yaml").write_text(SCHEMA.read_text().replace("clinic_visits", "twin"))
    names = ("clinic_visits", "twin.yaml")
    monkeypatch.setattr(recognition, "packaged_releases", lambda: names)
    refused = recon("init", CLINIC, code=2).stderr
    assert "fits several releases (clinic_visits, twin.yaml); give --release" in refused


@pytest.mark.parametrize(
    ("name", "content", "code", "message"),
    [
        ("x.zip", b"<html>", 4, "x.zip: expected a zip file or a folder"),
        ("x.csv", b"a,b\n1,2\n", 2, "'b' is in no relation to the counts"),
        ("x.pdf", b"", 2, "x.pdf: cannot be read; expected state zips"),
        ("empty/x.txt", b"", 2, "empty: nothing in this folder can be read"),
    ],
)
def test_what_cannot_be_recognised(name: str, content: bytes, code: int, message: str) -> None:
    path = Path(name)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    named = path.parent if path.parent.name else path
    assert message in recon("init", named, code=code).stderr
    assert not Path("recon.yaml").exists()


def test_nothing_there_or_too_much() -> None:
    assert "no such file or folder: data" in recon("init", "data", code=2).stderr
    assert "Missing argument 'PATH...'" in recon("init", code=2).stderr
    assert "reads one kind of file" in recon("init", TOY, CLINIC, code=2).stderr


def test_every_source_can_be_recognised() -> None:
    sources = set(get_args(Ingest.model_fields["source"].annotation))
    Path("sexage.yaml").write_text(SEX_BY_AGE)
    seen = {recognise([path]).source for path in (TOY, CLINIC)}
    for name, make in LAYOUTS.items():
        folder = Path(name)
        folder.mkdir()
        layout = make(counts_of({"340210001001000": [1, 2, 3, 4, 5, 6]}), folder)
        found = recognise(list(layout.paths), "sexage.yaml")
        assert found.source == layout.source, name
        seen.add(found.source)
    elsewhere = {"ons-filtered", "pl-legacy", "dhc-legacy"}  # in tests of their readers
    assert seen == sources - elsewhere - {"register"}  # no file is one, its release says so


def test_output_fits_a_narrow_terminal() -> None:
    Path("toy.zip").write_bytes(TOY.read_bytes())
    lines = recon("init", "toy.zip", width=60).stdout.splitlines()
    assert max(len(line.rstrip()) for line in lines) <= 60
