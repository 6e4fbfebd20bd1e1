"""The quiz's tools: seventeen that read, two of them a model's rows, and two that write."""

import datetime as dt
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated
from uuid import UUID

from django.utils import timezone
from pydantic import Field
from rest_framework.permissions import IsAdminUser, IsAuthenticated

from mcp_app import Context, Progress, ToolError, tool
from mcp_app.integrations import ModelTools
from project.quiz import ledger
from project.quiz.arguments import Cursor, InviteCode, Limit, Reason, Since, Text, Top, Until
from project.quiz.choices import (
    Category,
    Destination,
    Difficulty,
    ForwardingState,
    GameType,
    Region,
    RoomStatus,
    Severity,
)
from project.quiz.errors import QuizError
from project.quiz.models import Announcement, Match, Room
from project.quiz.permissions import CanChange, CanView
from project.quiz.rejections import count_rejection
from project.quiz.rounds import DailySession, SoloSession, daily_session, solo_session
from project.quiz.services import (
    announcing,
    closing,
    game_state,
    incidents,
    leaderboard,
    matches,
    security,
    server,
)
from project.quiz.services import forwarding as logs
from project.quiz.services import match_diagnostics as diagnostics
from project.quiz.services import rooms as room_service

ROOMS = Room.objects.all()
MATCHES = Match.objects.all()
ROOMS_WRITE = "rooms:write"


@contextmanager
def told() -> Iterator[None]:
    """Let the model read what a service refused and why."""
    try:
        yield
    except QuizError as error:
        raise ToolError(str(error)) from error


@tool(read_only=True, permission_classes=[IsAdminUser])
def server_health() -> server.Health:
    """Tell whether the game servers, the database and log forwarding are well right now."""
    return server.health(now=timezone.now())


@tool(read_only=True, permission_classes=[IsAdminUser])
def server_stats() -> server.Stats:
    """Count rooms and players now, and matches, answers and events of the last 24 hours."""
    return server.stats(now=timezone.now())


@tool(read_only=True, permission_classes=[CanView], queryset=ROOMS)
def list_rooms(
    status: Annotated[RoomStatus | None, Field(description="Only rooms of this status.")] = None,
    limit: Limit = 50,
    page: Annotated[int, Field(ge=1, le=100_000, description="The page, from 1.")] = 1,
) -> room_service.RoomList:
    """List rooms, newest first, a page at a time, with the total over all pages."""
    return room_service.list_rooms(status, limit=limit, page=page)


@tool(read_only=True, permission_classes=[CanView], queryset=ROOMS)
def get_room(invite_code: InviteCode) -> room_service.RoomDetail:
    """Show one room with everyone who is or was in it."""
    with told():
        return room_service.room_detail(invite_code)


@tool(read_only=True, permission_classes=[CanView], queryset=ROOMS)
def get_room_game_state(invite_code: InviteCode) -> game_state.GameState:
    """Show the timers, leaderboard and members of a room's latest match.

    Questions and answers are not shown, and points count only once a question is revealed.
    """
    with told():
        return game_state.game_state(invite_code, now=timezone.now())


@tool(read_only=True, permission_classes=[IsAuthenticated], sensitive=["signed_ledger"])
def replay_solo_ledger(
    signed_ledger: Annotated[
        str,
        Field(min_length=1, max_length=20_000, description="The ledger as the game signed it."),
    ],
) -> ledger.Replay:
    """Check the signed ledger of a solo round and score it again; nothing is stored.

    A ledger that was tampered with is not accepted; the answer says on what ground.
    """
    verdict = ledger.replay(signed_ledger)
    if verdict.rejection:
        count_rejection(verdict.rejection, timezone.now())
    return verdict


@tool(read_only=True, permission_classes=[IsAdminUser])
def generate_daily_session(
    date: Annotated[dt.date, Field(description="The day of the round, today (UTC) or earlier.")],
) -> DailySession:
    """Generate the daily round of a date with its answers: ten questions, the same every time."""
    with told():
        return daily_session(date, today=timezone.now().astimezone(dt.UTC).date())


@tool(read_only=True, permission_classes=[IsAdminUser])
def generate_solo_questions(
    difficulty: Annotated[Difficulty, Field(description="How well known the countries are.")],
    region: Annotated[Region | None, Field(description="Only countries of this region.")] = None,
    count: Annotated[int, Field(ge=1, le=250, description="How many questions.")] = 10,
    seed: Annotated[
        int, Field(ge=0, le=2**31 - 1, description="Another seed gives other questions.")
    ] = 0,
) -> SoloSession:
    """Generate a solo round with its answers; the same arguments give the same round."""
    return solo_session(difficulty, region, count, seed)


@tool(read_only=True, permission_classes=[IsAuthenticated])
def leaderboard_countries(
    difficulty: Annotated[Difficulty | None, Field(description="Default: every one.")] = None,
    game_type: Annotated[GameType | None, Field(description="Default: every one.")] = None,
    limit: Top = 20,
) -> leaderboard.CountryLeaderboard:
    """Rank countries by the points of their players."""
    return leaderboard.country_leaderboard(difficulty, game_type, limit=limit)


@tool(read_only=True, permission_classes=[CanView], queryset=MATCHES)
def recent_matches(
    since: Since = None, limit: Limit = 50, cursor: Cursor = None
) -> matches.RecentMatches:
    """List the matches of the last seven days or less, newest first."""
    with told():
        return matches.recent_matches(since, limit=limit, cursor=cursor, now=timezone.now())


@tool(read_only=True, permission_classes=[CanView], queryset=MATCHES)
def get_match_diagnostics(
    match_id: Annotated[UUID, Field(description="The match, as recent_matches names it.")],
) -> diagnostics.MatchDiagnostics:
    """Show how well a match ran: a summary, and what the servers reported of it."""
    with told():
        return diagnostics.match_diagnostics(match_id, now=timezone.now())


@tool(read_only=True, permission_classes=[CanView], queryset=MATCHES)
def get_match_timeline(
    match_id: Annotated[UUID, Field(description="The match, as recent_matches names it.")],
) -> matches.MatchTimeline:
    """Show what happened in a match, in order; data of an open question are withheld."""
    with told():
        return matches.match_timeline(match_id)


@tool(read_only=True, permission_classes=[IsAdminUser])
def incident_timeline(  # noqa: PLR0917 - a tool's arguments always come by name
    since: Since = None,
    until: Until = None,
    category: Annotated[Category | None, Field(description="Only this category.")] = None,
    severity: Annotated[Severity | None, Field(description="Exactly this severity.")] = None,
    code: Annotated[
        Text | None, Field(max_length=40, description="Only this code, such as SLOW_QUERY.")
    ] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> incidents.IncidentTimeline:
    """List what the servers reported in the last seven days or less, newest first."""
    wanted = incidents.IncidentFilter(since, until, category, severity, code)
    with told():
        return incidents.incident_timeline(wanted, limit=limit, cursor=cursor, now=timezone.now())


@tool(read_only=True, permission_classes=[IsAdminUser])
def security_summary(since: Since = None) -> security.SecuritySummary:
    """Sum up security events: severities, codes, busiest addresses, and rejected ledgers."""
    with told():
        return security.security_summary(since, now=timezone.now())


@tool(read_only=True, permission_classes=[IsAdminUser])
def forwarding_status(
    destination: Annotated[Destination | None, Field(description="Only this one.")] = None,
    state: Annotated[ForwardingState | None, Field(description="Only batches so.")] = None,
    since: Since = None,
    limit: Limit = 50,
) -> logs.ForwardingStatus:
    """Tell whether logs reach their destinations: totals, and the newest batches that match."""
    wanted = logs.ForwardingFilter(since, destination, state)
    with told():
        return logs.forwarding_status(wanted, limit=limit, now=timezone.now())


@tool(
    destructive=True,
    confirm="Close room {invite_code} for good ({reason})?",
    permission_classes=[CanChange],
    queryset=ROOMS,
    scopes=[ROOMS_WRITE],
)
def close_room(ctx: Context, invite_code: InviteCode, reason: Reason) -> closing.ClosedRoom:
    """Close a room for good: its running match is aborted and its players are sent out."""
    with told():
        closed = closing.close_room(invite_code, reason, now=timezone.now())
    ctx.log("info", f"Room {closed.invite_code} closed; {closed.players_removed} players sent out.")
    return closed


@dataclass(frozen=True)
class Announced:
    """The announcement's id and how many players it reached."""

    announcement_id: int
    reached: int


@tool(permission_classes=[CanChange], queryset=ROOMS, scopes=[ROOMS_WRITE])
def announce(
    ctx: Context,
    message: Annotated[Text, Field(min_length=1, max_length=280, description="What to tell them.")],
    invite_code: Annotated[
        Text | None, Field(max_length=12, description="Only this room. Default: every open room.")
    ] = None,
) -> Generator[Progress, None, Announced]:
    """Send a message to the players in one room or in all open rooms, reporting progress."""
    with told():
        announcement = announcing.create_announcement(
            message, invite_code, author_id=ctx.user.pk, now=timezone.now()
        )
    players = announcing.audience(announcement)
    reached = 0
    for reached in announcing.deliver(announcement, players):
        yield Progress(reached, len(players), f"Reached {reached} of {len(players)} players")
    return Announced(announcement.pk, reached)


ModelTools(
    Announcement,
    fields=["id", "message", "room__invite_code", "created_at", "reached"],
    filters=["room__invite_code", "created_at__gte"],
    ordering=["created_at", "reached"],
    search=["message"],
)
