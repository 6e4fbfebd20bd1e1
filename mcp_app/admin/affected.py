"""Whom a switch would touch: what runs now, who called in the last day, who holds a session."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from django.db.models import Count, Q
from django.utils import timezone

from mcp_app.audit.storage import database
from mcp_app.auth.liveness import live_sessions
from mcp_app.catalog.registry import servers
from mcp_app.models import UNENDED, CallEvent, Switch, SwitchKind
from mcp_app.models.switches import SwitchNoun

SPAN: Final = timedelta(days=1)
MOST: Final = 10
"""Running calls and callers that are named."""

_METHODS: Final = {
    SwitchNoun.TOOL: "tools/call",
    SwitchNoun.RESOURCE: "resources/read",
    SwitchNoun.PROMPT: "prompts/get",
}


@dataclass(frozen=True, slots=True)
class Affected:
    """What the call log and the sessions say.

    Attributes:
        calls: how many in the last day would have been refused.
        users: those who called the most, each with their number of calls.
        users_total: how many called; calls that nobody was recognised for are no user's.
        tokens_total: with how many tokens.
        running: calls that have begun and not ended.
        running_total: how many there are of them.
        sessions: live sessions, whose clients are told that their lists have changed.
    """

    calls: int
    users: list[tuple[str, int]]
    users_total: int
    tokens_total: int
    running: list[CallEvent]
    running_total: int
    sessions: int


def affected(switch: Switch) -> Affected:
    """Of a switch that is not set yet. The log does not know servers: calls count by their name."""
    since = timezone.now() - SPAN
    rows = CallEvent.objects.using(database()).filter(_meant(switch), created_at__gt=since)
    rows = rows.order_by().defer("arguments", "error_text")
    counts = rows.aggregate(
        calls=Count("pk"),
        users=Count("username", distinct=True, filter=~Q(username="")),
        tokens=Count("token", distinct=True),
    )
    callers = rows.exclude(username="").values_list("username").annotate(n=Count("pk"))
    running = rows.filter(outcome__in=UNENDED)
    return Affected(
        calls=counts["calls"],
        users=list(callers.order_by("-n", "username")[:MOST]),
        users_total=counts["users"],
        tokens_total=counts["tokens"],
        running=list(running.order_by("-created_at")[:MOST]),
        running_total=running.count(),
        sessions=live_sessions().count(),
    )


def _meant(switch: Switch) -> Q:
    """The calls that it would refuse."""
    if switch.kind == SwitchKind.MAINTENANCE:
        return Q()
    if switch.kind == SwitchKind.READ_ONLY:
        return Q(method=_METHODS[SwitchNoun.TOOL], tool__in=_writing(switch.server))
    method = Q(method=_METHODS[SwitchNoun(switch.noun)])
    # A template's reads are logged by the addresses that they asked for.
    begins, brace, _ = switch.name.partition("{")
    return method & (Q(tool__startswith=begins) if brace else Q(tool=switch.name))


def _writing(name: str) -> list[str]:
    found: list[Any] = [server for server in servers() if server.name == name]
    return [tool.name for server in found for tool in server.tools.values() if not tool.read_only]
