"""DRF's throttles become a 429 that a client and a model can both read (D-086)."""

from collections.abc import Callable
from typing import Any

import pytest
from django.core.cache import cache
from rest_framework.throttling import BaseThrottle, ScopedRateThrottle, UserRateThrottle

from mcp_app.auth.tokens import issue
from mcp_app.models import CallEvent
from tests.interaction.conftest import MODERN, MakeClient, MakeToken

Serve = Callable[..., str]


class Thrice(UserRateThrottle):
    """Three calls a minute and user."""

    rate = "3/min"
    scope = "thrice"


class ThriceATool(Thrice):
    """Three calls a minute, user and tool."""

    def get_cache_key(self, request: Any, view: Any) -> str | None:
        return f"{super().get_cache_key(request, view)}:{view.tool.name}"


def limited() -> str:
    """Run three times a minute."""
    return "in"


def test_the_fourth_call_is_a_429_with_seconds_in_header_and_body(
    make_client: MakeClient, serve: Serve, version: str
) -> None:
    serve(limited, throttle_classes=[Thrice])
    client = make_client(version)
    assert [client.call("limited").text for _ in range(3)] == ["in"] * 3
    answer = client.call("limited")
    assert answer.status == 429
    seconds = int(answer.headers["retry-after"])
    assert 1 <= seconds <= 60
    error = answer.error
    assert error["code"] == 429
    assert error["data"] == {"retryAfterSeconds": seconds}
    assert f"{seconds} seconds" in error["message"]
    event = CallEvent.objects.exclude(outcome="ok").get()
    assert (event.outcome, event.decision, event.tool) == ("throttled", "deny", "limited")
    assert event.username == "ada"
    # Another tool is not meant.
    assert client.call("add", {"a": 1}).status == 200


def test_a_limit_is_the_users_whatever_the_token_and_leaves_others_free(
    make_client: MakeClient, make_token: MakeToken, serve: Serve, user: Any, staff: Any
) -> None:
    serve(limited, throttle_classes=[Thrice])
    _, other = issue(user=user, name="other")
    one, two = make_client(), make_client(MODERN, other.reveal())
    assert [client.call("limited").status for client in (one, two, one, two)] == [200] * 3 + [429]
    assert make_client(MODERN, make_token(staff)).call("limited").status == 200


def test_a_limit_may_be_a_tools_own(make_client: MakeClient, serve: Serve) -> None:
    serve(limited, throttle_classes=[ThriceATool])
    serve(limited, throttle_classes=[ThriceATool], name="also_limited")
    client = make_client()
    statuses = [client.call(name).status for name in ["limited", "also_limited"] * 3]
    assert statuses == [200] * 6
    assert client.call("limited").status == client.call("also_limited").status == 429


def test_each_call_of_a_batch_counts(make_client: MakeClient, serve: Serve) -> None:
    serve(limited, throttle_classes=[Thrice])
    client = make_client("2025-03-26")
    client.initialize()
    calls = [
        {"jsonrpc": "2.0", "id": i, "method": "tools/call", "params": {"name": "limited"}}
        for i in range(5)
    ]
    answer = client.post(calls)
    (replies,) = answer.messages
    assert ["error" in reply for reply in replies] == [False] * 3 + [True] * 2
    assert {reply["error"]["code"] for reply in replies[3:]} == {429}
    assert CallEvent.objects.filter(outcome="throttled").count() == 2


def test_the_projects_default_holds_for_tools_that_name_none(
    make_client: MakeClient, serve: Serve, settings: Any
) -> None:
    path = "tests.interaction.test_throttles.Thrice"
    settings.MCP_APP = {**settings.MCP_APP, "DEFAULT_THROTTLE_CLASSES": [path]}
    serve(limited, throttle_classes=[], name="unlimited")
    client = make_client()
    assert [client.call("echo", {"text": "x"}).status for _ in range(4)] == [200] * 3 + [429]
    assert client.call("unlimited").status == 200


def test_scoped_rates_are_read_from_the_tools_scope(
    make_client: MakeClient, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ScopedRateThrottle, "THROTTLE_RATES", {"twice": "2/hour"})
    serve(limited, throttle_classes=[ScopedRateThrottle], throttle_scope="twice")
    client = make_client()
    assert [client.call("limited").status for _ in range(3)] == [200, 200, 429]


def test_arguments_that_do_not_fit_count_and_a_hidden_tool_does_not(
    make_client: MakeClient, serve: Serve
) -> None:
    """Permission comes before the limit, and the limit before arguments."""
    from rest_framework.permissions import IsAdminUser

    serve(limited, throttle_classes=[Thrice])
    serve(limited, throttle_classes=[Thrice], permission_classes=[IsAdminUser], name="hidden")
    client = make_client()
    for _ in range(4):
        assert client.call("hidden").error["code"] == -32602
    assert client.call("limited", {"no": "such"}).is_error
    assert [client.call("limited").status for _ in range(3)] == [200, 200, 429]


class Undecided(BaseThrottle):
    def allow_request(self, request: Any, view: Any) -> bool:
        return False


def test_a_throttle_that_knows_no_time_still_names_one(
    make_client: MakeClient, serve: Serve
) -> None:
    serve(limited, throttle_classes=[Undecided])
    answer = make_client().call("limited")
    assert (answer.status, answer.headers["retry-after"]) == (429, "1")


class Broken(BaseThrottle):
    def allow_request(self, request: Any, view: Any) -> bool:
        raise ConnectionError("cache at 10.0.0.7 is down")


def test_a_throttle_whose_cache_is_away_keeps_the_tool_shut_and_says_nothing_internal(
    make_client: MakeClient, serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    serve(limited, throttle_classes=[Broken])
    answer = make_client().call("limited")
    assert answer.status == 500
    assert answer.error["code"] == -32603
    assert b"10.0.0.7" not in answer.body
    assert "10.0.0.7" in caplog.text
    event = CallEvent.objects.get(tool="limited")
    assert event.outcome == "failed"
    assert event.correlation_id in answer.error["message"]
    assert cache is not None
