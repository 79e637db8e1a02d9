"""The sections of a report, one module each, and what one declares."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from recon_cli.evaluate.findings import Findings
from recon_cli.evaluate.fresh import Missing
from recon_cli.report.document import ReportSection
from recon_cli.report.words import Words
from recon_cli.stage import Stage
from recon_cli.store import Folder

Part = TypeVar("Part")


@dataclass(frozen=True)
class Section(Generic[Part]):
    """A section, registered in `recon_cli.report.compose.SECTIONS`.

    Attributes:
        key: For links to it.
        title: Its heading, or what makes it of the release's words.
        read: What the section is about: of the findings that others share, or from the folders of
            ``findings.work``; None where it was not asked for, and then there is no section.
        render: What is told of that. Several sections where one part fills them.
    """

    key: str
    title: str | Callable[[Words], str]
    read: Callable[[Findings], Part | Missing | None]
    render: Callable[[Part, Words], tuple[ReportSection, ...]]

    def compose(self, findings: Findings, words: Words) -> tuple[ReportSection, ...]:
        """The section, or what is missing for it."""
        part = self.read(findings)
        if part is None:
            return ()
        if isinstance(part, Missing):
            title = self.title if isinstance(self.title, str) else self.title(words)
            return (ReportSection(self.key, title, missing=(part,)),)
        return self.render(part, words)


def read_stage(
    stage: Stage, read: Callable[[Folder, Findings], Part]
) -> Callable[[Findings], Part | Missing | None]:
    """Reads what a stage found of its folder, if that fits the others; None where nobody asked."""

    def found(findings: Findings) -> Part | Missing | None:
        if not findings.work.holds(stage):
            return None
        folder = findings.work.fresh(stage)
        return folder if isinstance(folder, Missing) else read(folder, findings)

    return found
