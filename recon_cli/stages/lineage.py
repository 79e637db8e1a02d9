"""Which folders were made from which, by the digests in their manifests."""

from __future__ import annotations

from recon_cli.store import Folder, Manifest


def made_from(manifest: Manifest, folder: Folder) -> bool:
    """Whether a stage's inputs are the partitions of ``folder`` as they are now."""
    inputs = manifest.inputs["partitions"]
    now = {name: folder.digest(name) for name in folder.partitions}
    return {name: row.get(folder.path.name) for name, row in inputs.items()} == now


def own_source(links: Manifest, microdata: Folder) -> str | None:
    """The source of the links that is the work folder's ``microdata/``, if one is.

    Args:
        links: Of ``links/``.
        microdata: The folder.
    """
    own = {name: microdata.digest(name) for name in microdata.partitions}
    inputs = links.inputs["partitions"]
    for source in links.notes["sources"]:
        found = {name: row[source] for name, row in inputs.items() if source in row}
        if found == own:
            return str(source)
    return None
