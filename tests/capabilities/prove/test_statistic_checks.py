"""What the checker reads in printed statistics, against every population of a tiny ward."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from fractions import Fraction
from itertools import chain, combinations_with_replacement, product
from statistics import median, median_high, median_low
from typing import Any

import numpy as np
import pytest

from benchmarks.printed import CELLS, RELEASE, printed, rounded
from benchmarks.printed import populations as every
from recon_cli import reconcheck
from recon_cli.model.statistic_texts import statistic_of
from recon_cli.proof.tables import statistic_words
from recon_cli.statement.printed import printed_ends
from tests.capabilities.prove.certificates import check, patched

RULES = ("half_up", "half_even", "down", "up", "unknown")
KINDS = [table.name for table in RELEASE.statistics]
#: Those that are printed as they are, under any rule.
EXACT = {"LEAST", "MOST", "MODE"}
MOST = 3


def populations() -> Iterator[tuple[int, ...]]:
    for people in range(MOST + 1):
        yield from every(people)


def disagreements(checker: Any, name: str, rule: str) -> list[str]:
    """Populations and texts of which the checker says something else than enumeration."""
    lines = [f"feature {each.name} {len(each.values)}" for each in RELEASE.features]
    tables, table = checker.Tables(lines), RELEASE.statistic_by_name[name]
    statistic = checker.Statistic(tables, *statistic_words(RELEASE, statistic_of(table)).split())
    is_outer, found = name == "MEDIAN", []
    is_exact = name in EXACT
    for cell in table.cells[:2]:
        known = {people: printed(name, cell.number, people, rule) for people in populations()}
        texts = {text for of in known.values() for text in of}
        records = {
            people: [(n, tuple(values)) for n, values in zip(people, CELLS.tolist(), strict=True)]
            for people in known
        }
        numbers = {people: statistic.numbers(cell.masks, records[people]) for people in known}
        for text in texts:
            said = checker.ends(text, "exact" if is_exact else rule)
            sums, rows = statistic.meaning(cell.masks, said)
            for people, of in known.items():
                if any(checker.within(each, said) for each in numbers[people]) != (text in of):
                    found.append(f"{people} {text} {of}: {numbers[people]}")
                values = [
                    sum(
                        w * n * checker.holds((masks,), v)
                        for n, v in records[people]
                        if n
                        for w, masks in each
                    )
                    for each in sums
                ]
                fits = all(sum(a * values[k] for k, a in row.items()) >= b for row, b in rows)
                if not fits if text in of else fits and not is_outer:
                    found.append(f"{people} {text} {of}: {rows}")
    return found


@pytest.mark.parametrize(
    ("name", "rule"),
    [each for each in product(KINDS, RULES) if each[0] not in EXACT or each[1] == RULES[0]],
)
def test_rows_and_numbers_are_those_of_every_population(name: str, rule: str) -> None:
    assert not disagreements(reconcheck, name, rule)


def wrong_ends(checker: Any) -> list[str]:
    """Numbers of which the checker says something else than rounding does."""
    found = []
    for rule, decimals, part in product(RULES, (0, 1), range(101)):
        value, step = Fraction(part, 40), Fraction(1, 10**decimals)
        texts = rounded(value, decimals, rule)
        near = [rounded(max(value + k * step, Fraction(0)), decimals, rule) for k in (-1, 0, 1)]
        found += [
            f"{rule} {value} {text}"
            for text in frozenset[str]().union(*near)
            if checker.within(value, checker.ends(text, rule)) != (text in texts)
        ]
    return found


def test_ends_are_those_of_rounding() -> None:
    assert not wrong_ends(reconcheck)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(
    ("text", "decimals"), [("-1.5", None), ("0", None), ("-0.0", None), ("2", 1), ("+3.1", 3)]
)
def test_ends_are_those_of_the_laws(rule: Any, text: str, decimals: int | None) -> None:
    of = printed_ends(text, rule, decimals)
    found: Any = reconcheck.ends(text, rule, *([] if decimals is None else [str(decimals)]))
    assert found == (
        Fraction(of.least, of.over),
        Fraction(of.most, of.over),
        of.is_least_open,
        of.is_most_open,
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"half_up": (m - 1, m + 1, False, True)', '"half_up": (m - 1, m + 1, False, False)'),
        ('"half_up": (m - 1, m + 1, False, True)', '"half_up": (m - 1, m + 1, True, False)'),
        ("is_odd = m % 4 == 2", "is_odd = m % 4 == 0"),
        ('"half_even": (m - 1, m + 1, is_odd, is_odd)', '"half_even": (m - 1, m + 1, False, True)'),
        ('"up": (m - 2, m, True, False) if m', '"up": (m - 2, m, False, False) if m'),
        ('"unknown": (m - 1, m + 1, False, False)', '"unknown": (m - 1, m + 1, False, True)'),
        ("number == low and not above", "number == low"),
    ],
)
def test_a_mutant_of_ends_disagrees(old: str, new: str) -> None:
    assert wrong_ends(patched(old, new))


@pytest.mark.parametrize(
    ("old", "new", "name", "rule"),
    [
        (
            "return [part, everybody], quotient(",
            "return [everybody, part], quotient(",
            "PERCENT",
            "down",
        ),
        ("self.base = tables.masks(words[size:])", "pass", "RATIO", "unknown"),
        ("rows = [({1: 1}, 1)]", "rows = []", "MEAN", "unknown"),
        ("({0: 1, at: -1}, 0)", "({0: 1, at: -1}, 1)", "MODE", "unknown"),
        ("2 * n > total", "2 * n >= total", "MEDIAN", "half_up"),
        ("(low, 0)], [({0: -1}, 0), ({1: 1}, 1)]", "(low, 0)], [({0: -1}, 0)]", "MOST", "half_up"),
    ],
)
def test_a_mutant_disagrees(old: str, new: str, name: str, rule: str) -> None:
    assert disagreements(patched(old, new), name, rule)


DEFINITIONS: Any = (
    *("inverted_cdf", "averaged_inverted_cdf", "closest_observation", "linear", "weibull"),
    *("interpolated_inverted_cdf", "hazen", "median_unbiased", "normal_unbiased"),
)


def lost_orders(checker: Any, kind: str, detail: str) -> list[str]:
    """Populations whose median or quantile the rows exclude."""
    tables, found = checker.Tables(["feature value 5"]), []
    statistic = checker.Statistic(tables, kind, detail, "0", *"01234")
    for values in chain(*(combinations_with_replacement(range(5), n) for n in range(1, 6))):
        order = 0.5 if kind == "median" else float(Fraction(detail))
        numbers = {round(float(np.quantile(values, order, method=m)), 6) for m in DEFINITIONS}
        if kind == "median":
            low, high = median_low(values), median_high(values)
            below, here = sum(v < low for v in values), values.count(low)
            interpolated = low + (len(values) / 2 - below) / here
            of = {"any": {low, high, (low + high) / 2, interpolated}, "middle": {median(values)}}
            numbers = of[detail]
        for number in numbers:
            said = checker.ends(f"{number:.1f}", "unknown")
            sums, rows = statistic.meaning((31,), said)
            totals = [sum(w * (m[0] >> v & 1) for v in values for w, m in each) for each in sums]
            if any(sum(a * totals[k] for k, a in row.items()) < least for row, least in rows):
                found.append(f"{values} {number}")
    return found


@pytest.mark.parametrize(
    ("kind", "detail"), [("median", "any"), ("median", "middle"), ("quantile", "1/4")]
)
def test_rows_of_orders_exclude_nobody(kind: str, detail: str) -> None:
    assert not lost_orders(reconcheck, kind, detail)


@pytest.mark.parametrize(
    ("old", "new", "kind", "detail"),
    [
        ("slack = int(", "slack = 0 * int(", "quantile", "1/4"),
        ("low, high = Fraction(floor(low)), Fraction(ceil(high))", "pass", "median", "any"),
        ("below else high.__lt__", "below else low.__lt__", "median", "middle"),
    ],
)
def test_a_mutant_of_orders_excludes_somebody(old: str, new: str, kind: str, detail: str) -> None:
    assert lost_orders(patched(old, new), kind, detail)


#: A unit of one to four people, none or one of whom is of kind 1 for each three of kind 0.
WARD = """feature kind 2
table ALL
table MEAN
cell 0 0 3
cell 1 0 3
statistic 1 mean - 0 0 1
pattern 0.0
unit U 0
count 0 0 0 1 4
printed 0 1 0 RULE 0.2
"""
#: The mean of four is 0.25: by the rule of each it is printed so, and nothing contradicts.
NOBODY = """in 0
p 0:0.0 0:1.0@1
p 0:1.0%0
p 0:1.0%1
p 0:1.0%2
contradiction
"""
RATIO = """feature kind 2
table ALL
table RATIO
cell 0 0 3
cell 1 0 3
statistic 1 share 1 2 1
pattern 0.0
unit U 0
count 0 0 0 2
printed 0 1 0 unknown 1.0
"""
AREA = """feature kind 2
table ALL
table MOST
cell 0 0 3
cell 1 0 3
statistic 1 maximum - 0 0 1
pattern 0.0
pattern
area A 1
unit U 0 0
unit V 0 0
count 1 0 0 1
count 2 0 0 1
printed 0 1 0 exact 1
"""
FORGERIES: dict[str, tuple[tuple[str, str], tuple[str, str]]] = {
    "an end that belongs to it": (
        ("(m - 1, m + 1, False, False)", "(m - 1, m + 1, False, True)"),
        (WARD.replace("RULE", "unknown"), NOBODY),
    ),
    "an end of even digits": (
        ("is_odd = m % 4 == 2", "is_odd = m % 4 == 0"),
        (WARD.replace("RULE", "half_even"), NOBODY),
    ),
    "another base": (
        ("self.base = tables.masks(words[size:])", "pass"),
        (
            RATIO,
            "in 0\np -*0:0.0 -*0:1.0@1\np 0:1.0%1\nleast 2 0 2\np goal 0:1.0@0\n",
        ),
    ),
    "people elsewhere": (
        ('demand(is_whole, "a statistic of more', 'demand(True, "a statistic of more'),
        (AREA, "in 1\nleast 1 1 2\np goal 0:1.0@1\np 0:1.0%1\n"),
    ),
    "records that print something else": (
        ('demand(prints, f"these', 'demand(True, f"these'),
        (
            AREA,
            "in all\nset a\nr 1 1 0\nr 2 1 1\nend\nset b\nr 1 1 0\nr 2 1 0\nend\n"
            "differ a b 1 0 2\n",
        ),
    ),
    "a value that was rounded": (
        ('demand(ties == "nobody" or is_value', "demand(True or is_value"),
        (AREA.replace("exact", "unknown"), "in all\np 0:1.0%1\np 0:1.0@1\ncontradiction\n"),
    ),
    "two statistics of a table": (
        ('demand(whole(table) not in self.statistics, "this', 'demand(True, "this'),
        (
            AREA.replace("pattern 0.0\n", "statistic 1 minimum - 0 0 1\npattern 0.0\n"),
            "in all\np 0:1.0%0\nmost 0 0 1\np goal -*0:1.0@0\n",
        ),
    ),
    "values without a number": (
        ('demand(len(self.values) == tables.sizes[self.at], "each', 'demand(True, "each'),
        (
            AREA.replace("maximum - 0 0 1", "maximum - 0 0"),
            "in all\np 0:1.0%1\np 0:1.0@1\ncontradiction\n",
        ),
    ),
    "a cell of several lines": (
        ('demand(len(self.cells[cell]) == 1, "a', 'demand(True, "a'),
        (
            AREA.replace("cell 1 0 3", "cell 1 0 1\ncell 1 0 2"),
            "in all\np 0:1.0%1\np 0:1.0@1\ncontradiction\n",
        ),
    ),
    "an unknown statistic": (
        (
            'demand(kind in ("mean", "minimum", "maximum", "mode", "median", "quantile"), "what',
            'demand(True, "what',
        ),
        (
            AREA.replace("maximum - 0", "middle - 0").replace("exact", "down"),
            "in all\nleast 0 0 2\n",
        ),
    ),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_without_a_check_a_forgery_passes(name: str) -> None:
    (old, new), (tables, proof) = FORGERIES[name]
    with contextlib.suppress(reconcheck.Refused):
        assert not check(tables, proof)[-1]
    assert check(tables, proof, patched(old, new))[-1]


def test_texts_are_compared_with_the_publishers_file() -> None:
    rows = [{"geoid": "A", "table": "MOST", "cell": "0", "value": "1"}]
    counts = [{"geoid": each, "table": "ALL", "cell": "0", "value": "1"} for each in "UV"]
    tables: Any = reconcheck.Tables(AREA.splitlines())
    assert "; 1 texts are as there, 0 prove nothing here" in reconcheck.compare(
        tables, rows + counts
    )
    withheld = [{"geoid": "U", "table": "MOST", "cell": "0", "value": "*"}]
    assert "; 1 texts are as there, 1 prove" in reconcheck.compare(tables, rows + counts + withheld)
    with pytest.raises(reconcheck.Refused, match="A MOST 0: 1 here, '0' there"):
        reconcheck.compare(tables, [rows[0] | {"value": "0"}])
    with pytest.raises(reconcheck.Refused, match="A MOST 0 is printed here and not there"):
        reconcheck.compare(tables, counts)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("printed 0 1 0 exact x", "'x' is no number"),
        ("printed 0 1 0 exact 1\nprinted 0 1 0 exact 0", "this text has a line already"),
        (f"printed 0 1 0 exact {'1' * 31}", "is no number"),
        ("printed 0 1 0 exact 1 99", "is no number"),
        ("printed 0 1 0 exact 1.50 1", "1 is out of range"),
        ("printed 0 0 0 exact 1", "not understood"),
        ("printed 9 1 0 exact 1", "not understood"),
        ("statistic 2 mean middle 0 0 1", "what statistic"),
        ("statistic 2 median - 0 0 1", "what statistic"),
        ("statistic 2 mean - 0 0 1/0", "out of range"),
        ("statistic 2 share 100 1", "not understood"),
    ],
)
def test_lines_of_statistics_are_refused(line: str, why: str) -> None:
    with pytest.raises(reconcheck.Refused, match=why):
        check(AREA.replace("printed 0 1 0 exact 1\n", "") + line, "")


@pytest.mark.parametrize("old", ["tables.spend(len(self.values) ** 2)", "self.spend(300 * sum("])
def test_many_values_are_counted_as_work(old: str, monkeypatch: pytest.MonkeyPatch) -> None:
    values = " ".join(map(str, range(2000)))
    lines = ["feature kind 2000", "table MEAN", "cell 0 0 *", f"statistic 0 mean - 0 {values}"]
    lines += ["pattern", "unit U 0", "printed 0 0 0 unknown 7.5"]
    lax: Any = patched(old, old.replace("spend(", "spend(0 * "))
    started = time.process_time()
    spent = [checker.Tables(lines).work for checker in (reconcheck, lax)]
    assert time.process_time() - started < 5
    assert spent[0] - spent[1] >= 500_000
    monkeypatch.setattr(reconcheck, "MOST_WORK", spent[1])
    with pytest.raises(reconcheck.Refused, match="this takes too long"):
        check("\n".join(lines), "")
