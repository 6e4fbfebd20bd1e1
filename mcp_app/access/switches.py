"""What administrators have turned off: read once a request, so that the next one obeys.

One small query by index and no cache, which could keep alive in one process what another turned
off; requests that wait for a thread at the same time share it. Where it cannot be read the request
is refused in words: nothing runs unasked.
"""

import logging
import math
from datetime import datetime
from typing import Any, Final

from django.db import Error, router, transaction
from django.utils import timezone

from mcp_app.access.in_force import Announced
from mcp_app.catalog.definition import Declaration
from mcp_app.catalog.registry import MCPServer
from mcp_app.models import Switch, SwitchKind
from mcp_app.models.switches import noun_of
from mcp_app.protocol.errors import SwitchedOff, SwitchesUnavailable
from mcp_app.seldom import SeldomLog

_unread: Final = SeldomLog(logging.getLogger("mcp_app.access"), logging.ERROR)


class Switches:
    """Those in force at a server, for the length of a request, which may have had them read."""

    def __init__(self, server: MCPServer, announced: Announced | None = None) -> None:
        self._announced = announced or Announced(server.name)
        self._rows: list[Switch] | None = None

    def _in_force(self) -> list[Switch]:
        """The rows.

        Raises:
            SwitchesUnavailable: they cannot be read.
        """
        if self._rows is None:
            try:
                self._rows = self._announced.take()
            except Error as error:
                _unread.note("Switches cannot be read: %s", type(error).__name__, error=error)
                raise SwitchesUnavailable from error
        return self._rows

    def closing(self) -> SwitchedOff | None:
        """What is told while the server is in maintenance."""
        return next(
            (_told(one) for one in self._in_force() if one.kind == SwitchKind.MAINTENANCE), None
        )

    def spared(self, declarations: list[Declaration]) -> list[Declaration]:
        """Those that no switch minds."""
        if not self._in_force():
            return declarations
        return [declared for declared in declarations if self.refusal_of(declared) is None]

    def refusal_of(self, declared: Declaration) -> SwitchedOff | None:
        """What a call of it is told; None where no switch minds."""
        switch = self.refusing(declared)
        return None if switch is None else _told(switch)

    def refusing(self, declared: Declaration) -> Switch | None:
        """The switch that refuses a call of it; None where none does."""
        return next((one for one in self._in_force() if _minds(one, declared)), None)


def turn(switch: Switch) -> Switch:
    """Set a switch that has been validated, in the place of one for the same.

    It replaces: two reasons for one tool would outlive each other's end.
    """
    with transaction.atomic(using=router.db_for_write(Switch)):
        for earlier in same(switch):
            lift(earlier, by=switch.set_by)
        switch.save()
    return switch


def lift(switch: Switch, now: datetime | None = None, *, by: Any = None) -> None:
    """End a switch now; it stays as history."""
    switch.lifted_at, switch.lifted_by = now or timezone.now(), by
    switch.save(update_fields=["lifted_at", "lifted_by"])


def same(switch: Switch) -> list[Switch]:
    """The switches in force for what `switch` is for."""
    rows = Switch.objects.using(router.db_for_write(Switch)).in_force()
    found = rows.filter(kind=switch.kind, server=switch.server, noun=switch.noun, name=switch.name)
    return list(found.exclude(pk=switch.pk))


def any_ended(since: datetime, until: datetime) -> bool:
    """Whether a switch has ended by itself after one moment and not after the other."""
    rows = Switch.objects.using(router.db_for_write(Switch))
    return rows.filter(lifted_at__isnull=True, until__gt=since, until__lte=until).exists()


def switch_for(
    kind: str,
    server: str,
    *,
    noun: str = "",
    name: str = "",
    reason: str = "",
    until: datetime | None = None,
    by: Any = None,
) -> Switch:
    """A switch that is not set yet, validated.

    Raises:
        ValidationError: no such server or name, no reason, or an end in the past.
    """
    made = Switch(
        kind=kind, server=server, noun=noun, name=name, reason=reason, until=until, set_by=by
    )
    made.full_clean()
    return made


def _minds(switch: Switch, declared: Declaration) -> bool:
    match switch.kind:
        case SwitchKind.MAINTENANCE:
            return True
        case SwitchKind.READ_ONLY:
            return declared.noun == "tool" and not declared.read_only
    return (switch.noun, switch.name) == (noun_of(declared), declared.key)


def _told(switch: Switch) -> SwitchedOff:
    what = {
        SwitchKind.MAINTENANCE: "The server is in maintenance",
        SwitchKind.READ_ONLY: "The server is read-only at the moment",
    }.get(SwitchKind(switch.kind), f"This {switch.noun} is switched off")
    seconds = None
    if switch.until is not None:
        seconds = max(1, math.ceil((switch.until - timezone.now()).total_seconds()))
    return SwitchedOff(f"{what}: {switch.reason}", seconds)
