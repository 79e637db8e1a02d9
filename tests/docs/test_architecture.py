"""What the pages for developers say about the code is so: folders, layers, terms, references."""

from __future__ import annotations

import ast
import importlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
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


#: From the bottom to the top, as docs/architecture.md has them.
LAYERS = ("vocabulary", "core", "shell", "capabilities", "faces")
CAPABILITIES = "recon_cli.capabilities"
#: All that the core may know of what is above it: who hears of progress.
OF_PROGRESS = {
    f"recon_cli.progress.{name}"
    for name in ("NO_STATUSES", "OnProgress", "ProgressSoFar", "ignore_progress")
}


def layer_of() -> dict[str, str]:
    """Part of the package → its layer, from the table of the page."""
    layers: dict[str, str] = {}
    for layer in LAYERS:
        row = re.search(rf"^\| {layer} \| (.*?) \|", ARCHITECTURE.read_text(), re.MULTILINE)
        assert row, layer
        for part in re.findall(r"`(\w+)(?:/|\.py)`", row[1]):
            assert part not in layers, part
            layers[part] = layer
    return layers


def modules() -> dict[str, Path]:
    """Every module by its dotted name."""
    named = {}
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(ROOT).with_suffix("").parts
        named[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return named


MODULES = modules()


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def loaded_at_once(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements that run when a module is imported: none of functions or type checking."""
    for node in body:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from loaded_at_once(node.orelse)
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node
            for field in ("body", "orelse", "handlers", "finalbody"):
                yield from loaded_at_once(getattr(node, field, []))


def imported(nodes: Iterable[ast.AST]) -> set[str]:
    """What these statements import of the package: modules, and names of them."""
    names: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.ImportFrom):
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return {name for name in names if name.startswith("recon_cli.")}


def module_of(name: str) -> str:
    return name if name in MODULES else name.rpartition(".")[0]


def test_every_part_has_one_layer() -> None:
    assert set(layer_of()) == {name.removesuffix(".py").strip("/") for name in parts()}


@pytest.mark.parametrize("layer", ["vocabulary", "core"])
def test_nothing_is_imported_from_above(layer: str) -> None:
    layers = layer_of()
    height = {part: LAYERS.index(name) for part, name in layers.items()}
    above = [
        (module, name)
        for module, path in MODULES.items()
        if layers.get(".".join(module.split(".")[1:2])) == layer
        for name in imported(ast.walk(tree_of(path))) - OF_PROGRESS
        if height[name.split(".")[1]] > LAYERS.index(layer)
    ]
    assert above == []


def capability_of(name: str) -> str:
    """The folder that a module, or a name of one, is in; empty for the kernel and the faces."""
    return name.split(".")[2] if name.startswith(f"{CAPABILITIES}.") else ""


@cache
def named(path: Path) -> set[str]:
    """What a module imports, at once or when it is needed."""
    return imported(ast.walk(tree_of(path)))


def test_the_kernel_imports_no_capability() -> None:
    layers = layer_of()
    kernel = {
        module: {capability_of(name) for name in named(path)} - {"", "CAPABILITIES"}
        for module, path in MODULES.items()
        if layers.get(".".join(module.split(".")[1:2])) in LAYERS[:3]
    }
    assert {module: known for module, known in kernel.items() if known} == {}


@cache
def needs() -> dict[str, set[str]]:
    """Capability → those that it names."""
    found: dict[str, set[str]] = {}
    for module, path in MODULES.items():
        if own := capability_of(module):
            others = {capability_of(name) for name in named(path)} - {"", own}
            found.setdefault(own, set()).update(others)
    return found


def test_capabilities_need_those_of_the_table_and_no_circle() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (`.*|–) \|$", ARCHITECTURE.read_text(), re.MULTILINE)
    table = {name: set(re.findall(r"`(\w+)`", others)) for name, others in rows}
    assert table == needs()
    assert set(table) == set(importlib.import_module(CAPABILITIES).CAPABILITIES)
    assert first_circle(needs()) == []


def first_circle(depends: Mapping[str, set[str]]) -> list[str]:
    """Names that need each other; empty where there are none."""
    try:
        TopologicalSorter(depends).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_a_circle_is_found() -> None:
    assert first_circle({"a": {"b"}, "b": {"a"}, "c": set()})
    assert not first_circle({"a": {"b"}, "b": {"c"}})


def test_no_module_and_no_folder_imports_in_a_circle() -> None:
    depends: dict[str, set[str]] = {}
    folders: dict[str, set[str]] = {}
    for module, path in MODULES.items():
        names = imported(loaded_at_once(tree_of(path).body))
        depends[module] = {module_of(name) for name in names} - {module}
        if "." in module:
            part = module.split(".")[1]
            known = depends[module] - {CAPABILITIES}  # the registry: names and nothing else
            others = {name.split(".")[1] for name in known} - {part}
            folders.setdefault(part, set()).update(others)
    assert sum(map(len, depends.values())) > 1000
    assert first_circle(depends) == []
    assert first_circle(folders) == []


def test_inside_functions_the_package_is_imported_undisturbed() -> None:
    """What is heavy is imported with `recon_cli.stage.undisturbed`; libraries may be without."""
    disturbed = [
        (module, name)
        for module, path in MODULES.items()
        for function in ast.walk(tree_of(path))
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for name in imported(outside_of_undisturbed(function.body))
    ]
    assert disturbed == []


def outside_of_undisturbed(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for node in body:
        if not (isinstance(node, ast.With) and "undisturbed()" in ast.unparse(node.items[0])):
            yield node
            for field in ("body", "orelse", "handlers", "finalbody"):
                yield from outside_of_undisturbed(getattr(node, field, []))


def test_nothing_of_the_package_is_named_by_a_string() -> None:
    links = [
        (module, link)
        for module, path in MODULES.items()
        for link in re.findall(r'"recon_cli[.\w]*:\w+"', path.read_text())
    ]
    assert links == []


def test_only_the_solvers_import_ortools() -> None:
    for path in PACKAGE.rglob("*.py"):
        if path.parent.name != "solve":
            assert not re.search(r"^\s*(from|import) ortools", path.read_text(), re.MULTILINE), path


def defined(node: ast.stmt) -> list[str]:
    """Names that a statement of a module defines."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else []
    targets = [node.target] if isinstance(node, ast.AnnAssign) else targets
    return [
        each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)
    ]


def test_every_private_name_of_a_module_is_used_there() -> None:
    for path in MODULES.values():
        times = Counter(re.findall(r"\w+", path.read_text()))
        private = {n for node in tree_of(path).body for n in defined(node) if n[0] == "_" != n[1]}
        once = {name for name in private if times[name] == 1}
        assert once == set(), path
