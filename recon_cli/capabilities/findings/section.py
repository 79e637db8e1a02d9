"""Declarations of report sections: their input and how it is rendered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from recon_cli.capabilities.findings.findings import Findings
from recon_cli.page.document import ReportSection
from recon_cli.page.missing import Missing
from recon_cli.page.words import Words
from recon_cli.stage import Stage
from recon_cli.store import Folder

Part = TypeVar("Part")


@dataclass(frozen=True)
class Section(Generic[Part]):
    """A section, registered in `recon_cli.capabilities.report.sections.SECTIONS`.

    Attributes:
        title: The heading, or a function that makes it from the release's words.
        read: Selects the input: a part of the findings, or a folder of ``findings.work``;
            None where it was not asked for, and then there is no section.
        render: Renders the input, beside the rest of the findings. Several sections where one
            part fills them.
    """

    key: str
    title: str | Callable[[Words], str]
    read: Callable[[Findings], Part | Missing | None]
    render: Callable[[Part, Findings, Words], tuple[ReportSection, ...]]

    def compose(self, findings: Findings, words: Words) -> tuple[ReportSection, ...]:
        """Compose the section, or a note of what is missing for it."""
        part = self.read(findings)
        if part is None:
            return ()
        if isinstance(part, Missing):
            title = self.title if isinstance(self.title, str) else self.title(words)
            return (ReportSection(self.key, title, missing=(part,)),)
        return self.render(part, findings, words)


def folder_of(stage: Stage) -> Callable[[Findings], Folder | Missing | None]:
    """Return a reader of the first folder of a stage, if it fits; None if it was not asked for."""

    def found(findings: Findings) -> Folder | Missing | None:
        return findings.work.fresh(stage) if findings.work.holds(stage) else None

    return found
