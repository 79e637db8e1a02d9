"""The intervals behind printed texts, against rounding by the decimal library."""

from decimal import ROUND_DOWN, ROUND_HALF_EVEN, ROUND_HALF_UP, ROUND_UP, Decimal
from fractions import Fraction

import pytest

from recon_cli.capabilities.tabulate.statistics import printed_text
from recon_cli.statement.printed import TIES, Ends, Ties, printed_ends, printed_value

ROUNDINGS: dict[Ties, str] = {
    "half_up": ROUND_HALF_UP,
    "half_even": ROUND_HALF_EVEN,
    "down": ROUND_DOWN,
    "up": ROUND_UP,
}
#: Every number between -1.2 and 1.2 in steps of a quarter of the last of two decimals.
VALUES = [Fraction(step, 400) for step in range(-240, 241)]


def rounded(value: Fraction, decimals: int, ties: Ties) -> str:
    """Round by another library; the sign of a zero is dropped."""
    exact = Decimal(value.numerator) / Decimal(value.denominator)
    text = str(exact.quantize(Decimal(1).scaleb(-decimals), ROUNDINGS[ties]))
    return text.removeprefix("-") if Decimal(text) == 0 else text


@pytest.mark.parametrize("ties", ROUNDINGS)
@pytest.mark.parametrize("decimals", [0, 1, 2])
def test_ends_contain_exactly_the_values_that_print_so(ties: Ties, decimals: int) -> None:
    texts = {rounded(value, decimals, ties) for value in VALUES}
    for text in texts:
        ends = printed_ends(text, ties)
        for value in VALUES:
            prints = rounded(value, decimals, ties) == text
            if ties == "half_up" and value < 0:  # programs differ there: both are allowed
                assert value in ends or not prints
            else:
                assert (value in ends) == prints, (text, value, ends)


@pytest.mark.parametrize("decimals", [0, 1, 2])
def test_unknown_ties_admit_what_any_rounding_to_the_nearest_prints(decimals: int) -> None:
    nearest: tuple[Ties, ...] = ("half_up", "half_even")
    for value in VALUES:
        for ties in nearest:
            assert value in printed_ends(rounded(value, decimals, ties))
        assert value in printed_ends(f"{float(value):.{decimals}f}")


@pytest.mark.parametrize("ties", TIES)
def test_printed_text_lies_in_its_own_ends(ties: Ties) -> None:
    for value in VALUES:
        for decimals in (0, 1, 2):
            text = printed_text(value, decimals, ties)
            assert value in printed_ends(text, ties)
            if ties in ROUNDINGS:
                assert text == rounded(value, decimals, ties)


def test_lost_trailing_zeros_widen_and_decimals_restore_them() -> None:
    assert printed_ends("34.6") == Ends(691, 693, 20)
    assert printed_ends("34.6", decimals=2) == printed_ends("34.60") == Ends(6919, 6921, 200)


def test_counts_of_percentages_are_those_that_print_so() -> None:
    for ties in TIES:
        for base in range(1, 60):
            shares = [printed_text(Fraction(100 * a, base), 0, ties) for a in range(base + 1)]
            for text in set(shares):
                low, high = printed_ends(text, ties).counts(base)
                found = [a for a, share in enumerate(shares) if share == text]
                if ties == "unknown":
                    assert low <= found[0] <= found[-1] <= high
                else:
                    assert list(range(low, high + 1)) == found


def test_counts_of_an_interval_of_bases_are_the_union() -> None:
    ends = printed_ends("33")
    each = [ends.counts(base) for base in range(4, 12)]
    some = [pair for pair in each if pair[0] <= pair[1]]
    assert ends.counts(4, 11) == (min(low for low, _ in some), max(high for _, high in some))
    least, most = ends.counts(0, 0)
    assert least > most, "nobody has no percentage"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("34,6", r"expected a decimal point, found '34,6'; say decimal: \",\""),
        ("34.6%", "drop '%'"),
        ("1e3", "expected a number such as 34.6, found '1e3'"),
        ("", "expected a number"),
        ("1.2.3", "expected a number"),
        ("٣", "expected a number"),
        ("9" * 50, "expected a number"),
    ],
)
def test_what_is_no_printed_number_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        printed_ends(text)


def test_more_decimals_than_were_declared_are_refused() -> None:
    with pytest.raises(ValueError, match=r"expected 1 decimals, found .34\.61."):
        printed_ends("34.61", decimals=1)


def test_value_of_a_text() -> None:
    assert printed_value("-1.50") == Fraction(-3, 2)
    assert printed_value(".5") == Fraction(1, 2)
