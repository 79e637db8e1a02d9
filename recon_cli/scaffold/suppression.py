"""What is drafted of counts that look suppressed, in words and as laws."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from recon_cli.statement.suppression import threshold_of

#: Below which agencies mostly suppress; offered where no marker says a number.
_USUAL: Final = 3


def drafted_reading(markers: Sequence[str]) -> str:
    """What the drafted law takes the markers for.

    >>> drafted_reading(["*"]), drafted_reading(["*", "<5"])
    ("'*' may be any number", "'<5' is 0 to 4, '*' may be any number")
    """
    said = [f"{each!r} is 0 to {below - 1}" for each in markers if (below := threshold_of(each))]
    silent = [repr(each) for each in markers if threshold_of(each) is None]
    return ", ".join([*said, *([f"{', '.join(silent)} may be any number"] if silent else [])])


def narrower_laws(markers: Sequence[str]) -> list[tuple[str, str]]:
    """Laws that would prove more than the drafted one: when each holds, and its YAML."""
    said = {below for each in markers if (below := threshold_of(each))}
    if len(said) > 1:
        return [("Counts above zero alone", "{suppressed: {flagged: positive}}")]
    below = max(said, default=_USUAL)
    small = f"1 {'and' if below == _USUAL else 'to'} {below - 1}"
    laws = [(f"Counts of {small} alone", f"{{suppressed: {{below: {below}}}}}")]
    if any(threshold_of(each) is None for each in markers):
        law = f"{{suppressed: {{below: {below}, complementary: true}}}}"
        laws.append((f"Counts of {small}, and others that protect them", law))
    return laws
