"""Tools over the quiz's players and matches, their server at /mcp, and who calls them."""

from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.urls import include, path

from mcp_app import MCPServer
from mcp_app.auth.tokens import issue
from mcp_app.integrations import ModelTools
from mcp_app.testing import DOORS, Door, MCPClient
from mcp_app.urls import endpoint
from project.quiz.models import Match, Player, Room

ALL = ["list", "get", "create", "update", "delete"]
FILTERS = [
    "room",
    "room__status",
    "nickname",
    "nickname__icontains",
    "country__in",
    "left_at__isnull",
    "left_at__lt",
    "left_at__date",
    "id__in",
    "id__gt",
]


class PlayerTools(ModelTools):
    """Players in rooms that are not hidden; of those staff alone knows."""

    def get_queryset(self, ctx: Any) -> Any:
        found = super().get_queryset(ctx)
        return found if ctx.user.is_staff else found.exclude(room__name="hidden")

    def get_related(self, ctx: Any, name: str, queryset: Any) -> Any:
        assert name == "room"
        return queryset if ctx.user.is_staff else queryset.exclude(name="secret")


def player_tools(server: MCPServer) -> None:
    """Declare them, all five."""
    options: dict[str, Any] = {
        "fields": ["id", "nickname", "country", "left_at", "room", "room__name", "room__status"],
        "filters": FILTERS,
        "ordering": ["nickname", "room"],
        "search": ["nickname", "room__name"],
        "writable": ["nickname", "country", "room"],
        "sensitive": ["country"],
    }
    PlayerTools(Player, tools=ALL, server=server, **options)


def declared(model: Any = Player, **options: Any) -> MCPServer:
    """A server with the tools of one declaration."""
    server = MCPServer("rows of one test")
    ModelTools(model, server=server, **options)
    return server


def may(user: Any, *codenames: str) -> None:
    """Give a user permissions of the quiz."""
    found = Permission.objects.filter(content_type__app_label="quiz", codename__in=codenames)
    assert len(found) == len(codenames)
    user.user_permissions.add(*found)


def client_of(*codenames: str, door: Door = DOORS[0], name: str = "ada", **fields: Any) -> Any:
    """A client of a new user who may do that with players."""
    user = get_user_model().objects.create_user(name, **fields)
    may(user, *(f"{each}_player" if "_" not in each else each for each in codenames))
    _, secret = issue(user=user, name="laptop")
    return MCPClient(secret.reveal(), version="2026-07-28", door=door, server=server)


def room(name: str = "one", **fields: Any) -> Room:
    """A room."""
    code = f"R{Room.objects.count():05}"
    plain = {"invite_code": code, "topic": "capitals", "difficulty": "easy"}
    return Room.objects.create(**{**plain, "name": name} | fields)


def player(nickname: str = "Bob", at: Room | None = None, **fields: Any) -> Player:
    """A player."""
    plain = {"room": at or room(), "nickname": nickname, "country": "JP"}
    return Player.objects.create(**plain | fields)


server = MCPServer("players")
player_tools(server)
ModelTools(Match, fields=["id", "status", "room"], filters=["id", "room__in"], server=server)
assert not server.problems, server.problems

urlpatterns = [path("mcp", include(endpoint(server)))]
