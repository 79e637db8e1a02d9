"""The account of products of the same people: a line of JSON for each, written before it is drawn.

A line is never changed or taken out again. Whoever adds one holds the lock of the file.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from recon_cli.errors import BudgetError, StageError
from recon_cli.noise.account import Limit, Product, Spend, Total
from recon_cli.stage import PRIVATE
from recon_cli.store import files

#: Where it lies in a work folder, unless the config says otherwise.
ACCOUNT_FILE: Final = f"{PRIVATE}/account.jsonl"
#: How long to wait for another process that reserves.
_SECONDS: Final = 60.0


def read_products(path: Path, of: str) -> list[Product]:
    """The products of some people, in order; none where there is no account yet.

    Raises:
        StageError: The file cannot be read; names the line.
    """
    with files.disk(path):
        text = path.read_text() if path.exists() else ""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        try:
            content = json.loads(line)
            if content.pop("of") == of:
                found.append(_product(content))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise StageError(f"{path}:{number}: no line of an account") from error
    return found


def reserve(path: Path, of: str, product: Product, limit: Limit | None) -> None:
    """Write down what a product spends, before anything of it is drawn; once for each.

    Raises:
        BudgetError: It would go beyond the limit; nothing is written.
        StageError: The file cannot be read or written, or another process holds it.
    """
    files.make_folder(path.parent)
    with _locked(path):
        products = read_products(path, of)
        if any(each.id == product.id for each in products):
            return
        spends = [spend for each in (*products, product) for spend in each.spends]
        broken = None if limit is None else limit.broken_by(Total.of(spends))
        if broken is not None:
            raise BudgetError(
                f"account of {of!r}: with `{product.stage}` {broken}; nothing was drawn"
            )
        before = path.read_bytes() if path.exists() else b""
        line = json.dumps({"of": of, **_content(product)}, ensure_ascii=False, sort_keys=True)
        files.write_bytes(path, before + line.encode() + b"\n")


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    from filelock import FileLock, Timeout  # noqa: PLC0415 - only who writes needs a lock

    with files.disk(path):
        try:
            with FileLock(path.with_name(f"{path.name}.lock"), timeout=_SECONDS, mode=0o600):
                yield
        except Timeout:
            raise StageError(f"{path}: another process holds it; try again") from None


def _content(product: Product) -> dict[str, Any]:
    content = asdict(product)
    for spend in content["spends"]:
        for key in ("budget", "variance"):
            spend[key] = None if spend[key] is None else str(spend[key])
    return content


def _product(content: dict[str, Any]) -> Product:
    spends = [
        Spend(**{**each, **{key: _fraction(each[key]) for key in ("budget", "variance")}})
        for each in content.pop("spends")
    ]
    for key in ("invariants", "notes"):
        content[key] = tuple(content[key])
    return Product(**content, spends=tuple(spends))


def _fraction(text: str | None) -> Fraction | None:
    return None if text is None else Fraction(text)
