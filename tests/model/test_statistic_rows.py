"""The rows of statistics, against every histogram of up to six people over five values.

What a histogram prints is computed from its records, as fractions, with the decimal rules written
out here: no builder is used on both sides.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from math import ceil, floor

import numpy as np
import pytest

from recon_cli.model import statistic_rows
from recon_cli.model.statistic_rows import Measured, Row
from recon_cli.schema.statistics import Definition
from recon_cli.statement.printed import TIES, Ends, Ties, printed_ends, printed_value

VALUES = [0, 1, 2, 3, 5]
EVERYBODY = np.ones(5, dtype=bool)
OLD = np.array([False, False, False, True, True])
YOUNG = np.array([True, True, False, False, False])
MEASURED = Measured(np.array(VALUES))


def histograms(cells: int, people: int) -> Iterator[tuple[int, ...]]:
    if cells == 1:
        yield (people,)
        return
    for first in range(people + 1):
        for rest in histograms(cells - 1, people - first):
            yield (first, *rest)


PEOPLE = [x for people in range(7) for x in histograms(5, people)]
X = np.array(PEOPLE)


def records(x: Sequence[int]) -> list[int]:
    return [value for value, count in zip(VALUES, x, strict=True) for _ in range(count)]


def texts_of(number: Fraction, decimals: int, ties: Ties) -> set[str]:
    """Every text that the rule may print of a number that is not negative."""
    scaled = number * 10**decimals
    low = floor(scaled)
    if ties == "down":
        digits = {low}
    elif ties == "up":
        digits = {ceil(scaled)}
    elif scaled - low == Fraction(1, 2):
        even = low if low % 2 == 0 else low + 1
        digits = {"half_up": {low + 1}, "half_even": {even}, "unknown": {low, low + 1}}[ties]
    else:
        digits = {floor(scaled + Fraction(1, 2))}
    return {_text(each, decimals) for each in digits}


def _text(digits: int, decimals: int) -> str:
    shown = str(digits).rjust(decimals + 1, "0")
    return shown if decimals == 0 else f"{shown[:-decimals]}.{shown[-decimals:]}"


def admitted(rows: Iterable[Row], values: Sequence[int] = VALUES) -> list[bool]:
    """Which of all histograms the rows admit."""
    found = np.ones(len(X), dtype=bool)
    for row in rows:
        found &= X @ row.coefficients(np.array(values)) >= row.least
    return found.tolist()


def mistakes(printed: Sequence[set[str]], rows_of: Callable[[str], list[Row]]) -> int:
    """Count histograms that rows admit although they print another text, or the reverse."""
    wrong = 0
    for text in sorted(set().union(*printed)):
        fits = admitted(rows_of(text))
        wrong += sum(fit != (text in own) for fit, own in zip(fits, printed, strict=True))
    return wrong


def excluded(printed: Sequence[set[str]], rows_of: Callable[[str], list[Row]]) -> int:
    """Count histograms that the rows of their own text exclude."""
    wrong = 0
    for text in sorted(set().union(*printed)):
        fits = admitted(rows_of(text))
        wrong += sum(text in own and not fit for fit, own in zip(fits, printed, strict=True))
    return wrong


def quotients(
    above: Sequence[int], below: Sequence[int], times: int, decimals: int, ties: Ties
) -> list[set[str]]:
    found: list[set[str]] = []
    for x in PEOPLE:
        base = sum(n * k for n, k in zip(x, below, strict=True))
        top = sum(n * k for n, k in zip(x, above, strict=True))
        found.append(texts_of(Fraction(times * top, base), decimals, ties) if base else set())
    return found


ONES = [1] * 5


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("decimals", [0, 1, 2])
def test_rows_of_means_admit_exactly_what_prints_so(ties: Ties, decimals: int) -> None:
    printed = quotients(VALUES, ONES, 1, decimals, ties)
    rows = lambda text: statistic_rows.mean_rows(EVERYBODY, printed_ends(text, ties))  # noqa: E731
    assert mistakes(printed, rows) == 0


def test_means_of_values_in_other_units() -> None:
    printed = [
        texts_of(Fraction(sum(records(x)), 2 * sum(x)), 1, "half_up") if sum(x) else set()
        for x in PEOPLE
    ]
    rows = lambda text: statistic_rows.mean_rows(  # noqa: E731
        EVERYBODY, printed_ends(text, "half_up"), unit=2
    )
    assert mistakes(printed, rows) == 0


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("decimals", [0, 1])
@pytest.mark.parametrize("times", [100, 1000])
def test_rows_of_shares_admit_exactly_what_prints_so(ties: Ties, decimals: int, times: int) -> None:
    printed = quotients(OLD.astype(int).tolist(), ONES, times, decimals, ties)
    rows = lambda text: statistic_rows.share_rows(  # noqa: E731
        OLD, EVERYBODY, printed_ends(text, ties), Fraction(times)
    )
    assert mistakes(printed, rows) == 0


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("decimals", [0, 1])
def test_rows_of_ratios_admit_exactly_what_prints_so(ties: Ties, decimals: int) -> None:
    printed = quotients(YOUNG.astype(int).tolist(), OLD.astype(int).tolist(), 1, decimals, ties)
    rows = lambda text: statistic_rows.share_rows(  # noqa: E731
        YOUNG, OLD, printed_ends(text, ties)
    )
    assert mistakes(printed, rows) == 0


SPANS = [(0, 6), (1, 4), (3, 3), (2, 5), (6, 6)]


def within(printed: Sequence[set[str]], inside: np.ndarray) -> Callable[..., int]:
    """Count mistakes among histograms with the counts that rows are told of."""

    def wrong(rows_of: Callable[[str], list[Row]]) -> int:
        found = 0
        for text in sorted(set().union(*printed)):
            fits = zip(admitted(rows_of(text)), printed, inside, strict=True)
            found += sum(fit != (text in own) for fit, own, is_in in fits if is_in)
        return found

    return wrong


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("people", SPANS)
def test_rows_among_known_counts_admit_exactly_what_prints_so(
    ties: Ties, people: tuple[int, int]
) -> None:
    low, high = people
    total, old, young = X.sum(axis=1), X[:, OLD].sum(axis=1), X[:, YOUNG].sum(axis=1)
    inside = (total >= low) & (total <= high)
    of_mean = within(quotients(VALUES, ONES, 1, 1, ties), inside)
    assert (
        of_mean(lambda t: statistic_rows.mean_rows(EVERYBODY, printed_ends(t, ties), 1, people))
        == 0
    )
    share = quotients(OLD.astype(int).tolist(), ONES, 100, 0, ties)
    for counted in (None, (0, 2), (1, 4)):
        is_so = inside if counted is None else inside & (old >= counted[0]) & (old <= counted[1])
        found = within(share, is_so)(
            lambda t, known=(counted, people): statistic_rows.share_rows(
                OLD, EVERYBODY, printed_ends(t, ties), Fraction(100), known
            )
        )
        assert found == 0
    ratio = quotients(YOUNG.astype(int).tolist(), OLD.astype(int).tolist(), 1, 1, ties)
    found = within(ratio, (old >= low) & (old <= high) & (young <= 4))(
        lambda t: statistic_rows.share_rows(
            YOUNG, OLD, printed_ends(t, ties), Fraction(1), ((0, 4), people)
        )
    )
    assert found == 0


def test_a_percentage_of_a_known_count_is_a_count() -> None:
    rows = statistic_rows.share_rows(
        OLD, EVERYBODY, printed_ends("33.3"), Fraction(100), (None, (1, 4))
    )
    of_base, of_part = EVERYBODY.astype(int).tolist(), OLD.astype(int).tolist()
    assert [(row.plain.tolist(), row.least) for row in rows] == [
        (of_base, 3),
        ([-1] * 5, -3),
        (of_part, 1),
        ([-each for each in of_part], -1),
    ]


def test_a_known_count_with_which_nobody_prints_so_leaves_the_rows_as_they_are() -> None:
    alone = statistic_rows.mean_rows(EVERYBODY, printed_ends("2.5"))
    told = statistic_rows.mean_rows(EVERYBODY, printed_ends("2.5"), 1, (1, 1))
    assert [(row.plain.tolist(), row.least) for row in told] == [
        (row.plain.tolist(), row.least) for row in alone
    ]


def test_rows_of_extremes_and_modes_admit_exactly_what_prints_so() -> None:
    least = [{str(min(records(x)))} if sum(x) else set() for x in PEOPLE]
    most = [{str(max(records(x)))} if sum(x) else set() for x in PEOPLE]
    modes = [
        {str(value) for value, count in zip(VALUES, x, strict=True) if count == max(x)}
        if sum(x)
        else set()
        for x in PEOPLE
    ]
    for printed, rows in (
        (least, statistic_rows.minimum_rows),
        (most, statistic_rows.maximum_rows),
        (modes, statistic_rows.mode_rows),
    ):
        build = lambda text, rows=rows: rows(  # noqa: E731
            MEASURED, EVERYBODY, printed_value(text)
        )
        assert mistakes(printed, build) == 0


MEDIANS = (statistics.median, statistics.median_low, statistics.median_high)


@pytest.mark.parametrize("decimals", [0, 1])
@pytest.mark.parametrize("ties", ["half_up", "half_even", "unknown"])
def test_rows_of_medians_exclude_no_median_between_the_middle_two(
    decimals: int, ties: Ties
) -> None:
    for median in MEDIANS:
        printed = [
            texts_of(Fraction(median(records(x))), decimals, ties) if sum(x) else set()
            for x in PEOPLE
        ]
        rows = lambda text: statistic_rows.median_rows(  # noqa: E731
            MEASURED, EVERYBODY, printed_ends(text, ties)
        )
        assert excluded(printed, rows) == 0


def test_rows_of_medians_are_exact_for_odd_numbers_of_people() -> None:
    odd = np.array([sum(x) % 2 == 1 for x in PEOPLE])
    for value in VALUES:
        fits = admitted(statistic_rows.median_rows(MEASURED, EVERYBODY, Ends(value, value, 1)))
        has = [sum(x) > 0 and statistics.median_low(records(x)) == value for x in PEOPLE]
        assert np.array_equal(np.array(fits)[odd], np.array(has)[odd])


def test_rows_of_medians_rounded_outwards_hold_when_interpolated_within_years() -> None:
    printed: list[set[str]] = []
    for x in PEOPLE:
        people, below, found = sum(x), 0, set()
        for value, count in zip(VALUES, x, strict=True):
            if count and 2 * below < people <= 2 * (below + count):
                found = texts_of(value + Fraction(people - 2 * below, 2 * count), 1, "unknown")
            below += count
        printed.append(found)
    rows = lambda text: statistic_rows.median_rows(  # noqa: E731
        MEASURED, EVERYBODY, statistic_rows.outwards(printed_ends(text))
    )
    assert excluded(printed, rows) == 0


@pytest.mark.parametrize("decimals", [0, 1])
@pytest.mark.parametrize("definition", ["middle", "low", "high"])
@pytest.mark.parametrize("ties", ["half_up", "half_even", "unknown"])
def test_cases_of_medians_together_admit_exactly_what_prints_so(
    decimals: int, definition: Definition, ties: Ties
) -> None:
    median = MEDIANS[("middle", "low", "high").index(definition)]
    printed = [
        texts_of(Fraction(median(records(x))), decimals, ties) if sum(x) else set() for x in PEOPLE
    ]
    for text in sorted(set().union(*printed)):
        ends = printed_ends(text, ties)
        cases = statistic_rows.median_cases(MEASURED, EVERYBODY, ends, definition)
        fits = np.any([admitted(case) for case in cases], axis=0)
        assert fits.tolist() == [text in own for own in printed]


METHODS = (
    *("inverted_cdf", "averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf"),
    *("hazen", "weibull", "linear", "median_unbiased", "normal_unbiased"),
)


@pytest.mark.parametrize("order", [Fraction(1, 4), Fraction(3, 4), Fraction(1, 10), Fraction(1, 3)])
def test_rows_of_quantiles_exclude_none_of_nine_definitions(order: Fraction) -> None:
    for method in METHODS:
        printed: list[set[str]] = [
            {f"{np.quantile(records(x), float(order), method=method):.1f}"}  # type: ignore[call-overload]
            if sum(x)
            else set()
            for x in PEOPLE
        ]
        rows = lambda text: statistic_rows.quantile_rows(  # noqa: E731
            MEASURED, EVERYBODY, printed_ends(text), order
        )
        assert excluded(printed, rows) == 0


@pytest.mark.parametrize("order", [Fraction(1, 4), Fraction(3, 4), Fraction(1, 3)])
def test_cases_of_quantiles_print_so_by_all_nine_definitions(order: Fraction) -> None:
    admits_some = 0
    for value in VALUES:
        ends = printed_ends(f"{value}.0")
        for case in statistic_rows.quantile_cases(MEASURED, EVERYBODY, ends, order):
            for x, fits in zip(PEOPLE, admitted(case), strict=True):
                if fits:
                    admits_some += 1
                    for method in METHODS:
                        found = np.quantile(records(x), float(order), method=method)  # type: ignore[call-overload]
                        assert abs(found - value) < 1e-9
    assert admits_some > 0


def test_nobody_and_somebody() -> None:
    assert admitted(statistic_rows.nobody(EVERYBODY)) == [sum(x) == 0 for x in PEOPLE]
    assert admitted(statistic_rows.somebody(OLD)) == [x[3] + x[4] > 0 for x in PEOPLE]


def test_many_decimals_only_widen() -> None:
    printed = quotients(VALUES, ONES, 1, 9, "half_up")
    rows = lambda text: statistic_rows.mean_rows(EVERYBODY, printed_ends(text, "half_up"))  # noqa: E731
    assert excluded(printed, rows) == 0


def test_mutants_of_the_rows_are_noticed() -> None:
    """A closed end, half even for half up, and a wrong base must not pass."""
    printed = quotients(VALUES, ONES, 1, 1, "half_up")

    def closed(text: str) -> list[Row]:
        ends = replace(printed_ends(text, "half_up"), is_most_open=False)
        return statistic_rows.mean_rows(EVERYBODY, ends)

    def half_even(text: str) -> list[Row]:
        return statistic_rows.mean_rows(EVERYBODY, printed_ends(text, "half_even"))

    def wrong_base(text: str) -> list[Row]:
        base = np.array([True, True, True, True, False])
        return statistic_rows.mean_rows(base, printed_ends(text, "half_up"))

    def without_somebody(text: str) -> list[Row]:
        return statistic_rows.mean_rows(EVERYBODY, printed_ends(text))[:2]

    for mutant in (closed, half_even, wrong_base, without_somebody):
        assert mistakes(printed, mutant) > 0
