"""Whatever middleware a host has, a bearer caller is answered in JSON and sent nowhere (D-045)."""

import gzip
from typing import Any

import pytest
from django.middleware.csrf import _get_new_csrf_string
from django.test import Client

from mcp_app.models import CallEvent
from tests.hosts.conftest import Post

SECURITY = "django.middleware.security.SecurityMiddleware"
SESSIONS = "django.contrib.sessions.middleware.SessionMiddleware"
LOCALE = "django.middleware.locale.LocaleMiddleware"
COMMON = "django.middleware.common.CommonMiddleware"
CSRF = "django.middleware.csrf.CsrfViewMiddleware"
AUTH = "django.contrib.auth.middleware.AuthenticationMiddleware"
LOGIN = "django.contrib.auth.middleware.LoginRequiredMiddleware"
MESSAGES = "django.contrib.messages.middleware.MessageMiddleware"
GZIP = "django.middleware.gzip.GZipMiddleware"
CACHE_UPDATE = "django.middleware.cache.UpdateCacheMiddleware"
CACHE_FETCH = "django.middleware.cache.FetchFromCacheMiddleware"
CONDITIONAL = "django.middleware.http.ConditionalGetMiddleware"
SYNC = "tests.interaction.test_colours.marking"
CLOSED = "tests.hosts.maintenance.closed"

STACKS = {
    "none": [],
    "csrf": [CSRF],
    "sessions": [SESSIONS],
    "login required": [SESSIONS, AUTH, LOGIN],
    "locale": [SESSIONS, LOCALE, COMMON],
    "gzip": [GZIP],
    "caches": [CACHE_UPDATE, COMMON, CACHE_FETCH],
    "conditional": [CONDITIONAL],
    "sync only": [SYNC],
    "everything": [
        *[SECURITY, CACHE_UPDATE, GZIP, SESSIONS, LOCALE, COMMON, CONDITIONAL, CSRF, AUTH],
        *[LOGIN, MESSAGES, SYNC, CACHE_FETCH],
    ],
}


@pytest.mark.parametrize("debug", [False, True], ids=["", "debug"])
@pytest.mark.parametrize("stack", STACKS)
def test_a_bearer_caller_passes_every_middleware(
    post: Post, token: str, host: Any, stack: str, debug: bool
) -> None:
    host.MIDDLEWARE, host.DEBUG, host.SESSION_SAVE_EVERY_REQUEST = STACKS[stack], debug, True
    for path in ("/mcp", "/mcp/"):
        answer = post(token, path=path, headers={"accept-language": "de"})
        assert answer.status == 200
        assert answer.text == '{"total":2}'
        nobody = post(path=path)
        assert nobody.status == 401
        assert nobody.error["code"] == 401
        assert nobody.headers["www-authenticate"].startswith("Bearer")
        for received in (answer, nobody):
            assert received.headers["content-type"] == "application/json"
            assert "set-cookie" not in received.headers
            assert "location" not in received.headers
            assert received.headers["cache-control"] == "no-store"
            assert "authorization" in received.headers["vary"].lower()


@pytest.mark.parametrize("append", [True, False])
@pytest.mark.parametrize("debug", [True, False])
def test_both_spellings_are_served_in_place(
    post: Post, token: str, host: Any, append: bool, debug: bool
) -> None:
    host.APPEND_SLASH, host.DEBUG = append, debug
    answers = [post(token, path=path) for path in ("/mcp", "/mcp/")]
    refusals = [post(path=path) for path in ("/mcp", "/mcp/")]
    assert [a.status for a in answers] == [200, 200]
    assert answers[0].body == answers[1].body
    assert [a.status for a in refusals] == [401, 401]
    assert refusals[0].body == refusals[1].body


def test_behind_a_proxy_that_ends_tls_nothing_is_redirected(
    post: Post, token: str, host: Any
) -> None:
    host.MIDDLEWARE, host.SECURE_SSL_REDIRECT = [SECURITY, COMMON], True
    host.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    assert post(token, headers={"x-forwarded-proto": "https"}).status == 200
    assert post(token, secure=True, headers={"x-forwarded-proto": "https"}).status == 200
    # The redirect is the host's own; the endpoint can be excepted from it.
    assert post(token).status == 301
    host.SECURE_REDIRECT_EXEMPT = [r"^mcp/?$"]
    assert post(token).status == 200


def test_a_host_that_middleware_refuses_is_answered_as_the_endpoint_does(
    post: Post, token: str, host: Any
) -> None:
    host.ALLOWED_HOSTS = ["shop.example"]
    told = []
    for stack in ([], [COMMON], [SECURITY, COMMON]):
        host.MIDDLEWARE, host.SECURE_SSL_REDIRECT = stack, SECURITY in stack
        for path in ("/mcp", "/mcp/"):
            answer = post(token, path=path)
            assert answer.headers["content-type"] == "application/json"
            assert answer.error["code"] == 400
            told.append((answer.status, answer.body))
        assert b"<title>Bad Request" in post(token, path="/page/").body or not stack
    assert set(told) == {(400, told[0][1])}
    assert not CallEvent.objects.exists()


def test_what_else_middleware_finds_bad_is_json_too(post: Post, token: str, host: Any) -> None:
    host.MIDDLEWARE = ["tests.hosts.maintenance.suspicious"]
    answer = post(token)
    assert (answer.status, answer.error["code"]) == (400, -32600)
    host.MCP_APP = {**host.MCP_APP, "ENABLED": False}
    assert (post(token).status, post(token).body) == (404, b"")


def test_a_maintenance_page_runs_no_tool(post: Post, token: str, host: Any) -> None:
    host.MIDDLEWARE = [SECURITY, CLOSED]
    answer = post(token)
    assert (answer.status, answer.headers["retry-after"]) == (503, "60")
    assert not CallEvent.objects.exists()


def test_what_is_switched_off_is_not_there(post: Post, token: str, host: Any) -> None:
    host.MCP_APP = {**host.MCP_APP, "ENABLED": False}
    host.MIDDLEWARE = STACKS["everything"]
    for debug in (True, False):
        host.DEBUG = debug
        for path in ("/mcp", "/mcp/"):
            answer = post(token, path=path)
            assert (answer.status, answer.body) == (404, b"")


def test_json_may_be_compressed_and_a_stream_is_not(post: Post, token: str, host: Any) -> None:
    host.MIDDLEWARE = [GZIP]
    listed = post(token, tool="nowhere" * 15, headers={"accept-encoding": "gzip"})
    body = listed.body
    if listed.headers.get("content-encoding") == "gzip":
        body = gzip.decompress(body)
    assert b"Unknown tool" in body
    only_events = {"accept-encoding": "gzip", "accept": "text/event-stream"}
    stream = post(token, headers=only_events)
    assert stream.is_stream
    assert stream.headers.get("content-encoding") in (None, "identity")
    assert stream.text == '{"total":2}'


# --- a host that lets its own pages call ---------------------------------------------------------


@pytest.fixture
def session_cookie(user: Any, host: Any) -> str:
    """The cookie of a signed-in person, where the host lets session callers in."""
    host.MCP_APP = {
        **host.MCP_APP,
        "AUTHENTICATION_CLASSES": [
            "mcp_app.auth.authentication.TokenAuthentication",
            "rest_framework.authentication.SessionAuthentication",
        ],
    }
    client = Client()
    client.force_login(user)
    return f"sessionid={client.cookies['sessionid'].value}"


def test_a_session_alone_does_not_pass_for_a_token(post: Post, user: Any) -> None:
    client = Client()
    client.force_login(user)
    assert post(headers={"cookie": f"sessionid={client.cookies['sessionid'].value}"}).status == 401


def test_a_session_caller_needs_the_csrf_token(post: Post, session_cookie: str) -> None:
    secret = _get_new_csrf_string()
    forged = post(headers={"cookie": session_cookie})
    assert forged.status == 403
    assert forged.headers["content-type"] == "application/json"
    assert "CSRF" in forged.error["message"]
    assert CallEvent.objects.get().outcome == "denied"
    cookies = f"{session_cookie}; csrftoken={secret}"
    wrong = post(headers={"cookie": cookies, "x-csrftoken": _get_new_csrf_string()})
    assert wrong.status == 403
    answer = post(headers={"cookie": cookies, "x-csrftoken": secret})
    assert answer.text == '{"total":2}'
    event = CallEvent.objects.get(outcome="ok")
    assert (event.source, event.username) == ("SessionAuthentication", "ada")


def test_a_bearer_caller_needs_none_even_with_a_session(
    post: Post, token: str, session_cookie: str
) -> None:
    assert post(token, headers={"cookie": session_cookie}).status == 200


def test_a_page_of_another_origin_is_turned_away_before_its_cookie_is_read(
    post: Post, session_cookie: str
) -> None:
    for origin in ("https://evil.example", "null"):
        answer = post(headers={"cookie": session_cookie, "origin": origin})
        assert answer.status == 403
        assert not CallEvent.objects.exists()
