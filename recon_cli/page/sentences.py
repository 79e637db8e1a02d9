"""Sentences about facts, from templates beside the capabilities.

Jinja is loaded with the first sentence, so that a command without one does not wait for it.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from recon_cli.page import words
from recon_cli.page.missing import Missing
from recon_cli.plurals import counted, plural

if TYPE_CHECKING:
    from jinja2 import Environment

_PACKAGE: Final = __package__.partition(".")[0]
_FOLDER: Final = Path(__file__).parents[1]
#: Takes the place of a template's blank lines, since facts may have blank lines, too.
_END: Final = "\ue000"
#: Filters that format facts, by name.
_FILTERS = (
    *(words.capitalized, words.count, words.enumerate_words, words.of_people, words.of_units),
    *(words.percent, words.percentage, words.signed, counted, plural),
)


def sentences(template: str, macro: str, package: str, **facts: object) -> list[str]:
    """Write the sentences of a macro of a package's template, filled with facts.

    Sentences keep their marks: `recon_cli.page.markup.to_html` is for pages, `to_text` for
    terminals. Nothing is escaped here.

    Args:
        template: Name of the template. Sentences stand between blank lines; line ends are blanks.
            Filters: those of `recon_cli.page.words` and `recon_cli.plurals`. Test: ``missing``.
    """
    folder = package.removeprefix(f"{_PACKAGE}.").replace(".", "/")
    module = _environment().get_template(f"{folder}/{template}").module
    text = getattr(module, macro)(**facts)
    found = (re.sub(r"[ \n]+", " ", each).strip(" ") for each in text.split(_END))
    return [each for each in found if each]


def _source(template: str) -> str:
    """Read a template, with the ends of its sentences marked."""
    return re.sub(r"\n(?=\n)", f"\n{_END}", (_FOLDER / template).read_text(encoding="utf-8"))


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    environment = Environment(  # noqa: S701 - not HTML; pages escape what they show
        loader=FunctionLoader(_source),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update((each.__name__, each) for each in _FILTERS)
    environment.tests["missing"] = lambda value: isinstance(value, Missing)
    return environment
