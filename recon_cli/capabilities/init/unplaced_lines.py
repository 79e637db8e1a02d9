"""Ask about lines whose relation to other lines is unknown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from recon_cli.capabilities.init.open_question import OpenQuestion, each_some_of_next, flag
from recon_cli.capabilities.init.structure import Structure
from recon_cli.sources.read.table_reading import NAMELESS


def ask_some(structure: Structure, headers: Sequence[str]) -> Iterator[OpenQuestion]:
    """Ask of which whole lines count some people, and whether these lines exclude each other."""
    for lines, (part, whole) in structure.either.items():
        some = [headers[i] for i in lines]
        before, every = headers[part], headers[whole]
        answers = _some_of(before, some, prefix=f"of {before!r} alone")
        answers |= {f"of {every!r}": flag("count", *some)}
        yield OpenQuestion(
            f"{', '.join(map(repr, some))}: some of {before!r}, which stands before, or of "
            f"{every!r}?",
            answers,
        )
    for line, parts in structure.beside.items():
        some = [headers[i] for i in parts]
        shown, every = ", ".join(map(repr, some)), headers[line]
        text = f"{shown}: some of {every!r}; may somebody be in two of them?"
        yield OpenQuestion(text, _some_of(every, some))


def ask_unplaced(structure: Structure, headers: Sequence[str]) -> OpenQuestion:
    """Ask what the unplaced lines of a structure count."""
    names = [headers[i] for i in structure.unplaced]
    shown = ", ".join(repr(name or NAMELESS) for name in names)
    answers: dict[str, str] = {}
    for sums in structure.possible:
        said = [[headers[i] for i in own] for own in sums]
        words = [f"{total} = {' + '.join(parts)}" for total, *parts in said]
        answers[" and ".join(words)] = " ".join(flag("sum", each) for each in words)
    if structure.chain:
        answers |= each_some_of_next([headers[i] for i in structure.chain])
    if structure.peers:
        peers = [headers[i] for i in structure.peers]
        own = "both" if len(peers) == 2 else f"all {len(peers)}"
        answers[f"{own} are counted, and nobody in two of them"] = flag("apart", *peers)
    answers |= {
        f"{name or NAMELESS!r} {what}": flag(option, name)
        for name in names
        for what, option in (
            ("counts some of them", "count"),
            ("is to be left out", "leave-out"),
        )
        if name or option == "leave-out"
    }
    return OpenQuestion(
        f"{shown}: in no relation to the other counts; some of the same people, or to be left out?",
        answers,
    )


def _some_of(whole: str, some: Sequence[str], prefix: str = "") -> dict[str, str]:
    """Map answers that lines count some people of a whole to their flags."""
    each = flag("sum", *(f"{whole} = {name} + ..." for name in some))
    if len(some) == 1:
        return {prefix: each}
    comma = f"{prefix}, " if prefix else ""
    return {
        f"{comma}nobody in two of them": flag("sum", f"{whole} = {' + '.join(some)} + ..."),
        f"{comma}somebody perhaps in two of them": each,
    }
