"""What a sync function runs inside: its own transaction where the project asks for one."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from typing import Final

from django.db import connections, transaction

from mcp_app.catalog.definition import Declaration
from mcp_app.conf import settings
from mcp_app.work.connections import opened

_NO_DATABASE: Final = "django.db.backends.dummy"
"""What Django puts where `DATABASES["default"]` is empty and a router names all others."""


def around(declared: Declaration) -> AbstractContextManager[None]:
    """`atomic()` on each database that calls for it.

    Its own `atomic=` decides; else `MCP_APP["ATOMIC"]`; else each database's
    ATOMIC_REQUESTS, as for a view. The call event is never inside. A transaction that the caller
    already holds, as a test does, is not broken by a call that fails.
    """
    wanted = declared.atomic if declared.atomic is not None else settings.ATOMIC
    asked = [alias for alias in connections if _applies(alias, wanted)]
    held = {connection.alias for connection in opened() if connection.in_atomic_block}
    return _inside(asked, held) if asked or held else nullcontext()


@contextmanager
def _inside(asked: list[str], held: set[str]) -> Iterator[None]:
    with ExitStack() as stack:
        for alias in asked:
            stack.enter_context(transaction.atomic(using=alias))
        for alias in held.difference(asked):
            stack.enter_context(_unbroken(alias))
        yield


def _applies(alias: str, wanted: bool | None) -> bool:
    settings_dict = connections.settings[alias]
    if settings_dict["ENGINE"] == _NO_DATABASE:
        return False
    return bool(settings_dict.get("ATOMIC_REQUESTS")) if wanted is None else wanted


@contextmanager
def _unbroken(alias: str) -> Iterator[None]:
    """Leave an open transaction usable, and what a failing tool wrote before as it is."""
    connection = connections[alias]
    savepoint = connection.savepoint()
    assert savepoint is not None, "there is a transaction"
    try:
        yield
    finally:
        if connection.needs_rollback:
            connection.set_rollback(False)
            connection.savepoint_rollback(savepoint)
        connection.savepoint_commit(savepoint)
