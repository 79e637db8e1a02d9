"""Descriptions of the files and guessers of a linkage."""

from __future__ import annotations

from collections.abc import Iterable

from recon_cli.capabilities.findings.fresh import own_source
from recon_cli.capabilities.findings.words import words_of_run
from recon_cli.capabilities.link.specification import CEF, CEF_ATKR, HDF
from recon_cli.capabilities.reconstruct import RECONSTRUCT
from recon_cli.pipeline.run import Run
from recon_cli.store import Manifest, open_folder
from recon_cli.store.manifest import MANIFEST


def file_labels(links: Manifest, own: str | None) -> dict[str, str]:
    """Map the default names of files and guessers to descriptions.

    Names given by the user need none.

    Args:
        links: Manifest of ``links/``: its notes name sources, guessers and attackers.
        own: The source that is the work folder's ``microdata/``, if one is.
    """
    given = {CEF: "the truth", HDF: "the tabulated records", CEF_ATKR: "the truth's own list"}
    given |= {"MDG": "the most frequent values", "PRG": "a draw in proportion"}
    if own is not None:
        given[own] = "the reconstruction"
    named = {*links.notes["sources"], *links.notes["attackers"], *links.notes["guessers"]}
    return {name: said for name, said in given.items() if name in named}


def with_labels(run: Run, links: Manifest, names: Iterable[str]) -> str:
    """List names, each after its description: ``the truth (CEF), LIST``.

    Where results are compared with the study, its names are enough.

    Args:
        names: Names of sources, guessers or attackers' files.
    """
    labels: dict[str, str] = {}
    if not words_of_run(run).is_study:
        own = None
        if (run.work / "microdata" / MANIFEST).is_file():
            own = own_source(links, open_folder(run.work, RECONSTRUCT, "microdata"))
        labels = file_labels(links, own)
    return ", ".join(f"{labels[name]} ({name})" if name in labels else name for name in names)
