"""Names of features from the titles of sheets, where no header has one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from recon_cli.capabilities.init.line_features import DraftedFeature
from recon_cli.capabilities.init.names import usual_name
from recon_cli.capabilities.init.structure import Structure
from recon_cli.sources.read.words import Sense, in_latin, is_word, says

_ENDS = re.compile(r"[:;,()\[\]|\u2013\u2014/]|\s-\s|\.\s")
#: Most words of a phrase that names a feature; a longer one tells what is counted.
_MOST_WORDS = 4


@dataclass(frozen=True)
class Titled:
    """The columns of a table, and the texts over them.

    Attributes:
        sheet: The name of its sheet, where the workbook has several.
        title: The words above its headers.
        place: The header of the column of places.
        lines: Its columns, as lines of a structure.
    """

    sheet: str
    title: str
    place: str
    lines: Sequence[int]


def named_by_titles(structure: Structure, tables: Iterable[Titled]) -> Structure:
    """Name the only feature of a table without a name after the only other thing in a title."""
    features = list(structure.features)
    often = Counter(frozenset(each.labels) for each in features)
    for table in tables:
        inside = {number for line in table.lines for number in structure.values.get(line, {})}
        unnamed = [number for number in sorted(inside) if not _name(features[number])]
        if len(unnamed) != 1:
            continue
        beside = {
            word
            for number in inside - {*unnamed}
            for text in (_name(features[number]), *features[number].labels)
            for word in in_latin(text).replace("_", " ").split()
        }
        beside |= {*in_latin(table.place).split()}
        labels = features[unnamed[0]].labels
        # What a title is, it tells of two features with the same labels alone.
        is_twice = often[frozenset(features[unnamed[0]].labels)] > 1
        own = table.title if is_twice and len(table.title.split()) <= _MOST_WORDS else ""
        for told in (each for each in ([table.sheet], phrases(table.title), [own]) if any(each)):
            able = [each for each in told if beside.isdisjoint(in_latin(each).split())]
            # Ages and sexes are told by their labels.
            if not usual_name(labels):
                able = [each for each in able if not is_word(each, Sense.AGE, Sense.SEX)]
            if len(able) == 1 and not any(map(str.isdigit, able[0])):
                features[unnamed[0]] = replace(features[unnamed[0]], name=able[0])
                break
    return replace(structure, features=tuple(features))


def _name(feature: DraftedFeature) -> str:
    is_alone = bool(feature.rest) and len(feature.labels) == 1
    return feature.name or usual_name(feature.labels) or (feature.labels[0] if is_alone else "")


def phrases(title: str) -> list[str]:
    """Return the features by which people are counted, according to a title.

    >>> phrases("Table 2: Pupils by ethnic group and sex, January 2024")
    ['ethnic group', 'sex']
    >>> phrases("Bevölkerung nach Familienstand"), phrases("Pupils of Northshire")
    (['Familienstand'], [])
    """
    found: list[str] = []
    is_by = False
    for stretch in _ENDS.split(title):
        words: list[str] = []
        for word in [*stretch.split(), ""]:
            begins, goes_on = is_word(word, Sense.BY), is_word(word, Sense.AND)
            if word and not (begins or goes_on):
                words.append(word)
                continue
            if words and is_by:
                found.append(" ".join(words))
            is_by, words = is_by or begins, []
    return [each for each in found if len(each.split()) <= _MOST_WORDS and not _is_place(each)]


def _is_place(phrase: str) -> bool:
    return any(map(str.isdigit, phrase)) or says(phrase, Sense.PLACE, Sense.TOTAL)
