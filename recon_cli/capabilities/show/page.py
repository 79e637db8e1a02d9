"""The page of a geounit."""

from __future__ import annotations

from recon_cli.capabilities.show.view import GeounitView
from recon_cli.page.html import render_page


def show_page(view: GeounitView, back: str = "") -> str:
    """Render a geounit as a page.

    Args:
        back: The file of the report that lists it, if one does.
    """
    # The right end of each interval, or what was reconstructed where there is none.
    ends = [max(kind.upper or 0, kind.people) for kind in (*view.kinds, *view.possible)]
    return render_page(
        "show.html.j2",
        __package__,
        view=view,
        back=back,
        scale=max([1, *ends]),
        explained_counts=any(each.reason for each in view.protected),
        explained={reason.kind.number for reason in view.reasons},
        has_solvar=any(member.solvar is not None for member in view.members),
    )
