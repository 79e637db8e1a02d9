"""The dictionary of words of sheets: each word stands once for a thing, and has a source."""

from __future__ import annotations

import ast
import re
from collections import Counter
from fractions import Fraction

import pytest

from recon_cli.sources.formats.vocabulary import interval, is_total
from recon_cli.sources.read.statistic_words import order_named
from recon_cli.sources.read.words import Sense, dictionary, in_latin, meanings, says
from tests.support.paths import ROOT


@pytest.mark.parametrize("sense", Sense)
def test_each_word_is_there_once_and_has_a_source(sense: Sense) -> None:
    entries = dictionary()[sense]
    times = Counter((each.language, in_latin(each.word)) for each in entries)
    assert entries
    assert [word for word, number in times.items() if number > 1] == []
    assert [each.word for each in entries if not (each.source.strip() and each.language)] == []
    assert [each.word for each in entries if each.word != each.word.lower().strip()] == []


@pytest.mark.parametrize(
    ("label", "ages"),
    [
        ("moins de 15 ans", (0, 14)),
        ("menores de 5 años", (0, 4)),
        ("Meno di 5 anni", (0, 4)),
        ("jonger dan 15 jaar", (0, 14)),
        ("15 tot 25 jaar", (15, 24)),
        ("15 t/m 24 jaar", (15, 24)),
        ("15 a menos de 25 años", (15, 24)),
        ("15 to under 25 years", (15, 24)),
        ("65 år eller äldre", (65, None)),
        ("65 lat i więcej", (65, None)),
        ("ab 85 Jahren", (85, None)),
        ("15 und 24", None),
    ],
)
def test_ages_are_read_in_the_languages_of_the_dictionary(
    label: str, ages: tuple[int, int | None] | None
) -> None:
    assert interval(label) == ages


@pytest.mark.parametrize("sense", [Sense.TOTAL, Sense.EVERYBODY])
def test_each_word_for_everybody_is_a_total(sense: Sense) -> None:
    assert all(is_total(each.word) for each in dictionary()[sense])


def test_people_are_a_total_only_if_a_label_says_no_more() -> None:
    assert is_total("People")
    assert not says("Young people", Sense.TOTAL)


@pytest.mark.parametrize(
    ("header", "order"),
    [
        ("Age, 1. Quartil", "1/4"),
        ("3e quartile", "3/4"),
        ("Unteres Quartil", "1/4"),
        ("90th percentile", "90/100"),
        ("9e décile", "9/10"),
        ("12th decile", ""),
        ("Decile", ""),
    ],
)
def test_a_quantile_is_of_the_share_of_people_that_its_words_mean(header: str, order: str) -> None:
    assert order_named(header) == order


def test_ages_and_sexes_are_kinds() -> None:
    assert says("Alter", Sense.KIND)
    assert says("Sex", Sense.KIND)
    assert not says("Sex", Sense.PLACE)


def test_what_words_mean_is_a_number() -> None:
    assert all(meanings(Sense.NUMBER).values())
    assert all(0 < Fraction(each) < 1 for each in meanings(Sense.ORDER).values())
    assert all(int(each) > 2 for each in meanings(Sense.QUANTILE).values() if each)


@pytest.mark.parametrize("folder", ["sources", "capabilities/init", "capabilities/ingest"])
def test_no_text_in_code_has_a_word_of_the_dictionary_in_another_language(folder: str) -> None:
    """A list of words of several languages has some of them; English is that of our messages."""
    every = [each for entries in dictionary().values() for each in entries]
    english = {in_latin(each.word) for each in every if each.language == "en"}
    others = {in_latin(each.word) for each in every if len(each.word) > 3} - english
    found = re.compile(rf"\b(?:{'|'.join(map(re.escape, others))})\b")
    paths = sorted((ROOT / "recon_cli" / folder).rglob("*.py"))
    assert paths
    for path in paths:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        docstrings = {id(each.value) for each in ast.walk(tree) if isinstance(each, ast.Expr)}
        texts = [
            each.value
            for each in ast.walk(tree)
            if isinstance(each, ast.Constant)
            and isinstance(each.value, str)
            and id(each) not in docstrings
        ]
        assert [text for text in texts if found.search(in_latin(text))] == [], path.name
