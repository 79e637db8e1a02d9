"""`GeounitView` as one self-contained HTML page."""

from __future__ import annotations

from recon_cli.report.page import render_page
from recon_cli.report.view import GeounitView, RecordKind


def show_page(view: GeounitView, back: str = "") -> str:
    """Lay a geounit out as a page that fetches nothing.

    Args:
        view: The geounit.
        back: The file of the report that lists it, if one does.
    """
    most = max((most_people(kind) for kind in (*view.kinds, *view.possible)), default=0)
    return render_page(
        "show.html.j2",
        view=view,
        back=back,
        scale=max(most, 1),
        explained_counts=any(each.reason for each in view.protected),
        explained={reason.kind.number for reason in view.reasons},
        has_solvar=any(member.solvar is not None for member in view.members),
    )


def most_people(kind: RecordKind) -> int:
    """The right end of a kind's interval, or what was reconstructed where there is none."""
    return kind.people if kind.upper is None else max(kind.upper, kind.people)
