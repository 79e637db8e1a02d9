"""Reading one item ahead: the next one is made while one is worked on."""

from __future__ import annotations

from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import TypeVar

Item = TypeVar("Item")


def read_ahead(items: Generator[Item, None, None]) -> Generator[Item, None, None]:
    """The same items in the same order; a thread makes the next one while one is worked on.

    An error is raised where its item would have been. At most two items are held. Who stops
    before the end closes it, which closes ``items``.
    """
    with closing(items), ThreadPoolExecutor(1, "recon-read") as reader:
        following = reader.submit(_next, items)
        while found := following.result():
            following = reader.submit(_next, items)
            yield found[0]


def _next(items: Generator[Item, None, None]) -> tuple[Item] | tuple[()]:
    """The next item, or nothing at the end."""
    for item in items:
        return (item,)
    return ()
