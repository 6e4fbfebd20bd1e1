"""One answer for each protocol error, each by the least that causes it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.conf import settings
from django.db import OperationalError, connection
from django.test.utils import override_settings
from rest_framework.authentication import BaseAuthentication
from rest_framework.throttling import BaseThrottle

from mcp_app.models import Switch, Token
from mcp_app.protocol import errors
from mcp_app.protocol.envelope import VERSION_KEY
from mcp_app.protocol.versions import Era
from mcp_app.testing import Answer, MCPClient
from tests.interaction.tools import server

Serve = Callable[..., str]
Refusals = dict[type[errors.ProtocolError], Answer]


class Never(BaseThrottle):
    """Admits nobody."""

    def allow_request(self, request: Any, view: Any) -> bool:
        return False

    def wait(self) -> float:
        return 7.2


class Broken(BaseThrottle):
    """Fails as a cache may."""

    def allow_request(self, request: Any, view: Any) -> bool:
        raise RuntimeError("the cache's password is hunter2")


class BrokenAuthentication(BaseAuthentication):
    """Fails as code of a product may."""

    def authenticate(self, request: Any) -> None:
        raise RuntimeError("the directory's password is hunter2")


def nothing() -> None:
    """Do nothing."""


def refusals(client: MCPClient, serve: Serve) -> Refusals:
    """What `client` is told for each mistake that its era and door know; it has shaken hands.

    The settings must bound a body to 1,500 bytes and leave CommonMiddleware out.
    """
    throttled = serve(nothing, name="throttled", throttle_classes=[Never])
    broken = serve(nothing, name="broken", throttle_classes=[Broken])
    capable = serve(nothing, name="capable", client_capabilities=["roots", "sampling"])
    told: Refusals = {
        errors.ParseError: client.post(b"{"),
        errors.InvalidRequest: client.post(b"5"),
        errors.MethodNotFound: client.request("foo/bar"),
        errors.InvalidParams: client.request("tools/list", {"cursor": "forged"}),
        errors.UnknownTool: client.call("staff_only"),
        errors.UnknownPrompt: client.prompt("staff_prompt"),
        errors.ResourceNotFound: client.read("staff://secret"),
        errors.Failed: client.read("fails://unexpected"),
        errors.InternalError: _broken_off(client),
        errors.LimitsUnavailable: client.call(broken),
        errors.OutsideLimits: _outside_limits(client, serve(nothing, name="writes")),
        errors.Unauthenticated: client.call("echo", headers={"authorization": "Bearer x"}),
        errors.SwitchedOff: _switched_off(client, serve(nothing, name="turned_off")),
        errors.SwitchesUnavailable: _unreadable_switches(client),
        errors.InsufficientScope: client.call("scoped"),
        errors.Throttled: client.call(throttled),
        errors.Forbidden: client.call("echo", headers={"origin": "https://evil.example"}),
        errors.MethodNotAllowed: client.send("PUT", b"", {}),
        errors.NotAcceptable: client.call("echo", headers={"accept": "text/html"}),
        errors.PayloadTooLarge: client.post(b" " * 1501),
        errors.UnsupportedMediaType: client.call("echo", headers={"content-type": "text/plain"}),
    }
    if client._door != "async view":  # Django's asynchronous client names its own host
        told[errors.BadHost] = client.call("echo", headers={"host": "evil.example"})
    if client.version.era is Era.LEGACY:
        gone = {"mcp-session-id": "gone"}
        told[errors.SessionNotFound] = client.request("tools/list", headers=gone)
        told[errors.CapabilityNotNegotiated] = client.call(capable)
        return told
    unknown = {"mcp-protocol-version": "1900-01-01"}
    told[errors.HeaderMismatch] = client.call("echo", headers={"mcp-name": None})
    told[errors.MissingCapability] = client.call(capable)
    told[errors.UnsupportedVersion] = client.request(
        "tools/list", meta={VERSION_KEY: "1900-01-01"}, headers=unknown
    )
    return told


def _outside_limits(client: MCPClient, tool: str) -> Answer:
    Token.objects.update(read_only=True)
    answer = client.call(tool)
    Token.objects.update(read_only=False)
    return answer


def _switched_off(client: MCPClient, tool: str) -> Answer:
    switch = Switch.objects.create(
        kind="off", server=server.name, noun="tool", name=tool, reason="Broken since noon."
    )
    answer = client.call(tool)
    switch.delete()
    return answer


def _unreadable_switches(client: MCPClient) -> Answer:
    with unreadable_switches():
        return client.call("echo")


@contextmanager
def unreadable_switches() -> Iterator[None]:
    """No statement about switches succeeds on this thread's connection."""

    def fail(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if f'"{Switch._meta.db_table}"' in sql:
            raise OperationalError("no such table, password hunter2")
        return execute(sql, params, many, context)

    with connection.execute_wrapper(fail):
        yield


def _broken_off(client: MCPClient) -> Answer:
    classes = [BrokenAuthentication]
    with override_settings(MCP_APP={**settings.MCP_APP, "AUTHENTICATION_CLASSES": classes}):
        return client.call("echo")
