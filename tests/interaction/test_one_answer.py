"""One answer about one tool, whoever is asked: list, call, explanation, helper (D-064, 065, 068).

Every user with all scopes, limits and switches, against tools of every kind and a short model.
"""

from dataclasses import dataclass
from itertools import product
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.http import HttpRequest
from rest_framework.permissions import IsAdminUser, IsAuthenticated

from mcp_app.access.checks import CallerAccess
from mcp_app.access.explanation import explain
from mcp_app.access.switches import switch_for, turn
from mcp_app.auth.tokens import issue, narrowing
from mcp_app.catalog.registry import MCPServer
from mcp_app.dispatch.context import Caller
from mcp_app.models import Token
from mcp_app.testing import Answer, MCPClient

SCOPES = {"all": {"implies": ["orders"]}, "orders": "", "orders:read": "", "other": ""}
IMPLIED = {
    "all": {"all", "orders", "orders:read"},
    "orders": {"orders", "orders:read"},
    "orders:read": {"orders:read"},
    "other": {"other"},
    "gone": set[str](),
}


@dataclass(frozen=True)
class Kind:
    """What a tool asks for."""

    name: str
    staff: bool = False
    scopes: tuple[str, ...] = ()
    reads: bool = True


KINDS = [
    Kind("anybody"),
    Kind("writer", reads=False),
    Kind("scoped", scopes=("orders:read",)),
    Kind("twice_scoped", scopes=("orders", "other"), reads=False),
    Kind("staff_only", staff=True),
    Kind("staff_scoped", staff=True, scopes=("orders:read",), reads=False),
]
HELD = [(), ("orders:read",), ("orders",), ("all",), ("all", "other"), ("other", "gone")]
LIMITS: list[list[str] | None] = [None, [], ["scoped", "staff_only", "was_once"]]
SWITCHES = [None, ("off", "scoped"), ("read_only", ""), ("maintenance", "")]


def done() -> str:
    """Be done."""
    return "done"


@pytest.fixture
def served() -> MCPServer:
    """A server with a tool of each kind."""
    server = MCPServer("one_answer")
    for kind in KINDS:
        server.tool(
            name=kind.name,
            description="Do it.",
            read_only=kind.reads,
            scopes=list(kind.scopes),
            permission_classes=[IsAdminUser if kind.staff else IsAuthenticated],
        )(done)
    assert not server.problems
    return server


def expected(kind: Kind, user: Any, token: Token, switch: tuple[str, str] | None) -> int:
    """The code that a call is answered with; 0 for one that runs."""
    if switch and switch[0] == "maintenance":
        return 503
    if kind.staff and not user.is_staff:
        return -32602
    if switch and (switch[1] == kind.name or (switch[0] == "read_only" and not kind.reads)):
        return 503
    if (token.read_only and not kind.reads) or (
        token.tools is not None and kind.name not in token.tools
    ):
        return 403
    carried = set[str]().union(*(IMPLIED[scope] for scope in token.scopes))
    return 0 if carried.issuperset(kind.scopes) else 403


def code(answer: Answer) -> int:
    """What a call came to."""
    return int(answer.error["code"]) if "error" in answer.response else 0


def access_of(caller: Caller, server: MCPServer) -> CallerAccess:
    def request() -> HttpRequest:
        made = HttpRequest()
        made.method, made.META = "POST", {"REMOTE_ADDR": "127.0.0.1"}
        made.user = caller.user
        return made

    return CallerAccess(caller, request, server)


@pytest.mark.parametrize("switch", SWITCHES, ids=lambda switch: switch[0] if switch else "none")
@pytest.mark.parametrize("person", ["plain", "staff", "superuser"])
def test_who_lists_who_calls_and_who_explains_agree(
    person: str, switch: tuple[str, str] | None, served: MCPServer, settings: Any, db: None
) -> None:
    settings.MCP_APP = {**settings.MCP_APP, "SCOPES": SCOPES}
    user = get_user_model().objects.create_user(
        person, is_staff=person != "plain", is_superuser=person == "superuser"
    )
    token, secret = issue(user=user, name="x")
    client = MCPClient(secret.reveal(), door="asgi", server=served)
    if switch:
        noun = "tool" if switch[1] else ""
        turn(switch_for(switch[0], served.name, noun=noun, name=switch[1], reason="Broken."))
    for scopes, tools, read_only in product(HELD, LIMITS, (False, True)):
        Token.objects.filter(pk=token.pk).update(
            scopes=list(scopes), tools=tools, read_only=read_only
        )
        token = Token.objects.select_related("user").get()
        codes = {kind.name: expected(kind, user, token, switch) for kind in KINDS}
        told = {kind.name: client.call(kind.name) for kind in KINDS}
        assert {name: code(answer) for name, answer in told.items()} == codes, token.__dict__
        listing = client.request("tools/list")
        closed = bool(switch) and switch[0] == "maintenance"
        assert ("error" in listing.response) is closed
        if not closed:
            listed = {tool["name"] for tool in listing.result["tools"]}
            assert listed == {name for name, found in codes.items() if found == 0}
        caller = Caller(user, auth=token, source="token", **narrowing(token))
        for kind in KINDS:
            access, tool = access_of(caller, served), served.tools[kind.name]
            gates = explain(tool, caller, access)
            assert all(gate.passed is not False for gate in gates) is (codes[kind.name] == 0)
            may = access.permits(tool) and access.switched_off(tool) is None
            if not closed:
                assert (may and caller.reaches(tool)) is (codes[kind.name] == 0)
            answer = told[kind.name]
            # What a client takes for "log in again" is told to nobody who has logged in.
            assert answer.status != 401
            challenge = answer.headers.get("www-authenticate", "")
            assert ("insufficient_scope" in challenge) is bool(challenge)
            if challenge:
                assert f'scope="{" ".join(kind.scopes)}"' in challenge
