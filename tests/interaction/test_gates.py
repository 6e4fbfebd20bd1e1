"""Which gate decided is told of real calls by their rows alone: the right one, or none."""

from typing import Any

import pytest
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import APIException

from mcp_app.audit.gates import NOT_RECORDED, deciding_gate
from mcp_app.hooks import confirm, deny
from mcp_app.models import CallEvent
from mcp_app.protocol import errors
from tests.interaction.conftest import MODERN, MakeClient, Serve, ready
from tests.interaction.refusals import refusals

DOOR = "The form of the request"
GATES = {
    "ParseError": {DOOR},
    "InvalidRequest": {DOOR},
    "MethodNotFound": {"Method"},
    "InvalidParams": {"Parameters"},
    "UnknownTool": {"Permission classes"},
    "UnknownPrompt": {"Permission classes"},
    "ResourceNotFound": {"Permission classes"},
    "SwitchedOff": {"Switch"},
    "SwitchesUnavailable": {"Switch"},
    "OutsideLimits": {"Limits of the token"},
    "InsufficientScope": {"Scopes of the token"},
    "Throttled": {"Rate limit"},
    "LimitsUnavailable": {"Rate limit"},
    "Unauthenticated": {"Authentication"},
    "SessionNotFound": {"Session"},
    "HeaderMismatch": {"Headers"},
    "MissingCapability": {"Capabilities of the client"},
    "CapabilityNotNegotiated": {"Capabilities of the client"},
    "UnsupportedVersion": {"Protocol version"},
}
"""By error class."""
NO_ROW = {
    "BadHost",
    "Forbidden",
    "LengthRequired",
    "MethodNotAllowed",
    "NotAcceptable",
    "PayloadTooLarge",
    "UnsupportedMediaType",
}
"""Refused before anything is read, and logged, but no call."""
NO_REFUSAL = {"Failed", "InternalError", "Refusal"}


@pytest.fixture(autouse=True)
def small_bodies(settings: Any) -> None:
    """What `refusals` asks for."""
    settings.MCP_APP = {**settings.MCP_APP, "MAX_BODY_BYTES": 1500}
    without = "django.middleware.common.CommonMiddleware"
    settings.MIDDLEWARE = [name for name in settings.MIDDLEWARE if name != without]


def last() -> tuple[str, str]:
    """The gate of the newest call, and the code that it names."""
    gate = deciding_gate(CallEvent.objects.latest("pk"))
    return str(gate.name), gate.code


def test_every_refusal_names_its_gate(make_client: MakeClient, version: str, serve: Serve) -> None:
    told = refusals(ready(make_client(version)), serve)
    found: dict[str, set[str]] = {}
    for event in CallEvent.objects.filter(outcome__in=["denied", "refused", "throttled"]):
        found.setdefault(event.error_class, set()).add(str(deciding_gate(event).name))
    for event in CallEvent.objects.filter(outcome__in=["unauthenticated", "unknown"]):
        found.setdefault(event.error_class, set()).add(str(deciding_gate(event).name))
    assert found == {name: GATES[name] for name in found}
    assert found.keys() >= {kind.__name__ for kind in told} - NO_REFUSAL - NO_ROW


def test_no_error_of_the_protocol_is_forgotten() -> None:
    def kinds(of: type[errors.ProtocolError]) -> set[str]:
        below = of.__subclasses__()
        return {kind.__name__ for kind in below}.union(*map(kinds, below))

    assert kinds(errors.ProtocolError) == GATES.keys() | NO_ROW | NO_REFUSAL


def test_what_was_let_in_says_so(make_client: MakeClient, serve: Serve) -> None:
    client = make_client(MODERN)
    client.call("echo", {"text": "x"})
    assert last() == ("All let it in", "")

    def breaks() -> None:
        raise RuntimeError("no")

    client.call(serve(breaks))
    assert last() == ("All let it in", "")


def test_a_bad_argument_and_an_unknown_name(make_client: MakeClient) -> None:
    client = make_client(MODERN)
    client.call("echo", {"nothing": "x"})
    assert last() == ("Arguments", "")
    client.call("no_such_tool")
    assert last() == ("Name", "")


def refuse(*args: Any) -> Any:
    """A hook before calls."""
    return deny("Not today.")


def hide(context: Any, tools: Any) -> Any:
    """A hook over lists."""
    return []


def ask(*args: Any) -> Any:
    """A hook that has somebody asked."""
    return confirm("Really?")


def test_a_hook_is_named(make_client: MakeClient, settings: Any) -> None:
    client = make_client(MODERN)
    configured = settings.MCP_APP
    settings.MCP_APP = {**configured, "BEFORE_CALL": [refuse]}
    client.call("echo", {"text": "x"})
    assert last() == ("Hook before the call", f"{__name__}.refuse")
    settings.MCP_APP = {**configured, "LIST_TOOLS": [hide]}
    client.call("echo", {"text": "x"})
    assert last() == ("Hook of LIST_TOOLS", f"{__name__}.hide")


def test_a_confirmation_that_nobody_gave(make_client: MakeClient, settings: Any) -> None:
    settings.MCP_APP = {**settings.MCP_APP, "BEFORE_CALL": [ask]}
    make_client(MODERN).call("echo", {"text": "x"})
    gate = deciding_gate(CallEvent.objects.latest("pk"))
    assert (gate.name, "to agree" in str(gate.told)) == ("Capabilities of the client", True)
    make_client("2025-11-25").call("echo", {"text": "x"})
    assert CallEvent.objects.latest("pk").outcome == "denied"
    assert last() == ("Confirmation", "")
    make_client(MODERN, capabilities={"elicitation": {}}).call("echo", {"text": "x"})
    assert CallEvent.objects.latest("pk").outcome == "asked"
    assert last() == ("Confirmation", "")


class Closed(BaseAuthentication):
    """Takes nobody today."""

    def authenticate(self, request: Any) -> None:
        raise APIException("Closed on Sundays.")


def test_an_authentication_class_that_refuses_everybody(
    make_client: MakeClient, settings: Any
) -> None:
    settings.MCP_APP = {**settings.MCP_APP, "AUTHENTICATION_CLASSES": [Closed]}
    make_client(MODERN).call("echo")
    assert last() == ("Authentication", "")


def test_an_address_without_attempts_left(make_client: MakeClient, settings: Any) -> None:
    settings.MCP_APP = {**settings.MCP_APP, "FAILED_AUTH_RATE": "1/min"}
    client = make_client(MODERN, token="mcp_wrong")
    for _ in range(3):
        client.call("echo")
    gate = deciding_gate(CallEvent.objects.latest("pk"))
    assert (gate.name, "used up" in str(gate.told)) == ("Authentication", True)


@pytest.mark.parametrize(
    "row",
    [
        {"outcome": "denied"},
        {"outcome": "denied", "decision": "deny"},
        {"outcome": "denied", "decision": "deny", "error_class": "SomethingOld"},
        {"outcome": "refused", "error_class": "SomethingOld"},
        {"outcome": "ok", "decision": "deny"},
        {"outcome": "something new"},
    ],
)
def test_what_a_row_does_not_tell_is_not_guessed(row: dict[str, str]) -> None:
    assert deciding_gate(CallEvent(**row)) is NOT_RECORDED
