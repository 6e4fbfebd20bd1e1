"""Whether this code runs on an event loop."""

import asyncio


def on_event_loop() -> bool:
    """Whether a loop runs in this thread: what would block here would hold up everybody."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
