"""What the pages for developers say about the code is so: folders, layers, terms, references."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.paths import ROOT

PACKAGE = ROOT / "recon_cli"
GLOSSARY, ARCHITECTURE = ROOT / "docs" / "glossary.md", ROOT / "docs" / "architecture.md"


def parts() -> set[str]:
    """Folders and modules at the top of the package."""
    modules = {path.name for path in PACKAGE.glob("[!_]*.py")}
    return modules | {f"{path.parent.name}/" for path in PACKAGE.glob("*/__init__.py")}


def test_the_readme_shows_every_folder_and_no_other() -> None:
    readme = (ROOT / "README.md").read_text()
    tree = re.search(r"^recon_cli/\n(.*?)^```", readme, re.MULTILINE | re.DOTALL)
    assert tree, "README has no tree"
    columns = [re.split(r"\s{2,}", line.strip())[0] for line in tree[1].splitlines()]
    assert sorted(" ".join(columns).split()) == sorted(parts())


def references(page: Path) -> list[str]:
    return list(dict.fromkeys(re.findall(r"`(recon_cli(?:\.\w+)+)`", page.read_text())))


@pytest.mark.parametrize("name", [*references(GLOSSARY), *references(ARCHITECTURE)])
def test_what_is_named_exists(name: str) -> None:
    module, *rest = name.split(".")
    thing = importlib.import_module(module)
    for attribute in rest:
        if not hasattr(thing, attribute):
            thing = importlib.import_module(f"{thing.__name__}.{attribute}")
        else:
            thing = getattr(thing, attribute)


def terms() -> set[str]:
    """Terms of the glossary: the first column of its tables, a term for each comma."""
    rows = re.findall(r"^\| ([^|]+?) \| .* \|$", GLOSSARY.read_text(), re.MULTILINE)
    found = {part for row in rows for part in re.sub(r" \(.*\)", "", row).split(", ")}
    return found - {"term", "---"}


def linked_terms() -> Iterator[tuple[str, str]]:
    """Terms that docstrings link to the glossary: module, term."""
    for path in sorted(PACKAGE.rglob("*.py")):
        for link in re.findall(
            r"See (.+?) in docs/glossary\.md", " ".join(path.read_text().split())
        ):
            for term in re.findall(r"\*(.+?)\*", link):
                yield str(path.relative_to(ROOT)), term


def test_docstrings_link_to_terms_of_the_glossary() -> None:
    links, known = list(linked_terms()), terms()
    assert len(links) > 30
    assert [(path, term) for path, term in links if term not in known] == []


CORE = [
    "model",
    "solve",
    "attack",
    "explain",
    "score",
    "synth",
    "protect",
    "noise",
    "histogram",
    "risk",
    "capacity",
    "frontier",
    "experiment",
    "calibrate",
    "tabulation",
    "verification",
]
OTHERS = ["stages", "pipeline", "store", "execute", "cli", "api", "config", "report"]


def imports(path: Path) -> Iterator[str]:
    """Parts of the package that a module imports."""
    for node in ast.walk(ast.parse(path.read_text())):
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        for name in names:
            if name.startswith("recon_cli."):
                yield name.split(".")[1]


@pytest.mark.parametrize("part", CORE)
def test_the_core_knows_no_stages_folders_or_commands(part: str) -> None:
    files = [*(PACKAGE / part).rglob("*.py"), *PACKAGE.glob(f"{part}.py")]
    assert files
    for path in files:
        assert not set(imports(path)) & set(OTHERS), path


def test_only_the_solvers_import_ortools() -> None:
    for path in PACKAGE.rglob("*.py"):
        if path.parent.name != "solve":
            assert not re.search(r"^\s*(from|import) ortools", path.read_text(), re.MULTILINE), path
