"""What a section of the report declares: how it reads its part, and how it renders that."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from recon_cli.evaluate.findings import Findings
from recon_cli.evaluate.fresh import Missing
from recon_cli.report.document import ReportSection
from recon_cli.report.words import Words

Part = TypeVar("Part")


@dataclass(frozen=True)
class Section(Generic[Part]):
    """A section, registered in `recon_cli.report.sections.registry.SECTIONS`.

    Attributes:
        key: For links to it.
        title: Its heading.
        read: What the section is about: of the findings that others share, or from the folders of
            ``findings.work``; None where it was not asked for, and then there is no section.
        render: What is told of that. Several sections where one part fills them.
    """

    key: str
    title: Callable[[Words], str]
    read: Callable[[Findings], Part | Missing | None]
    render: Callable[[Part, Words], tuple[ReportSection, ...]]

    def compose(self, findings: Findings, words: Words) -> tuple[ReportSection, ...]:
        """The section, or what is missing for it."""
        part = self.read(findings)
        if part is None:
            return ()
        if isinstance(part, Missing):
            return (ReportSection(self.key, self.title(words), missing=(part,)),)
        return self.render(part, words)
