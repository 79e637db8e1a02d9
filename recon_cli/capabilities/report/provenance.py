"""The report's provenance: stages, inputs, versions, seeds; proofs and their checkers."""

from __future__ import annotations

import json
from functools import cache

from recon_cli.capabilities.findings.checked import checked_sentence
from recon_cli.capabilities.findings.findings import Findings
from recon_cli.capabilities.findings.section import Section, folder_of
from recon_cli.capabilities.prove import PROVE
from recon_cli.page.document import ReportSection, ResultTable, result_table
from recon_cli.page.words import Words, count
from recon_cli.pipeline.stages import STAGES
from recon_cli.plurals import plural
from recon_cli.stage import INGEST, PRIVATE
from recon_cli.store import Folder, Manifest
from recon_cli.store.files import key_of

_PROOFS_KEY = "proofs"
_PROOFS_TITLE = "Proofs that anyone can check"


def _render_proofs(folder: Folder, _: Findings, __: Words) -> tuple[ReportSection, ...]:
    """Describe how many proofs were checked, by which checker, and what must be trusted."""
    text = (
        f"{checked_sentence(folder.manifest)} Who doubts it needs none of this program: "
        "`proofs/` holds for each region the published counts and the proof as two texts, and the "
        "checker, one file that needs Python alone. To be trusted are that the first text says "
        "what was published, the checker, and Python.",
    )
    return (ReportSection(_PROOFS_KEY, _PROOFS_TITLE, text),)


PROOFS = Section(_PROOFS_KEY, _PROOFS_TITLE, folder_of(PROVE), _render_proofs)


_KEY = "provenance"
_TITLE = "Provenance"
#: A longer setting is shown by its digest.
_LONGEST = 300
_FIXED = "\N{NO-BREAK SPACE}"


def _render(findings: Findings, _: Findings, __: Words) -> tuple[ReportSection, ...]:
    """List the manifests of the work folder."""
    release = findings.release
    text = (
        f"Release `{release.name}`: {release.title}. Schema digest `{release.digest}`.",
        "Every folder of the work folder says this in its `_manifest.json`, or what keeps records "
        "of people to itself in `private/`. A key changes with anything that the stage's output "
        "depends on; equal keys mean equal data. Keys and digests are shown of what is published "
        "and was made of it alone: who guesses records could check the guess by theirs.",
    )
    sheets = (_stages(findings), _inputs(findings), _settings(findings))
    return (ReportSection(_KEY, _TITLE, text, (), sheets),)


def _stages(findings: Findings) -> ResultTable:
    header = (
        *("stage", "finished", "key", "version", "seed", "rows", "seconds", "CPU seconds"),
        *("memory, MB", "workers"),
    )
    rows = [
        [
            manifest.stage,
            manifest.run.created.replace("T", _FIXED).replace("+00:00", f"{_FIXED}UTC"),
            manifest.key[:16] if manifest.stage in _of_published() else "–",
            manifest.tool,
            "–" if manifest.seed is None else str(manifest.seed),
            count(manifest.rows or None),
            f"{manifest.run.wall_seconds:,.1f}",
            f"{manifest.run.cpu_seconds:,.1f}",
            count(max(manifest.run.peak_mb, manifest.run.worker_peak_mb)),
            str(manifest.run.workers or 1),
        ]
        for manifest in findings.manifests
    ]
    return result_table("Stages", header, rows, 3)


def _inputs(findings: Findings) -> ResultTable:
    rows = [row for manifest in findings.manifests for row in _inputs_of(manifest)]
    return result_table("Inputs", ("stage", "input", "size", "sha256"), rows, 4)


def _inputs_of(manifest: Manifest) -> list[list[str]]:
    """List files from outside, shared inputs of all partitions, and each folder as one digest."""
    if manifest.stage not in _of_published():
        return _names_of_inputs(manifest)
    rows = [
        [manifest.stage, file["name"], f"{file['size']:,}{_FIXED}bytes", file["sha256"]]
        for file in manifest.inputs["files"]
    ]
    rows += [
        [manifest.stage, name, "", digest]
        for name, digest in sorted(manifest.inputs["shared"].items())
    ]
    folders: dict[str, dict[str, str]] = {}
    for partition, digests in manifest.inputs["partitions"].items():
        for name, digest in digests.items():
            folder, _, of = name.partition("/")
            folders.setdefault(folder, {})[of or partition] = digest
    level = manifest.partition_level.replace("_", " ")
    for name, found in sorted(folders.items()):
        noun = level if len(found) == 1 else plural(level)
        size = f"{len(found):,}{_FIXED}{noun}"
        rows.append([manifest.stage, name, size, key_of(found)])
    return rows


def _names_of_inputs(manifest: Manifest) -> list[list[str]]:
    """List inputs without digests and sizes, which may reveal records."""
    partitions = manifest.inputs["partitions"].values()
    names = [
        *(file["name"] for file in manifest.inputs["files"]),
        *sorted(manifest.inputs["shared"]),
        *sorted({name.partition("/")[0] for digests in partitions for name in digests}),
    ]
    return [[manifest.stage, name, "", "–"] for name in names]


def _settings(findings: Findings) -> ResultTable:
    rows = []
    for manifest in findings.manifests:
        for name, value in sorted(manifest.config.items()):
            text = json.dumps(value, ensure_ascii=False)
            shown = text if len(text) <= _LONGEST else f"sha256 {key_of(value)}"
            rows.append([manifest.stage, name, shown])
    return result_table("Settings", ("stage", "key", "value"), rows, 3)


SECTION = Section(_KEY, _TITLE, lambda findings: findings, _render)


@cache
def _of_published() -> frozenset[str]:
    """Return the names of the stages that only read published data, or data made from these.

    Digests of other stages' inputs may be digests of records.
    """
    names, folders = {INGEST.name}, set(INGEST.folders)
    for stage in STAGES:
        is_private = all(folder.startswith(PRIVATE) for folder in stage.folders)
        if stage.reads and folders.issuperset(stage.reads) and not is_private:
            names.add(stage.name)
            folders.update(stage.folders)
    return frozenset(names)
