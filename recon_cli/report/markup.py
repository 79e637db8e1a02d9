"""The few marks of a report's text: ``**stressed**`` and backticks."""

from __future__ import annotations

import re

from markupsafe import Markup, escape

_MARKS = re.compile(r"\*\*(?P<strong>[^*]+)\*\*|`(?P<code>[^`]+)`")
_APOSTROPHE = re.compile(r"(?<=\w)'")


def to_html(text: str) -> Markup:
    """Text with marks as HTML; everything else is escaped, apostrophes are set as printers do.

    >>> str(to_html("**3 < 4** of `recon solvar`"))
    '<strong>3 &lt; 4</strong> of <code>recon solvar</code>'
    """
    parts: list[Markup] = []
    end = 0
    for found in _MARKS.finditer(text):
        parts.append(_set(text[end : found.start()]))
        if found.lastgroup == "code":
            parts.append(Markup("<code>{}</code>").format(found["code"]))
        else:
            parts.append(Markup("<strong>{}</strong>").format(_set(found["strong"])))
        end = found.end()
    return Markup("").join([*parts, _set(text[end:])])


def to_text(text: str) -> str:
    """Text without its marks.

    >>> to_text("**3** of `recon solvar`")
    '3 of recon solvar'
    """
    return _MARKS.sub(lambda found: found["strong"] or found["code"], text)


def _set(text: str) -> Markup:
    return escape(_APOSTROPHE.sub("\N{RIGHT SINGLE QUOTATION MARK}", text))
