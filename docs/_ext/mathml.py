"""Math as MathML, made when the site is built: browsers draw it without a script."""

from __future__ import annotations

from docutils import nodes  # type: ignore[import-untyped]
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.util.typing import ExtensionMetadata
from sphinx.writers.html5 import HTML5Translator


def inline(translator: HTML5Translator, node: nodes.math) -> None:
    """A formula within a line."""
    translator.body.append(convert(node.astext()))
    raise nodes.SkipNode


def block(translator: HTML5Translator, node: nodes.math_block) -> None:
    """A formula of its own, scrolling sideways where the page is narrow."""
    label = node.get("label")
    anchor = f' id="equation-{label}"' if label else ""
    formula = convert(node.astext(), display="block")
    translator.body.append(f'<div class="formula"{anchor} tabindex="0">{formula}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> ExtensionMetadata:
    """Register the renderer ``mathml``."""
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
