"""A lane's threads, and the places of the jobs in them: a number of jobs is at work, never more.

A job that is kept from working steps aside and another one has its turn: while a person is asked,
or once its tool has passed its time limit, since no thread can be stopped. So there may be more
threads than turns; who has none waits for one.
"""

import threading
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from enum import Enum
from typing import Final, ParamSpec, TypeVar

from mcp_app.work import seats, waiting

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


class Aside(Enum):
    """Why a job is not at work."""

    LATE = "late"
    ASKING = "asking"


_MOST: Final = {Aside.LATE: seats.AT_MOST - 1, Aside.ASKING: waiting.AT_MOST}
"""How many may be so, by worker."""


class Workers(ThreadPoolExecutor):
    """Threads, and as many turns as the lane has workers."""

    def __init__(self, count: int, name: str) -> None:
        super().__init__(count, name)
        self._count = count
        self._turns = count
        self._counting = threading.Lock()
        self._free = threading.Condition(self._counting)
        self._queued = 0
        self._aside = dict.fromkeys(Aside, 0)
        self._unfinished = 0
        self.at_work: dict[Hashable, int] = {}
        """How many turns each owner's jobs have now."""

    def submit(
        self,
        fn: Callable[Parameters, Result],
        /,
        *args: Parameters.args,
        **kwargs: Parameters.kwargs,
    ) -> "Future[Result]":
        """Have `fn` called in a thread, which it has at once where one may be had."""

        def counted() -> Result:
            try:
                return fn(*args, **kwargs)
            finally:
                with self._counting:
                    self._unfinished -= 1

        future = super().submit(counted)
        with self._counting:
            self._unfinished += 1
        self._see_to_threads()
        return future

    def _see_to_threads(self) -> None:
        """Have as many threads as there are jobs, or as there may be.

        The pool takes a thread for idle that has gone on to its next job, and starts none instead
        of it (CPython gh-88354); nor does it start one because there may be more from now on. So
        it is given nothings to do, until it is through with what it takes for idle.
        """
        while True:
            with self._counting:
                wanted = min(self._unfinished, self._max_workers)
            if len(self._threads) >= wanted:
                return
            super().submit(int)

    def count(self) -> int:
        """How many threads there may be now."""
        return self._max_workers

    def enter(self, owner: Hashable | None = None) -> None:
        """Take a turn, once there is one."""
        with self._counting:
            while self._turns <= 0:
                self._queued += 1
                self._free.wait()
                self._queued -= 1
            self._turns -= 1
            self._count_turn(owner)

    def leave(self, owner: Hashable | None = None) -> None:
        """Give it back."""
        with self._counting:
            self._turns += 1
            self._uncount_turn(owner)
            if self._queued:
                self._free.notify()

    def _count_turn(self, owner: Hashable | None) -> None:
        if owner is not None:
            self.at_work[owner] = self.at_work.get(owner, 0) + 1

    def _uncount_turn(self, owner: Hashable | None) -> None:
        if owner is None:
            return
        left = self.at_work[owner] - 1
        if left:
            self.at_work[owner] = left
        else:
            del self.at_work[owner]

    def step_aside(self, why: Aside, owner: Hashable | None = None) -> bool:
        """Let another job have the turn; False where too many have done so for this reason."""
        with self._counting:
            if self._aside[why] >= self._count * _MOST[why]:
                return False
            self._aside[why] += 1
            self._max_workers += 1
        self.leave(owner)
        self._see_to_threads()
        return True

    def step_back(self, why: Aside, owner: Hashable | None = None) -> None:
        """Work again, at once: others may wait for what this job holds. The next turn is owed."""
        with self._counting:
            self._aside[why] -= 1
            self._max_workers -= 1
            self._turns -= 1
            self._count_turn(owner)


class Place:
    """One job's place in a lane, which it can lose before it ends.

    Args:
        owner: whose job it is, so that owners take turns; None for nobody in particular.
    """

    def __init__(self, owner: Hashable | None = None) -> None:
        self.owner = owner
        self._lock = threading.Lock()
        self._workers: Workers | None = None
        self._aside: Aside | None = None

    def begin(self, workers: Workers) -> None:
        """The job runs now, or as soon as it is its turn."""
        workers.enter(self.owner)
        self._workers = workers

    def give_up(self) -> None:
        """Let another thread do what this one is kept from."""
        self._step_aside(Aside.LATE)

    @contextmanager
    def lent(self) -> Iterator[None]:
        """Let another job have the turn while this one waits for a person.

        Raises:
            CannotAsk: as many wait already as may.
        """
        if not self._step_aside(Aside.ASKING):
            raise waiting.too_many()
        try:
            yield
        finally:
            with self._lock:
                self._step_back(Aside.ASKING)

    def end(self) -> None:
        """The job has come back."""
        with self._lock:
            self._step_back(Aside.LATE)
            workers, self._workers = self._workers, None
        if workers is not None:
            workers.leave(self.owner)

    def _step_aside(self, why: Aside) -> bool:
        """Whether it is aside now, for whatever reason."""
        with self._lock:
            if self._workers is None:
                return False
            if self._aside is None and self._workers.step_aside(why, self.owner):
                self._aside = why
            return self._aside is not None

    def _step_back(self, why: Aside) -> None:
        """With the lock held."""
        if self._workers is not None and self._aside is why:
            self._workers.step_back(why, self.owner)
            self._aside = None
