"""Gaps: what was not examined; a reassuring sentence requires that there are none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from recon_cli.coverage import Coverage, LeftOut, enumerate_left_out

#: Condition of safe counts under a law that leaves the rule open: a narrower rule proves more.
UNKNOWN_RULE: Final = (
    "nobody knows by which rule counts are suppressed; whoever does may know more "
    "(`recon init --below`)"
)
#: Condition of safe counts where rows are left out: a rule for leaving them out proves more.
LEFT_OUT_ROWS: Final = "nobody knows why counts are left out of tables; whoever does may know more"
#: Condition of safe counts where places may be unlisted: whoever knows all places knows more.
UNLISTED_PLACES: Final = (
    "there may be places that the files do not list; if they list all, say so: `recon init "
    "--all-places`"
)


def left_out_gaps(left_out: Sequence[LeftOut]) -> tuple[str, ...]:
    """List numbers of the published files that are left out without a reason by the officer."""
    unused = [each for each in left_out if not each.reason]
    if not unused:
        return ()
    return (
        f"numbers that are not used and may give counts away: {enumerate_left_out(unused)} (if you "
        "know that they do not, say why in `ingest.mapping.leave_out`)",
    )


def coverage_gaps(coverage: Coverage) -> tuple[str, ...]:
    """List what is not published for every place, and so not examined; half a sentence each."""
    gaps = []
    if any(not pattern.is_listed for pattern in coverage):
        gaps.append(
            "units stand for places that the files do not list (if they list all: "
            "`ingest.geounits`, which `recon init --all-places` writes)"
        )
    by_level: dict[str, set[frozenset[str]]] = {}
    for pattern in coverage:
        by_level.setdefault(pattern.level, set()).add(frozenset(pattern.cells))
    if any(len(tables) > 1 for tables in by_level.values()):
        gaps.append("whole tables are left out of some places, which nobody asked about")
    return tuple(gaps)
