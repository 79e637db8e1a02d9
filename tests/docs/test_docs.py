"""The documentation: all that there is, nothing that is not, and a site that builds."""

from __future__ import annotations

import importlib
import json
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import click
import polars as pl
import pytest
import yaml

from recon_cli.capabilities.joint.release import load_joint
from recon_cli.capabilities.measurements.strategy_file import load_strategy
from recon_cli.cli import main
from recon_cli.config import load_config
from recon_cli.config.load import run_model
from recon_cli.schema import Release, load_release
from recon_cli.statement import load_protection
from tests.support.command_line import recon
from tests.support.pages import agrees, blocks, check, commands
from tests.support.paths import ROOT

DOCS = ROOT / "docs"
PAGES = sorted({*DOCS.glob("*.md"), ROOT / "README.md"} - {*DOCS.glob("*.notes.md")})
#: Characters of the longest page that a reader takes in.
LONGEST = 60_000

sys.path.append(str(DOCS / "_ext"))
configuration, generated, reference = map(
    importlib.import_module, ("configuration", "generated", "commands")
)


def text(page: Path) -> str:
    """A page with its generated parts, as the site has it, but for what cells of a notebook show.

    That takes seconds in each process that collects these tests, and has no command.
    """
    return str(generated.MARKER.sub(_generated, page.read_text()))


def _generated(marker: re.Match[str]) -> str:
    if marker[1] != "notebook":
        return str(generated.WRITERS[marker[1]]())
    cells = json.loads(generated.NOTEBOOK.read_text())["cells"]
    return "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")


def recon_lines() -> Iterator[tuple[str, str]]:
    """Every command line that a page shows: where, and its words after ``recon``."""
    for page in PAGES:
        for block in blocks(text(page)):
            if block.language == "console":
                for each in commands(block.text):
                    line = each.text.replace("\\\n", " ").removeprefix(".venv/bin/")
                    if line.startswith("recon "):
                        yield page.name, line.removeprefix("recon ")


@pytest.mark.parametrize(("page", "line"), list(dict.fromkeys(recon_lines())))
def test_command_lines_exist(page: str, line: str) -> None:
    words = shlex.split(line, comments=True)
    command: click.Command = main
    context = click.Context(main, info_name="recon")
    while isinstance(command, click.Group):
        found = command.get_command(context, words[0]) if words else None
        if found is None:
            assert words, f"{page}: recon {line}: a subcommand is missing"
            pytest.fail(f"{page}: recon {line}: no command {words[0]!r}")
        context = click.Context(found, info_name=words[0], parent=context)
        command, words = found, words[1:]
        if (
            isinstance(command, click.Group)
            and command.invoke_without_command
            and (not words or words[0].startswith("-"))
        ):
            break
    command.parse_args(context, words)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_page_is_longer_than_a_reader_takes_in(page: Path) -> None:
    assert len(page.read_text()) < LONGEST, "put generated tables into a file beside it"


def test_every_command_is_documented() -> None:
    shown, readme = text(DOCS / "cli.md"), (ROOT / "README.md").read_text()
    for path, command in reference.walk():
        assert f" {path}\n" in shown
        assert command.help, f"{path} has no help"
        if not isinstance(command, click.Group):
            assert "Example:" in command.help, f"{path} has no example"
        if path.count(" ") == 1:
            assert f"`{path}" in readme, f"README does not name {path}"
        for option in command.params:
            if isinstance(option, click.Option):
                assert option.help, f"{path}: {option.opts[0]} has no help"


def test_every_config_key_is_documented() -> None:
    shown = text(DOCS / "config.md")
    for section, field in run_model().model_fields.items():
        for part in getattr(field.annotation, "__args__", ()):
            if hasattr(part, "model_fields"):
                assert f"## {section}\n" in shown
    rows = re.findall(r"^\| `(\w+)` \|.*\| (.*) \|$", shown, re.MULTILINE)
    assert len(rows) > 40
    assert not [key for key, meaning in rows if not meaning.strip()], "keys without a meaning"


def test_every_schema_key_has_a_meaning() -> None:
    rows = re.findall(
        r"^\| `(\w+)` \| .* \| .* \| (.*) \|$", text(DOCS / "schema.md"), re.MULTILINE
    )
    assert len(rows) > 30
    assert not [key for key, meaning in rows if not meaning.strip()]


def test_pages_are_compared_line_by_line() -> None:
    assert agrees("a 1\n…\nc", "a   1\nb\nb\nc")
    assert agrees("seconds  0.2", "seconds  17 (3 a second)")
    assert agrees("…\nc", "a\nc")
    assert agrees("a\n…", "a\nb")
    assert not agrees("a", "a\nb")
    assert not agrees("a 1", "a 2")
    assert not agrees("…\na", "a\nb")


def test_kinds_in_words() -> None:
    kind = {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}]}
    assert configuration.kind_of(kind, {}) == "whole number from 1"
    assert configuration.kind_of({"enum": ["a", "b"]}, {}) == "`a`, `b`"
    assert configuration.kind_of({"type": "array", "items": {"$ref": "#/$defs/X"}}, {"X": "y"}) == (
        "list: y"
    )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_configs_in_pages_load(page: Path, tmp_path: Path) -> None:
    (tmp_path / "fixtures").symlink_to(ROOT / "fixtures")
    shown: dict[str, Release] = {}
    for block in blocks(text(page)):
        if block.language == "csv" and block.file:
            (tmp_path / block.file).parent.mkdir(exist_ok=True)
            (tmp_path / block.file).write_text(block.text)
        if block.language != "yaml":
            continue
        found = yaml.safe_load(block.text)
        path = tmp_path / (block.file or "shown.yaml")
        path.write_text(block.text)
        if "features" in found:
            shown[found.get("release", "")] = load_release(str(path))
        elif "parts" in found:
            load_joint(str(path), [load_release(name) for name in found["parts"].values()])
        elif "strategy" in found:
            load_strategy(str(path), load_release("clinic_visits"))
        elif "statements" in found:
            named = found.get("release", "sf1_2010")
            load_protection(path, shown.get(named) or load_release(named))
        elif "release" in found:
            load_config(path).load_release()
        else:
            load_config(path, settings=["release=sf1_2010"])


@pytest.mark.parametrize(
    "name",
    [
        "tutorial.md",
        "schema.md",
        "formats.md",
        "python.md",
        "attackers.md",
        "protected.md",
        "hospital.md",
        "areas.md",
        "register.md",
        "statistics.md",
    ],
)
def test_pages_say_what_is_printed(name: str, tmp_path: Path) -> None:
    check(DOCS / name, tmp_path)


def test_readme_shows_the_demo(tmp_path: Path) -> None:
    shared = ["-c", str(ROOT / "configs" / "toy.yaml"), "--work", str(tmp_path)]
    result = recon("run", *shared, "--until", "reconstruct")
    shown = next(b for b in blocks((ROOT / "README.md").read_text()) if b.language == "text")
    assert agrees(shown.text, result.stdout)


def test_files_page_has_the_columns_of_the_folders(tmp_path: Path) -> None:
    shared = ["-c", str(ROOT / "configs" / "toy.yaml"), "--work", str(tmp_path), "-q"]
    recon("run", *shared, "--until", "solvar")
    recon("claims", *shared)
    page = (DOCS / "files.md").read_text()
    sections = re.findall(r"^### `(\w+)/`\n(.*?)(?=^##)", page, re.MULTILINE | re.DOTALL)
    seen = []
    for folder, section in sections:
        if not (tmp_path / folder).is_dir():
            continue
        said = set(re.findall(r"^\| `([\w<>]+)` \|", section, re.MULTILINE))
        said = {name.replace("<unit>", "block").replace("<region>", "tract") for name in said}
        frame = pl.read_parquet(tmp_path / folder / "**/*.parquet", hive_partitioning=False)
        own = {"sex", "age", "agebin", "race", "hispanic"} if "| … |" in section else set()
        assert set(frame.columns) - own == said, folder
        seen.append(folder)
    made = {path.parent.name for path in tmp_path.glob("*/_manifest.json")}
    assert set(seen) == made


def test_the_readme_names_every_dependency_and_no_other() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    readme = (ROOT / "README.md").read_text()
    text = readme.partition("## Dependencies\n")[2].partition("\n## ")[0]
    for extra, needed in project["optional-dependencies"].items():
        if extra in {"build", "dev"}:
            continue
        assert f"`recon-cli[{extra}]`: {re.split('[>=<]', needed[-1])[0]} (" in text.replace(
            "\n", " "
        )
    for needed in project["dependencies"]:
        assert re.search(rf"\b{re.split('[>=<]', needed)[0]}\b", text), needed


def test_links_of_the_readme_lead_somewhere() -> None:
    readme = (ROOT / "README.md").read_text()
    targets = re.findall(r"\]\(([^)#]+)(?:#([\w-]+))?\)", readme)
    assert len(targets) > 15
    for path, anchor in targets:
        assert (ROOT / path).exists(), path
        if anchor:
            headings = re.findall(r"^#+ (.*)$", (ROOT / path).read_text(), re.MULTILINE)
            slugs = [re.sub(r"[^\w -]", "", each.lower()).replace(" ", "-") for each in headings]
            assert anchor in slugs, f"{path}#{anchor}"


class _Links(HTMLParser):
    """What a built page points to, and what can be pointed to in it."""

    def __init__(self) -> None:
        super().__init__()
        self.targets: set[str] = set()
        self.loaded: set[str] = set()
        self.anchors: set[str] = {""}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id" and value:
                self.anchors.add(value)
            elif name == "href" and value and tag == "a":
                self.targets.add(value)
            elif name in {"src", "href", "data"} and value:
                self.loaded.add(value)


def assert_notebook_ran(page: str, folder: Path) -> None:
    """Its cells ran, from another folder, and left nothing there."""
    assert re.search(r"\d records are certain", page)
    assert re.search(r"recovered\D*\d", page)
    assert '<svg xmlns="http://www.w3.org/2000/svg" class="chart"' in page
    assert not list(folder.iterdir())


def test_the_site_builds_and_fetches_nothing(tmp_path: Path) -> None:
    site = tmp_path / "html"
    quiet = ["-E", "-W", "--keep-going", "-n", "-q", "-d", str(tmp_path / "trees")]
    command = [sys.executable, "-m", "sphinx", *quiet, str(DOCS), str(site)]
    (elsewhere := tmp_path / "elsewhere").mkdir()
    result = subprocess.run(command, cwd=elsewhere, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert_notebook_ran((site / "notebook.html").read_text(), elsewhere)
    pages = {path: _Links() for path in site.glob("*.html")}
    assert {f"{page.stem}.html" for page in PAGES if page.parent == DOCS} <= {p.name for p in pages}
    for path, links in pages.items():
        links.feed(path.read_text())
        remote = [each for each in links.loaded if re.match(r"(https?:)?//", each)]
        assert not remote, f"{path.name} would fetch {remote}"
    for path, links in pages.items():
        for target in links.targets:
            if re.match(r"\w+:", target):
                continue
            file, _, anchor = target.partition("#")
            there = path if not file else (path.parent / unquote(file)).resolve()
            assert there.exists(), f"{path.name}: {target}"
            if there in pages and path.name not in {"search.html", "genindex.html"}:
                assert unquote(anchor) in pages[there].anchors, f"{path.name}: {target}"
