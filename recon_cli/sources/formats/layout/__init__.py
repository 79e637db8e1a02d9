"""Sheets as offices lay them out: titles, merged headers, footnotes, and places within places.

What says which place is part of which: columns of parents, indents, heading rows, totals and sums.
"""

from recon_cli.sources.formats.layout.places import Layout, lay_out
from recon_cli.sources.formats.layout.sums import interval_ends
from recon_cli.sources.formats.layout.words import PART_OF, WHOLE, is_all_places

__all__ = ["PART_OF", "WHOLE", "Layout", "interval_ends", "is_all_places", "lay_out"]
