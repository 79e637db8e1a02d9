"""Put small faults into the core and ask its tests: ``python -m benchmarks.faults --seed 1``.

A fault swaps a comparison or an operator, moves a whole number by one, turns a sign, drops a
statement, and so on, in one place of one file of the core. The command works in a temporary copy of
the tree. It runs the tests of the core once to learn which of them execute which line, then each
fault's tests, the quickest first, until one fails. Same seed, same faults, whatever else changed in
the core. Exits with 1 where more faults survive than `_SURVIVORS` in 60, those judged to change
nothing apart, or pytest itself fails.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Final

import coverage

ROOT: Final = Path(__file__).resolve().parent.parent
_CAPABILITIES: Final = tuple(
    f"capabilities/{name}"
    for name in (
        *("audit", "claims", "confidence", "contributions", "joint", "leave_one_out"),
        *("link", "prove", "reconstruct", "score", "show", "slivers", "solvar"),
    )
)
CORE: Final = ("model", "solve", "statement", "ask", "verification", *_CAPABILITIES)
#: Tests of the core, and copied files beside the package.
_TESTS: Final = (
    *("model", "solve", "statement", "ask", *_CAPABILITIES),
    *("capabilities/check", "capabilities/tabulate", "test_verification.py"),
)
_HOMES: Final = ("tests/", "recon_cli/")
_COPIED: Final = ("recon_cli", "tests", "benchmarks", "configs", "fixtures", "docs")
#: CPU seconds for the tests of one fault, or `_TIMES` those they need without it if that is more. A
#: fault that makes them need more is endless. Other work of the machine costs no CPU seconds.
_SECONDS: Final = 120.0
_TIMES: Final = 3
#: Seconds by the clock for each of CPU, for tests that wait for what never comes.
_WAITING: Final = 10
#: Tests of other folders come as late as if they took this many times longer.
_ELSEWHERE: Final = 5
#: Survivors allowed in 60.
_SURVIVORS: Final = 3
_JUDGED: Final = Path(__file__).with_name("faults_judged.json")

_SWAPPED: Final[Mapping[type[ast.AST], type[ast.AST]]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}


@dataclass(frozen=True)
class Fault:
    """A change of one place of one file.

    Attributes:
        path: Of the file, from the root of the tree.
        line: First line of what is changed, from 1.
        start: Offset in the file's bytes where the change begins.
        before: The text that is replaced.
        after: The text that replaces it.
        context: The line, which tells faults apart wherever they move.
    """

    path: str
    line: int
    start: int
    before: str
    after: str
    context: str = ""

    def put_into(self, source: bytes) -> bytes:
        """Return the source with the fault.

        >>> Fault("a.py", 1, 2, "1", "2").put_into(b"a+1")
        b'a+2'
        """
        end = self.start + len(self.before.encode())
        return source[: self.start] + self.after.encode() + source[end:]

    def __str__(self) -> str:
        """Name place and change in one line."""
        shown = [" ".join(text.split()) for text in (self.before, self.after)]
        return f"{self.path}:{self.line} `{shown[0]}` → `{shown[1]}`"


def faults_of(path: str, source: bytes) -> list[Fault]:
    r"""List every fault of a file, in the order of its lines.

    >>> [fault.after for fault in faults_of("a.py", b"def f(a):\n    return a < 1\n")]
    ['(a <= 1)', '2']
    """
    lines = source.splitlines(keepends=True)
    offsets = [0]
    for line in lines:
        offsets.append(offsets[-1] + len(line))
    found = []
    for node in _places(ast.parse(source)):
        end_line, end_column = node.end_lineno, node.end_col_offset
        if end_line is None or end_column is None:
            continue
        start = offsets[node.lineno - 1] + node.col_offset
        before = source[start : offsets[end_line - 1] + end_column].decode()
        context = lines[node.lineno - 1].decode().strip()
        found += [
            Fault(path, node.lineno, start, before, after, context) for after in _changes(node)
        ]
    return sorted(found, key=lambda fault: (fault.start, fault.before, fault.after))


def _places(tree: ast.Module) -> Iterator[ast.expr | ast.stmt]:
    """Yield what functions do: no annotation, docstring, message of an error, f-string, assertion.

    The ``strict`` of a `zip` is one.
    """
    waiting: list[tuple[ast.AST, bool]] = [(tree, False)]
    while waiting:
        node, is_inside = waiting.pop()
        if isinstance(node, ast.JoinedStr | ast.Raise | ast.Assert | ast.arg):
            continue
        if isinstance(node, ast.keyword) and node.arg == "strict":
            continue
        if is_inside and isinstance(node, ast.expr | ast.stmt):
            yield node
        is_function = isinstance(node, ast.FunctionDef | ast.Lambda)
        for name, value in ast.iter_fields(node):
            if name in {"annotation", "returns", "decorator_list", "args"} and not isinstance(
                node, ast.Call
            ):
                continue
            children = value if isinstance(value, list) else [value]
            waiting += [
                (child, is_inside or is_function)
                for child in children
                if isinstance(child, ast.AST)
            ]


def _changes(node: ast.expr | ast.stmt) -> Iterator[str]:  # noqa: C901 - one case a kind
    """Yield every text that stands for a node with a fault."""
    match node:
        case ast.Compare(left, operators, others):
            for at, operator in enumerate(operators):
                swapped = _swapped(operator)
                if isinstance(swapped, ast.cmpop):
                    changed = [*operators[:at], swapped, *operators[at + 1 :]]
                    yield _text(ast.Compare(left, changed, others))
        case ast.BinOp(left, operator, right):
            is_text = any(
                isinstance(s, ast.Constant | ast.JoinedStr) and not _is_number(s)
                for s in (left, right)
            )
            swapped = _swapped(operator)
            if isinstance(swapped, ast.operator) and not is_text:
                yield _text(ast.BinOp(left, swapped, right))
        case ast.BoolOp(operator, values):
            swapped = _swapped(operator)
            if isinstance(swapped, ast.boolop):
                yield _text(ast.BoolOp(swapped, values))
        case ast.UnaryOp(ast.Not() | ast.USub() | ast.Invert(), operand):
            yield _text(operand)
        case ast.Constant(bool() as value):
            yield str(not value)
        case ast.Constant(int() as value):
            yield str(value + 1)
        case ast.AugAssign() | ast.Continue() | ast.Break() | ast.Expr(ast.Call()):
            yield "pass"
        case _:
            pass


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float)


def _swapped(operator: ast.AST) -> ast.AST | None:
    """Return the operator that takes the place of another one."""
    other = _SWAPPED.get(type(operator))
    return other() if other else None


def _text(node: ast.expr) -> str:
    return f"({ast.unparse(node)})"


@dataclass(frozen=True)
class Reach:
    """Which tests execute which lines, and how long each takes.

    Attributes:
        lines: For each file and line the tests that execute it.
        seconds: Of each test.
    """

    lines: Mapping[str, Mapping[str, Sequence[str]]]
    seconds: Mapping[str, float]

    @classmethod
    def learn(cls, tree: Path, workers: int) -> Reach:
        """Run the tests of the core with coverage, in a copy of the tree."""
        data_file = tree / ".coverage"
        (tree / ".coveragerc").write_text("[run]\nsource = recon_cli\n")
        there = [f"tests/{name}" for name in _TESTS]
        there += [f"recon_cli/{name}" for name in CORE]
        covered = ("--cov", "--cov-config=.coveragerc", "--cov-context=test", "--cov-report=")
        timed = ("--durations=0", "-vv", f"-n{workers}", "--dist=loadfile")
        given = [name for name in there if (tree / name).exists()]
        environment = _environment(tree, COVERAGE_FILE=str(data_file))
        ran = _pytest(tree, (*covered, *timed, *given), environment)
        if ran.returncode:
            sys.exit(f"the tests fail without a fault:\n{ran.stdout[-2000:]}")
        return cls(_lines(tree, data_file), _seconds(ran.stdout))

    @classmethod
    def read(cls, path: Path) -> Reach:
        """Read what `write` has written."""
        return cls(**json.loads(path.read_text()))

    def write(self, path: Path) -> None:
        """Write all, for further seeds."""
        path.write_text(json.dumps({"lines": self.lines, "seconds": self.seconds}))

    def tests_of(self, fault: Fault) -> list[str]:
        """List the tests that execute a fault's line, quick ones and those of its folder first."""
        reached = self.lines.get(fault.path, {}).get(str(fault.line), ())
        own = tuple(
            f"{at}{fault.path.removeprefix('recon_cli/').rpartition('/')[0]}/" for at in _HOMES
        )

        def late(test: str) -> tuple[float, str]:
            times = 1 if test.startswith(own) else _ELSEWHERE
            return times * self.seconds.get(test, 0.0), test

        return sorted(set(reached), key=late)

    def limit(self, tests: Sequence[str]) -> float:
        """Return the CPU seconds after which tests are endless."""
        return max(_SECONDS, _TIMES * sum(self.seconds.get(test, 0.0) for test in tests))


def _lines(tree: Path, data_file: Path) -> dict[str, dict[str, list[str]]]:
    """Read which test executes which line; fixtures count for all tests of their file."""
    data = coverage.CoverageData(str(data_file))
    data.read()
    of_file = defaultdict(set)
    for context in data.measured_contexts():
        test = context.rpartition("|")[0]
        of_file[test.partition("::")[0]].add(test)
    lines: dict[str, dict[str, list[str]]] = {}
    for measured in data.measured_files():
        at = Path(measured).relative_to(tree.resolve()).as_posix()
        if not at.startswith(tuple(f"recon_cli/{name}/" for name in CORE)):
            continue
        lines[at] = {}
        for line, contexts in data.contexts_by_lineno(measured).items():
            tests: set[str] = set()
            for context in contexts:
                test, _, when = context.rpartition("|")
                tests |= {test} if when == "run" else of_file[test.partition("::")[0]]
            lines[at][str(line)] = sorted(tests - {""})
    return lines


def _seconds(output: str) -> dict[str, float]:
    """Read what ``--durations`` prints."""
    took: dict[str, float] = defaultdict(float)
    for line in output.splitlines():
        parts = line.split(None, 2)
        if len(parts) == 3 and parts[1] in {"call", "setup"} and parts[0].endswith("s"):
            took[parts[2]] += float(parts[0].removesuffix("s"))
    return dict(took)


def _environment(tree: Path, **more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(tree), **more}


def _pytest(
    tree: Path,
    arguments: Sequence[str],
    environment: Mapping[str, str],
    limit: float | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run pytest in a copy of the tree, behind all other work of the machine.

    Args:
        limit: CPU seconds for it and for each process that it starts.
    """
    command = ["nice", sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    if limit is not None:
        command = ["sh", "-c", f'ulimit -t {limit:.0f} && exec "$0" "$@"', *command]
    return subprocess.run(
        command,
        cwd=tree,
        env=environment,
        capture_output=True,
        text=True,
        timeout=None if limit is None else _WAITING * limit,
        check=False,
    )


def outcome(tree: Path, fault: Fault, tests: Sequence[str], limit: float = _SECONDS) -> str:
    """Put a fault into a copy of the tree, run tests until one fails, and take it out again.

    Returns:
        ``noticed`` where a test fails, ``endless`` where they do not end in time, ``SURVIVES``, or
        ``ERROR`` where pytest ends for another reason, which tells nothing of the tests.
    """
    if not tests:
        return "SURVIVES"
    path = tree / fault.path
    source = path.read_bytes()
    for stale in (path.parent / "__pycache__").glob(f"{path.stem}.*"):
        stale.unlink()
    path.write_bytes(fault.put_into(source))
    try:
        environment = _environment(tree, PYTHONDONTWRITEBYTECODE="1")
        ran = _pytest(tree, ("-x", "-n0", *tests), environment, limit)
    except subprocess.TimeoutExpired:
        return "endless"
    finally:
        path.write_bytes(source)
    ended = {0: "SURVIVES", 1: "noticed", -signal.SIGXCPU: "endless", -signal.SIGKILL: "endless"}
    return ended.get(ran.returncode, "ERROR")


def draw(seed: int, judged: Mapping[str, str]) -> Iterator[Fault]:
    """Yield the faults of the core in the order of a seed, without those judged equivalent.

    A digest of each fault orders them, so that an edit changes no draw but of what it edits.
    """
    keyed: list[tuple[bytes, Fault]] = []
    seen: Counter[str] = Counter()
    for name in CORE:
        for path in sorted((ROOT / "recon_cli" / name).rglob("*.py")):
            for fault in faults_of(path.relative_to(ROOT).as_posix(), path.read_bytes()):
                key = _key(fault)
                drawn = hashlib.sha256(f"{seed}, {seen[key]}: {key}".encode()).digest()
                seen[key] += 1
                if key not in judged:
                    keyed.append((drawn, fault))
    return (fault for _, fault in sorted(keyed, key=lambda each: each[0]))


def _key(fault: Fault) -> str:
    """Name a fault wherever it has moved to."""
    return f"{fault.path}: {fault.context}: `{fault.before}` → `{fault.after}`"


def _copy(source: Path, tree: Path) -> Path:
    """Copy what tests need, with its compiled files."""
    for name in _COPIED:
        shutil.copytree(source / name, tree / name)
    for path in source.glob("*.*"):
        if path.is_file() and path.suffix in {".toml", ".md", ".lock"}:
            shutil.copy2(path, tree / path.name)
    shutil.copy2(source / "Makefile", tree / "Makefile")
    return tree


def main() -> int:
    """Run it; 1 if too many faults survive."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=60, help="faults of each seed")
    parser.add_argument("--seed", type=int, nargs="+", default=[1])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument(
        "--reach", type=Path, help="keep which tests execute which line, or reuse it"
    )
    options = parser.parse_args()
    judged = {each["fault"]: each["why"] for each in json.loads(_JUDGED.read_text())}
    faults = [
        (seed, fault)
        for seed in options.seed
        for fault in itertools.islice(draw(seed, judged), options.n)
    ]
    with tempfile.TemporaryDirectory() as scratch:
        first = _copy(ROOT, Path(scratch).resolve() / "0")
        if options.reach and options.reach.exists():
            reach = Reach.read(options.reach)
        else:
            print("learning which tests execute which line …", flush=True)  # noqa: T201
            reach = Reach.learn(first, options.workers)
            if options.reach:
                reach.write(options.reach)
        trees: SimpleQueue[Path] = SimpleQueue()
        trees.put(first)
        for number in range(1, options.workers):
            trees.put(_copy(first, Path(scratch).resolve() / str(number)))

        def ask(drawn: tuple[int, Fault]) -> tuple[int, Fault, int, str, float]:
            seed, fault = drawn
            tests, tree, started = reach.tests_of(fault), trees.get(), time.monotonic()
            try:
                came = outcome(tree, fault, tests, reach.limit(tests))
            finally:
                trees.put(tree)
            return seed, fault, len(tests), came, time.monotonic() - started

        came_of: dict[int, Counter[str]] = defaultdict(Counter)
        with ThreadPoolExecutor(options.workers) as pool:
            asked = enumerate(pool.map(ask, faults), 1)
            for at, (seed, fault, tests, came, took) in asked:
                came_of[seed].update([came])
                line = (
                    f"{at}/{len(faults)} seed {seed}: {came} ({tests} tests, {took:.0f} s): {fault}"
                )
                print(line, flush=True)  # noqa: T201
                if came == "SURVIVES":
                    print(f"    {_key(fault)}", flush=True)  # noqa: T201
    for seed, came_to in came_of.items():
        print(f"seed {seed}: {_said(came_to)}")  # noqa: T201
    allowed = _SURVIVORS * options.n / 60
    return int(any(each["SURVIVES"] > allowed or each["ERROR"] for each in came_of.values()))


def _said(came: Mapping[str, int]) -> str:
    """Say what became of all faults of a seed.

    >>> _said(Counter(noticed=50, SURVIVES=3, endless=7))
    '50 noticed, 3 survive, 7 endless, 0 errors of the run'
    """
    return (
        f"{came['noticed']} noticed, {came['SURVIVES']} survive, {came['endless']} endless, "
        f"{came['ERROR']} errors of the run"
    )


if __name__ == "__main__":
    sys.exit(main())
