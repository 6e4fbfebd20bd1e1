"""What the calling thread's connection is in the middle of; how to write in a TestCase's."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

from django.db import connections


def in_test_transaction(connection: Any) -> bool:
    """Whether a Django `TestCase` holds the connection: no other thread can see its rows."""
    blocks = connection.atomic_blocks
    return bool(blocks and blocks[0]._from_testcase)


def would_deadlock(connection: Any) -> bool:
    """Whether another thread's write may have to wait for the caller's transaction to end.

    SQLite knows one writer at a time.
    """
    return bool(connection.vendor == "sqlite" and connection.in_atomic_block)


def on_event_loop() -> bool:
    """Whether this thread runs an event loop, where Django refuses to query."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def run_on_connection(connection: Any, work: Callable[[], None]) -> None:
    """Run `work` with this thread's connection, also where an event loop runs in this thread.

    For tests: the loop stands still meanwhile.
    """
    if not on_event_loop():
        work()
        return

    def borrow() -> None:
        connections[connection.alias] = connection
        work()

    connection.inc_thread_sharing()
    try:
        thread = threading.Thread(target=borrow)
        thread.start()
        thread.join()
    finally:
        connection.dec_thread_sharing()
