"""The few marks of a report's text: ``**stressed**`` and backticks."""

from __future__ import annotations

import re

from markupsafe import Markup, escape

_MARKS = re.compile(r"\*\*(?P<strong>[^*]+)\*\*|`(?P<code>[^`]+)`")


def to_html(text: str) -> Markup:
    """Text with marks as HTML; everything else is escaped.

    >>> str(to_html("**3 < 4** of `recon solvar`"))
    '<strong>3 &lt; 4</strong> of <code>recon solvar</code>'
    """
    parts: list[Markup] = []
    end = 0
    for found in _MARKS.finditer(text):
        tag = found.lastgroup or "strong"
        parts.append(escape(text[end : found.start()]))
        parts.append(Markup("<{0}>{1}</{0}>").format(Markup(tag), found.group(tag)))  # noqa: S704
        end = found.end()
    return Markup("").join([*parts, escape(text[end:])])


def to_text(text: str) -> str:
    """Text without its marks.

    >>> to_text("**3** of `recon solvar`")
    '3 of recon solvar'
    """
    return _MARKS.sub(lambda found: found.group("strong") or found.group("code"), text)
