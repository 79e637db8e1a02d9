"""Reading ahead: a thread makes the next item while one is processed."""

from __future__ import annotations

from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import TypeVar

Item = TypeVar("Item")


def read_ahead(items: Generator[Item, None, None]) -> Generator[Item, None, None]:
    """Yield the same items, while a thread makes the next one.

    An error is raised where its item would have been. At most two items are held. Closing the
    generator closes ``items``.
    """
    with closing(items), ThreadPoolExecutor(1, "recon-read") as reader:
        following = reader.submit(_next, items)
        while found := following.result():
            following = reader.submit(_next, items)
            yield found[0]


def _next(items: Generator[Item, None, None]) -> tuple[Item] | tuple[()]:
    """Return the next item, or nothing at the end."""
    for item in items:
        return (item,)
    return ()
