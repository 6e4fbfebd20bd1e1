"""Calls of two days for the example's log, so that its pages have something to show.

They are written as the endpoint writes its own: redacted, by who called, at the moments that they
are said to have begun. The secrets of the tokens that they came with are nobody's.
"""

import datetime as dt
import random
from dataclasses import dataclass, field
from typing import Any, Final

from django.contrib.auth import get_user_model

from mcp_app.audit.events import to_event
from mcp_app.audit.storage import Entry, database, store
from mcp_app.auth.tokens import issue
from mcp_app.catalog.registry import default_server
from mcp_app.dispatch.interfaces import CallRecord, Decision, Outcome
from mcp_app.models import CallEvent, Token, TokenSecret
from project.people import ADMINISTRATOR, SUPPORTER, TOKEN_NAME, VISITOR

ROUNDS: Final = 6
"""How often the usual work comes along."""

_BETWEEN: Final = (dt.timedelta(minutes=3), dt.timedelta(minutes=17))
"""Between two calls, the least and the most."""


_BEFORE: Final = dt.timedelta(hours=1)
"""Between the issue of a token and its first call."""


@dataclass(frozen=True, slots=True)
class Agent:
    """A token of somebody's, and the client that it is used by."""

    username: str
    token: str
    client: tuple[str, str]
    address: str
    scopes: tuple[str, ...] = ()
    revision: str = "2026-07-28"


@dataclass(frozen=True, slots=True)
class Call:
    """What an agent asks for, and what comes of it."""

    agent: Agent
    tool: str
    arguments: dict[str, Any] = field(default_factory=dict)
    outcome: Outcome = Outcome.OK
    error: tuple[str, str] = ("", "")
    """Its class and its text."""
    decision: Decision = Decision.ALLOW
    milliseconds: float = 20.0


LAPTOP: Final = Agent(
    SUPPORTER, TOKEN_NAME, ("claude-code", "2.1.4"), "198.51.100.24", ("rooms:write",)
)
EDITOR: Final = Agent(SUPPORTER, "Cursor, reading", ("cursor", "1.7.2"), "198.51.100.24")
VISIT: Final = Agent(VISITOR, "Vera's assistant", ("Visual Studio Code", "1.106"), "203.0.113.9")
REPORT: Final = Agent(
    ADMINISTRATOR, "Nightly report", ("report-agent", "0.3.0"), "192.0.2.15", (), "2025-11-25"
)
AGENTS: Final = (LAPTOP, EDITOR, VISIT, REPORT)

USUAL: Final = (
    Call(REPORT, "server_health", milliseconds=41),
    Call(REPORT, "server_stats", milliseconds=96),
    Call(REPORT, "security_summary", milliseconds=58),
    Call(LAPTOP, "list_rooms", {"status": "playing", "limit": 20}, milliseconds=23),
    Call(LAPTOP, "get_room", {"invite_code": "PLAY42"}, milliseconds=12),
    Call(LAPTOP, "get_room_game_state", {"invite_code": "PLAY42"}, milliseconds=18),
    Call(EDITOR, "recent_matches", {"limit": 10}, milliseconds=31),
    Call(EDITOR, "list_rooms", {"limit": 50}, milliseconds=27),
    Call(VISIT, "leaderboard_countries", {"limit": 10}, milliseconds=15),
)
"""What goes well, again and again."""

UNUSUAL: Final = (
    Call(
        LAPTOP,
        "get_room",
        {"invite_code": "PLAY24"},
        Outcome.ERROR,
        ("ToolError", "There is no room PLAY24."),
    ),
    Call(
        REPORT,
        "incident_timeline",
        {"limit": 200},
        Outcome.FAILED,
        ("OperationalError", "the connection to the database was lost"),
        milliseconds=2210,
    ),
    Call(
        VISIT,
        "list_rooms",
        {"limit": 20},
        Outcome.DENIED,
        ("UnknownTool", "permission classes refused: CanView"),
        Decision.DENY,
        2,
    ),
    Call(
        EDITOR,
        "announce",
        {"message": "The quiz begins in five minutes."},
        Outcome.DENIED,
        ("InsufficientScope", "token lacks the scopes rooms:write"),
        Decision.DENY,
        1.4,
    ),
    Call(
        EDITOR,
        "list_rooms",
        {"limit": 5000},
        Outcome.INVALID,
        ("", "limit: Input should be less than or equal to 200"),
        milliseconds=1.1,
    ),
    Call(
        LAPTOP,
        "close_room",
        {"invite_code": "PLAY42", "reason": "Asked for by its host"},
        Outcome.DENIED,
        ("Declined", "This call needs a person's confirmation: the user declined."),
        Decision.CONFIRM,
        8120,
    ),
    Call(
        VISIT,
        "list_players",
        {},
        Outcome.UNKNOWN,
        ("UnknownTool", "There is no tool list_players."),
        Decision.DENY,
        0.9,
    ),
    Call(
        REPORT,
        "generate_daily_session",
        {},
        Outcome.TIMEOUT,
        ("TimeoutError", "ran longer than 60 seconds"),
        milliseconds=60_004,
    ),
    Call(
        LAPTOP,
        "announce",
        {"message": "A new season starts tonight."},
        Outcome.CANCELLED,
        ("Cancelled", ""),
        milliseconds=1450,
    ),
)
"""What does not go well, once each."""


def seed_calls(now: dt.datetime) -> bool:
    """Fill the log with calls that began before `now`, the last ones of yesterday's and today's.

    Returns False, and changes nothing, where there are calls already.
    """
    if CallEvent.objects.using(database()).exists():
        return False
    secrets = {agent: _secret(agent) for agent in AGENTS}
    chance = random.Random(42)  # noqa: S311 - nothing to guess
    records = [_record(call, at, secrets, chance) for call, at in _schedule(now, chance)]
    entries = [Entry(record, to_event(record)) for record in [*records, _stranger(records[3])]]
    store(sorted(entries, key=lambda entry: entry.record.started_at))
    for agent, secret in secrets.items():
        mine = [each.started_at for each in records if each.token_lookup == secret.lookup]
        first, last = (dt.datetime.fromtimestamp(pick(mine), dt.UTC) for pick in (min, max))
        TokenSecret.objects.filter(pk=secret.pk).update(
            last_used_at=last, last_used_ip=agent.address
        )
        _date_back(secret, first - _BEFORE)
    return True


def _date_back(secret: TokenSecret, at: dt.datetime) -> None:
    """Have a secret, its token and its user been there at `at`, if they were made later."""
    token = secret.token
    TokenSecret.objects.filter(pk=secret.pk, created_at__gt=at).update(created_at=at)
    Token.objects.filter(pk=token.pk, created_at__gt=at).update(created_at=at)
    users = get_user_model().objects
    users.filter(pk=token.user_id, date_joined__gt=at).update(date_joined=at)


def _schedule(now: dt.datetime, chance: random.Random) -> list[tuple[Call, dt.datetime]]:
    """The calls of yesterday's and today's halves, each with its beginning."""
    calls = [call for _ in range(ROUNDS) for call in USUAL]
    for n, call in enumerate(UNUSUAL):
        calls.insert(3 + 6 * n, call)
    half = len(calls) // 2
    ends = (now - dt.timedelta(days=1), now - dt.timedelta(minutes=4))
    return [
        *_backwards(calls[:half], ends[0], chance),
        *_backwards(calls[half:], ends[1], chance),
    ]


def _backwards(
    calls: list[Call], end: dt.datetime, chance: random.Random
) -> list[tuple[Call, dt.datetime]]:
    at, found = end, []
    least, most = (span.total_seconds() for span in _BETWEEN)
    for call in reversed(calls):
        found.append((call, at))
        at -= dt.timedelta(seconds=chance.uniform(least, most))
    return found


def _secret(agent: Agent) -> TokenSecret:
    """The newest of the agent's token, which is issued where there is none of that name."""
    user = get_user_model().objects.get(username=agent.username)
    token = Token.objects.filter(user=user, name=agent.token).order_by("-pk").first()
    if token is None:
        token, _ = issue(user=user, name=agent.token, scopes=list(agent.scopes))
    found = token.secrets.order_by("-pk").first()
    assert found is not None
    return found


def _record(
    call: Call, at: dt.datetime, secrets: dict[Agent, TokenSecret], chance: random.Random
) -> CallRecord:
    agent, secret = call.agent, secrets[call.agent]
    declared = default_server.tools.get(call.tool)
    record = CallRecord(
        started_at=at.timestamp(),
        duration=call.milliseconds * chance.uniform(1, 1.5) / 1000,
        method="tools/call",
        tool=call.tool,
        source="token",
        transport="asgi",
        decision=call.decision,
        outcome=call.outcome,
        error_class=call.error[0],
        error_text=call.error[1],
        correlation_id=f"{chance.getrandbits(128):032x}",
        arguments=call.arguments,
        result_bytes=chance.randrange(300, 9000) if call.outcome == Outcome.OK else None,
        protocol_version=agent.revision,
        client_name=agent.client[0],
        client_version=agent.client[1],
        address=agent.address,
        request_id=chance.randrange(1, 60),
        user=secret.token.user,
        token=secret.token,
        token_lookup=secret.lookup,
    )
    if declared is not None:
        record.disclosure = declared.arguments.disclosure
    return record


def _stranger(after: CallRecord) -> CallRecord:
    """Somebody whom nobody knows, a minute after a call."""
    return CallRecord(
        started_at=after.started_at + 60,
        duration=0.002,
        method="tools/call",
        tool="list_rooms",
        transport="asgi",
        outcome=Outcome.UNAUTHENTICATED,
        error_class="Unauthenticated",
        error_text="unknown",
        correlation_id=f"{int(after.correlation_id, 16) ^ 1:032x}",
        protocol_version="2026-07-28",
        client_name="curl",
        client_version="1",
        address="203.0.113.77",
        token_lookup="7QmZc0PdWx1K",  # noqa: S106 - the public part of a secret that there is not
    )
