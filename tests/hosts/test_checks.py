"""`manage.py check`: each fault of the settings and of declarations is named, and no sound one."""

from typing import Any

import pytest
from django.core.checks import run_checks
from django.core.exceptions import ImproperlyConfigured
from rest_framework.permissions import AllowAny

from mcp_app import checks
from mcp_app.catalog.registry import default_server

IN_MEMORY = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}
ON_REDIS = {"default": {"BACKEND": "channels_redis.core.RedisChannelLayer"}}


@pytest.fixture
def declared() -> Any:
    """Declare a tool on the server that is checked, for one test."""
    names: list[str] = []

    def declare(**options: Any) -> None:
        def of_one_test() -> str:
            return "in"

        default_server.tool(description="A tool of one test.", **options)(of_one_test)
        names.append("of_one_test")

    yield declare
    for name in names:
        default_server.remove(name)


def told(wanted: str) -> list[str]:
    """The messages of one id, of all that the command would print."""
    found = run_checks(tags=[checks.TAG], include_deployment_checks=True)
    assert all(message.hint for message in found)
    return [message.msg for message in found if message.id == f"mcp_app.{wanted}"]


@pytest.mark.parametrize("name", ["TOKEN_MAX_DAY", "scopes", "ALLOW_QUERY_TOKENS", ""])
def test_a_setting_that_there_is_not_is_named(settings: Any, name: str) -> None:
    assert told("E001") == []
    settings.MCP_APP = {**settings.MCP_APP, name: True}
    assert told("E001") == [f"MCP_APP has no setting {name!r}."]


def test_a_scope_that_no_token_can_have_is_named_and_stops_the_process(
    settings: Any, declared: Any
) -> None:
    settings.MCP_APP = {**settings.MCP_APP, "SCOPES": {**settings.MCP_APP["SCOPES"], "a:read": ""}}
    declared(scopes=["a:read", "a:write"], permission_classes=[AllowAny])
    assert [sentence for sentence in told("E002") if "'a:read'" in sentence] == []
    (sentence,) = told("E002")
    assert "'of_one_test'" in sentence
    assert "needs 'a:write'" in sentence
    with pytest.raises(ImproperlyConfigured, match="a:write"):
        checks.report()
    settings.MCP_APP["SCOPES"]["a:write"] = "Write"
    settings.MCP_APP = {**settings.MCP_APP}
    assert told("E002") == []
    checks.report()


@pytest.mark.parametrize("layers", [{}, IN_MEMORY], ids=["none", "in memory"])
def test_processes_that_do_not_hear_each_other_are_named(
    settings: Any, layers: dict[str, Any]
) -> None:
    settings.ASGI_APPLICATION = "project.asgi.application"
    settings.CHANNEL_LAYERS = layers
    assert len(told("W002")) == 1
    # Under WSGI nothing streams.
    settings.ASGI_APPLICATION = None
    assert told("W002") == []


def test_those_that_share_a_layer_are_not(settings: Any) -> None:
    settings.ASGI_APPLICATION = "project.asgi.application"
    settings.CHANNEL_LAYERS = ON_REDIS
    assert told("W002") == []


def test_an_endpoint_that_knows_nobody_is_named(settings: Any) -> None:
    assert told("W001") == []
    settings.MCP_APP = {**settings.MCP_APP, "AUTHENTICATION_CLASSES": []}
    assert len(told("W001")) == 1
    settings.MCP_APP = {**settings.MCP_APP, "ALLOW_ANONYMOUS": True}
    assert told("W001") == []
