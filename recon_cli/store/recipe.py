"""Recipes: all that a stage's output depends on, and keys that tell whether it is current.

See *recipe* in docs/glossary.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from recon_cli.stage import Stage
from recon_cli.store.files import key_of
from recon_cli.version import FORMAT, __version__

#: Folders without a manifest: models that two engines disagree on; proofs that counts contradict
#: each other; comparisons of work folders, with the list of all their units.
DISAGREEMENTS: Final = "disagreements"
CONTRADICTIONS: Final = "contradictions"
COMPARED: Final = "compare"
COMPARED_UNITS: Final = "_units.parquet"


@dataclass(frozen=True)
class InputFile:
    """A file from outside the work folder, recorded without its path on this machine."""

    name: str
    size: int
    sha256: str

    def as_json(self) -> dict[str, Any]:
        """Return the file as JSON, for manifests and keys."""
        return {"name": self.name, "size": self.size, "sha256": self.sha256}


@dataclass(frozen=True)
class Recipe:
    """Everything that a stage's output depends on.

    Attributes:
        stage: Short name of the stage.
        partition_level: Level whose geoid prefixes name the partitions.
        config: The settings that matter to the result; values that JSON can express.
        files: Files from outside that the whole stage depends on.
        shared: Digests, by name, of what every partition depends on.
        partitions: Partition → digests, by folder, of its inputs. Empty for a stage that learns
            its partitions from its input.
        outside: Files beyond the work folder that the stage writes, by name. Their paths are not
            part of any key; a run checks that they are as they were written.
        is_study: Whether random draws follow from a seed, here or in an input: not to be published.
        stopped: Plural noun of what the statuses count, if some are undecided because the run was
            stopped.
    """

    stage: Stage
    release: str
    release_digest: str
    partition_level: str
    config: Mapping[str, Any]
    seed: int | None = None
    files: tuple[InputFile, ...] = ()
    shared: Mapping[str, str] = field(default_factory=dict)
    partitions: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    outside: Mapping[str, Path] = field(default_factory=dict)
    is_study: bool = False
    stopped: str = ""

    @cached_property
    def key(self) -> str:
        """Return a digest of the whole recipe."""
        inputs = {name: dict(digests) for name, digests in self.partitions.items()}
        return key_of({**self._common, "partitions": inputs})

    def partition_key(self, partition: str) -> str:
        """Return a digest of all that this partition depends on."""
        return key_of({**self._common, "inputs": dict(self.partitions.get(partition, {}))})

    @cached_property
    def _common(self) -> dict[str, Any]:
        return {
            "stage": self.stage.name,
            "folders": list(self.stage.folders),
            "tool": __version__,
            "format": FORMAT,
            "release": self.release_digest,
            "partition_level": self.partition_level,
            "config": dict(self.config),
            "seed": self.seed,
            "files": [file.as_json() for file in self.files],
            "shared": dict(self.shared),
            "study": self.is_study,
            **({"stopped": True} if self.stopped else {}),
        }
