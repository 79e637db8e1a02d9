"""Texts among counts that are no counts: refused, or asked about."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Set
from functools import partial
from typing import Final

from recon_cli.capabilities.init.open_question import OpenQuestion, flag
from recon_cli.capabilities.init.proposal.proposed_table import ProposedTable
from recon_cli.capabilities.init.remedies import remedies
from recon_cli.capabilities.init.survey import Survey
from recon_cli.errors import SourceError
from recon_cli.sources.formats import CountSheet
from recon_cli.sources.formats.sheet_texts import count_text
from recon_cli.sources.read.grid import Grid
from recon_cli.sources.read.markers import looks_like_marker

#: A number that is no count: negative, with decimals, or a percentage.
NO_COUNT: Final = re.compile(r"[-\u2212]\s?[0-9]+([.,][0-9]+)*%?|[0-9]*[.,][0-9]+%?|[0-9]+%")


def odd_words(roles: CountSheet, told: Survey, said: Collection[str]) -> Iterator[OpenQuestion]:
    """Yield a question about the first text among counts that is no usual mark of withheld ones.

    Args:
        said: Texts that are known to stand for counts that are not published.
    """
    for each in roles.counts:
        for odd in told.odd.get(each.at, ()):
            is_code = odd.is_number and not odd.text[0].isdigit()  # (9), n5; but 3x1 is a misprint
            if is_code or odd.text in said or odd.times > 2:
                continue
            if not looks_like_marker(odd.text):
                where = roles.sheet.where(odd.row, each.column, each.header)
                yield OpenQuestion(
                    f"{where}: {odd.text!r} is no number: it is taken as a count that is not "
                    "published",
                    {
                        "so it is": flag("withheld", odd.text),
                        "it stands for nobody": flag("nil", odd.text),
                    },
                )
                return


def refuse_odd(roles: CountSheet, told: Survey, table: ProposedTable) -> None:
    """Refuse a number in place of a count that is no count, or that is merged over several rows.

    Raises:
        SourceError: Names the row, the column and a remedy.
    """
    codes = {str(int(code)) for code in table.relations.codes}
    body = set(table.region.body.tolist())
    for (top, left), (bottom, _) in table.grid.spans().items():
        if bottom > top and top in body and left in table.counts:
            raise SourceError(
                f"{roles.sheet.where(int(table.grid.rows[top]), left, table.header(left))}: a cell "
                f"merged down to row {table.grid.rows[bottom]}: say in each row what it has"
            )
    for each in roles.counts:
        for odd in told.odd.get(each.at, ()):
            if odd.is_number and odd.text not in codes and NO_COUNT.fullmatch(odd.text):
                where = roles.sheet.where(odd.row, each.column, each.header)
                ways = remedies(table, partial(_is_no_count, table.grid, codes))
                raise SourceError(
                    f"{where}: {odd.text!r} is no count; {', or '.join(['mend it', *ways])}"
                )


def _is_no_count(grid: Grid, codes: Set[str], word: str) -> bool:
    """Test whether a text among counts is a number, but neither a count nor a code."""
    text = count_text(grid, word)
    return text not in codes and NO_COUNT.fullmatch(text) is not None
