"""Each kind of host by each door and era: one walk through everything (D-045, D-080)."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import override_settings

from mcp_app.conf import settings as ours
from mcp_app.testing import DOORS, MCPClient
from tests.hosts.test_middleware import (
    AUTH,
    COMMON,
    CSRF,
    GZIP,
    LOCALE,
    LOGIN,
    SECURITY,
    SESSIONS,
    STACKS,
)
from tests.hosts.walk import ERAS, walk
from tests.interaction.tools import server

BEHIND_TLS = {
    "SECURE_SSL_REDIRECT": True,
    "SECURE_PROXY_SSL_HEADER": ("HTTP_X_FORWARDED_PROTO", "https"),
}
HOSTS: dict[str, tuple[list[str], dict[str, Any]]] = {
    "bare": ([], {}),
    "login required": ([SESSIONS, AUTH, LOGIN], {}),
    "csrf": ([CSRF], {"CSRF_USE_SESSIONS": False}),
    "gzip": ([GZIP], {}),
    "redirects to https": ([SECURITY, COMMON], BEHIND_TLS),
    "locale": ([SESSIONS, LOCALE, COMMON], {"LANGUAGE_CODE": "de"}),
    "language in the address": ([LOCALE, COMMON], {"ROOT_URLCONF": "tests.hosts.prefixed_urls"}),
    "sessions": ([SESSIONS], {"SESSION_SAVE_EVERY_REQUEST": True}),
    "everything": (STACKS["everything"], {**BEHIND_TLS, "SESSION_SAVE_EVERY_REQUEST": True}),
}
DATABASES: dict[str, dict[str, Any]] = {
    "atomic requests": {"ATOMIC_REQUESTS": True},
    "a connection a request": {"CONN_MAX_AGE": 0},
    "kept connections": {"CONN_MAX_AGE": 60, "CONN_HEALTH_CHECKS": True},
}


class ProxiedClient(MCPClient):
    """A client behind a proxy that ends TLS."""

    def _headers(self, headers: Any) -> dict[str, str]:
        return super()._headers(headers) | {"x-forwarded-proto": "https", "accept-language": "de"}


@pytest.fixture(params=DOORS)
def make(request: pytest.FixtureRequest, token: str, version: str) -> Any:
    """Makes clients of this test's door and era."""

    def make(token: str = token, **options: Any) -> MCPClient:
        door = {"version": version, "door": request.param, "server": server}
        return ProxiedClient(token, **door, **options)

    return make


@pytest.fixture(params=ERAS)
def version(request: pytest.FixtureRequest) -> str:
    """Each era."""
    return str(request.param)


@pytest.mark.parametrize("name", HOSTS)
def test_everything_works_behind_the_middleware_of(name: str, make: Any, host: Any) -> None:
    host.MIDDLEWARE, others = HOSTS[name]
    for key, value in others.items():
        setattr(host, key, value)
    path = "/en/mcp" if name == "language in the address" else "/mcp"
    walk(lambda *args, **options: make(*args, path=path, **options))


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("name", DATABASES)
def test_everything_works_in_threads_with(
    name: str, make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for key, value in {"CONN_MAX_AGE": 0, **DATABASES[name]}.items():
        monkeypatch.setitem(connection.settings_dict, key, value)
    with override_settings(MCP_APP={**ours.raw, "WORKERS": 4}):
        walk(make)
