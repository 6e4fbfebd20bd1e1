"""Whether the sealed rows are what they were: every one that was changed, removed or inserted."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from django.db.models import QuerySet

from mcp_app.audit.chain import fault_of, is_signed, links, pruned_keys
from mcp_app.audit.leaves import Leaf, leaves_of, unpacked
from mcp_app.audit.owners import Namesakes
from mcp_app.conf import settings
from mcp_app.models import CallEvent, Seal

_AT_ONCE: Final = 20


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that is not as it was sealed."""

    said: str
    link: int
    row: int | None = None

    def __str__(self) -> str:
        what = f"Link {self.link}" if self.row is None else f"Row {self.row} (link {self.link})"
        return f"{what} {self.said}."


@dataclass(slots=True)
class Verification:
    """One walk along the chain; what it counted stands in it afterwards."""

    alias: str
    links: int = 0
    rows: int = 0
    pruned: int = 0
    head: Seal | None = None
    _end: int = field(default=0, init=False)
    _signed: bool = field(default=False, init=False)

    def faults(self, known_head: str = "") -> Iterator[Fault]:
        """Each fault, in the order of the chain.

        Args:
            known_head: a link's digest that was kept elsewhere: the chain must hold it.
        """
        found = not known_head
        for link in _in_order(self.alias):
            yield from self._check_link(link)
            if link.kind == Seal.Kind.RANGE:
                yield from self._check_range(link)
            self.head, self.links = link, self.links + 1
            found = found or link.digest == known_head
        if not found:
            yield Fault("is missing: no link has the digest that was asked for", self.links + 1)
        if settings.SEAL_KEYS and self.head is not None and not is_signed(self.head):
            yield Fault("is not signed, although MCP_APP['SEAL_KEYS'] has a key", self.head.number)

    def _check_link(self, link: Seal) -> Iterator[Fault]:
        before = self.head
        if (link.number, link.previous) != _after(before):
            yield Fault("does not follow the one before it", link.number)
        if said := fault_of(link):
            yield Fault(said, link.number)
        if self._signed and not link.key_id:
            yield Fault("is not signed, although an earlier one is", link.number)
        self._signed = self._signed or bool(link.key_id)

    def _check_range(self, link: Seal) -> Iterator[Fault]:
        if link.first_id != self._end + 1:
            yield Fault("does not begin where the one before it ends", link.number)
        self._end = link.last_id
        rows = CallEvent._base_manager.using(self.alias).filter(pk__lte=link.last_id)
        if self.head is not None:
            # Before the first link nothing was, so that what is there now was inserted.
            rows = rows.filter(pk__gte=link.first_id)
        present = {leaf.id: leaf for leaf in leaves_of(rows)}
        gone = pruned_keys(self.alias, link.first_id, link.last_id)
        self.rows, self.pruned = self.rows + len(present), self.pruned + len(gone)
        sealed = {leaf.id: leaf for leaf in unpacked(bytes(link.contents))}
        if len(sealed) != link.rows and (link.contents or len(gone) != link.rows):
            yield Fault("has lost the digests of its rows", link.number)
            return
        robbed = _robbed(rows, present, sealed)
        for key in sorted(present.keys() | (sealed.keys() - gone)):
            if said := _said_of(present.get(key), sealed.get(key), key in robbed):
                yield Fault(said, link.number, key)


def _said_of(now: Leaf | None, then: Leaf | None, was_robbed: bool) -> str:
    """What is wrong with a row; empty where nothing is."""
    if then is None:
        return "was inserted"
    if now is None:
        return "was removed"
    return "was changed" if was_robbed or not now.agrees_with(then) else ""


def _robbed(
    rows: QuerySet[CallEvent], present: dict[int, Leaf], sealed: dict[int, Leaf]
) -> set[int]:
    """The rows that have no key any more of a user or token that was not deleted."""
    lack = [key for key in present.keys() & sealed if present[key].lacks_a_key(sealed[key])]
    if not lack:
        return set()
    there = Namesakes(rows.filter(pk__in=lack))
    return {key for key in lack if present[key].lacks_one_of(sealed[key], *there.of(key))}


def _after(before: Seal | None) -> tuple[int, str]:
    return (1, "") if before is None else (before.number + 1, before.digest)


def _in_order(alias: str) -> Iterator[Seal]:
    number = 0
    while some := list(links(alias).filter(number__gt=number).order_by("number")[:_AT_ONCE]):
        yield from some
        number = some[-1].number
