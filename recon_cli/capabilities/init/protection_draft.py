"""Draft the law by which counts were protected, from the files and from what users say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from recon_cli.capabilities.init.cautions import added_up, of_rounding
from recon_cli.capabilities.init.declared import Declared, Rounding
from recon_cli.capabilities.init.notes import noted_rule
from recon_cli.capabilities.init.open_question import OpenQuestion
from recon_cli.capabilities.init.recognised import RecognisedFiles
from recon_cli.coverage import PROTECTION
from recon_cli.errors import ConfigError
from recon_cli.frames import OPEN
from recon_cli.statement.texts import interval_said


def _with_blanks(found: RecognisedFiles, declared: Declared) -> RecognisedFiles:
    """Return files with blanks among their markers, if a rule applies to blanks.

    The user says so, or there is no other marker for the rule.
    """
    unpublished = found.mapping.get("unpublished", [])
    if not isinstance(unpublished, list) or "" not in unpublished:
        return found
    if "" not in declared.rules and (found.markers or None not in declared.rules):
        return found
    rest = [text for text in unpublished if text]
    mapping = {key: value for key, value in found.mapping.items() if key != "unpublished"}
    mapping |= {"unpublished": rest} if rest else {}
    return replace(found, markers=("", *found.markers), mapping=mapping)


def with_protection(
    found: RecognisedFiles, declared: Declared, totals: Sequence[str]
) -> RecognisedFiles:
    """Add the law that a file declares, or that the user says, or doubts about the law.

    Args:
        totals: The totals that the user says.

    Raises:
        ConfigError: The user says a law that no count looks like, or that a file declares.
    """
    folders = dict.fromkeys(path if path.is_dir() else path.parent for path in found.paths)
    beside = next((f / PROTECTION for f in folders if (f / PROTECTION).is_file()), None)
    rounding = declared.rounding
    flags = {"--below": bool(declared.rules), "--rounded": rounding is not None}
    if not declared.lists_all:
        found = replace(found, places=())
    if beside is not None:
        for flag in (flag for flag, is_said in flags.items() if is_said):
            raise ConfigError(f"{flag}: {beside} declares the law; change it there")
        return replace(found, protection=beside)
    found = _with_blanks(found, declared)
    _require_shown(found, declared)
    doubts = []
    if found.markers and not declared.rules:
        doubts.append(
            "by which rule counts are suppressed: in the drafted law "
            f"{drafted_reading(found.markers)}; a narrower rule proves more{_noted(found)}"
        )
    elif None in declared.rules:
        declared, doubt = _of_marks(found, declared)
        doubts += doubt
    found = replace(found, declared=declared)
    if found.shown_below:
        marks = ", ".join(map(repr, found.markers))
        doubts.append(
            f"why {found.shown_below:,} counts are shown that the rule would suppress: the law is "
            f"taken to be of {marks} alone"
        )
    found = replace(found, doubts=(*found.doubts, *doubts))
    return _with_rounding(found, rounding, totals)


def _with_rounding(
    found: RecognisedFiles, rounding: Rounding | None, totals: Sequence[str]
) -> RecognisedFiles:
    """Add questions and doubts about how counts are rounded."""
    readings = [reading for _, reading in found.readings]
    told: list[str | OpenQuestion | None] = []
    if found.base is not None and rounding is None:
        told.append(
            f"whether counts are rounded, and how: {_multiples(found)}, so the "
            "drafted law says that each was rounded up or down (`--rounded nearest`, `random`, "
            "`controlled` or `none`)"
        )
    elif rounding is None:
        told.append(of_rounding(found.beside, readings))
    if found.base is not None and rounding in (None, "nearest", "random"):
        told.append(added_up(readings, totals))
    if rounding == "none":
        found = replace(found, base=None, bases={})
    questions = [each for each in told if isinstance(each, OpenQuestion)]
    doubts = [each for each in told if isinstance(each, str)]
    return replace(found, questions=(*found.questions, *questions), doubts=(*found.doubts, *doubts))


def _multiples(found: RecognisedFiles) -> str:
    """Return a clause that says of which numbers counts are multiples."""
    if not found.bases:
        return f"all are multiples of {found.base}"
    shown = ", ".join(f"of {base} in {table}" for table, base in found.bases.items())
    return f"counts are multiples {shown}"


def _require_shown(found: RecognisedFiles, declared: Declared) -> None:
    """Require that counts look as the user says that they were published.

    Raises:
        ConfigError: A marker that the user names is absent, or no count looks rounded.
    """
    if declared.rules and not found.markers:
        first = next(iter(found.questions), None)
        asked = "" if first is None else f"; it is asked: {first.text} ({_flags(first)})"
        raise ConfigError(f"--below {declared.below}: no text stands in place of a count{asked}")
    for marker, rule in declared.rules.items():
        if marker is not None and marker not in found.markers:
            shown = ", ".join(map(repr, found.markers))
            said = f"--below {marker}={rule.below}" if rule.below else f"--protecting {marker}"
            raise ConfigError(f"{said}: in place of counts is {shown}")
    if declared.rounding not in (None, "none") and found.base is None:
        raise ConfigError(
            f"--rounded {declared.rounding}: the counts are not all multiples of one number, or "
            "are too few to tell"
        )


def _flags(question: OpenQuestion) -> str:
    return " or ".join(question.answers.values())


def _of_marks(found: RecognisedFiles, declared: Declared) -> tuple[Declared, list[str]]:
    """Restrict the user's rule to the texts for which a note states it; return doubts, too.

    Other texts may then hide any number.
    """
    named = {marker for marker in declared.rules if marker is not None}
    open_ = [m for m in found.markers if interval_said(m) is None and m not in named]
    if len(open_) < 2:
        return declared, []
    below = declared.rules[None].below
    noted = noted_rule(found.beside, found.markers)
    own = [m for m in open_ if noted and noted.below == below and m in noted.markers]
    others = ", ".join(repr(m) for m in open_ if m not in own)
    if not own:
        return declared, [
            f"whether {others} all hide counts below {below} (`--below TEXT={below}`), or one of "
            "them is nobody (`--nil TEXT`)"
        ]
    if others:
        shown = ", ".join(map(repr, own))
        doubt = f"what {others} hides: a note says of {shown} that it hides counts below {below}"
        return declared.within(own), [doubt]
    return declared, []


def _noted(found: RecognisedFiles) -> str:
    """Quote a note that states the rule, with the flags that say the same; empty without one."""
    noted = noted_rule(found.beside, found.markers)
    if noted is None:
        return ""
    return (
        f", and a note states one: {noted.text!r} (`--below {noted.below}`, with `--complementary` "
        "where others are suppressed to protect these)"
    )


def drafted_reading(markers: Sequence[str]) -> str:
    """Return the numbers that markers stand for by the drafted law, as a sentence lists them.

    >>> drafted_reading(["*"]), drafted_reading(["*", "<5"])
    ("'*' may be any number", "'<5' is 0 to 4, '*' may be any number")
    """
    said = [f"{each!r} is {_span(*ends)}" for each in markers if (ends := interval_said(each))]
    silent = [repr(each) for each in markers if interval_said(each) is None]
    return ", ".join([*said, *([f"{', '.join(silent)} may be any number"] if silent else [])])


def _span(least: int, most: int) -> str:
    return f"{least} to {most}" if most < OPEN else f"{least} or more"
