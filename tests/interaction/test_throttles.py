"""DRF's throttles become a 429 that a client and a model can both read (D-086)."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from rest_framework.permissions import AllowAny
from rest_framework.throttling import BaseThrottle, ScopedRateThrottle, UserRateThrottle

from mcp_app.access.throttling import (
    AddressThrottle,
    TokenThrottle,
    ToolThrottle,
    UserThrottle,
)
from mcp_app.auth.tokens import issue, rotate
from mcp_app.models import CallEvent
from mcp_app.testing import Answer, MCPClient
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


def rates(settings: Any, **named: str) -> None:
    """Set the rates of our own throttles, for names that no other test counts under."""
    settings.MCP_APP = {**settings.MCP_APP, "THROTTLE_RATES": named}


def test_a_sliding_window_limits_a_user_across_tokens_and_tells_the_seconds(
    make_client: MakeClient,
    make_token: MakeToken,
    serve: Serve,
    user: Any,
    staff: Any,
    settings: Any,
) -> None:
    rates(settings, user="3/min")
    serve(limited, throttle_classes=[UserThrottle])
    _, other = issue(user=user, name="other")
    one, two = make_client(), make_client(MODERN, other.reveal())
    answers = [client.call("limited") for client in (one, two, one, two)]
    assert [answer.status for answer in answers] == [200] * 3 + [429]
    seconds = int(answers[-1].headers["retry-after"])
    assert 1 <= seconds <= 120
    assert answers[-1].error["data"] == {"retryAfterSeconds": seconds}
    assert make_client(MODERN, make_token(staff)).call("limited").status == 200


@pytest.mark.parametrize("throttle", [UserThrottle, TokenThrottle, ToolThrottle, AddressThrottle])
def test_each_kind_of_limit_has_its_rate(
    make_client: MakeClient, serve: Serve, settings: Any, throttle: type[BaseThrottle]
) -> None:
    rates(settings, **{throttle.scope: "2/hour"})
    serve(limited, throttle_classes=[throttle])
    client = make_client()
    assert [client.call("limited").status for _ in range(3)] == [200, 200, 429]


@pytest.mark.parametrize(
    ("throttle", "limited_too"),
    [
        (UserThrottle, {"another token", "after a rotation", "another tool"}),
        (TokenThrottle, {"after a rotation", "another tool"}),
        (ToolThrottle, {"another token", "after a rotation"}),
        (AddressThrottle, {"another token", "after a rotation", "another tool", "another user"}),
    ],
)
def test_each_kind_of_limit_is_shared_by_those_that_it_names(
    make_client: MakeClient,
    serve: Serve,
    user: Any,
    staff: Any,
    settings: Any,
    throttle: type[BaseThrottle],
    limited_too: set[str],
) -> None:
    rates(settings, **{throttle.scope: "1/hour"})
    for name in ("limited", "other"):
        serve(limited, throttle_classes=[throttle], name=name)
    token, secret = issue(user=user, name="one")
    assert make_client(MODERN, secret.reveal()).call("limited").status == 200
    clients = {
        "another token": (issue(user=user, name="two")[1], "limited"),
        "after a rotation": (rotate(token, grace=timedelta(minutes=1)), "limited"),
        "another tool": (secret, "other"),
        "another user": (issue(user=staff, name="theirs")[1], "limited"),
        "another address": (issue(user=staff, name="away")[1], "limited"),
    }
    settings.MCP_APP = {**settings.MCP_APP, "NUM_PROXIES": 1}
    refused = set()
    for kind, (text, name) in clients.items():
        address = "192.0.2.7" if kind == "another address" else "127.0.0.1"
        headers = {"x-forwarded-for": address}
        if make_client(MODERN, text.reveal()).call(name, headers=headers).status == 429:
            refused.add(kind)
    assert refused - {"another address"} == limited_too
    # Theirs is the second call of that user, and the first from there.
    assert ("another address" in refused) is (throttle in (UserThrottle, ToolThrottle))


def test_a_kind_without_a_rate_limits_nothing(make_client: MakeClient, serve: Serve) -> None:
    serve(limited, throttle_classes=[UserThrottle, TokenThrottle, ToolThrottle, AddressThrottle])
    client = make_client()
    assert {client.call("limited").status for _ in range(5)} == {200}


def test_a_tool_may_name_the_rate_that_is_its_own(
    make_client: MakeClient, serve: Serve, settings: Any
) -> None:
    rates(settings, tool="5/min", costly="1/min")
    serve(limited, throttle_classes=[ToolThrottle], throttle_scope="costly")
    serve(limited, throttle_classes=[ToolThrottle], name="cheap")
    client = make_client()
    assert [client.call("limited").status for _ in range(2)] == [200, 429]
    assert {client.call("cheap").status for _ in range(5)} == {200}


def test_what_one_limit_refuses_counts_against_no_other(
    make_client: MakeClient, serve: Serve, settings: Any
) -> None:
    rates(settings, user="3/min", tool="1/min")
    both = [UserThrottle, ToolThrottle]
    serve(limited, throttle_classes=both)
    serve(limited, throttle_classes=[UserThrottle], name="other")
    client = make_client()
    assert [client.call("limited").status for _ in range(5)] == [200] + [429] * 4
    assert [client.call("other").status for _ in range(3)] == [200, 200, 429]


class Broken(BaseThrottle):
    """Counts on a cache that is away."""

    def allow_request(self, request: Any, view: Any) -> bool:
        raise ConnectionError("redis://secret@cache")


def answers_uncounted(
    client: MCPClient, caplog: pytest.LogCaptureFixture, *, opens: bool
) -> list[Answer]:
    """Three calls that cannot be counted: all served, or all refused, and said to the log once."""
    answers = [client.call("limited") for _ in range(3)]
    assert {answer.status for answer in answers} == ({200} if opens else {503})
    assert [record.name for record in caplog.records].count("mcp_app.rates") == 1
    return answers


@pytest.mark.parametrize("opens", [False, True], ids=["shut", "open"])
def test_what_cannot_be_counted_is_refused_in_words_unless_chosen_otherwise(
    make_client: MakeClient,
    serve: Serve,
    settings: Any,
    caplog: pytest.LogCaptureFixture,
    opens: bool,
) -> None:
    settings.MCP_APP = {**settings.MCP_APP, "THROTTLE_FAIL_OPEN": opens}
    serve(limited, throttle_classes=[Broken])
    answers = answers_uncounted(make_client(), caplog, opens=opens)
    if not opens:
        assert answers[0].error["code"] == 503
        assert b"secret" not in answers[0].body
        assert {event.error_class for event in CallEvent.objects.all()} == {"LimitsUnavailable"}


def test_nobody_gets_more_guesses_by_counting_through_a_network_or_by_nonsense(
    make_client: MakeClient, settings: Any
) -> None:
    settings.MCP_APP = {**settings.MCP_APP, "FAILED_AUTH_RATE": "2/min", "NUM_PROXIES": 1}
    bad = make_client(MODERN, "mcp_guess")

    def guesses(*addresses: str) -> list[int]:
        headers = [{"X-Forwarded-For": address} for address in addresses]
        return [bad.request("tools/list", headers=sent).status for sent in headers]

    assert guesses(*(f"2001:db8::{number}" for number in range(3))) == [401, 401, 429]
    assert guesses(*(f"nonsense{number}" for number in range(3))) == [401, 401, 429]
    assert guesses(*(f"::ffff:192.0.2.{number}" for number in range(3))) == [401, 401, 401]
    assert guesses("192.0.2.1", "192.0.2.1") == [401, 429]
    assert guesses("2001:db8:0:1::1") == [401]


@pytest.mark.parametrize("throttle", [AddressThrottle, UserThrottle])
def test_an_address_is_a_whole_network_to_throttles_too(
    make_client: MakeClient, serve: Serve, settings: Any, throttle: type
) -> None:
    settings.MCP_APP = {
        **settings.MCP_APP,
        "ALLOW_ANONYMOUS": True,
        "NUM_PROXIES": 1,
        "THROTTLE_RATES": {"address": "2/min", "user": "2/min"},
    }
    serve(limited, throttle_classes=[throttle], permission_classes=[AllowAny])
    nobody = make_client(MODERN, "")
    sent = [{"X-Forwarded-For": f"2001:db8::{number}"} for number in range(3)]
    assert [nobody.call("limited", headers=one).status for one in sent] == [200, 200, 429]


REDIS_AWAY = {
    "default": {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": "redis://127.0.0.1:1",
    }
}


@pytest.mark.parametrize("opens", [False, True], ids=["shut", "open"])
def test_a_redis_that_is_away_shuts_our_own_limits_unless_chosen_otherwise(
    make_client: MakeClient,
    serve: Serve,
    settings: Any,
    caplog: pytest.LogCaptureFixture,
    opens: bool,
) -> None:
    pytest.importorskip("redis")
    settings.CACHES = REDIS_AWAY
    rates(settings, user="3/min", token="3/min")
    settings.MCP_APP = {**settings.MCP_APP, "THROTTLE_FAIL_OPEN": opens}
    serve(limited, throttle_classes=[UserThrottle, TokenThrottle])
    client = make_client()
    answers = answers_uncounted(client, caplog, opens=opens)
    if not opens:
        assert int(answers[0].headers["retry-after"]) >= 1
        assert b"127.0.0.1" not in answers[0].body
    # What counts nothing asks no cache.
    assert client.call("add", {"a": 1}).status == 200
    assert make_client(token="mcp_guess").call("add", {"a": 1}).status in (401, 503)


def test_failed_credentials_spend_the_budget_of_their_address_alone(
    make_client: MakeClient, settings: Any
) -> None:
    settings.MCP_APP = {**settings.MCP_APP, "FAILED_AUTH_RATE": "2/min"}
    good, bad = make_client(), make_client(MODERN, "mcp_guess")
    statuses = [bad.request("tools/list").status for _ in range(4)]
    assert statuses == [401, 401, 429, 429]
    last = bad.request("tools/list")
    assert last.error["data"]["retryAfterSeconds"] == int(last.headers["retry-after"])
    # Whoever shares the address is not locked out, and spends nothing of it.
    assert {good.request("tools/list").status for _ in range(3)} == {200}
    assert make_client(MODERN, "").request("tools/list").status == 401
    outcomes = set(CallEvent.objects.values_list("outcome", flat=True))
    assert outcomes == {"unauthenticated"}
