"""Inline marks of a report's text: ``**emphasis**``, backticks, and ``[[word]]`` for terms.

``[[shown|word]]`` shows another text than the term.
"""

from __future__ import annotations

import re

from markupsafe import Markup, escape

_TERM = r"\[\[(?P<shown>[^\]|]+)(?:\|(?P<word>[^\]]+))?\]\]"
_MARKS = re.compile(rf"\*\*(?P<strong>[^*]+)\*\*|`(?P<code>[^`]+)`|{_TERM}")
_APOSTROPHE = re.compile(r"(?<=\w)'")


def to_html(text: str) -> Markup:
    """Convert text with marks to HTML; escape everything else, and set typographic apostrophes.

    >>> str(to_html("**3 < 4** of `recon solvar`"))
    '<strong>3 &lt; 4</strong> of <code>recon solvar</code>'
    >>> str(to_html("[[examined alone]]"))
    '<a class="term" href="#term-examined-alone">examined alone</a>'
    """
    parts: list[Markup] = []
    end = 0
    for found in _MARKS.finditer(text):
        parts.append(_set(text[end : found.start()]))
        if found["code"]:
            parts.append(Markup("<code>{}</code>").format(found["code"]))
        elif found["shown"]:
            link = Markup('<a class="term" href="#{}">{}</a>')
            parts.append(link.format(term_key(found["word"] or found["shown"]), found["shown"]))
        else:
            parts.append(Markup("<strong>{}</strong>").format(_set(found["strong"])))
        end = found.end()
    return Markup("").join([*parts, _set(text[end:])])


def to_text(text: str) -> str:
    """Remove the marks from a text.

    >>> to_text("**3** of `recon solvar`")
    '3 of recon solvar'
    """
    return _MARKS.sub(lambda found: found["strong"] or found["code"] or found["shown"], text)


def without_links(text: str) -> str:
    """Remove links to terms, and keep the other marks.

    >>> without_links("**3** were [[examined alone]]")
    '**3** were examined alone'
    """
    return re.sub(_TERM, r"\g<shown>", text)


def term_key(word: str) -> str:
    """Return the anchor of a term on the page.

    >>> term_key("Modal, nonmodal")
    'term-modal-nonmodal'
    """
    return "term-" + "-".join(re.findall(r"\w+", word.lower()))


def _set(text: str) -> Markup:
    return escape(_APOSTROPHE.sub("\N{RIGHT SINGLE QUOTATION MARK}", text))
