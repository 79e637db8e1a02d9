"""Ask about tables together: years, places that divide the same people, totals."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recon_cli.capabilities.init.label_words import are_apart
from recon_cli.capabilities.init.lines import Part
from recon_cli.capabilities.init.names import usual_name
from recon_cli.capabilities.init.open_question import OpenQuestion, flag
from recon_cli.capabilities.init.place_list import (
    Division,
    Overfull,
    Possible,
    PossibleSums,
    SumOfPrinted,
)
from recon_cli.capabilities.init.proposal.evidence import CERTAIN_BITS
from recon_cli.capabilities.init.proposal.intervals import Intervals
from recon_cli.capabilities.init.proposal.possible_sums import possible_whole
from recon_cli.capabilities.init.proposal.relation import Axis
from recon_cli.capabilities.init.proposal.sum_weights import support_of
from recon_cli.capabilities.init.tables import TableFile
from recon_cli.sources.formats.mapping import left_name
from recon_cli.sources.formats.vocabulary import interval
from recon_cli.sources.read.words import Sense, says

#: Fewest places that two tables share, of which one may be of another year.
_FEWEST_PLACES: Final = 2
#: The answer that the place of each sheet is its name.
_SHEETS: Final = {"each sheet is a place": "--place-per-sheet"}
#: Fewest columns that add up to a column of another table, and fewest rows that both have.
_FEWEST: Final = 2
#: Most places that a question names.
_NAMED: Final = 3


def ask_kinds_of_places(file: TableFile, geoids: Mapping[str, str]) -> Iterator[OpenQuestion]:
    """Yield a question for each level with several kinds of places, which may be in each other."""
    at, kinds = file.sheet.kind, file.survey.kinds
    if at is None or kinds is None or "place" in file.said.apart:
        return
    header = file.sheet.headers[at]
    placed = kinds.with_columns(digits=pl.col("geoid").replace(dict(geoids)).str.len_chars())
    for (_,), level in placed.group_by("digits", maintain_order=True):
        found = level["kind"].value_counts(sort=True).rows()
        if len(found) > 1:
            shown = ", ".join(f"{kind!r} ({number:,})" for kind, number in found)
            answers = {
                f"read {kind!r} alone": flag("where", f"{header}={kind}") for kind, _ in found
            }
            yield OpenQuestion(
                f"places of several kinds by {header}: {shown}; no number shows which are parts of "
                "which, so people may be counted twice",
                {**answers, "they exclude each other": "--apart place"},
            )


def ask_periods(parts: Sequence[Part], *, are_kinds: bool = False) -> OpenQuestion | None:
    """Ask about tables with the same columns and rows, but other numbers.

    They are for several years, places or kinds of people; for places or kinds if one table is the
    sum of all others.

    Args:
        are_kinds: Whether the user says that all is about one place.
    """
    first, *others = parts
    if first.table.sheet_place is not None:
        return None
    headers = [first.column(at) for at in first.table.counts]
    rows = {row: i for i, row in enumerate(first.table.rows)}
    same = [first.name]
    sheets = len({part.document.sheet or "" for part in parts} - {""}) == len(parts)
    may_be_places = sheets and not _has_places(first)
    places = _SHEETS if may_be_places else {}
    if _is_one_of_sums(parts, headers):
        if are_kinds or not places or any(map(_is_of_people, parts)):
            return None
        shown = ", ".join(repr(part.name) for part in parts[:_NAMED])
        shown += ", …" * (len(parts) > _NAMED)
        return OpenQuestion(
            f"the sheets {shown} have the same rows and columns, and one is all others together: "
            "are they of places, or of kinds of people?",
            {**places, "each sheet is a kind of people": "--one-place"},
        )
    names = [part.document.sheet or "" for part in parts]
    if sheets and usual_name(names) in {"age", "sex"} and are_apart(names):
        return None  # of the same people, each by another age, or sex
    for part in others:
        both = [(i, rows[row]) for i, row in enumerate(part.table.rows) if row in rows]
        if [part.column(at) for at in part.table.counts] != headers or len(both) < _FEWEST_PLACES:
            continue
        own, known = np.array(both).T
        one, two = part.numbers, first.numbers
        told = one.known[own] & two.known[known]
        is_off = told & (one.low[own] != two.low[known])
        totals = {e.line for e in part.table.relations.sums(Axis.COLUMNS) if e.support.is_strong}
        whole = [i for i, at in enumerate(part.table.counts) if at in totals]
        # Tables with the same total everywhere divide the same people, by two things.
        is_whole = not is_off[:, whole].any() and told[:, whole].sum() > _FEWEST_PLACES
        if is_off.any() and not is_whole:
            same.append(part.name)
    if len(same) == 1:
        return None
    shown = ", ".join(map(repr, same))
    lines, also = ("rows", "places, ") if places else ("places", "")
    return OpenQuestion(
        f"{shown} have the same columns and {lines}, and other numbers: of several {also}years, or "
        f"other people? {'all but places are read' if places else 'read'} one at a time",
        {**places, **_alone([part for part in parts if part.name in same], sheets=sheets)},
    )


def _alone(parts: Sequence[Part], *, sheets: bool) -> dict[str, str]:
    """Map the answer that a table is meant to its flags, for each of several tables.

    Args:
        sheets: Whether each table is a sheet of its own.
    """
    if sheets:
        return {f"{part.name!r} is meant": flag("sheet", part.name) for part in parts}
    names = [_left_name(part) for part in parts]
    called = {part.title: name for part, name in zip(parts, names, strict=True)}
    shown = [f"{name!r} ({title!r})" for title, name in called.items()]
    return {
        f"{words} is meant": flag("leave-out", *(other for other in names if other != name))
        for words, name in zip(shown if len(called) == len(names) else names, names, strict=True)
    }


def _has_places(part: Part) -> bool:
    """Test whether rows of a table are places: they have parents, or the word over them says so."""
    table = part.table
    at = table.place
    return bool(
        not table.are_kinds
        and at is not None
        and (table.parents or says(" ".join(table.headers.get(at, ())), Sense.PLACE))
    )


def _is_of_people(part: Part) -> bool:
    """Test whether the name of a sheet is that of a sex, an age or a kind."""
    name = part.document.sheet or ""
    return interval(name) is not None or any(
        says(name, sense) for sense in (Sense.MALE, Sense.FEMALE, Sense.KIND)
    )


def or_sheets(question: OpenQuestion, part: Part, others: Sequence[Part]) -> OpenQuestion:
    """Return a question about the column of places with another answer: each sheet is a place."""
    sheets = {each.document.sheet for each in others} - {None, part.document.sheet}
    if "--one-place" not in question.answers.values() or not sheets:
        return question
    return replace(question, answers={**question.answers, **_SHEETS})


def is_told_by(part: Part, question: OpenQuestion, others: Sequence[Part]) -> bool:
    """Test whether another table has the column that a question is about, in a sum."""
    if len(question.columns) != 1 or question.columns[0] not in part.table.counts:
        return False
    (at,) = question.columns
    own = dict(
        zip(part.table.rows, part.table.grid.values[part.table.region.body, at], strict=True)
    )
    for other in others:
        table = other.table
        summed = {i for e in table.relations.sums(Axis.COLUMNS) for i in (e.line, *e.of)}
        for again in {*table.counts} & summed:
            numbers = table.grid.values[table.region.body, again]
            both = [(own[row], n) for row, n in zip(table.rows, numbers, strict=True) if row in own]
            told = [one == n for one, n in both if not np.isnan(one + n)]
            if other.column(again) == part.column(at) and sum(told) > 1 and all(told):
                return True
    return False


def ask_across(parts: Sequence[Part]) -> list[tuple[OpenQuestion, dict[int, set[int]]]]:
    """Ask whether loose columns of a table add up to a column of another, if no number forbids it.

    Returns:
        Each question, and its columns by the numbers of their tables.
    """
    found = []
    wide = {i: part for i, part in enumerate(parts) if _is_wide(part)}
    for (one, part), (two, other) in itertools.permutations(wide.items(), 2):
        at = {row: i for i, row in enumerate(other.table.rows)}
        rows = [(i, at[row]) for i, row in enumerate(part.table.rows) if row in at]
        own = _loose(other)
        if len(own) < _FEWEST or len(rows) < _FEWEST:
            continue
        here, there = (np.array(each, dtype=np.intp) for each in zip(*rows, strict=True))
        block = other.numbers.take(there, _places(other, own))
        base = max(part.table.relations.base, other.table.relations.base)
        for total in _loose(part):
            name, names = part.column(total), [other.column(column) for column in own]
            is_denied = total in part.table.said_counts and {*own} <= {*other.table.said_counts}
            whole = part.numbers.take(here, _places(part, [total]))
            lines = Intervals.beside([whole, block]).transposed
            if name in names or is_denied or possible_whole(lines, range(len(own) + 1), base) != 0:
                continue
            sum_ = f"{name} = {' + '.join(names)}"
            answers = {"yes": flag("sum", sum_), "no": flag("count", name, *names)}
            shown = " + ".join(map(repr, names))
            text = (
                f"{name!r} may be {shown}, of another table: too few numbers tell, none forbids it"
            )
            found.append((OpenQuestion(f"{text}; is it so?", answers), {one: {total}, two: {*own}}))
            break
    return found


def _is_wide(part: Part) -> bool:
    return not part.table.names.is_long and not part.table.are_kinds


def _loose(part: Part) -> list[int]:
    """Return the columns of counts that are in no sum, by numbers or by the user."""
    table = part.table
    summed = {i for e in table.relations.sums(Axis.COLUMNS) for i in (e.line, *e.of)}
    told = {name for each in table.said_sums for name in each.names}
    return [at for at in table.counts if at not in summed and part.column(at) not in told]


def _places(part: Part, columns: Sequence[int]) -> NDArray[np.intp]:
    """Return the positions of columns among the counts of a table."""
    return np.array([part.table.counts.index(at) for at in columns], dtype=np.intp)


def _is_one_of_sums(parts: Sequence[Part], headers: Sequence[str]) -> bool:
    """Test whether numbers show one of several tables to be the sum of all others, cell by cell."""
    rows = [{row: i for i, row in enumerate(part.table.rows)} for part in parts]
    shared = [row for row in rows[0] if all(row in own for own in rows)]
    if len(parts) < 3 or not shared:
        return False
    if any([part.column(at) for at in part.table.counts] != headers for part in parts):
        return False
    columns = np.arange(len(headers))
    cells = Intervals.stacked(
        [
            part.numbers.take(np.array([own[row] for row in shared]), columns).in_a_line
            for part, own in zip(parts, rows, strict=True)
        ]
    )
    slack = np.full(cells.low.shape[1], 2.0 * (max(p.table.relations.base for p in parts) - 1))
    for whole in range(len(parts)):
        order = [whole, *(i for i in range(len(parts)) if i != whole)]
        support = support_of(cells.take(np.array(order), np.arange(cells.low.shape[1])), slack)
        if not support.broken and support.bits >= CERTAIN_BITS:
            return True
    return False


def ask_percentages(header: str, values: Sequence[str]) -> OpenQuestion | None:
    """Ask which rows of a long table are counts, if a column says that others are percentages.

    Example:
        >>> ask_percentages("measure", ["Number", "Percent"]).answers
        {"read 'Number' alone": '--where measure=Number', 'all count people': '--apart measure'}
    """
    shares = [value for value in values if says(value, Sense.PERCENTAGE)]
    counts = [value for value in values if value not in shares]
    if not shares or not counts:
        return None
    return OpenQuestion(
        f"{header!r} has {', '.join(map(repr, shares))} beside {', '.join(map(repr, counts))}: "
        "percentages are no counts",
        {f"read {value!r} alone": flag("where", f"{header}={value}") for value in counts}
        | {"all count people": flag("apart", header)},
    )


def ask_overfull(each: Overfull) -> OpenQuestion:
    """Ask which parts of an overfull place are parts of other parts, or no parts of it."""
    sums = [f"{total} = {' + '.join(parts)}" for total, parts in each.sums.items()]
    answers = {said: flag("sum", said) for said in sums}
    for own in each.divisions:
        others = [part for division in each.divisions if division != own for part in division]
        shown = " and ".join(map(repr, own))
        answers[f"it is of {shown}: leave the others out"] = flag("leave-out", *others)
    answers |= {
        f"{part!r} is not in it: leave it out": flag("leave-out", part) for part in each.beside
    }
    return OpenQuestion(
        f"the places that {each.whole!r} is of add up to more than it: some are parts of others",
        answers | {"it is of none": flag("apart", each.whole)},
    )


def ask_possible(each: Possible) -> OpenQuestion:
    """Ask whether all places beside another are parts of it, where numbers leave it open."""
    shown = ", ".join(map(repr, each.others[:_NAMED])) + ", …" * (len(each.others) > _NAMED)
    said = (
        f"{shown} may be in {each.whole!r}, too"
        if each.has_parts
        else (f"{each.whole!r} may be all places beside it together")
    )
    no = each.others if each.has_parts else [each.whole]
    return OpenQuestion(
        f"{said}: too few numbers tell, none forbids it; is it so?",
        {"yes": flag("total", each.whole), "no": flag("apart", *no)},
    )


def ask_possible_sums(each: PossibleSums) -> OpenQuestion:
    """Ask whether loose places are the parts of some other places.

    Example:
        >>> print(list(ask_possible_sums(PossibleSums(({"N": ("A", "B")},))).answers.values()))
        ["--sum 'N = A + B'", '--apart N']
    """
    ways: dict[str, str] = {}
    for way in each.ways:
        sums = [f"{whole!r} is {' + '.join(map(repr, own))}" for whole, own in way.items()]
        said = (f"{whole} = {' + '.join(own)}" for whole, own in way.items())
        ways[", ".join(sums)] = " ".join(flag("sum", one) for one in said)
    wholes = list(dict.fromkeys(whole for way in each.ways for whole in way))
    shown = " and ".join(map(repr, wholes))
    return OpenQuestion(
        f"places beside all others may be the parts of {shown}: too few numbers tell, none forbids "
        "it; is it so? where they are others than these, say which (`--sum`)",
        ways | {"no others": flag("apart", *wholes)},
    )


def ask_sum_of_printed(each: SumOfPrinted) -> OpenQuestion:
    """Ask whether withheld counts of parts are zero, or not in the total of the printed ones."""
    shown = ", ".join(map(repr, each.withheld[:_NAMED])) + ", …" * (len(each.withheld) > _NAMED)
    return OpenQuestion(
        f"{each.whole!r} is the sum of what is printed of its parts, without what is withheld of "
        f"{shown}: is that of nobody, or not in the total?",
        {"of nobody": flag("total", each.whole), "not in the total": flag("apart", each.whole)},
    )


def ask_division(each: Division, parts: Sequence[Part]) -> OpenQuestion:
    """Ask which of two tables to read, if they divide the same people in two ways.

    Args:
        parts: All tables.
    """
    of = f" of {each.whole!r}" if each.whole else ""
    places = [repr(own[0]) + f" and {len(own) - 1} more" * (len(own) > 1) for own in each.parts]
    own = [
        _with_place([part for part in parts if part.label == label], names[0])
        for label, names in zip(each.tables, each.parts, strict=True)
    ]
    numbers = [[part.table.number for part in tables] for tables in own]
    if each.tables[0] == each.tables[1] and numbers[0] == numbers[1]:
        shown = places
        answers = {
            f"read without {words}": flag("leave-out", *names)
            for words, names in zip(places[::-1], each.parts[::-1], strict=True)
        } | {"they are other people": flag("apart", *each.parts[1])}
    else:
        called, answers = _each_alone(own)
        shown = [f"{name!r} has {some}" for name, some in zip(called, places, strict=True)]
    return OpenQuestion(
        f"two systems of places, each with all people{of}, or with others: {', '.join(shown)}; "
        "read one at a time, or write a schema with `areas` (docs, Areas that overlap)",
        answers,
    )


def ask_places_or_kinds(parts: Sequence[Part]) -> OpenQuestion | None:
    """Ask which tables to read, if some have rows of places, and others of kinds; else return None.

    A mapping says what rows are for all tables of a file.
    """
    sheets = [part for part in parts if part.is_sheet and part.table.sheet_place is None]
    own = [[part for part in sheets if part.table.are_kinds is kinds] for kinds in (False, True)]
    if not all(own):
        return None
    (places, kinds), answers = _each_alone(own)
    return OpenQuestion(
        f"{places!r} has a row per place, and {kinds!r} a row per kind, of one place: read one at "
        "a time",
        answers,
    )


def _each_alone(own: Sequence[Sequence[Part]]) -> tuple[list[str], dict[str, str]]:
    """Return the names of two groups of tables, and the answers that read one group alone."""
    sheets = [{part.document.sheet or "" for part in tables} for tables in own]
    are_sheets = all(map(all, sheets)) and sheets[0].isdisjoint(sheets[1])
    are_files = own[0][0].label != own[1][0].label
    called = [
        (tables[0].document.sheet or tables[0].document.name)
        if are_sheets or are_files
        else _left_name(tables[0])
        for tables in own
    ]
    answers = {
        f"read {name!r} alone": (
            flag("sheet", *sorted(sheets[at]))
            if are_sheets
            else flag("leave-out", *(_left_name(part) for part in own[1 - at]))
        )
        for at, name in enumerate(called)
    }
    return called, answers


def _with_place(parts: list[Part], name: str) -> list[Part]:
    """Return the tables of a sheet that have a place of this name; all if none has."""
    paths = (part.table.place_paths for part in parts)
    has = [any(path[-1:] == (name,) for path in own) for own in paths]
    return list(itertools.compress(parts, has)) or parts


def _left_name(part: Part) -> str:
    return left_name(part.document.sheet or part.document.name, part.number)


def asked_once(questions: Sequence[OpenQuestion]) -> list[OpenQuestion]:
    """Return the questions without those whose answers an earlier question has, too."""
    kept: list[OpenQuestion] = []
    for each in questions:
        if not any({*each.answers.values()} <= {*earlier.answers.values()} for earlier in kept):
            kept.append(each)
    return kept
