"""Self-contained HTML pages of documents, and all files of a report.

Styles and one script are inline, and nothing is fetched: the page's Content-Security-Policy allows
that script alone, by its hash.
"""

from __future__ import annotations

import re
from base64 import b64encode
from functools import cache
from hashlib import sha256
from pathlib import Path

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

from recon_cli.markdown import markdown_cell, markdown_table, markdown_text
from recon_cli.page.document import ReportDocument
from recon_cli.page.drawing import NARROW, WIDE, draw, page_style, svg_file
from recon_cli.page.markup import term_key, to_html, without_links
from recon_cli.version import __version__


def report_files(document: ReportDocument, page: str) -> dict[str, bytes]:
    """Map file names to bytes: the page (called ``page``), Markdown, charts as SVG.

    The Markdown links to pictures ``chart-<name>.svg`` in the same folder.
    """
    markdown = without_links(render_page("report.md.j2", document=document))
    files = {
        page: html_page(document).encode(),
        str(Path(page).with_suffix(".md")): re.sub(r"\n{3,}", "\n\n", markdown).encode(),
    }
    for figure in document.figures:
        files[f"chart-{figure.name}.svg"] = svg_file(figure.chart).encode()
    return files


def html_page(document: ReportDocument) -> str:
    """Render a document: text, charts for a wide and a narrow window, tables."""
    charts = {
        figure.name: (draw(figure.chart, WIDE), draw(figure.chart, NARROW))
        for figure in document.figures
    }
    return render_page("report.html.j2", document=document, charts=charts, chart_style=page_style())


def render_page(template: str, package: str = __package__, **context: object) -> str:
    """Render a template of a package.

    Args:
        template: Its name. ``report.html.j2`` extends ``base.html.j2``, which has the blocks
            ``title``, ``style``, ``heading``, ``content`` and ``footer``; all text is escaped, in
            ``.md.j2`` by `markdown_text`, which leaves the marks of Markdown. Filters: ``marks``
            (``**`` and the like as HTML), ``term_key`` and ``cell`` (of a Markdown table).
            Function: ``markdown_table``.
        package: Package whose folder has the template, where it is not this one.
    """
    environment = _environment(package)
    if template.endswith(".md.j2"):
        environment = environment.overlay(finalize=_unmarked_html)
    return environment.get_template(template).render(context)


def _unmarked_html(value: object) -> object:
    """Escape a value that contains no Markdown of its own."""
    return value if isinstance(value, Markup) else markdown_text(str(value))


@cache
def _environment(package: str) -> Environment:
    loader = ChoiceLoader([PackageLoader(__package__), PackageLoader(package, ".")])
    environment = Environment(
        loader=loader,
        autoescape=select_autoescape(["html.j2"], default=False),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    # Our own, for a page to hold as it is.
    script, style = (
        Markup(loader.get_source(environment, name)[0])  # noqa: S704
        for name in ("page.js", "style.css")
    )
    digest = b64encode(sha256(script.encode()).digest()).decode()
    environment.globals.update(
        version=__version__,
        script=script,
        script_hash=Markup(f"'sha256-{digest}'"),  # noqa: S704 - our own
        style=style,
        markdown_table=markdown_table,
    )
    environment.filters.update(marks=to_html, cell=markdown_cell, term_key=term_key)
    return environment
