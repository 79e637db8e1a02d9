"""The checker: what it accepts, what it refuses, and that each of its checks is needed."""

from __future__ import annotations

import ast
import contextlib
import io
import subprocess
import sys
import time
import tokenize
from pathlib import Path
from typing import Any

import pytest

from recon_cli import reconcheck
from tests.capabilities.prove.certificates import SOURCE, check, patched
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
p goal #0 -*1:0.1
"""
    assert check(TABLES, proof) == [True] * 4


def test_a_set_is_a_statement_where_no_area_reaches_beyond() -> None:
    tables: Any = reconcheck.Tables(TABLES.splitlines())
    whole = reconcheck.Proof(tables, f"in all\nset s\n{U_RECORDS}{V_RECORDS}end".splitlines())
    assert [result[1:] for result in whole.results] == [("set s", True)]
    part = reconcheck.Proof(tables, f"in 1\nset s\n{U_RECORDS}end".splitlines())
    assert [result[1:] for result in part.results] == [("set s", False)]


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
    with pytest.raises(reconcheck.Refused, match="line 10: an area reaches further"):
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


#: Of two in U one is missing: of one count a change of one mends it.
WRONG = """feature kind 2
table T
cell 0 0 3
cell 0 1 1
cell 0 2 2
pattern 0.0-2
area A 0
unit U 0 0
count 0 0 0 3
count 0 0 1 1
count 0 0 2 1
count 1 0 0 3
count 1 0 1 1
count 1 0 2 1
"""


def test_the_least_change_is_proven() -> None:
    assert check(WRONG, "in all\nchange 1 -*1:0.0 1:0.1-2\n") == [True]
    assert check(WRONG, "in all\nchange 2 -*1:0.0 1:0.1-2\n") == [False]
    both = "-*0:0.0 0:0.1-2 -*1:0.0 1:0.1-2"
    assert check(WRONG, f"in all\nchange 2 {both}\n") == [True]
    assert check(WRONG, f"in all\nchange 3 {both}\n") == [False]
    with pytest.raises(reconcheck.Refused, match="a count is named twice"):
        check(WRONG, "in all\nchange 2 -*1:0.0 1:0.1-2 1:0.2\n")
    for term in ("goal", "#0", "^0", "1=0,0:1"):
        with pytest.raises(reconcheck.Refused, match="not understood"):
            check(WRONG, f"in all\nleast 0 0 *\nchange 1 {term}\n")


FORGERIES = {
    "a coarser count bounds from below": (
        ("sum(lows) if is_whole else None", "sum(lows)"),
        (TABLES, "in 1\nleast 2 1 1 *\np goal -*0:0.1\n"),
    ),
    "most of an area beyond the scope": (
        ("(is_whole or not is_most)", "True"),
        (TABLES, "in 1\nmost 3 0 * *\np goal 1:0.0\n"),
    ),
    "a fact of an area beyond the scope": (
        ('demand(is_whole or known[0] or name[0] == "^", "of', 'demand(True, "of'),
        (TABLES, "in all\nleast 2 0 1 *\np goal -*0:0.1\nin 1\nleast 2 1 1 *\np goal #0\n"),
    ),
    "a fact that is not proven": (
        (
            "self.facts.append(fact if self.bound(*fact) else None)\n"
            "                return self.facts[-1] is not None",
            "is_proven = self.bound(*fact)\n"
            "                self.facts.append(fact)\n"
            "                return is_proven",
        ),
        (TABLES, "in 1\nleast 9 1 * *\np goal\nleast 9 1 * *\np goal #0\n"),
    ),
    "unique without records": (
        ("return is_one and scope.units <= self.consistent", "return is_one"),
        (TORN, "in 0\np 1:0.0\np 1:0.1\np -*1:0.2\nunique 1\n"),
    ),
    "unique with open bounds": (
        ("return is_one and scope", "return scope"),
        (TABLES, f"in all\nset s\n{U_RECORDS}{V_RECORDS}end\nunique 1\n"),
    ),
    "records with other counts": (
        ('raise Refused(f"these', '(f"these'),
        (TABLES, f"in all\nset a\n{U_RECORDS}{V_RECORDS}end\nset b\nend\ndiffer a b 3 1 * *\n"),
    ),
    "records with too few": (
        ("(count < low and is_inside)", "False"),
        (TABLES, f"in all\nset a\n{U_RECORDS}{V_RECORDS}end\nset b\nend\ndiffer a b 3 1 * *\n"),
    ),
    "records of a unit alone": (
        ("units if is_whole else set()", "units"),
        (TORN, "in 1\nset s\nr 1 1 1\nend\np 1:0.0\np 1:0.1\np -*1:0.2\nunique 1\n"),
    ),
    "records of a unit alone that differ": (
        ('words[0] == "vary" or all(w for _, w in sets)', "True"),
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
        ('demand(not holds(self.zeros, values), "there', 'demand(True, "there'),
        (OPEN + "zero 2\n", "in 0\nset a\nr 0 3 0\nend\nset b\nr 0 3 1\nend\ndiffer a b 3 0 1\n"),
    ),
    "records elsewhere": (
        ("fits and unit in units", "fits"),
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
        ("(high if weight > 0 else low)", "(high if weight > 0 or low is None else low)"),
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
    "one unit beside another that contradicts itself": (
        ("return is_one and scope.units <= self.consistent", "return is_one and self.consistent"),
        (
            ONE.replace("unit U 0\n", "unit U 0\nunit V 0\n")
            + "count 0 0 0 0 1\ncount 0 0 1 0 1\ncount 1 0 0 0 1\ncount 1 0 1 2\n",
            "in 0\nset s\nend\nin all\np 0:0.0 1:0.0 -*1:0.1\nunique 0\n",
        ),
    ),
    "fewer people than none": (
        ("and int(text) >= least", ""),
        (
            ONE + "count 0 0 0 3\ncount 0 0 1 0 inf\n",
            "in 0\nset a\nr 0 3 1\nend\nset b\nr 0 5 0\nr 0 -2 1\nend\ndiffer a b 5 0 1\n",
        ),
    ),
    "records of which not all is said": (
        ("zip(values, tables.sizes, strict=True)", "zip(values, tables.sizes)"),
        (
            "feature a 2\nfeature b 2\ntable T\ncell 0 0 * 1\ncell 0 1 * 2\npattern 0.0-1\n"
            "unit U 0\ncount 0 0 0 1\ncount 0 0 1 1\n",
            "in 0\nset a\nr 0 1 0 0\nr 0 1 0 1\nend\nset b\nr 0 1 0\nend\ndiffer a b 1 0 * *\n",
        ),
    ),
    "a count that no clique tells apart": (
        ('demand(counted, "the grain', 'demand(True, "the grain'),
        (TABLES, "grain 0 3\nin 1\nmost 0 1 1 *\n"),
    ),
    "a grain that changes": (
        (
            'case ["grain", feature, *masks] if not self.cliques:',
            'case ["grain", feature, *masks]:',
        ),
        (TABLES, "in 1\np 1:0.2\ngrain 1 7\nmost 1 1 2 *\n"),
    ),
    "a change that is counted twice": (
        ('demand(len(cells) == len({*cells}), "a', 'demand(True, "a'),
        (WRONG, "in all\nchange 2 -*1:0.0 1:0.1 -*1:0.0 1:0.1 1:0.2 1:0.2\n"),
    ),
    "a change that closes what a zero counts": (
        ("self.cliques, scope.units, free=True)", "self.cliques, scope.units)"),
        (
            "feature kind 2\ntable T\ncell 0 0 1\ncell 0 1 1\ncell 0 2 1\npattern 0.0-2\n"
            "unit U 0\ncount 0 0 1 1\ncount 0 0 2 1\n",
            "in all\nchange 2 -*0:0.1 -*0:0.2\n",
        ),
    ),
    "a change by less than its weight": (
        ("max(abs(weight) for weight, _ in rows) * ", ""),
        (WRONG, "in all\nchange 2 -2*1:0.0 2*1:0.1 2*1:0.2\n"),
    ),
    "a run of cells in a statement": (
        ("(cell,) = self.tables.cells_of(*", "cell, *_ = self.tables.cells_of(*"),
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
        ("feature kind x", "line 1: not understood"),
        ("feature kind 99999", "line 1: this takes too long"),
        ("feature kind 0", "0 is out of range"),
        ("feature kind 2\ntable T\ntable T", "line 3: this table is named twice"),
        ("feature kind 2\ntable T\ncell 0 0 4", "line 3: '4' is no mask of 2 values"),
        ("feature kind 2\ntable T\ncell 0 0 1\npattern 0.0-99999999", "this takes too long"),
        (ONE + "\nunit U 0", "line 8: this place is named twice"),
        (ONE + "area A 0\nunit V 0 9", "line 8: not understood"),
        (ONE + "count 0 0 1 1\ncount 0 0 1 1", "line 8: this count has a line already"),
        (ONE + "count 0 0 1 2 1", "1 is out of range"),
        (ONE + "count 0 0 1 -1", "-1 is out of range"),
        (ONE + "count 0 0 1 1.0", "line 7: not understood"),
        (ONE + f"count 0 0 1 {'9' * 40}", "out of range"),
        (ONE + "count 5 0 1 1", "line 7: not understood"),
    ],
)
def test_tables_are_refused(lines: str, why: str) -> None:
    with pytest.raises(reconcheck.Refused, match=why.replace(".", r"\.")):
        check(lines, "")


#: What is refused in tables, which would be misread: the proof is false of what they say.
MISREAD = {
    "a count is told twice": (
        ('demand(cell not in self.counts[at], "this', 'demand(True, "this'),
        (ONE + "count 0 0 0 3\ncount 0 0 0 5\n", "in 0\nleast 5 0 *\np goal -*0:0.0\n"),
    ),
    "a value that there is not": (
        ('demand(0 <= found < 1 << size, f"', 'demand(True, f"'),
        (
            ONE.replace("cell 0 1 1", "cell 0 1 4") + "count 0 0 0 3\ncount 0 0 1 1\n",
            "in 0\np -*0:0.1\ncontradiction\n",
        ),
    ),
    "a line that is not known": (
        (
            'raise Refused(f"not understood: {words[0][:40]}")\n\n    @lru_cache',
            "pass\n\n    @lru_cache",
        ),
        (ONE + "Count 0 0 0 3\n", "in 0\nmost 0 0 *\n"),
    ),
    "a count below its lower end": (
        ("whole([low, *high][-1], whole(low))", "whole([low, *high][-1])"),
        (ONE + "count 0 0 0 3 1\n", "in 0\nmost 1 0 *\np goal 0:0.0\n"),
    ),
}
#: Words that nothing reads would be printed as proven, or believed of tables.
UNREAD = {
    "a mask": (
        ("words, strict=True))\n\n    def mask(", "words))\n\n    def mask("),
        (TABLES, "in 1\nleast 0 1 * * 1\n"),
    ),
    "beside a cell": (
        ("cells_of(*words[1:])", "cells_of(words[1])"),
        (TABLES, "in 1\nleast 0 1 0.0 girls\n"),
    ),
    "beside a set": (
        (", *base] if len(base) < 2:", ", *base]:"),
        (TABLES, f"in 1\npart s\n{U_RECORDS}end\npart t s u\nend\n"),
    ),
    "beside an area": (
        (' if words[0] == "unit" or not areas:', ":"),
        (TABLES.replace("unit U 0 0", "area B 0 0\nunit U 0 0"), "in 0\n"),
    ),
    "beside a count": (
        ("low, *high] if len(high) < 2:", "low, *high]:"),
        (TABLES.replace("count 2 0 0 2", "count 2 0 0 2 3 4"), "in 0\n"),
    ),
    "letters that move a terminal": (
        ('demand("".join(words).isprintable(), "what', 'demand(True, "what'),
        (TABLES, f"in 1\npart \x1b[2Kx\n{U_RECORDS}end\n"),
    ),
    "people with values that there are not": (
        ("all(v < size for", "all(True for"),
        (TABLES, f"in all\nset s\n{U_RECORDS}{V_RECORDS}r 1 9 7 7\nend\n"),
    ),
}


@pytest.mark.parametrize("name", MISREAD)
def test_without_a_check_tables_are_misread(name: str) -> None:
    (old, new), (tables, proof) = MISREAD[name]
    with pytest.raises(reconcheck.Refused):
        check(tables, proof)
    assert check(tables, proof, patched(old, new))[-1]


@pytest.mark.parametrize("name", UNREAD)
def test_without_a_check_words_are_not_read(name: str) -> None:
    (old, new), (tables, proof) = UNREAD[name]
    with pytest.raises(reconcheck.Refused):
        check(tables, proof)
    check(tables, proof, patched(old, new))


#: Two tables, or units, of one name: that of the last would be compared for both.
NAMESAKES = {
    "tables": (
        ('demand(name not in self.names, "this', 'demand(True, "this'),
        "table T\ntable T\ncell 0 0 3\ncell 1 0 3\npattern 0.0 1.0\nunit U 0\n"
        "count 0 0 0 0 2\ncount 0 1 0 5\n",
    ),
    "places": (
        ('demand(code not in self.places, "this', 'demand(True, "this'),
        "table T\ncell 0 0 3\npattern 0.0\nunit U 0\nunit U 0\ncount 0 0 0 0 2\ncount 1 0 0 5\n",
    ),
}


@pytest.mark.parametrize("name", NAMESAKES)
def test_without_a_check_other_counts_are_compared(name: str) -> None:
    (old, new), tables = NAMESAKES[name]
    lines = f"feature kind 2\n{tables}".splitlines()
    rows = [{"geoid": "U", "table": "T", "cell": "0", "count": "5"}]
    with pytest.raises(reconcheck.Refused, match="named twice"):
        reconcheck.Tables(lines)
    lax: Any = patched(old, new)
    assert lax.compare(lax.Tables(lines), rows).startswith("1 counts are as there")


@pytest.mark.parametrize(
    ("old", "rows"),
    [
        ('raise Refused(f"{tables.name(at, cell)}: {low} to', ["2", "9"]),
        ('raise Refused(f"{tables.name(at, cell)}: {low} here', []),
    ],
)
def test_without_a_check_wrong_counts_compare(old: str, rows: list[str]) -> None:
    lines = (ONE + "count 0 0 0 2\n").splitlines()
    office = [{"geoid": "U", "table": "T", "cell": "0", "count": each} for each in rows]
    with pytest.raises(reconcheck.Refused, match="U T 0"):
        reconcheck.compare(reconcheck.Tables(lines), office)
    lax: Any = patched(old, old.replace("raise Refused", ""))
    assert lax.compare(lax.Tables(lines), office)


WIDE = "feature kind 500\nfeature other 500\ntable T\ncell 0 0 * *\npattern 0.0\nunit U 0\n"
DEEP = "in 1\nleast 9 1 * *\n" + "if 1 1 1 *\n" * 5000


@pytest.mark.parametrize(
    ("tables", "proof", "why"),
    [
        (TABLES, "grain 0 1 1 2", "line 1: atoms have every value once"),
        (TABLES, "p 0:0.0", "line 1: not understood"),
        (TABLES, "in 9", "line 1: not understood"),
        (TABLES, "in 1\np 1:0.0-9999999", "line 2: this takes too long"),
        (TABLES, f"in 1\nleast 0 1 * *\np {'9' * 31}*1:0.0", "out of range"),
        (TABLES, f"in 1\nleast 9 1 * *\n\np {'9' * 31}*1:0.0", "line 4: 9+ is out of range"),
        (TABLES, "in 1\np goal", "line 2: not understood"),
        (TABLES, "in 1\np ^0", "line 2: not understood"),
        (TABLES, "in 1\np -*0:0.0", "line 2: not understood"),
        (TABLES, "in 1\nset s\nr 1 1 0 0\nr 1 1 0 3\nend", "line 4: no such record"),
        (TABLES, "in 1\nset s\nr 1 -1 0 0\nend", "line 3: -1 is out of range"),
        (TABLES, "in 1\nset s\nr 1 1 0\nend", "line 3: not understood"),
        (TABLES, "in 1\nunique 2", "line 2: not understood"),
        (TABLES, "in 1\nproven 1", "line 2: not understood: proven"),
        (TABLES, "in 1\nleast \x1b[2K 1 1 1", "cannot be printed"),
        (TABLES, DEEP, "line [0-9]+: not understood"),
        (WIDE, "in 0", "more than 200,000 kinds"),
        (TABLES, "clique 0\n" * 1001 + "in 1", "line 1000: this takes too long"),
    ],
)
def test_proofs_are_refused(tables: str, proof: str, why: str) -> None:
    with pytest.raises(reconcheck.Refused, match=why):
        check(tables, proof)


#: What would take memory or time without end is let pass where a limit is taken out.
BOMBS = {
    "a feature of many values": (
        ("self.spend(whole(size, 1) ** 2)", "pass"),
        ("feature kind 30000\n", ""),
    ),
    "many kinds": (('demand(self.size <= MOST_KINDS, f"', 'demand(True, f"'), (WIDE, "in 0\n")),
    "numbers of many digits": (
        ("len(text) <= MOST_DIGITS and ", ""),
        (TABLES, f"in 1\np {'9' * 4000}*1:0.0\n"),
    ),
    "a run of many cells": (
        ("        self.spend(150 * sum(1 + max(0, end[-1] - end[0]) for end in ends))", ""),
        (ONE + "pattern 0.0-3400000\n", ""),
    ),
}


@pytest.mark.parametrize("name", BOMBS)
def test_without_a_limit_a_bomb_passes(name: str) -> None:
    (old, new), (tables, proof) = BOMBS[name]
    with pytest.raises(reconcheck.Refused):
        check(tables, proof)
    check(tables, proof, patched(old, new))


def test_without_a_limit_rows_are_long(monkeypatch: pytest.MonkeyPatch) -> None:
    lax: Any = patched('demand(len(row) <= MOST_HELD, "', 'demand(True, "')
    monkeypatch.setattr(reconcheck, "MOST_HELD", 3)
    lax.MOST_HELD = 3
    with pytest.raises(reconcheck.Refused, match="line 2: a row is too long"):
        check(TABLES, "in 1\np 1:0.0\n")
    check(TABLES, "in 1\np 1:0.0\n", lax)


def test_a_place_that_is_named_again_takes_no_time() -> None:
    units = "".join(f"unit U{n} 0 0\n" for n in range(20_000))
    tables: Any = reconcheck.Tables((ONE.replace("unit U 0\n", "area A 0\n") + units).splitlines())
    started = time.process_time()
    reconcheck.Proof(tables, ["in" + " 0" * 20_000])
    assert time.process_time() - started < 5


def test_without_a_limit_rows_are_held(monkeypatch: pytest.MonkeyPatch) -> None:
    lax: Any = patched("if self.held > MOST_HELD:", "if False:")
    monkeypatch.setattr(reconcheck, "MOST_HELD", 250)
    proof = "in 1\n" + "".join(f"p 1:0.{cell}\n" for cell in range(6))
    held = [
        len(checker.Proof(checker.Tables(TABLES.splitlines()), proof.splitlines()).scope.rows)
        for checker in (reconcheck, lax)
    ]
    assert held[0] <= 2 < held[1] == 6


def test_numbers_do_not_grow_without_end() -> None:
    cells = "".join(f"cell 0 {n} {1 << n:x}\n" for n in range(5))
    counts = "".join(f"count 0 0 {n} 0 9\n" for n in range(5))
    tables = f"feature kind 5\ntable T\n{cells}pattern 0.0-4\nunit U 0\n{counts}".splitlines()
    steps = [f"p 0:0.{n} -{'9' * 29}*0:0.{n - 1}" for n in range(1, 5)]
    lax: Any = patched("if abs(value) < LARGEST:", "if True:")
    for checker, is_bounded in ((reconcheck, True), (lax, False)):
        scope: Any = checker.Proof(checker.Tables(tables), ["in 0", "p 0:0.0", *steps]).scope
        assert (max(scope.high.values()) < 10**60) == is_bounded


#: One feature of 300 values and a cell for each of 200 of them.
CELLS = "feature kind 300\ntable T\n" + "".join(f"cell 0 {n} {1 << n:x}\n" for n in range(200))
CELLS += "pattern 0.0-199\n"
PLACES = CELLS + "area A 0\n" + "".join(f"unit U{n} 0 0\n" for n in range(50))
PEOPLED = PLACES + "".join(f"count {place} 0 0 0 inf\n" for place in range(51))
#: What each takes of the work, and how much of it there is at least.
WORK = {
    "cells that count a record": (
        "self.spend(100 + len(cells) // 20 + len(self.zeros) + 10 * len(found))",
        (
            PEOPLED,
            "in all\nset s\n" + "".join(f"r 1 0 {v}\n" for v in range(100)) + "end\n",
            10_000,
        ),
    ),
    "lines that a value allows": (
        "        self.spend(len(cells))\n",
        (
            PEOPLED,
            "in all\nset s\n" + "".join(f"r 1 0 {v}\n" for v in range(100)) + "end\n",
            20_000,
        ),
    ),
    "kinds of a clique": (
        "        tables.spend(500_000 + self.size // 8 * sum(map(len, atoms)))  # memory, too\n",
        (CELLS + "unit U 0\n", "clique 0\n" * 5 + "in 0\n", 2_500_000),
    ),
    "kinds that a cell counts": (
        "        self.tables.spend(len(predicates) * (self.size + sum(map(len, self.atoms))))\n",
        (CELLS + "unit U 0\n", "in 0\n", 60_000),
    ),
    "units of a scope": (
        "        tables.spend(len(units) * sum(10 + clique.size // 10 for clique in cliques))\n",
        (PEOPLED, "in all\n" * 10, 7_000),
    ),
    "the kinds of a row": (
        "self.tables.spend(sum((some & kinds).bit_count() + least for some in counted))",
        (PEOPLED, "in all\n" + "least 0 0 *\n" * 20, 10_000),
    ),
    "a row that is added": (
        "            self.tables.spend(len(row) + 1)\n",
        (PEOPLED, "in all\n" + "p -*0:0.0\n" * 100, 5_000),
    ),
    "records that are counted": (
        "                        self.tables.spend(len(here) * len(predicates))\n",
        (
            PEOPLED,
            "in 1\npart s\n" + "r 1 0 0\n" * 100 + "end\n" + "vary s s 0 1 *\n" * 50,
            10_000,
        ),
    ),
    "counts of places": (
        "            tables.spend(10 + len(here) + len(counts))\n",
        (PEOPLED, "in all\n" + "set s\nend\n" * 100, 5_000),
    ),
    "counts of records": (
        "                tables.spend(len(counted) + 1)\n",
        (
            PEOPLED,
            "in 1\npart s\n" + "r 1 1 0\n" * 100 + "end\n",
            300,
        ),
    ),
    "zeros of a place": (
        "        self.tables.spend(len(cells) * (1 + self.size // 20_000))\n",
        (PEOPLED, "in all\n", 10_000),
    ),
    "kinds of a unit with one solution": (
        "                self.tables.spend(kinds.bit_count() + kinds.bit_length() // 400)\n",
        (PEOPLED, "in all\n" + "unique 1\n" * 50, 5_000),
    ),
    "cells of a pattern": (
        "self.spend(150 * sum(1 + max(0, end[-1] - end[0]) for end in ends))",
        (CELLS + "pattern 0.0-199\n" * 50, "", 1_000_000),
    ),
}


@pytest.mark.parametrize("name", WORK)
def test_without_a_count_of_work_it_has_no_end(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A limit that is enough for all else is exceeded, and without the count is not."""
    line, (tables, proof, least) = WORK[name]
    lax: Any = patched(line, "")
    spent = [
        checker.Proof(checker.Tables(tables.splitlines()), proof.splitlines()).tables.work
        for checker in (reconcheck, lax)
    ]
    assert spent[0] - spent[1] >= least
    monkeypatch.setattr(reconcheck, "MOST_WORK", spent[1])
    lax.MOST_WORK = spent[1]
    with pytest.raises(reconcheck.Refused, match=r"line \d+: this takes too long"):
        check(tables, proof)
    check(tables, proof, lax)


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
    same = "13 counts are as there; 0 are intervals here, whose ends no file has"
    assert f"{same}; 0 there are of other places or tables, 0 cells" in text
    _, text = run("t", "p", "--counts", "c.csv", counts=[*rows, "W,T,0,2", "A,S,0,2"])
    assert f"{same}; 2 there are of other places or tables, 0 cells" in text
    assert "1 of 1 proven, from the published counts alone" in text
    status, text = run("t", "wrong")
    assert status == 1
    assert "NOT PROVEN line 2: least 2 1 1 *" in text
    assert run("t", "nothing")[0] == 2
    for wrong, why in (
        (rows[:-1], "line 13: V T 0: 2 here, no count there"),
        ([*rows, "V,T,0,9"], "line 15: V T 0: 2 to 2 here, '9' there"),
        ([*rows, "V,T,x,2"], "c.csv, line 15: not understood"),
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
    assert "5 counts are as there; 1 are intervals here" in done.stdout
    assert "5 of 5 proven, from the published counts alone" in done.stdout


def test_an_interval_that_hides_a_count_is_not_said_to_be_as_there(tmp_path: Path) -> None:
    """A star is 3, and the tables have 4 to 6: no file says what the declared rule leaves."""
    tables = (ROOT / "fixtures/proofs/schools.tables").read_text()
    (tmp_path / "lying.tables").write_text(tables.replace("2 0 1 0 6", "2 0 1 4 6"))
    proof = "recon-proof 1\nin 0\nleast 4 2 0.1\np goal -*2:0.1\n"
    (tmp_path / "lying.proof").write_text(proof)
    names = [str(tmp_path / "lying.tables"), str(tmp_path / "lying.proof")]
    command = [sys.executable, "-I", "-S", "recon_cli/reconcheck.py", *names, "--counts"]
    command.append("fixtures/proofs/schools.csv")
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert "5 counts are as there; 1 are intervals here, whose ends no file has" in done.stdout


def test_it_is_short_and_needs_python_alone() -> None:
    tree = ast.parse(SOURCE)
    names = {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
    }
    names |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    standard = {"argparse", "csv", "fractions", "functools", "hashlib", "math", "operator", "sys"}
    assert names == standard
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
    assert len(code) <= 600


def test_the_example_of_the_docs() -> None:
    page = ROOT / "docs" / "proofs.md"
    blocks = page.read_text(encoding="utf-8").split("```text\n")
    tables, proof = (block.split("```")[0] for block in blocks if block.startswith("recon-"))
    assert check(tables, proof) == [True, True, True]
    assert check(tables, proof.replace("least 3", "least 4")) == [True, False, True]
    assert proof == (ROOT / "fixtures/proofs/schools.proof").read_text()
    assert tables == (ROOT / "fixtures/proofs/schools.tables").read_text()
