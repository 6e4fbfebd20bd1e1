"""Which gate decided is told of real calls by their rows alone: the right one, or none."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.utils import timezone
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import APIException

from mcp_app.audit.gates import NOT_RECORDED, deciding_gate
from mcp_app.auth.hashing import generate
from mcp_app.auth.tokens import end_secret, issue, revoke, rotate
from mcp_app.auth.verification import Invalid
from mcp_app.hooks import confirm, deny
from mcp_app.models import CallEvent, Token
from mcp_app.protocol import errors
from mcp_app.testing import accept
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


# --- what the story begins with -------------------------------------------------------------------

DEAD: dict[str, tuple[Callable[[Token], object], str]] = {
    "revoked": (revoke, "Its token was revoked."),
    "expired": (
        lambda token: Token.objects.filter(pk=token.pk).update(expires_at=timezone.now()),
        "Its token had expired.",
    ),
    "rotated": (
        lambda token: rotate(token, grace=timedelta(0)),
        "Its secret is over: it was replaced by a newer one, or ended alone.",
    ),
    "ended": (
        lambda token: end_secret(token, token.secrets.get().lookup),
        "Its secret is over: it was replaced by a newer one, or ended alone.",
    ),
    "inactive": (
        lambda token: get_user_model().objects.update(is_active=False),
        "The user of its token is not active.",
    ),
}


@pytest.mark.parametrize("rate", [None, "1/min"], ids=["", "attempts used up"])
@pytest.mark.parametrize("state", DEAD)
def test_a_secret_that_is_over_is_known_by_its_token(
    make_client: MakeClient, user: Any, settings: Any, state: str, rate: str | None
) -> None:
    settings.MCP_APP = {**settings.MCP_APP, "FAILED_AUTH_RATE": rate}
    token, secret = issue(user=user, name="laptop of ada")
    make_it_so, ending = DEAD[state]
    make_it_so(token)
    client = make_client(MODERN, token=secret.reveal())
    for _ in range(2 if rate else 1):
        told = client.call("echo", {"text": "x"})
    event = CallEvent.objects.latest("pk")
    assert (event.token, event.token_name, event.username) == (token, "laptop of ada", "ada")
    gate = deciding_gate(event)
    assert (str(gate.name), str(gate.ending)) == ("Authentication", ending)
    assert ("used up" in str(gate.told)) is bool(rate)
    assert told.status == (429 if rate else 401)
    body = told.body.decode()
    assert not [
        word for word in ("ada", "laptop", secret.reveal()[4:16], "rotated") if word in body
    ]


def test_every_reason_against_a_secret_has_its_own_words() -> None:
    told = {
        str(deciding_gate(CallEvent(outcome="unauthenticated", error_text=reason)).ending)
        for reason in (*Invalid, "no credentials", "no class takes it", "something new")
    }
    assert len(told) == len(Invalid) + 3


def test_a_forged_secret_is_nobody_s(make_client: MakeClient, user: Any) -> None:
    _, secret = issue(user=user, name="laptop")
    forged = generate(lookup=secret.reveal()[4:16]).secret.reveal()
    make_client(MODERN, token=forged).call("echo", {"text": "x"})
    event = CallEvent.objects.get()
    assert (event.token, event.username, event.error_text) == (None, "", "mismatch")
    assert "Nobody knows who that was" in str(deciding_gate(event).ending)


ANSWERS = {
    "decline": "The user said no.",
    "cancel": "The user closed the question without an answer.",
}


@pytest.mark.parametrize("action", ANSWERS)
def test_what_the_user_answered_is_said(
    make_client: MakeClient, settings: Any, action: str
) -> None:
    settings.MCP_APP = {**settings.MCP_APP, "BEFORE_CALL": [ask]}
    client = make_client(MODERN, answers={"action": action})
    assert client.call("echo", {"text": "x"}).is_error
    gate = deciding_gate(CallEvent.objects.latest("pk"))
    assert (str(gate.name), str(gate.ending)) == ("Confirmation", ANSWERS[action])


def test_an_answer_that_comes_too_late_is_said_to(make_client: MakeClient, settings: Any) -> None:
    settings.MCP_APP = {**settings.MCP_APP, "BEFORE_CALL": [ask], "INPUT_TIMEOUT": -1}
    make_client(MODERN, answers=accept()).call("echo", {"text": "x"})
    gate = deciding_gate(CallEvent.objects.latest("pk"))
    assert str(gate.ending) == "The answer came too late: it did not count any more."
    asked = deciding_gate(CallEvent.objects.get(outcome="asked"))
    assert "whether it may run" in str(asked.ending)


def test_a_client_that_can_ask_nobody_is_said_to(make_client: MakeClient, settings: Any) -> None:
    settings.MCP_APP = {**settings.MCP_APP, "BEFORE_CALL": [ask]}
    for version in (MODERN, "2025-11-25"):
        ready(make_client(version)).call("echo", {"text": "x"})
        ending = str(deciding_gate(CallEvent.objects.latest("pk")).ending)
        assert ending == "The user could not be asked whether it may run, so it did not."


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
