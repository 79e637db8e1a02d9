"""The checker: what it accepts, what it refuses, and that each of its checks is needed."""

from __future__ import annotations

import ast
import contextlib
import io
import subprocess
import sys
import tokenize
from pathlib import Path
from typing import Any

import pytest

from recon_cli import reconcheck
from tests.proofs.certificates import SOURCE, check, patched
from tests.support.paths import ROOT

#: Two units in an area; of V only the total is published. Cell 5 tallies, cell 6 is in no pattern.
TABLES = """recon-tables 1
feature sex 2
feature age 3
table T
cell 0 0 * *
cell 0 1 1 *
cell 0 2 * 1
cell 0 3 * 2
cell 0 4 * 4
cell 0 5 1 *
cell 0 5 * 1
cell 0 6 2 4
pattern 0.0-5
pattern 0.0
area A 0
unit U 0 0
unit V 1 0
count 0 0 0 5
count 0 0 1 2
count 0 0 2 2
count 0 0 3 2
count 0 0 4 1
count 0 0 5 4
count 1 0 0 3
count 1 0 1 1
count 1 0 2 1
count 1 0 3 1
count 1 0 4 1
count 1 0 5 2
count 2 0 0 2
"""
U_RECORDS = "r 1 1 0 0\nr 1 1 1 1\nr 1 1 1 2\n"
OTHER_U = "r 1 1 0 1\nr 1 1 1 0\nr 1 1 1 2\n"
V_RECORDS = "r 2 1 0 0\nr 2 1 1 1\n"
OTHER_V = "r 2 1 1 0\nr 2 1 0 1\n"
ONE = """feature kind 2
table T
cell 0 0 3
cell 0 1 1
pattern 0.0-1
unit U 0
"""
OPEN = ONE + "count 0 0 0 3 inf\ncount 0 0 1 0 inf\n"
#: Area and unit contradict each other, unless one looks at the unit alone.
TORN = """feature kind 2
table T
cell 0 0 3
cell 0 1 1
cell 0 2 2
pattern 0.0-2
area A 0
unit U 0 0
unit V 0 0
count 0 0 0 1
count 0 0 1 0
count 0 0 2 1
count 1 0 2 1
count 1 0 0 1
count 2 0 0 1
count 2 0 2 1
"""


def test_least_and_most_and_records_are_proven() -> None:
    proof = f"""recon-proof 1
in all
least 1 2 1 *
p goal -*0:0.1 1:0.1
most 1 2 1 *
p goal 0:0.1 -*1:0.1
set one
{U_RECORDS}{V_RECORDS}end
set other
{OTHER_U}{OTHER_V}end
differ one other 1 1 1 1
least 2 0 1 *
p goal -*#0 -*1:0.1
"""
    assert check(TABLES, proof) == [True] * 4


def test_a_set_is_a_statement_where_no_area_reaches_beyond() -> None:
    tables: Any = reconcheck.Tables(TABLES.splitlines())
    whole = reconcheck.Proof(tables, f"in all\nset s\n{U_RECORDS}{V_RECORDS}end".splitlines())
    assert [result[1:] for result in whole.results] == [["set s", True]]
    part = reconcheck.Proof(tables, f"in 1\nset s\n{U_RECORDS}end".splitlines())
    assert [result[1:] for result in part.results] == [["set s", False]]


def test_a_set_is_like_another_where_nothing_is_said() -> None:
    sets = f"set a\n{U_RECORDS}{V_RECORDS}end\nset b a\n{OTHER_U}end\n"
    both = "differ a b 1 1 1 1\ndiffer a b 1 2 1 1\n"
    assert check(TABLES, f"in all\n{sets}{both}") == [True, False]
    with pytest.raises(reconcheck.Refused, match="these records have 3 at A T 0"):
        check(TABLES, f"in all\nset a\n{U_RECORDS}{V_RECORDS}end\nset b a\nr 2 0 0 0\nend\n")
    with pytest.raises(reconcheck.Refused, match="line 2: not understood"):
        check(TABLES, "in all\nset b a\nend\n")


def test_parts_vary_within_what_areas_allow() -> None:
    """Records of V alone; of the area both girls and those of the first age are all in U."""
    parts = f"part a\n{V_RECORDS}end\npart b\n{OTHER_V}end\n"
    assert check(TABLES, f"in 2\n{parts}vary a b 1 2 1 1\nvary a b 2 2 1 1\n") == [True, False]
    with pytest.raises(reconcheck.Refused, match="an area of these records reaches beyond"):
        check(TABLES, f"in 2\n{parts}differ a b 1 2 1 1\n")
    with pytest.raises(reconcheck.Refused, match="these records have 3 at A T 2"):
        check(TABLES, "in 2\npart a\nr 2 1 0 0\nr 2 2 1 0\nend\n")


def test_unique() -> None:
    exact = ONE + "count 0 0 0 3\ncount 0 0 1 1\n"
    proof = "in 0\np 0:0.1\np -*0:0.1\np 0:0.0 -*0:0.1\np -*0:0.0 0:0.1\n"
    proof += "set s\nr 0 1 0\nr 0 2 1\nend\nunique 0\n"
    assert check(exact, proof) == [True]


def test_branches_prove_what_bounds_do_not() -> None:
    pairs = """feature kind 3
table T
cell 0 0 3
cell 0 1 6
cell 0 2 5
pattern 0.0-2
unit U 0
count 0 0 0 1
count 0 0 1 1
count 0 0 2 1
"""
    lines = ["if 0 0 1", "p -*0:0.0", "p -*0:0.2", "p 0:0.1", "p 0:0.0", "p 0:0.2", "p -*0:0.1"]
    proof = ["in 0", "least 3 0 7", *lines]
    assert check(pairs, "\n".join(proof)) == [True]
    assert check(pairs, "\n".join(proof[:-1])) == [False]


def test_cells_that_are_alike_are_added() -> None:
    assert check(TABLES, "grain 1 1 6\nin 1\nleast 2 1 * 6\np goal -*1:0.3-4\n") == [True]


def test_rows_of_two_cliques_are_joined() -> None:
    proof = "clique 0\nclique 1\nin 1\nleast 3 1 * *\np goal 1=0,1:3,7 -*1:0.2-4/1\n"
    with pytest.raises(reconcheck.Refused, match="not understood"):
        check(TABLES, proof.replace("1=0,1", "1=0,9"))
    assert check(TABLES, proof.replace("goal 1=", "goal -*1=")) == [True]


FORGERIES = {
    "a coarser count bounds from below": (
        ("sum(lows) if is_whole else None", "sum(lows)"),
        (TABLES, "in 1\nleast 2 1 1 *\np goal -*0:0.1\n"),
    ),
    "most of an area beyond the scope": (
        ("(is_least or is_whole)", "True"),
        (TABLES, "in 1\nmost 3 0 * *\np goal 1:0.0\n"),
    ),
    "a fact of an area beyond the scope": (
        ("(row, low if is_whole else None, high)", "(row, low, high)"),
        (TABLES, "in all\nleast 2 0 1 *\np goal -*0:0.1\nin 1\nleast 2 1 1 *\np goal -*#0\n"),
    ),
    "a fact that is not proven": (
        ("if is_proven else None)", ")"),
        (
            TABLES,
            "in 1\nleast 9 1 * *\np goal\nmost 9 1 * *\np goal 1:0.0\nleast 9 1 * *\np goal -*#0\n",
        ),
    ),
    "unique without records": (
        ("whole(unit) in self.consistent", "True"),
        (TORN, "in 0\np 1:0.0\np 1:0.1\np -*1:0.2\nunique 1\n"),
    ),
    "unique with open bounds": (
        ("return is_one and", "return"),
        (TABLES, f"in all\nset s\n{U_RECORDS}{V_RECORDS}end\nunique 1\n"),
    ),
    "records with other counts": (
        ('demand(is_right, f"these', 'demand(True, f"these'),
        (TABLES, f"in all\nset a\n{U_RECORDS}{V_RECORDS}end\nset b\nend\ndiffer a b 3 1 * *\n"),
    ),
    "records with too few": (
        ("(count >= low or place not in inside)", "True"),
        (TABLES, f"in all\nset a\n{U_RECORDS}{V_RECORDS}end\nset b\nend\ndiffer a b 3 1 * *\n"),
    ),
    "records of a unit alone": (
        ("units if inside == places else set()", "units"),
        (TORN, "in 1\nset s\nr 1 1 1\nend\np 1:0.0\np 1:0.1\np -*1:0.2\nunique 1\n"),
    ),
    "records of a unit alone that differ": (
        ('is_right = words[0] == "vary" or (sets[0][1] and sets[1][1])', "is_right = True"),
        (
            TABLES.replace("pattern 0.0\n", "pattern 0.0\npattern 0.0,5\n")
            .replace("unit U 0 0", "unit U 2 0")
            .replace("count 0 0 2 2", "count 0 0 2 5")
            .replace("count 0 0 3 2\ncount 0 0 4 1\ncount 0 0 5 4\n", "count 0 0 5 7\n")
            .replace(
                "count 1 0 1 1\ncount 1 0 2 1\ncount 1 0 3 1\ncount 1 0 4 1\ncount 1 0 5 2\n",
                "count 1 0 5 4\n",
            ),
            "in 1\nset a\nr 1 1 0 0\nr 1 2 1 0\nend\ndiffer a a 0 1 1 *\n",
        ),
    ),
    "records that cannot be": (
        (" and not holds(tables.zeros, values)", ""),
        (OPEN + "zero 2\n", "in 0\nset a\nr 0 3 0\nend\nset b\nr 0 3 1\nend\ndiffer a b 3 0 1\n"),
    ),
    "records elsewhere": (
        ("is_right and unit in units", "is_right"),
        (
            ONE + "unit V 0\ncount 1 0 0 1\n",
            "in 0\nset a\nr 1 1 1\nend\nset b\nend\ndiffer a b 1 1 2\n",
        ),
    ),
    "atoms that leave out values": (
        ('demand(sorted(values) == list(range(size)), "atoms', 'demand(True, "atoms'),
        (TABLES, "grain 0 1\nin 1\nleast 3 1 1 *\np goal -*1:0.0\n"),
    ),
    "a count that splits an atom": (
        ("all(atom & mask in (0, atom) for atom in atoms)", "True"),
        (TABLES, "grain 0 3\nin 1\nleast 3 1 1 *\np goal -*1:0.0\n"),
    ),
    "a count of features outside of the clique": (
        ("elif of_atom or mask != (1 << size) - 1:", "elif of_atom:"),
        (TABLES, "clique 1\nin 1\nleast 3 1 1 *\np goal -*1:0.0\n"),
    ),
    "cells that overlap": (
        ('demand(apart == [0], "cells', 'demand(True, "cells'),
        (TABLES, "in 1\nleast 4 1 * *\np goal -*1:0.0,1\n"),
    ),
    "sums of tallies": (
        ("len(predicates) == len(other) == 1", "True"),
        (
            TABLES.replace("cell 0 5 1 *\ncell 0 5 * 1", "cell 0 5 2 *\ncell 0 5 * 1").replace(
                "count 1 0 5 2", "count 1 0 5 3"
            ),
            "in 1\nleast 4 1 * *\np goal -*1:0.1,5\n",
        ),
    ),
    "cells that are not published": (
        ("self.tables.cells_at[place].issuperset(cells)", "True"),
        (TABLES, "in 2\nmost 0 2 1 *\np goal 2:0.1\n"),
    ),
    "the contrary turned round": (
        ("end = high if weight > 0 else low", "end = high if weight > 0 or low is None else low"),
        (TABLES, "in 1\nleast 9 1 * *\np -*goal 1:0.0\n"),
    ),
    "a sum without a bound": (
        ("if room < 0 and not unbounded", "if room < 0"),
        (OPEN, "in 0\np -*0:0.0\ncontradiction\n"),
    ),
    "two unknowns without a bound": (
        ("len(unbounded) < 2 and", ""),
        (OPEN, "in 0\np -*0:0.0\nleast 3 0 1\n"),
    ),
    "bounds of the other branch": (
        (
            "            branches.pop()\n            self.scope.undo(mark)",
            "            branches.pop()",
        ),
        (
            ONE + "count 0 0 0 3\ncount 0 0 1 0 3\n",
            "in 0\nleast 2 0 1\nif 9 0 2\nif 0 0 2\np -*0:0.0\np -*0:0.0 \n",
        ),
    ),
    "bounds of a statement that failed": (
        ("        self.scope.undo(0)\n", ""),
        (TABLES, "grain 1 7\nin 1\nmost 1 1 1 *\nleast 2 1 1 *\n"),
    ),
    "the contrary of a statement that failed": (
        ("self.scope.goal, self.scope.branches = None, []", "self.scope.branches = []"),
        (TABLES, "grain 1 7\nin 1\nmost 1 1 1 *\ncontradiction\np goal\nleast 2 1 1 *\n"),
    ),
    "the branch of a statement that failed": (
        ("self.scope.goal, self.scope.branches = None, []", "self.scope.goal = None"),
        (TABLES, "grain 1 7\nin 1\nmost 1 1 1 *\nif 1 1 1 *\ncontradiction\np ^0\nleast 2 1 1 *\n"),
    ),
    "a run of cells in a statement": (
        ("len(words) == 2 and len(cells) == 1", "len(words) == 2"),
        (TABLES, "in 1\nmost 1 1 0.2-4\np goal 1:0.2\n"),
    ),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_without_a_check_a_forgery_passes(name: str) -> None:
    """The last statement of each is false, and proven by a checker that lacks the check."""
    (old, new), (tables, proof) = FORGERIES[name]
    with contextlib.suppress(reconcheck.Refused):
        assert not check(tables, proof)[-1]
    assert check(tables, proof, patched(old, new))[-1]


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ("feature kind 0", "line 1: too many values"),
        ("feature kind 2\ntable T\ntable T", "line 3: this table is named twice"),
        ("feature kind 2\ntable T\ncell 1 0 3", "line 3: no such table"),
        ("feature kind 2\ntable T\ncell 0 0 4", "line 3: '4' is no mask of 2 values"),
        ("feature kind 2\ntable T\ncell 0 0 0", "no mask"),
        ("feature kind 2\ntable T\ncell 0 0 1 1", "1 masks are expected"),
        ("feature kind 2\ntable T\ncell 0 0 1\ncell 0 0 1", "line 4: this line is there already"),
        ("feature kind 2\ntable T\ncell 0 0 1\npattern 0.1", "a cell without a line `cell`"),
        ("feature kind 2\ntable T\ncell 0 0 1\npattern 0.0-99999999", "more cells than there are"),
        (ONE + "cell 0 7 1", "line 7: not understood: cell"),
        (ONE + "unit U 0", "line 7: a place is named twice"),
        (ONE + "area A 0\nunit V 0 1 1", "line 8: a place is named twice"),
        (ONE + "unit V 0 0", "line 7: a unit is no area"),
        (ONE + "count 0 0 9 1", "this cell is not published here"),
        (ONE + "count 0 0 1 1\ncount 0 0 1 1", "line 8: this count has a line already"),
        (ONE + "count 0 0 1 2 1", "1 is out of range"),
        (ONE + "count 0 0 1 -1", "-1 is out of range"),
        (ONE + "count 0 0 1 1.0", "'1.0' is no number"),
        (ONE + f"count 0 0 1 {'9' * 40}", "out of range"),
        (ONE + "count 5 0 1 1", "line 7: not understood"),
    ],
)
def test_tables_are_refused(lines: str, why: str) -> None:
    with pytest.raises(reconcheck.Refused, match=why.replace(".", r"\.")):
        check(lines, "")


MANY = "feature kind 900\nfeature other 900\ntable T\ncell 0 0 * *\npattern 0.0\nunit U 0\n"
DEEP = "in 1\nleast 9 1 * *\n" + "if 1 1 1 *\n" * 1000


@pytest.mark.parametrize(
    ("tables", "proof", "why"),
    [
        (TABLES, "grain 0 1 1 2", "line 1: atoms have every value once"),
        (TABLES, "p 0:0.0", "line 1: not understood here: p"),
        (TABLES, "in 9", "line 1: not understood"),
        (TABLES, "in 1\np 1:0.0-9999999", "line 2: more cells than there are"),
        (TABLES, f"in 1\np {'9' * 31}*1:0.0", "out of range"),
        (TABLES, "in 1\np 0*1:0.0", "a row without this end"),
        (TABLES, "in 1\np goal", "nothing is to be refuted"),
        (TABLES, "in 1\np ^0", "line 2: not understood"),
        (TABLES, "in 1\nset s\nr 1 1 0 0", "line 4: `r` or `end` is expected"),
        (TABLES, "in 1\nset s\nr 1 1 0 3\nend", "no such record"),
        (TABLES, "in 1\nset s\nr 1 -1 0 0\nend", "-1 is out of range"),
        (TABLES, "in 1\nunique 2", "line 2: not understood"),
        (TABLES, "in 1\nproven 1", "not understood: proven"),
        (TABLES, "in 1\nleast \x1b[2K 1 1 1", "cannot be printed"),
        (TABLES, DEEP, "too many `if`"),
        (MANY, "in 0", "more than 200,000 kinds"),
        (TABLES, "clique 0\n" * 1001 + "in 1", "too many cliques"),
    ],
)
def test_proofs_are_refused(tables: str, proof: str, why: str) -> None:
    with pytest.raises(reconcheck.Refused, match=why):
        check(tables, proof)


def test_numbers_do_not_grow_without_end() -> None:
    huge = "9" * 30
    lines = [f"p {huge}*0:0.1 -*0:0.0", f"p {huge}*0:0.0 -*0:0.1"] * 200
    read = reconcheck.Tables(OPEN.replace("3 inf", "3 9").replace("0 inf", "0 9").splitlines())
    scope: Any = reconcheck.Proof(read, ["in 0", *lines]).scope
    assert all(abs(end) < 10**60 for end in scope.high.values())


def test_work_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reconcheck, "MOST_WORK", 1000)
    with pytest.raises(reconcheck.Refused, match=r"line \d+: this takes too long"):
        check(TABLES, "in all\n" + "p 0:0.0\n" * 1000)


def test_the_command(tmp_path: Path) -> None:
    """Python alone, without anything installed, from anywhere."""
    (tmp_path / "check.py").write_text(SOURCE)
    (tmp_path / "t").write_text(TABLES)
    (tmp_path / "p").write_text("in 1\nleast 1 1 1 *\np goal -*1:0.1\n")
    (tmp_path / "wrong").write_text("in 1\nleast 2 1 1 *\np goal -*1:0.1\n")
    rows = ["geoid,table,cell,count", "A,T,0,5", "A,T,1,2", "A,T,2,2", "A,T,3,2", "A,T,4,1"]
    rows += ["A,T,5,4", "U,T,0,3", *(f"U,T,{n},1" for n in range(1, 5)), "U,T,5,2", "V,T,0,2"]

    def run(*words: str, counts: list[str] | None = None) -> tuple[int, str]:
        if counts is not None:
            (tmp_path / "c.csv").write_text("\n".join(counts))
        command = [sys.executable, "-I", "-S", "check.py", *words]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    status, text = run("t", "p", "--counts", "c.csv", counts=rows)
    assert (status, text.count("SHA-256")) == (0, 3)
    assert "13 counts are as in c.csv; 0 there are of other places or tables, 0 cells" in text
    _, text = run("t", "p", "--counts", "c.csv", counts=[*rows, "W,T,0,2", "A,S,0,2"])
    assert "13 counts are as in c.csv; 2 there are of other places or tables, 0 cells" in text
    assert "1 of 1 proven, from the published counts alone" in text
    status, text = run("t", "wrong")
    assert status == 1
    assert "NOT PROVEN line 2: least 2 1 1 *" in text
    assert run("t", "nothing")[0] == 2
    for wrong, why in (
        (rows[:-1], "V T 0: 2 to 2 here, 'no count'"),
        ([*rows, "V,T,0,2"], "V T 0 is there twice"),
        ([*rows, "V,T,x,2"], "'x' is no number"),
        ([*rows[:-1], "V,T,0,3"], "V T 0: 2 to 2 here, '3'"),
    ):
        status, text = run("t", "p", "--counts", "c.csv", counts=wrong)
        assert status == 2
        assert why in text


def test_the_shipped_example() -> None:
    """The command of docs/proofs.md."""
    files = [f"fixtures/proofs/schools.{ending}" for ending in ("tables", "proof", "csv")]
    names = [files[0], files[1], "--counts", files[2]]
    command = [sys.executable, "-I", "-S", "recon_cli/reconcheck.py", *names]
    said = " ".join(command[1:])
    assert said.replace("-I", "python3 -I", 1) in (ROOT / "docs/proofs.md").read_text()
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert "6 counts are as in fixtures/proofs/schools.csv; 1 there are of other" in done.stdout
    assert "5 of 5 proven, from the published counts alone" in done.stdout


def test_it_is_short_and_needs_python_alone() -> None:
    tree = ast.parse(SOURCE)
    names = {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
    }
    names |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert names == {"argparse", "csv", "hashlib", "sys", "functools", "operator"}
    kinds = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
    code: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(SOURCE).readline):
        if token.type not in (*kinds, tokenize.ENDMARKER):
            code.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module) and ast.get_docstring(
            node
        ):
            code -= set(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    assert len(code) <= 420


def test_the_example_of_the_docs() -> None:
    page = Path(__file__).parents[2] / "docs" / "proofs.md"
    blocks = page.read_text(encoding="utf-8").split("```text\n")
    tables, proof = (block.split("```")[0] for block in blocks if block.startswith("recon-"))
    assert check(tables, proof) == [True, True, True]
    assert check(tables, proof.replace("least 3", "least 4")) == [True, False, True]
    assert proof == (ROOT / "fixtures/proofs/schools.proof").read_text()
    assert tables == (ROOT / "fixtures/proofs/schools.tables").read_text()
