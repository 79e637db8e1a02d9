"""Messages of errors repeat as much of a value as people read."""

from __future__ import annotations

import pickle

import pytest

from recon_cli.errors import DisagreementError, ReconError, SourceError

LONG, NINES = "9" * 4301, "9" * 120


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        (f"column {LONG!r}: no cell", f"column '{NINES}…' (4,301 characters): no cell"),
        (f"geoid {LONG}: no unit", f"geoid {NINES}… (4,301 characters): no unit"),
        (f"{{{LONG!r}: CODE}}", f"{{'{NINES}…' (4,301 characters): CODE}}"),
        (f'"it\'s {LONG}" is none', f'"it\'s {"9" * 115}…" (4,306 characters) is none'),
        (f"no {'a ' * 100!r}, but 'b'", f"no '{'a ' * 60}…' (200 characters), but 'b'"),
    ],
)
def test_long_values_are_shortened(message: str, shown: str) -> None:
    assert str(SourceError(message)) == shown


@pytest.mark.parametrize(
    "message",
    [
        f"column {NINES!r}: no cell",
        "the file's table " + "has no such column, " * 20 + "nor has the schema's",
        "the tables' cells " + "are not those of the release " * 10 + "'a' and 'b'",
        "/".join(["work", "a" * 255, "b" * 255]) + ": cannot be read",
        "",
    ],
)
def test_all_else_stays_as_it_is(message: str) -> None:
    assert str(SourceError(message)) == message


def test_an_error_without_a_message() -> None:
    assert str(ReconError()) == ""


def test_what_travels_with_an_error_is_whole() -> None:
    error = pickle.loads(pickle.dumps(DisagreementError(f"model {LONG!r}", LONG)))  # noqa: S301
    assert error.model == LONG
    assert error.args == (f"model {LONG!r}", LONG)
    assert str(error) == f"model '{NINES}…' (4,301 characters)"
