"""`manage.py mcp_explain`: each gate that a call meets, with pass or fail and why."""

import json
from collections.abc import Iterator
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group, Permission
from django.core.cache.backends.locmem import LocMemCache
from django.core.management import CommandError, call_command
from django.utils import timezone, translation
from rest_framework.permissions import BasePermission, DjangoModelPermissions, IsAdminUser
from rest_framework.throttling import BaseThrottle, UserRateThrottle

from mcp_app.access.switches import switch_for, turn
from mcp_app.access.throttling import SlidingWindowThrottle, ToolThrottle, UserThrottle
from mcp_app.access.view import DeclaredView
from mcp_app.auth.tokens import end_secret, issue, revoke, rotate
from mcp_app.catalog.registry import default_server
from mcp_app.hooks import deny
from mcp_app.models import Token
from mcp_app.transports.subjects import access_of, caller_of
from project.quiz.models import Room


def gates(*words: str) -> dict[str, tuple[Any, str]]:
    """Whether each gate passed, and why."""
    out = StringIO()
    try:
        call_command("mcp_explain", *words, "--json", stdout=out)
    except CommandError:
        assert out.getvalue(), "the gates are printed first"
    rows = json.loads(out.getvalue())
    return {row["name"]: (row["passed"], row["why"]) for row in rows}


def prefix(token: Any) -> str:
    return str(token.secrets.get().lookup)


def test_who_may_call_passes_each_gate(ana: Any) -> None:
    token, _ = issue(user=ana, name="laptop")
    told = gates("shell_add", "--token", prefix(token))
    assert told == {
        "endpoint": (True, "it is served"),
        "credential": (True, "laptop, Active"),
        "maintenance": (True, "not closed"),
        "permission IsAuthenticated": (True, "asked as an HTTP GET"),
        "switches": (True, "none is set"),
        "limits of the token": (True, "the token has none"),
        "scopes": (True, "needs none"),
    }
    assert list(told)[:4] == ["endpoint", "credential", "maintenance", "permission IsAuthenticated"]


def test_without_a_token_what_a_token_decides_is_left_open(ana: Any) -> None:
    out = StringIO()
    call_command("mcp_explain", "shell_write", "--user", "ana", "--json", stdout=out)
    by_token = {row["name"]: row["why"] for row in json.loads(out.getvalue()) if row["by_token"]}
    assert by_token == {
        "credential": "the user is active; a token may have ended, expired or been revoked",
        "limits of the token": "a token may be limited to reading, or to named tools",
        "scopes": "the token needs rooms:write",
    }
    told = gates("shell_add", "--user", "ana")
    assert told["limits of the token"] == (None, "a token may be limited to named tools")
    assert told["scopes"] == (True, "needs none")
    out = StringIO()
    call_command("mcp_explain", "shell_write", "--user", "ana", stdout=out)
    assert "depends on the token  scopes " in out.getvalue()


def test_each_gate_that_is_shut_says_why(ana: Any) -> None:
    ana.is_staff = True
    ana.save()
    token, _ = issue(user=ana, name="narrow", tools=["shell_add"], read_only=True)
    told = gates("shell_write", "--token", prefix(token))
    assert told["credential"] == (True, "narrow, Active")
    both = "the token may only read, and this is not read-only; the token may call shell_add alone"
    assert told["limits of the token"] == (False, both)
    assert told["scopes"] == (False, "the token lacks rooms:write")
    reads, _ = issue(user=ana, name="reads", tools=["shell_add", "shell_write"], read_only=True)
    told = gates("shell_write", "--token", prefix(reads))
    only = "the token may only read, and this is not read-only"
    assert told["limits of the token"] == (False, only)
    within = "the token is limited to reading, shell_add, shell_write"
    assert gates("shell_add", "--token", prefix(reads))["limits of the token"] == (True, within)
    nothing, _ = issue(user=ana, name="nothing", tools=[])
    told = gates("shell_add", "--token", prefix(nothing))
    assert told["limits of the token"] == (False, "the token may call no tool at all")
    refused = gates("shell_secret", "--user", "ana")
    assert refused["permission (IsAuthenticated & ~IsAdminUser)"] == (False, "asked as an HTTP GET")


def test_a_token_is_of_the_user_who_is_named(ana: Any, django_user_model: Any) -> None:
    token, _ = issue(user=ana, name="laptop")
    assert gates("shell_add", "--user", "ana", "--token", prefix(token)) == gates(
        "shell_add", "--token", prefix(token)
    )
    django_user_model.objects.create_user("ben")
    with pytest.raises(CommandError, match="not of ben"):
        call_command("mcp_explain", "shell_add", "--user", "ben", "--token", prefix(token))
    with pytest.raises(CommandError, match="who calls"):
        call_command("mcp_explain", "shell_add")


def test_it_speaks_to_programs_in_one_language(ana: Any) -> None:
    token, _ = issue(user=ana, name="laptop")
    with translation.override("de"):
        assert gates("shell_add", "--token", prefix(token))["credential"] == (
            True,
            "laptop, Active",
        )


def test_who_may_not_sign_in_is_told_so(ana: Any, settings: Any) -> None:
    ana.is_active = False
    ana.save()
    settings.MCP_APP = {**settings.MCP_APP, "ENABLED": False}
    told = gates("shell_add", "--user", "ana")
    assert told["credential"] == (False, "the user is not active")
    assert told["endpoint"][0] is False


def test_a_closed_server_is_the_gate_before_permission(ana: Any) -> None:
    turn(switch_for("maintenance", "default", reason="Moving house."))
    told = gates("shell_add", "--user", "ana")
    assert told["maintenance"] == (False, "The server is in maintenance: Moving house.")


def test_a_dead_credential_is_a_gate_of_its_own(ana: Any) -> None:
    token, secret = issue(user=ana, name="gone")
    revoke(token)
    told = gates("shell_add", "--token", secret.reveal())
    assert told["credential"] == (False, "the token is revoked")


@pytest.mark.parametrize(
    ("end", "why"),
    [
        (lambda token: rotate(token, grace=timedelta(0)), "this secret is over: it was replaced"),
        (lambda token: end_secret(token, prefix(token)), "this secret is over: it was replaced"),
        (
            lambda token: Token.objects.filter(pk=token.pk).update(expires_at=timezone.now()),
            "the token has expired",
        ),
        (lambda token: get_user_model().objects.update(is_active=False), "the user is not active"),
    ],
    ids=["rotated", "ended", "expired", "inactive"],
)
def test_what_ended_a_credential_is_said(ana: Any, end: Any, why: str) -> None:
    token, secret = issue(user=ana, name="laptop")
    end(token)
    passed, told = gates("shell_add", "--token", secret.reveal()[4:16])["credential"]
    assert (passed, told.startswith(why)) == (False, True), told


# --- Django's permissions ------------------------------------------------------------------------


class MayClose(BasePermission):
    """Asks for two permissions, in its own way."""

    def has_permission(self, request: Any, view: Any) -> bool:
        return bool(request.user.has_perms(["quiz.change_room", "quiz.delete_room"]))


class Misspelt(BasePermission):
    """Asks for one that there is not."""

    def has_permission(self, request: Any, view: Any) -> bool:
        return bool(request.user.has_perm("quiz.closes_room"))


@pytest.fixture
def room_tool() -> Iterator[Any]:
    """Declare a tool about rooms, under these permission classes."""

    def declare(*classes: Any) -> str:
        @default_server.tool(
            name="shell_room", permission_classes=list(classes), queryset=Room.objects.all()
        )
        def room() -> None:
            """Add a room."""

        return "shell_room"

    yield declare
    default_server.remove("shell_room")


def granted(holder: Any, *codenames: str) -> None:
    found = Permission.objects.filter(content_type__app_label="quiz", codename__in=codenames)
    rights = holder.permissions if isinstance(holder, Group) else holder.user_permissions
    rights.add(*found)


def test_a_permission_of_django_that_is_missing_is_named(ana: Any, room_tool: Any) -> None:
    for name in ("hosts", "editors"):
        granted(Group.objects.create(name=name), "add_room")
    tool = room_tool(DjangoModelPermissions)
    assert gates(tool, "--user", "ana")["permission DjangoModelPermissions"] == (
        False,
        "asked as an HTTP POST; the user lacks quiz.add_room, which the groups editors, hosts have",
    )
    ana.groups.add(Group.objects.get(name="hosts"))
    told = gates(tool, "--user", "ana")["permission DjangoModelPermissions"]
    assert told == (True, "asked as an HTTP POST")


def test_permissions_are_named_whatever_class_asks_for_them(ana: Any, room_tool: Any) -> None:
    granted(ana, "change_room")
    tool = room_tool(MayClose, Misspelt, IsAdminUser | MayClose)
    told = gates(tool, "--user", "ana")
    lacks = "the user lacks quiz.delete_room, which no group has"
    assert told["permission MayClose"] == (False, f"asked as an HTTP POST; {lacks}")
    assert told["permission (IsAdminUser | MayClose)"] == (False, f"asked as an HTTP POST; {lacks}")
    odd = "the user lacks quiz.closes_room, and there is no permission of that name"
    assert told["permission Misspelt"] == (False, f"asked as an HTTP POST; {odd}")
    assert "has_perm" not in vars(ana)


def test_what_only_a_call_can_tell_is_said_to_be_so(ana: Any, settings: Any) -> None:
    settings.MCP_APP = {**settings.MCP_APP, "BEFORE_CALL": [never]}

    @default_server.tool(confirm="Really {room}?")
    def shell_close(room: str) -> str:
        """Close."""
        return room

    try:
        told = gates("shell_close", "--user", "ana")
    finally:
        default_server.remove("shell_close")
    assert told["hook never"][0] is None
    assert told["confirmation"] == (None, "a person is asked: Really {room}?")


class Drf(UserRateThrottle):
    """A class of DRF's own kind."""

    rate = "2/min"
    cache = LocMemCache("explained", {})


class Odd(BaseThrottle):
    """A class that only knows by counting."""

    def allow_request(self, request: Any, view: Any) -> bool:
        raise AssertionError("it was asked")


class Away(SlidingWindowThrottle):
    """A class whose counter is away."""

    rate = "1/min"

    def get_cache_key(self, request: Any, view: Any) -> str:
        raise ConnectionError


def test_throttles_are_asked_and_count_nothing(ana: Any, settings: Any) -> None:
    rates = {"user": "2/hour"}
    settings.MCP_APP = {**settings.MCP_APP, "THROTTLE_RATES": rates}

    @default_server.tool(
        read_only=True, throttle_classes=[UserThrottle, ToolThrottle, Drf, Odd, Away]
    )
    def shell_slow() -> str:
        """Take its time."""
        return "done"

    try:
        before = [gates("shell_slow", "--user", "ana") for _ in range(3)][-1]
        request = access_of(caller_of(ana, source="command")).request_for(
            default_server.tools["shell_slow"]
        )
        view: Any = DeclaredView(default_server.tools["shell_slow"], request)
        for cls in (UserThrottle, UserThrottle, Drf, Drf):
            assert cls().allow_request(request, view)
        after = gates("shell_slow", "--user", "ana")
    finally:
        default_server.remove("shell_slow")
    assert before["throttle UserThrottle"] == (True, "0 of 2/hour are used")
    assert before["throttle ToolThrottle"] == (True, "it limits nothing here")
    assert before["throttle Drf"] == (True, "0 of 2/min are used")
    assert before["throttle Odd"] == (None, "it can only be asked by counting a call")
    assert before["throttle Away"] == (None, "it failed with ConnectionError")
    assert after["throttle UserThrottle"][0] is False
    assert after["throttle UserThrottle"][1].startswith("2 of 2/hour are used; the next fits in ")
    assert after["throttle Drf"][0] is False


def never(ctx: Any, tool: Any, arguments: Any) -> Any:
    """Refuse."""
    return deny("never")


def test_what_a_hook_hides_is_shut(ana: Any, settings: Any) -> None:
    settings.MCP_APP = {**settings.MCP_APP, "LIST_TOOLS": [lambda ctx, tools: []]}
    assert gates("shell_add", "--user", "ana")["hooks LIST_TOOLS"][0] is False


def test_the_table_reads_as_a_list_and_the_exit_code_says_no(ana: Any) -> None:
    out = StringIO()
    call_command("mcp_explain", "shell_add", "--user", "ana", stdout=out)
    assert out.getvalue().splitlines()[0].split()[:3] == ["pass", "endpoint", "it"]
    with pytest.raises(CommandError) as refused:
        call_command("mcp_explain", "server_stats", "--user", "ana", stdout=StringIO())
    assert refused.value.returncode == 1
    for wrong in (("nowhere", "--user", "ana"), ("shell_add", "--token", "nobody")):
        with pytest.raises(CommandError):
            call_command("mcp_explain", *wrong)
