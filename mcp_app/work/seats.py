"""Threads for the sync code of async tools: a bounded number, shared, their connections warm.

A tool's sync code runs in pieces, and a thread is busy with one only while that runs: a tool that
waits, be it for another tool, holds none. Its pieces share one thread as long as there are threads
enough. Where there are not, tools share; but a thread with an open transaction is its tool's alone.
"""

import os
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any, Final, ParamSpec, TypeVar

from django.db import connections

from mcp_app.work import waiting
from mcp_app.work.connections import (
    clear_connections,
    give_back_connections,
    is_in_transaction,
)

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

Piece = Callable[[], Callable[[], None]]
"""Does one piece of work, and gives what tells its outcome to whoever waits."""

AT_MOST: Final = 5
"""Threads a worker, counting those of tools that passed their time limit and still run."""


class Seat:
    """One thread."""

    __slots__ = ("_seats", "guests", "holder", "is_asking", "is_busy", "is_lost", "thread")

    def __init__(self, seats: "Seats", name: str) -> None:
        self._seats = seats
        self.thread = ThreadPoolExecutor(1, name)
        self.is_busy = False
        self.is_lost = False
        """Its work has not come back though nobody waits for it any more."""
        self.is_asking = False
        """Its work waits for a person."""
        self.holder: Guest | None = None
        """Whose transaction is open in it."""
        self.guests: set[Guest] = set()
        """Who has worked in it and may have left a cursor open."""

    def is_free_for(self, guest: "Guest") -> bool:
        """Whether the guest may work in it now."""
        return not self.is_busy and self.holder in (None, guest)

    @contextmanager
    def lent(self) -> Iterator[None]:
        """Let other guests have another seat while the work in this one waits for a person.

        Raises:
            CannotAsk: as many wait already as may.
        """
        if not self._seats.begin_asking(self):
            raise waiting.too_many()
        try:
            yield
        finally:
            self._seats.end_asking(self)


class Guest(Executor):
    """One async tool's way to the threads: what asgiref submits to runs in order, one at a time."""

    def __init__(self, seats: "Seats") -> None:
        self._seats = seats
        self.pieces: deque[Piece] = deque()
        self.seat: Seat | None = None
        self.known: set[Seat] = set()
        self.is_queued = self.has_left = False

    def submit(
        self,
        fn: Callable[Parameters, Result],
        /,
        *args: Parameters.args,
        **kwargs: Parameters.kwargs,
    ) -> Future[Result]:
        """Have a piece of sync code run once there is a thread for it."""
        future: Future[Result] = Future()
        self._seats.queue(self, partial(_outcome, future, partial(fn, *args, **kwargs)))
        return future

    def leave(self) -> None:
        """The tool is over. What it has left behind is cleared away; nobody waits for that."""
        self._seats.part(self)


class Seats:
    """The threads of one process."""

    def __init__(self, count: int) -> None:
        self._count, self._most = count, count * AT_MOST
        self._lock = threading.Lock()
        self._seats: list[Seat] = []
        self._queue: deque[Guest] = deque()
        self._made = 0

    def queue(self, guest: Guest, piece: Piece) -> None:
        """Run a piece after the guest's others. From any thread."""
        with self._lock:
            guest.pieces.append(piece)
            if not guest.is_queued:
                guest.is_queued = True
                self._queue.append(guest)
                self._serve()

    def part(self, guest: Guest) -> None:
        """The guest's tool is over."""
        with self._lock:
            guest.has_left = True
            if not guest.is_queued:
                self._clear_after(guest)
            elif guest not in self._queue and guest.seat is not None:
                guest.seat.is_lost = True
            self._serve()

    def begin_asking(self, seat: Seat) -> bool:
        """Do not count a seat while its work waits; False where too many do."""
        with self._lock:
            if self._asking() >= self._count * waiting.AT_MOST:
                return False
            seat.is_asking = True
            self._serve()
        return True

    def end_asking(self, seat: Seat) -> None:
        """It works again."""
        with self._lock:
            seat.is_asking = False

    # --- all that follows is called with the lock held, but for what a thread runs ---------------

    def _serve(self) -> None:
        """Give a thread to everybody for whom there is one, in the order they came."""
        for guest in tuple(self._queue):
            seat = self._seat_for(guest)
            if seat is not None:
                self._queue.remove(guest)
                self._begin(guest, seat)
            elif all(seat.is_busy for seat in self._seats):
                return

    def _seat_for(self, guest: Guest) -> Seat | None:
        own = guest.seat
        if own is not None and (own.is_free_for(guest) or own.holder is guest):
            return None if own.is_busy else own
        free = [seat for seat in self._seats if seat.is_free_for(guest)]
        least = min(free, key=lambda seat: len(seat.guests), default=None)
        if (least is None or least.guests) and self._may_grow():
            return self._another()
        return least

    def _may_grow(self) -> bool:
        """No more than the number, not counting threads that may wait for one that is to come."""
        return len(self._seats) < min(self._count + self._kept(), self._most) + self._asking()

    def _kept(self) -> int:
        """Seats whose work keeps them from others, and may not come back."""
        others = (seat for seat in self._seats if not seat.is_asking)
        return sum(seat.is_lost or seat.holder is not None for seat in others)

    def _asking(self) -> int:
        return sum(seat.is_asking for seat in self._seats)

    def _another(self) -> Seat:
        self._made += 1
        seat = Seat(self, f"mcp-async-{self._made}")
        self._seats.append(seat)
        return seat

    def _begin(self, guest: Guest, seat: Seat) -> None:
        piece = guest.pieces.popleft()
        is_fresh = not seat.guests
        seat.is_busy, guest.seat = True, seat
        seat.guests.add(guest)
        guest.known.add(seat)
        seat.thread.submit(self._work, guest, seat, piece, is_fresh)

    def _work(self, guest: Guest, seat: Seat, piece: Piece, is_fresh: bool) -> None:
        """In the thread."""
        if is_fresh:
            give_back_connections()
        with waiting.at(seat):
            deliver = piece()
        is_held = is_in_transaction()
        with self._lock:
            seat.is_busy = seat.is_lost = False
            seat.holder = guest if is_held else None
            if guest.pieces:
                self._queue.append(guest)
            else:
                guest.is_queued = False
                if guest.has_left:
                    self._clear_after(guest)
            self._serve()
        # Only now, so that the tool finds the thread free that it has just used.
        deliver()

    def _clear_after(self, guest: Guest) -> None:
        for seat in guest.known:
            seat.guests.discard(guest)
            if not seat.is_busy and (seat.holder is guest or not seat.guests):
                seat.is_busy = True
                seat.thread.submit(self._clear, seat)
        guest.known.clear()
        guest.seat = None

    def _clear(self, seat: Seat) -> None:
        """In the thread."""
        clear_connections()
        with self._lock:
            seat.is_busy, seat.holder = False, None
            self._retire(seat)
            self._serve()

    def _retire(self, seat: Seat) -> None:
        """End a thread that was one too many, and is not needed any more."""
        if len(self._seats) > self._count + self._kept() + self._asking() and not seat.guests:
            self._seats.remove(seat)
            seat.thread.submit(connections.close_all)
            seat.thread.shutdown(wait=False)


def _outcome(future: Future[Any], call: Callable[[], Any]) -> Callable[[], None]:
    """Do a piece of work; what tells its outcome."""
    if not future.set_running_or_notify_cancel():
        return lambda: None
    try:
        return partial(future.set_result, call())
    except BaseException as error:
        return partial(future.set_exception, error)


_current: Final[list[Seats]] = []


def guest_of(count: int) -> Guest:
    """A way to this process's threads, of which there are `count`: as many as at first asked."""
    if not _current:
        _current.append(Seats(count))
    return Guest(_current[0])


os.register_at_fork(after_in_child=_current.clear)
