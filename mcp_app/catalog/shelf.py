"""Declarations of one kind: found by key, listed in one order, replaced as a whole on change."""

import threading
from collections.abc import Mapping
from types import MappingProxyType
from typing import Generic, TypeVar

from mcp_app.catalog.definition import Declaration

Declared = TypeVar("Declared", bound=Declaration)


class Shelf(Generic[Declared]):
    """A mapping that any thread may read while another changes it."""

    def __init__(self) -> None:
        self.everything: Mapping[str, Declared] = MappingProxyType({})
        """By key, sorted by it. A snapshot: later changes make another."""
        self._lock = threading.Lock()

    def add(self, declared: Declared) -> Declared | None:
        """Put it on the shelf, or return what has its key already."""
        with self._lock:
            known = self.everything.get(declared.key)
            if known is None:
                everything = {**self.everything, declared.key: declared}
                self.everything = MappingProxyType(dict(sorted(everything.items())))
        return known

    def remove(self, key: str) -> Declared | None:
        """Take one out and return it; None where there was none."""
        with self._lock:
            left = dict(self.everything)
            declared = left.pop(key, None)
            self.everything = MappingProxyType(left)
        return declared
