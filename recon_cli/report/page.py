"""Templates → self-contained pages: styles are inside them, nothing is fetched."""

from __future__ import annotations

from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

from recon_cli.markdown import markdown_cell, markdown_table
from recon_cli.report.markup import to_html
from recon_cli.version import __version__


def render_page(template: str, **context: object) -> str:
    """Render a template of this package.

    Args:
        template: Its name. ``report.html.j2`` extends ``base.html.j2``, which has the blocks
            ``title``, ``style``, ``heading``, ``content`` and ``footer``; in HTML all text is
            escaped, in ``.md.j2`` none. Filters: ``marks`` (``**`` and backticks as HTML),
            and ``cell`` (of a Markdown table). Function: ``markdown_table``.
        context: What the template names.
    """
    return _environment().get_template(template).render(context)


def template_text(name: str) -> Markup:
    """A file of this package as it is, for a page to hold."""
    text, _, _ = _loader().get_source(Environment(autoescape=True), name)
    return Markup(text)  # noqa: S704 - our own


@cache
def _loader() -> PackageLoader:
    return PackageLoader("recon_cli.report")


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=_loader(),
        autoescape=select_autoescape(["html.j2"], default=False),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.globals.update(
        version=__version__,
        style=template_text("style.css"),
        markdown_table=markdown_table,
    )
    environment.filters.update(marks=to_html, cell=markdown_cell)
    return environment
