"""A document as JSON: what Python's reader would let through or change unseen is refused."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Final

from recon_cli.errors import SourceError
from recon_cli.sources.tabular.documents import Document

#: A number with more digits is no count, and slow to read.
_MOST_DIGITS: Final = 20


def read_json(document: Document) -> object:
    """Mappings, lists, texts and whole numbers.

    A number that is not whole, or has too many digits, is the text that it was written as: it is
    for the reader of counts to refuse it.

    Raises:
        SourceError: It is damaged, no JSON, or an object has a key twice.
    """
    try:
        return json.loads(
            document.read().decode("utf-8-sig"),
            parse_int=_whole,
            parse_float=_whole,
            parse_constant=str,
            object_pairs_hook=_unique,
        )
    except RecursionError as error:
        raise SourceError(f"{document.label}: expected JSON, found brackets too deep") from error
    except ValueError as error:
        raise SourceError(f"{document.label}: expected JSON, {error}") from error


def _whole(text: str) -> int | str:
    """``12``, ``12.0`` and ``1.2e1`` as 12; others as they were written."""
    number = Decimal(text)
    if abs(number.adjusted()) >= _MOST_DIGITS or len(number.as_tuple().digits) > _MOST_DIGITS:
        return text
    return int(number) if number == number.to_integral_value() else text


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"but the key {twice!r} is there twice")
    return found
