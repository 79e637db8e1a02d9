"""Math as MathML, made when the site is built: browsers draw it without a script."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from docutils import nodes  # type: ignore[import-untyped]
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.util.math import get_node_equation_number
from sphinx.util.typing import ExtensionMetadata
from sphinx.writers.html5 import HTML5Translator

_NAMESPACE = "http://www.w3.org/1998/Math/MathML"
#: Operators that have their condition below them in a formula of its own.
_LIMITS = {"min", "max"}


def formula(latex: str) -> str:
    """LaTeX as displayed MathML, with what belongs below ``min`` and ``max`` below them."""
    ET.register_namespace("", _NAMESPACE)
    root = ET.fromstring(convert(latex, display="block"))  # noqa: S314 - made from our own pages
    for node in root.iter(f"{{{_NAMESPACE}}}msub"):
        if (node[0].text or "").strip() in _LIMITS:
            node.tag = f"{{{_NAMESPACE}}}munder"
    return ET.tostring(root, encoding="unicode")


def inline(translator: HTML5Translator, node: nodes.math) -> None:
    """A formula within a line."""
    translator.body.append(convert(node.astext()))
    raise nodes.SkipNode


def block(translator: HTML5Translator, node: nodes.math_block) -> None:
    """A formula of its own, scrolling sideways where the page is narrow."""
    number = ""
    anchor = ""
    if node["number"]:
        number = f'<span class="eqno">({get_node_equation_number(translator, node)})</span>'
        anchor = f' id="{node["ids"][0]}"'
    shown = formula(node.astext())
    translator.body.append(f'<div class="formula"{anchor} tabindex="0">{shown}{number}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> ExtensionMetadata:
    """Register the renderer ``mathml``."""
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
