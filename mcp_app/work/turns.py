"""Whose job is next, where several wait: of whoever has the fewest at work, in turns.

So one user's many slow jobs take no more of a lane than is left by others, and no job of theirs is
waited for beyond those that run already. Jobs of nobody in particular have a turn each.
"""

from collections import OrderedDict, deque
from collections.abc import Hashable, Iterator, Mapping
from itertools import chain
from typing import Generic, TypeVar

Item = TypeVar("Item", bound=Hashable)


class Turns(Generic[Item]):
    """What waits, each owner's in the order it came.

    Args:
        at_work: how many of an owner's are at work now; looked at where several owners wait.
    """

    def __init__(self, at_work: Mapping[Hashable, int]) -> None:
        self._at_work = at_work
        self._lone: tuple[Item, Hashable] | None = None
        """All that waits, where that is one: most often it is, and needs no queue."""
        self._queues: OrderedDict[Hashable, deque[Item]] = OrderedDict()
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Item]:
        lone = () if self._lone is None else (self._lone[0],)
        return chain(lone, *self._queues.values())

    def append(self, item: Item, owner: Hashable | None = None) -> None:
        """Have it wait; one without an owner for itself alone."""
        key = item if owner is None else owner
        self._count += 1
        if self._count == 1:
            self._lone = item, key
            return
        if self._lone is not None:
            self._enqueue(*self._lone)
            self._lone = None
        self._enqueue(item, key)

    def _enqueue(self, item: Item, owner: Hashable) -> None:
        queue = self._queues.get(owner)
        if queue is None:
            self._queues[owner] = deque((item,))
        else:
            queue.append(item)

    def pop(self) -> Item:
        """Take the next one; there is one."""
        self._count -= 1
        if self._lone is not None:
            item, self._lone = self._lone[0], None
            return item
        owner = next(iter(self._queues)) if len(self._queues) == 1 else self._next_owner()
        queue = self._queues[owner]
        item = queue.popleft()
        if queue:
            self._queues.move_to_end(owner)
        else:
            del self._queues[owner]
        return item

    def clear(self) -> None:
        """Forget them all."""
        self._queues.clear()
        self._lone, self._count = None, 0

    def _next_owner(self) -> Hashable:
        """The first of those that have the fewest at work; no more are asked than are at work."""
        least, found = None, None
        for owner in self._queues:
            count = self._at_work.get(owner)
            if not count:
                return owner
            if least is None or count < least:
                least, found = count, owner
        return found
