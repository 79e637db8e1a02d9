"""Sentences about facts, as templates beside the capabilities have them.

Jinja is loaded with the first sentence, so that a command without one does not wait for it.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from recon_cli.page import words
from recon_cli.page.missing import Missing
from recon_cli.plurals import counted, plural

if TYPE_CHECKING:
    from jinja2 import Environment

_ROOT = __package__.partition(".")[0]
#: What formats facts, by name.
_FILTERS = (
    *(words.capitalized, words.count, words.enumerate_words, words.of_people, words.of_units),
    *(words.percent, words.percentage, words.signed, words.stopped_words, counted, plural),
)


def sentences(template: str, macro: str, package: str, **facts: object) -> list[str]:
    """Write sentences about facts, as a macro of a package's template has them.

    Sentences keep their marks: `recon_cli.page.markup.to_html` is for pages, `to_text` for
    terminals. Nothing is escaped here.

    Args:
        template: Name of the template. Sentences stand between blank lines; line ends are blanks.
            Filters: those of `recon_cli.page.words` and `recon_cli.plurals`. Test: ``missing``.
    """
    folder = package.removeprefix(f"{_ROOT}.").replace(".", "/")
    module = _environment().get_template(f"{folder}/{template}").module
    text = getattr(module, macro)(**facts)
    found = (re.sub(r"[ \n]+", " ", each).strip(" ") for each in re.split(r"\n\s*\n", text))
    return [each for each in found if each]


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(  # noqa: S701 - not HTML; pages escape what they show
        loader=PackageLoader(_ROOT, "."),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update((each.__name__, each) for each in _FILTERS)
    environment.tests["missing"] = lambda value: isinstance(value, Missing)
    return environment
