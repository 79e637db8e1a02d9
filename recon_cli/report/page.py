"""Templates → self-contained pages: styles and one script are inside, nothing is fetched.

The Content-Security-Policy of a page allows that script alone, by its hash.
"""

from __future__ import annotations

from base64 import b64encode
from functools import cache
from hashlib import sha256

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

from recon_cli.markdown import markdown_cell, markdown_table
from recon_cli.report.markup import term_key, to_html
from recon_cli.version import __version__


def render_page(template: str, **context: object) -> str:
    """Render a template of this package.

    Args:
        template: Its name. ``report.html.j2`` extends ``base.html.j2``, which has the blocks
            ``title``, ``style``, ``heading``, ``content`` and ``footer``; in HTML all text is
            escaped, in ``.md.j2`` none. Filters: ``marks`` (``**`` and the like as HTML),
            ``term_key`` and ``cell`` (of a Markdown table). Function: ``markdown_table``.
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
    script = template_text("page.js")
    digest = b64encode(sha256(script.encode()).digest()).decode()
    environment.globals.update(
        version=__version__,
        script=script,
        script_hash=Markup(f"'sha256-{digest}'"),  # noqa: S704 - our own
        style=template_text("style.css"),
        markdown_table=markdown_table,
    )
    environment.filters.update(marks=to_html, cell=markdown_cell, term_key=term_key)
    return environment
