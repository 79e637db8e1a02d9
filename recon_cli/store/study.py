"""Marks on files and folders that are for study and not for publication.

All that is made from them is marked too: `recon_cli.pipeline.run.Run.reads_study`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from recon_cli.errors import ConfigError

#: A file in every folder of a stage whose random draws, or those of an input, follow from a seed.
NOT_FOR_PUBLICATION: Final = "NOT_FOR_PUBLICATION"
WHY_NOT: Final = b"""\
Made for study: what was left to chance follows from a seed (study_seed), and whoever guesses the
seed has the true counts again. To publish, leave study_seed out and run the protection again.
"""
#: Ending of the name of a file that is not for publication, before its suffix.
STUDY: Final = ".study"
#: Folders of a work folder that stand for it where records or counts are expected.
_OF_A_WORK_FOLDER: Final = ("microdata", "tables")


def is_for_study(path: Path) -> bool:
    """Test whether a file or folder, or a parent of it, is marked as not for publication.

    A file is marked by its name, ``….study.csv``, a folder by the file `NOT_FOR_PUBLICATION` in it.
    """
    here = path.resolve()
    if has_study_name(path) or has_study_name(here):
        return True
    folders = (here, *here.parents, *(here / name for name in _OF_A_WORK_FOLDER))
    return any((folder / NOT_FOR_PUBLICATION).is_file() for folder in folders)


def has_study_name(path: Path) -> bool:
    """Test whether a file's name marks it as not for publication.

    >>> has_study_name(Path("counts.study.csv")), has_study_name(Path("study.csv"))
    (True, False)
    >>> has_study_name(Path("people.study.csv.gz"))
    True
    """
    whole = Path(path.stem) if path.suffix.lower() == ".gz" else path
    return Path(whole.stem).suffix.lower() == STUDY


def require_study_name(key: str, to: Path | None) -> None:
    """Refuse a file for study whose name does not mark it.

    Raises:
        ConfigError: The message begins with ``key``.
    """
    if to is not None and not has_study_name(to):
        raise ConfigError(
            f"{key}: {to.name}: counts made with a study_seed are not for publication; the name of "
            f"their file ends in {STUDY}{to.suffix}"
        )
