"""Templates → self-contained pages: styles and scripts stand in them, nothing is fetched."""

from __future__ import annotations

import json
import re
from functools import cache

from jinja2 import BaseLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from recon_cli import __version__
from recon_cli.report.markup import to_html
from recon_cli.report.words import enumerate_commands


def render_page(template: str, **context: object) -> str:
    """Render an HTML template of this package.

    Args:
        template: Its name, such as ``report.html.j2``. It extends ``base.html.j2``, which has
            the blocks ``title``, ``heading``, ``content``, ``footer`` and ``scripts``; the
            filters ``marks`` (``**`` and backticks) and ``script_data`` (JSON in a script).
        context: What the template names. Text is escaped.
    """
    return _html().get_template(template).render(context)


def render_text(template: str, **context: object) -> str:
    """Render a template of this package that is not HTML; nothing is escaped.

    Args:
        template: Its name, such as ``report.md.j2``.
        context: What the template names.
    """
    return re.sub(r"\n{3,}", "\n\n", _text().get_template(template).render(context))


def template_text(name: str) -> Markup:
    """A file of this package as it is, for a page to hold."""
    loader = PackageLoader("recon_cli.report")
    text, _, _ = loader.get_source(Environment(loader=loader, autoescape=True), name)
    return Markup(text)  # noqa: S704 - our own


def as_script_data(value: object) -> Markup:
    r"""JSON that may stand in a ``<script type="application/json">``.

    >>> str(as_script_data({"a": "</script>"}))
    '{"a":"\\u003c/script>"}'
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Markup(text.replace("<", "\\u003c"))  # noqa: S704 - made safe


@cache
def _html() -> Environment:
    environment = _environment(PackageLoader("recon_cli.report"), autoescape=True)
    environment.globals["style"] = template_text("style.css")
    environment.filters.update(marks=to_html, script_data=as_script_data)
    return environment


@cache
def _text() -> Environment:
    environment = _environment(PackageLoader("recon_cli.report"), autoescape=False)
    environment.filters["cell"] = lambda text: text.replace("|", "\\|").replace("\n", " ")
    return environment


def _environment(loader: BaseLoader, *, autoescape: bool) -> Environment:
    environment = Environment(
        loader=loader,
        autoescape=autoescape,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.globals["version"] = __version__
    environment.filters["commands"] = enumerate_commands
    return environment
