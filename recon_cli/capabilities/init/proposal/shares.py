"""Columns that are shares of counts beside them, as numbers show or headers and one row say."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from recon_cli.capabilities.init.proposal.evidence import MARGIN_BITS, Support
from recon_cli.capabilities.init.proposal.intervals import Intervals
from recon_cli.capabilities.init.proposal.ratios import Ratio, ratio_support
from recon_cli.capabilities.init.proposal.relation import Axis
from recon_cli.capabilities.init.proposal.relations import Relations
from recon_cli.sources.read.table_reading import Share
from recon_cli.sources.read.words import Sense, in_latin, is_word, says

_UNTRIED = Support(0, 0, 0, 0.0, 0.0)


def find_shares(
    block: Intervals,
    relations: Relations,
    counts: Sequence[int],
    statistics: Sequence[int],
    headers: Mapping[int, Sequence[str]],
) -> list[Share]:
    """Find the columns that are shares of counts, each with its part and base.

    Two rows or more show a share; or the header names its part, and one row shows its base. Skip a
    column with two possible bases that differ where the part is not printed.

    Args:
        block: The numbers of a table, lines by number of their column.
        headers: Column → its words.
    """
    strong = {
        each.line: each
        for each in relations.ratios(Axis.COLUMNS)
        if each.support.is_strong and {*each.of} <= {*counts}
    }
    plain = {at: _plain(headers[at]) for at in (*counts, *statistics)}
    found: list[Share] = []
    for line in statistics:
        if line in strong:
            (part, base), times = strong[line].of, int(strong[line].per)
        else:
            part, base, times = _named(plain, line, counts), -1, 100
        bases = _bases(block, Share(line, part, base, times), counts, relations.base - 1)
        chosen = base if base in bases else next(iter(bases), -1)
        if chosen >= 0 and not any(_tells_apart(block, part, chosen, other) for other in bases):
            found.append(Share(line, part, chosen, times))
    if found:  # beside shares, a hundred everywhere is that of their base
        told = {each.line for each in found}
        base = found[0].base
        found += [
            Share(line, base, base)
            for line in statistics
            if line not in told and _is_hundred(block, line)
        ]
    return found


def _is_hundred(block: Intervals, line: int) -> bool:
    own = block.low[line][block.known[line]]
    return bool(len(own)) and bool((own == 100).all())


def _named(plain: Mapping[int, str], line: int, counts: Sequence[int]) -> int:
    """Return the count whose share a column is by its header; -1 if there is none.

    A column whose header is only a unit is a share of the count before it.
    """
    if not plain[line]:
        return line - 1 if line - 1 in counts else -1
    same = [at for at in counts if plain[at] == plain[line]]
    return same[0] if len(same) == 1 else -1


def _bases(block: Intervals, share: Share, counts: Iterable[int], slack: int) -> list[int]:
    """Return counts that may be the base of a share: a row shows it, and none breaks it."""
    if share.part < 0:
        return []
    asked = {
        base: Ratio(share.line, share.part, base, float(share.times), _UNTRIED)
        for base in counts
        if base != share.part
    }
    supports = {base: ratio_support(block, each, slack) for base, each in asked.items()}
    fits = [
        base
        for base, support in supports.items()
        if support.shown and not support.broken and support.bits >= MARGIN_BITS
    ]
    return sorted(fits, key=lambda base: -supports[base].bits)


def _tells_apart(block: Intervals, part: int, one: int, other: int) -> bool:
    """Test whether two bases differ, or one is withheld, in a row where the part is not printed."""
    rows = ~block.known[part]
    differ = block.known[one] != block.known[other]
    differ |= block.known[one] & block.known[other] & (block.low[one] != block.low[other])
    return bool((rows & differ).any())


def _plain(words: Sequence[str]) -> str:
    """Return the words of a header without those for a percentage or a unit."""
    kept = []
    for word in words:
        text = re.sub(r"[%()]", " ", in_latin(word))
        some = [each for each in text.split() if not _is_unit(each)]
        if some and is_word(some[-1], Sense.JOINING):
            some = some[:-1]
        kept += some
    return " ".join(kept)


def _is_unit(word: str) -> bool:
    return says(word, Sense.PERCENTAGE, Sense.UNIT)
