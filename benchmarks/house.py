"""How large the package is, and how far a reader walks: ``python -m benchmarks.house [FOLDER]``.

Prints a column of the table of docs/architecture.md; FOLDER holds another version's ``recon_cli``,
as ``git archive COMMIT recon_cli | tar x -C FOLDER`` leaves it. ``--since COMMIT`` says instead
where the lines are, by `git blame`: how many of that commit's still stand, moved ones too, and what
those that came since are for; ``--beside FOLDER`` which functions of the walks another version's
lack. A walk is the functions that commands over the toy county call, in
the order of their first calls: whoever reads them in that order *returns* when the next one is in a
file that was left before.
"""

from __future__ import annotations

import argparse
import ast
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from benchmarks.machine import ROOT

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


#: What lines that came since 0.2.0 are for → files, or beginnings of paths; the longest holds.
CAPABILITIES = {
    "proofs and their checker": (
        *("proofs/", "reconcheck.py", "stages/prove", "config/sections/prove.py"),
        "evaluate/checked.py",
    ),
    "cliques, blocks, the ledger of ends and its steps": (
        *("model/", "solve/", "attack/reconstruction/", "attack/variability/"),
        "attack/audit/clique_ends.py",
    ),
    "audit of counts left out, of zeros, of rounding": ("attack/audit/", "stages/audit"),
    "claims: absence, at most, disclosure": ("attack/claims/", "evaluate/disclosing.py"),
    "layouts of workbooks, drafts of schemas": ("sources/", "scaffold/", "spreadsheet.py"),
    "export": ("export/", "cli/export.py", "sources/addresses.py"),
    "rules of check": ("rules/", "stages/check.py", "cli/check.py", "report/check.py"),
    "areas that overlap, slivers": (
        *("schema/areas.py", "schema/geography.py", "sources/membership.py", "attack/slivers.py"),
        *("stages/slivers.py", "config/sections/slivers.py", "report/sections/slivers.py"),
    ),
    "registers": ("schema/register.py", "sources/joined.py"),
    "several releases as one program": (
        *("attack/joint/", "schema/joint.py", "model/links.py", "stages/joint.py"),
        "config/sections/joint.py",
    ),
    "accounts of privacy, secret chance": (
        *("noise/", "stages/account.py", "cli/account.py", "chance.py"),
        *("config/sections/account.py", "store/chance_key.py", "store/study.py"),
    ),
    "sweeps and their page": (
        *("compare/", "stages/compare", "config/sections/compare.py", "report/sweep.py"),
        "report/comparison.py",
    ),
    "people who are known": (
        *("stages/attribute.py", "attack/known_batch.py"),
        "config/sections/attribute.py",
    ),
    "frontier: exact counts, users, small counts": ("frontier/", "report/frontier.py"),
    "linkage: passes, weights, truth": ("attack/linkage/", "score/", "attack/tags.py"),
    "the page: who, what, by which, what to do": ("report/", "evaluate/", "stages/findings.py"),
    "purge, kept answers, damaged files": (
        *("store/purge.py", "cli/purge.py", "pipeline/checkpoint.py"),
        *("sources/damage.py", "resources.py", "tracebacks.py", "strict_yaml.py", "execute/"),
    ),
    "what 0.2.0 had, declared once": (
        *("pipeline/", "stage.py", "protections.py", "stages/", "config/", "cli/", "store/"),
        *("attack/question.py", "attack/options.py", "protect/", "statement/", "lab/"),
    ),
}


def modules(folder: Path) -> dict[str, Path]:
    """Every module by its dotted name."""
    paths = {p.relative_to(folder).with_suffix(""): p for p in folder.glob("recon_cli/**/*.py")}
    return {".".join(name.parts).removesuffix(".__init__"): path for name, path in paths.items()}


def imports(tree: ast.AST, known: Collection[str]) -> Iterator[str]:
    """Modules that are imported, wherever it stands, but for type checking."""
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


def origins(commit: str) -> dict[str, tuple[int, int]]:
    """Of each file of the package, how many lines stood in a commit, anywhere, and how many not."""
    git = partial(subprocess.run, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    found = {}
    for path in git(["git", "ls-tree", "-r", "--name-only", "HEAD", "recon_cli"]).stdout.split():
        if not path.endswith(".py"):
            continue
        words = ["git", "blame", "-s", "-l", "-w", "-M", "-C", f"{commit}..HEAD", "--", path]
        lines = git(words).stdout.splitlines()
        stood = sum(line.startswith("^") for line in lines)
        found[path.removeprefix("recon_cli/")] = stood, len(lines) - stood
    return found


def capability(path: str) -> str:
    """What a file is for, as `CAPABILITIES` says."""
    fits = {part: name for name, parts in CAPABILITIES.items() for part in parts}
    known = [part for part in fits if path.startswith(part)]
    return fits[max(known, key=len)] if known else "elsewhere"


def account(commit: str) -> dict[str, str]:
    """Where the lines are, beside another commit."""
    lines = origins(commit)
    new = dict.fromkeys((*CAPABILITIES, "elsewhere"), 0)
    for path, (_, since) in lines.items():
        new[capability(path)] += since
    stood = sum(stood for stood, _ in lines.values())
    figures = {"still standing": stood, "new": sum(new.values())}
    ranked = sorted(new.items(), key=lambda each: -each[1])
    figures |= {f"  {name}": since for name, since in ranked}
    return {name: f"{figure:,}" for name, figure in figures.items()}


def beside(folder: Path, other: Path) -> dict[str, str]:
    """Where a version's walks have functions of names that the other's lack, by part."""
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


def figures_of(folder: Path) -> dict[str, str]:
    """The column of a version."""
    texts = [path.read_text() for path in modules(folder).values()]
    figures = {
        "lines": f"{sum(text.count(chr(10)) for text in texts):,}",
        "files": str(len(texts)),
        "imports inside functions": str(sum(text.count("PLC0415") for text in texts)),
        "import circles": str(circles(folder)),
    }
    for name, (before, commands) in WALKS.items():
        functions, files, returns = steps_of(walk(folder, before, commands))
        figures[name] = f"{functions} functions, {files} files, {returns} returns"
    return figures


def main() -> None:
    """Print the figures of one version, or where its lines are."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT)
    parser.add_argument("--since", metavar="COMMIT")
    parser.add_argument("--beside", metavar="FOLDER", type=Path)
    options = parser.parse_args()
    if options.since:
        figures = account(options.since)
    elif options.beside:
        figures = beside(options.folder.resolve(), options.beside.resolve())
    else:
        figures = figures_of(options.folder.resolve())
    for name, figure in figures.items():
        sys.stdout.write(f"{name}: {figure}\n")


if __name__ == "__main__":
    main()
