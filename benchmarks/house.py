"""How large the package is, and how far a reader walks: ``python -m benchmarks.house [FOLDER]``.

Prints a column of the table of docs/architecture.md; FOLDER holds another version's ``recon_cli``,
as ``git archive COMMIT recon_cli | tar x -C FOLDER`` leaves it. ``--beside FOLDER`` lists instead
which functions of the walks another version's lack. A walk is the functions that commands over the
toy county call, in the order of their first calls: whoever reads them in that order *returns* when
the next one is in a file that was left before.
"""

from __future__ import annotations

import argparse
import ast
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Final

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from benchmarks.machine import ROOT

#: Parts of the package that are not of the kernel.
OUTSIDE: Final = ("capabilities", "cli", "api")
#: Name of a walk → the commands before it, and its own.
WALKS = {
    "count → record": ([], ["ingest", "reconstruct"]),
    "certain record → headline": (["ingest", "reconstruct", "solvar"], ["report"]),
}
#: Run with the package's folder as path: prints ``file function`` of each function, called first.
_TRACE = """
import sys
from pathlib import Path
import recon_cli
from recon_cli.cli import main
home, *commands = str(Path(recon_cli.__file__).parent), *sys.argv[1:]
called = {}
def follow(frame, event, argument):
    code = frame.f_code
    is_function = code.co_flags & 1 and code.co_name[0] != "<"  # not the body of a class
    if event == "call" and is_function and code.co_filename.startswith(home):
        called.setdefault((code.co_filename, code.co_qualname))
sys.setprofile(follow)
for command in commands:
    main([command, "-q", "--workers", "1"], prog_name="recon", standalone_mode=False)
sys.setprofile(None)
for file, name in called:
    print(file, name)
"""


def modules(folder: Path) -> dict[str, Path]:
    """Every module by its dotted name."""
    paths = {p.relative_to(folder).with_suffix(""): p for p in folder.glob("recon_cli/**/*.py")}
    return {".".join(name.parts).removesuffix(".__init__"): path for name, path in paths.items()}


def imports(tree: ast.AST, known: Collection[str]) -> Iterator[str]:
    """Modules that are imported, wherever it stands, except for type checking."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                yield name if name in known else str(node.module)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif not (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)):
            yield from imports(node, known)


def circles(folder: Path) -> int:
    """Groups of modules that all need each other, by imports anywhere in them."""
    found = modules(folder)
    place = {name: at for at, name in enumerate(found)}
    arcs = [
        (place[name], place[other])
        for name, path in found.items()
        for other in imports(ast.parse(path.read_text()), found.keys())
        if other in place and other != name
    ]
    rows, columns = np.asarray(arcs).T
    graph = sparse.csr_array((np.ones(len(arcs)), (rows, columns)), shape=(len(place),) * 2)
    _, group = connected_components(graph, connection="strong")
    return int((np.bincount(group) > 1).sum())


def inside_functions(text: str) -> int:
    """Count the statements of a module that import inside functions."""
    functions = (
        node
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    inside = {id(each): each for function in functions for each in ast.walk(function)}
    return sum(isinstance(each, ast.Import | ast.ImportFrom) for each in inside.values())


def walk(folder: Path, before: Sequence[str], commands: Sequence[str]) -> list[list[str]]:
    """File and name of the functions that commands over the toy county call, by their first."""
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        (work / "recon.yaml").write_text(
            "release: sf1_2010\nwork: out\nseed: 1\n"
            f"ingest: {{source: sf1-legacy, paths: [{ROOT / 'fixtures' / 'toy2010.sf1.zip'}]}}\n"
            "reconstruct: {tables: block+tract}\nsolvar:\nreport:\n"
        )
        run = partial(
            subprocess.run,
            cwd=work,
            env={**os.environ, "PYTHONPATH": str(folder)},
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        )
        for command in before:
            run([sys.executable, "-m", "recon_cli", command, "-q"])
        told = run([sys.executable, "-c", _TRACE, *commands]).stdout
    return [
        [file.partition("/recon_cli/")[2], name] for file, name in map(str.split, told.splitlines())
    ]


def steps_of(walked: Sequence[Sequence[str]]) -> tuple[int, int, int]:
    """Functions, files and returns of a walk."""
    files = [file for file, _ in walked]
    left, returns = set(), 0
    for last, file in pairwise(files):
        if file != last:
            left.add(last)
            returns += file in left
    return len(files), len(set(files)), returns


def beside(folder: Path, other: Path) -> dict[str, str]:
    """Tell where a version's walks have functions of names that the other's lack, by part."""
    figures = {}
    for name, (before, commands) in WALKS.items():
        known = {function for _, function in walk(other, before, commands)}
        walked = walk(folder, before, commands)
        parts = Counter(file.split("/")[0] for file, _ in walked)
        new = Counter(file.split("/")[0] for file, function in walked if function not in known)
        figures[name] = f"{new.total()} of {len(walked)} functions are of other names"
        figures |= {
            f"  {part}, {name}": f"{count} of {parts[part]}" for part, count in new.most_common()
        }
    return figures


def _lines(texts: Iterable[str]) -> int:
    return sum(text.count("\n") for text in texts)


def figures_of(folder: Path) -> dict[str, str]:
    """Return the column of a version."""
    texts = {name: path.read_text() for name, path in modules(folder).items()}
    outside = tuple(f"recon_cli.{name}" for name in OUTSIDE)
    kernel = [text for name, text in texts.items() if not name.startswith(outside)]
    figures = {
        "lines": f"{_lines(texts.values()):,}",
        "lines of the kernel": f"{_lines(kernel):,}",
        "files": str(len(texts)),
        "classes": str(
            sum(len(re.findall(r"^ *class ", text, re.MULTILINE)) for text in texts.values())
        ),
        "names of modules in strings": str(
            sum(len(re.findall(r'"recon_cli[.\w]*:\w+"', text)) for text in texts.values())
        ),
        "imports inside functions": str(sum(map(inside_functions, texts.values()))),
        "import circles": str(circles(folder)),
    }
    for name, (before, commands) in WALKS.items():
        functions, files, returns = steps_of(walk(folder, before, commands))
        figures[name] = f"{functions} functions, {files} files, {returns} returns"
    return figures


def main() -> None:
    """Print the figures of one version, or how its walks differ from another's."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT)
    parser.add_argument("--beside", metavar="FOLDER", type=Path)
    options = parser.parse_args()
    if options.beside:
        figures = beside(options.folder.resolve(), options.beside.resolve())
    else:
        figures = figures_of(options.folder.resolve())
    for name, figure in figures.items():
        sys.stdout.write(f"{name}: {figure}\n")


if __name__ == "__main__":
    main()
