"""Every protocol error once: its code, its status, what it tells, and what it leaves recorded."""

import inspect
from collections.abc import Callable
from typing import Any

import pytest

from mcp_app import Context
from mcp_app.models import CallEvent
from mcp_app.protocol import errors
from mcp_app.testing import Door, MCPClient
from tests.interaction.conftest import LEGACY, MODERN, Counted, MakeClient, ready
from tests.interaction.refusals import refusals

Serve = Callable[..., str]

STANDARD = {-32700, -32600, -32601, -32602, -32603}
MODERN_ONLY = {-32020, -32021, -32022}
BASES = {errors.ProtocolError, errors.Refusal}
LEGACY_CLASSES = {errors.SessionNotFound, errors.CapabilityNotNegotiated}
MODERN_CLASSES = {errors.HeaderMismatch, errors.MissingCapability, errors.UnsupportedVersion}
# Test clients always say how long a body is; `test_body_size` has those that do not.
ELSEWHERE = {errors.LengthRequired}


@pytest.fixture
def narrow(settings: Any) -> None:
    """Settings under which every error is within a small request's reach."""
    settings.MCP_APP = {**settings.MCP_APP, "MAX_BODY_BYTES": 1500}
    settings.MIDDLEWARE = [name for name in settings.MIDDLEWARE if "CommonMiddleware" not in name]


def every_class() -> set[type[errors.ProtocolError]]:
    """Each error that a caller can be told."""
    found = (kind for _, kind in inspect.getmembers(errors, inspect.isclass))
    return {kind for kind in found if issubclass(kind, errors.ProtocolError)} - BASES


@pytest.mark.usefixtures("narrow")
def test_every_error_has_the_code_and_status_of_its_era(
    make_client: MakeClient, version: str, serve: Serve, door: Door
) -> None:
    told = refusals(ready(make_client(version)), serve)
    modern = version == MODERN
    left_out = LEGACY_CLASSES if modern else MODERN_CLASSES
    hosts = {errors.BadHost} if door == "async view" else set()
    assert set(told) == every_class() - left_out - hosts - ELSEWHERE
    for kind, answer in told.items():
        status = kind.modern_status if modern and kind.modern_status else kind.status
        code = kind.code if modern or kind.legacy_code is None else kind.legacy_code
        assert (answer.status, answer.error["code"]) == (status, code), kind


@pytest.mark.usefixtures("narrow")
def test_no_code_is_invented_inside_the_reserved_range(
    make_client: MakeClient, version: str, serve: Serve
) -> None:
    known = STANDARD | MODERN_ONLY if version == MODERN else STANDARD | {-32002}
    for kind, answer in refusals(ready(make_client(version)), serve).items():
        code = answer.error["code"]
        assert type(code) is int
        assert code in known or not -32768 <= code <= -32000, kind


@pytest.mark.usefixtures("narrow")
def test_errors_say_a_sentence_and_nothing_internal(
    make_client: MakeClient, version: str, serve: Serve
) -> None:
    for kind, answer in refusals(ready(make_client(version)), serve).items():
        assert answer.headers["content-type"] == "application/json"
        assert answer.error["message"], kind
        assert b"hunter2" not in answer.body
        assert b"Traceback" not in answer.body
        assert b"mcp_app" not in answer.body


@pytest.mark.usefixtures("narrow")
def test_the_errors_that_a_client_acts_on_say_how(
    make_client: MakeClient, version: str, serve: Serve
) -> None:
    told = refusals(ready(make_client(version)), serve)
    throttled = told[errors.Throttled]
    assert throttled.headers["retry-after"] == "8"
    assert throttled.error["data"] == {"retryAfterSeconds": 8}
    assert "8 seconds" in throttled.error["message"]
    scoped = told[errors.InsufficientScope]
    assert scoped.error["data"] == {"requiredScopes": ["rooms:write"]}
    assert 'scope="rooms:write"' in scoped.headers["www-authenticate"]
    assert told[errors.Unauthenticated].headers["www-authenticate"].startswith("Bearer")
    assert told[errors.MethodNotAllowed].headers["allow"].startswith("POST, DELETE")


# --- client capabilities -------------------------------------------------------------------------


@pytest.fixture
def sampler(serve: Serve, counted: Counted) -> Counted:
    """A tool that needs two capabilities of its client."""

    def sample(ctx: Context) -> list[str]:
        counted.runs += 1
        return sorted(ctx.client_capabilities)

    counted.name = serve(sample, client_capabilities=["sampling", "elicitation"])
    return counted


def test_a_capability_that_is_not_declared_keeps_a_tool_from_running(
    make_client: MakeClient, version: str, sampler: Counted
) -> None:
    client = ready(make_client(version, capabilities={"sampling": {}, "roots": {}}))
    answer = client.call(sampler.name)
    if version == MODERN:
        assert (answer.status, answer.error["code"]) == (400, -32021)
        # What is missing, and not what the client has already.
        assert answer.error["data"] == {"requiredCapabilities": {"elicitation": {}}}
    else:
        assert (answer.status, answer.error["code"]) == (200, -32600)
    assert "elicitation" in answer.error["message"]
    assert sampler.runs == 0
    event = CallEvent.objects.get()
    assert (event.tool, event.outcome) == (sampler.name, "refused")
    assert "elicitation" in event.error_text


def test_a_capability_that_is_declared_lets_the_tool_run(
    make_client: MakeClient, version: str, sampler: Counted
) -> None:
    both = {"elicitation": {"form": {}}, "sampling": {}}
    answer = ready(make_client(version, capabilities=both)).call(sampler.name)
    assert answer.text == '["elicitation","sampling"]'
    assert sampler.runs == 1


def test_a_capability_that_is_null_is_not_declared(
    make_client: MakeClient, version: str, sampler: Counted
) -> None:
    declared = {"sampling": None, "elicitation": {}}
    assert (
        "sampling"
        in ready(make_client(version, capabilities=declared)).call(sampler.name).error["message"]
    )
    assert sampler.runs == 0


@pytest.mark.parametrize("version", LEGACY)
def test_capabilities_of_one_request_are_not_those_of_the_session(
    make_client: MakeClient, version: str, sampler: Counted
) -> None:
    """A legacy client declared what it can do when it shook hands, and only then."""
    client = ready(make_client(version))
    meta = {"io.modelcontextprotocol/clientCapabilities": {"sampling": {}, "elicitation": {}}}
    assert client.call(sampler.name, meta=meta).error["code"] == -32600
    assert sampler.runs == 0


def test_a_caller_who_may_not_call_is_not_told_what_the_tool_needs(
    modern: MCPClient, serve: Serve
) -> None:
    def narrowed() -> None:
        """Do nothing."""

    name = serve(narrowed, scopes=["rooms:write"], client_capabilities=["sampling"])
    assert modern.call(name).error["code"] == 403
