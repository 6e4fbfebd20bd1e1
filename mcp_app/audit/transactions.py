"""What the calling thread is in the middle of: a test's transaction, its own, an event loop."""

import asyncio
from typing import Any


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
    """Whether this thread runs an event loop, where Django has no connection of the thread's."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
