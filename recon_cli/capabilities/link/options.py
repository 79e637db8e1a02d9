"""``link:`` which files are matched, and on which columns.

Within a block, records match on exact keys first, then on binned ones; none matches twice. A match
gives the attacker the record's values; it is confirmed if the person truly has these values in that
block. Writes links/ (one row per putative match), and the counts that `recon score` makes tables
of.

Example:
  recon link -c al.yaml
  recon link --cef cef.parquet --draws 5
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

from recon_cli.capabilities.records.records_file import RecordsFile, as_records_file
from recon_cli.config.model import AnyNames, ConfigModel, ConfigPath, Names, Section, as_list

#: What stands for a file in ``sources`` and ``attackers``.
OWN_MICRODATA = "microdata"
FROM_CEF = "cef"


class AttackerFile(RecordsFile):
    """An attacker's file as it is.

    Attributes:
        path: A CSV, Parquet or xlsx file, or a folder of partitions.
        layout: A packaged layout, such as ``mdf_2010``: headers and codes of a publication.
        columns: Header in the file → column of the release, where they differ.
        values: Column of the release → code in the file → value of the release, or null for one
            that says nothing.
        sheet: Name of a workbook's sheet.
        id: Header of the column with a person's identifier; default ``link.id``.
        may_leave_out: Largest share of its records that may be left out. More is an error: codes
            or ids may be others than those of the truth.
    """

    id: str | None = None
    may_leave_out: Annotated[float, Field(ge=0, le=1, strict=False)] = 0.5


def _attacker(value: object) -> object:
    """Treat a path alone as a file with the release's own columns; ``cef`` is no file."""
    return None if value == FROM_CEF else as_records_file(value)


def _source(value: object) -> object:
    """Treat a path alone as a file with the release's own columns; ``microdata`` is no file."""
    return None if value == OWN_MICRODATA else as_records_file(value)


#: A file, or None where the config says ``microdata``: this run's own.
Source = Annotated[RecordsFile | None, BeforeValidator(_source)]
#: A file, or None where the config says ``cef``: the CEF's own columns.
Attacker = Annotated[AttackerFile | None, BeforeValidator(_attacker)]


class GuesserSection(ConfigModel):
    """A guesser.

    Attributes:
        guess: ``modal`` (MDG) or ``proportional`` (PRG).
        of: A source, or ``tables``: the run's published counts alone.
        leave_one_out: Make each guess from everybody else.
        tables: With ``of: tables``, tables to use; default all published ones.
    """

    guess: Literal["modal", "proportional"]
    of: str
    leave_one_out: bool = False
    tables: Names | None = None


#: A feature and by how much it may differ.
Tolerance = dict[str, Annotated[int, Field(ge=0)]]


class PassSection(ConfigModel):
    """A pass.

    Attributes:
        name: Name in results.
        same: Columns on which both records agree: one level of geounits, features and recodes.
        within: Numeric feature → largest difference.
    """

    name: str
    same: Names
    within: Tolerance = Field(default_factory=dict)


def _as_ways(value: object) -> object:
    return as_list([value] if isinstance(value, dict) else value)


class AgreementSection(ConfigModel):
    """One way to agree for two records, with the frequencies of exactly this agreement.

    Attributes:
        same: Columns on which both records agree: a level of geounits, features and recodes.
        within: Numeric feature → largest difference.
        m: Share of pairs of one person's records.
        u: Share of pairs of different people's records.
    """

    same: AnyNames = ()
    within: Tolerance = Field(default_factory=dict)
    m: Annotated[float, Field(gt=0, lt=1, strict=False)]
    u: Annotated[float, Field(gt=0, lt=1, strict=False)]


#: One or several.
Ways = Annotated[tuple[AgreementSection, ...], Field(strict=False), BeforeValidator(_as_ways)]


class WeightsSection(ConfigModel):
    """Weights of agreement.

    Attributes:
        at_least: Least sum of log2(m/u) of a link, in bits.
        compare: Name of a comparison → its ways to agree, from strict to lax.
    """

    at_least: Annotated[float, Field(strict=False)]
    compare: dict[str, Ways]


def _given(value: object) -> object:
    if value == "em":
        raise PydanticCustomError(
            "weights",
            "m and u are not estimated: place, sex and age alone do not tell pairs of one person "
            "from pairs of two; give at_least and compare with m and u",
        )
    return value


class Link(Section):
    """The section ``link``.

    Attributes:
        cef: The true records; default ``cef/`` or ``persons/`` (of `recon data synth`) in the work
            folder.
        hdf: The records that were tabulated, if known; default ``hdf/`` in the work folder, if
            it exists.
        sources: Name → records to link besides the CEF and the HDF: a path; ``microdata``; or, for
            a file with other headers and codes, ``path`` with ``layout``, or with ``columns`` and
            ``values``. Default this run's own microdata, if it is there.
        guessers: Name → a guesser; default MDG (guesses the commonest values) and PRG (guesses
            values in proportion to their counts). They know the counts of the HDF if there is one,
            else the tables.
        attackers: Name → a path; ``cef`` (the CEF's exact columns); or, for a file with other
            headers and codes, ``path``, ``columns``, ``values`` and ``id``. Default CEF_atkr
            (``cef``), and COMRCL if ``comrcl/`` is in the work folder.
        id: Column with a person's identifier.
        data_defined: Column of the CEF that marks records that can be linked; default
            ``data_defined`` if there is one.
        exact: Columns of the first pass; default the schema's.
        binned: Columns of the second pass; default the schema's.
        passes: Passes in place of exact and binned, from strict to lax; counts are then by pass.
        weights: In place of passes: one pass for each way that two records can agree, from the
            highest weight down.
        gains: Columns that the attacker gains; default the schema's.
        seed: Breaks ties and draws guesses; default the run's seed.
        draws: Number of random ways to break ties, for intervals across seeds.
        rows: Write ``links/``, one row per match; the counts are always written.
    """

    cef: ConfigPath | None = None
    hdf: ConfigPath | None = None
    sources: dict[str, Source] | None = None
    guessers: dict[str, GuesserSection] | None = None
    attackers: dict[str, Attacker] | None = None
    id: str = "pik"
    data_defined: str | None = None
    exact: Names | None = None
    binned: Names | None = None
    passes: Annotated[tuple[PassSection, ...], Field(min_length=1, strict=False)] | None = None
    weights: Annotated[WeightsSection | None, BeforeValidator(_given)] = None
    gains: Names | None = None
    seed: int | None = None
    draws: Annotated[int, Field(ge=1)] = 1
    rows: bool = True

    def inputs(self, work: Path) -> tuple[Path, ...]:
        """Return the files that it names; the work folder itself stands for its microdata."""
        named = [self.cef, self.hdf]
        named += [file.path for file in (self.sources or {}).values() if file is not None]
        named += [file.path for file in (self.attackers or {}).values() if file is not None]
        return tuple(path for path in named if path not in (None, work))
