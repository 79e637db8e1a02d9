"""The report's list of places where people or counts are disclosed, each with a page."""

from __future__ import annotations

from recon_cli.capabilities.findings.findings import Findings, Place
from recon_cli.capabilities.findings.section import Section
from recon_cli.page.document import ReportSection, ResultTable
from recon_cli.page.words import Words, count

_KEY = "places"
_TITLE = "Place by place"


def _render(places: tuple[Place, ...], _: Findings, words: Words) -> tuple[ReportSection, ...]:
    """List the places; omit columns of which nothing is known."""
    text = (
        "Each place leads to a page of its own: its counts that were not published and what they "
        f"can only be, what is proven of its {words.people}, and its published tables. `recon "
        "show` followed by a place also finds which published counts settle them.",
    )
    columns: dict[str, list[int | None]] = {
        words.people: [each.people for each in places],
        f"{words.people} given away": [each.given for each in places],
        "counts recovered": [each.recovered for each in places],
        "of them below the threshold": [each.small for each in places],
    }
    known = {name: values for name, values in columns.items() if any(values)}
    rows = tuple(
        (place.called, *(count(values[at]) for values in known.values()))
        for at, place in enumerate(places)
    )
    sheet = ResultTable(
        title="Places, those with most given away first",
        header=("place", *known),
        rows=rows,
        text_columns=1,
        is_list=True,
        pages=tuple(each.page for each in places),
    )
    return (ReportSection(_KEY, _TITLE, text, sheets=(sheet,)),)


SECTION = Section(_KEY, _TITLE, lambda findings: findings.places or None, _render)
