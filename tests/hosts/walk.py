"""One walk through everything an endpoint does, for whatever host it is mounted in.

It knows doors and eras, and no host: what differs between hosts is nothing.
"""

import contextlib
import gzip
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from django.contrib.auth import get_user_model
from django.test.utils import override_settings

from mcp_app import Context
from mcp_app.access.switches import lift, switch_for, turn
from mcp_app.audit.storage import database
from mcp_app.conf import settings
from mcp_app.hooks import deny
from mcp_app.models import CallEvent
from mcp_app.protocol.versions import Era
from mcp_app.testing import Answer, MCPClient, accept
from mcp_app.transports.replay import events_after, find_position
from tests.interaction.tools import server

LEGACY, MODERN = "2025-11-25", "2026-07-28"
ERAS = [MODERN, LEGACY]
COMPRESSED = {"accept-encoding": "gzip"}


@dataclass(frozen=True)
class Name:
    """Who somebody is."""

    name: str


async def greet(ctx: Context) -> str:
    """Ask for a name."""
    said = await ctx.aelicit("Who are you?", Name, key="name")
    return f"Hello {said.content.name}"


def sneak() -> str:
    """Write, although it said that it only reads."""
    get_user_model().objects.create(username="sneaked")
    return "written"


def deny_refusing(ctx: Context, tool: Any, arguments: Any) -> Any:
    """A hook that denies one tool."""
    return deny("Not on Sundays.") if tool.name == "refuse" else None


ASKED = {"BEFORE_CALL": [deny_refusing], "INPUT_TIMEOUT": 5.0}


@contextlib.contextmanager
def tools() -> Iterator[None]:
    """What the walk calls beside the tests' tools."""
    server.tool(greet)
    server.tool(read_only=True)(sneak)
    try:
        yield
    finally:
        server.remove("greet")
        server.remove("sneak")


def walk(make: Callable[..., MCPClient]) -> None:
    """Everything once; `make` makes a client of one door and era, or with another `token`."""
    with tools(), override_settings(MCP_APP={**settings.raw, **ASKED}):
        client = make(answers=accept(name="Ada"))
        _calls_and_refusals(client, make)
        _what_is_enforced(client)
        _questions(client)
        _streams(make())  # one that reads no answer before the test has unpacked it
    _is_recorded()


def in_json(answer: Answer) -> Answer:
    """The answer, which no cache keeps, no cookie comes with, and no page stands for."""
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["cache-control"] == "no-store"
    assert not {"set-cookie", "location"} & answer.headers.keys()
    return answer


def _calls_and_refusals(client: MCPClient, make: Callable[..., MCPClient]) -> None:
    assert "add" in [tool["name"] for tool in client.tools()]
    assert in_json(client.call("add", {"a": 1})).text == '{"total":2}'
    assert in_json(client.call("count_users")).text == str(get_user_model().objects.count())
    broken = in_json(client.post(b"{"))
    assert (broken.status, broken.error["code"]) == (400, -32700)
    assert in_json(client.call("staff_only")).error["code"] == -32602
    refused = in_json(make(token="mcp_guess").post(b"{}"))
    assert refused.status == 401
    assert 'error="invalid_token"' in refused.headers["www-authenticate"]


def _what_is_enforced(client: MCPClient) -> None:
    users = get_user_model().objects
    assert client.call("make_user", {"username": "undone", "then_fail": True}).is_error
    assert "tried to write" in client.call("sneak").text
    assert not users.filter(username="sneaked").exists()
    assert client.call("refuse").text == "Not on Sundays."
    off = turn(switch_for("off", server.name, noun="tool", name="echo", reason="Broken."))
    told = client.call("echo", {"text": "a"}).error["message"]
    lift(off)
    assert told == "This tool is switched off: Broken."
    assert client.call("echo", {"text": "a"}).text == "a"


def _questions(client: MCPClient) -> None:
    """Who cannot be asked is told so: an older client needs a stream, which WSGI has not."""
    answer = client.call("greet")
    if streams(client) or client.version.era is Era.MODERN:
        assert answer.text == "Hello Ada"
    else:
        assert answer.is_error


def _streams(client: MCPClient) -> None:
    answer = client.call("steps", {"count": 2}, meta={"progressToken": "p"}, headers=COMPRESSED)
    if answer.headers.get("content-encoding") == "gzip" and not answer.is_stream:
        answer = replace(answer, body=gzip.decompress(answer.body))
    assert answer.text == "done"
    assert answer.is_stream == streams(client)
    if answer.is_stream:
        assert answer.headers.get("content-encoding") in (None, "identity")
        assert [note["params"]["progress"] for note in answer.notifications] == [1, 2]
    if answer.is_stream and client.version.era is Era.LEGACY:
        first = answer.body.partition(b"id: ")[2].partition(b"\n")[0].decode()
        kept = events_after(find_position(client.session_id or "", first))
        assert [json.loads(data) for _, data, _ in kept] == answer.messages


def streams(client: MCPClient) -> bool:
    """Whether this client's door has streams."""
    return client._door != "view"


def _is_recorded() -> None:
    events = CallEvent._base_manager.using(database())
    expected = {
        *[("add", "ok"), ("", "refused"), ("staff_only", "denied"), ("", "unauthenticated")],
        *[("make_user", "failed"), ("sneak", "error"), ("refuse", "denied")],
        *[("echo", "denied"), ("echo", "ok"), ("steps", "ok")],
    }
    assert expected <= set(events.values_list("tool", "outcome"))
    assert set(events.exclude(username="").values_list("username", flat=True)) == {"ada"}
    assert not events.filter(outcome="started").exists()
