"""A tool of serializers at the endpoint: listed, called, refused and recorded as any other."""

from typing import Any

from mcp_app import Context
from mcp_app.models import CallEvent
from mcp_app.testing import MCPClient
from tests.integrations.orders import ORDER, Order
from tests.integrations.test_serializers import Shown, Strict
from tests.interaction.conftest import Serve, ready


def create_order(ctx: Context, data: Any) -> Any:
    lines = [{**line, "total": 1} for line in data["lines"]]
    return {"number": data["reference"], "due": None, **data, "lines": lines}


def refuse_order(data: Any) -> Any: ...


def test_it_is_listed_called_and_recorded(mcp: MCPClient, serve: Serve) -> None:
    client = ready(mcp)
    name = serve(create_order, input=Order, output=Shown)
    (listed,) = (tool for tool in client.tools() if tool["name"] == name)

    answer = client.call(name, ORDER | {"pin": "hunter2", "lines": '[{"sku":"AB-1","quantity":2}]'})

    assert "reference" in listed["inputSchema"]["required"]
    assert not answer.is_error, answer.text
    if client.version.output_schema:
        assert listed["outputSchema"]["type"] == "object"
        assert answer.result["structuredContent"]["price"] == "9.90"
        assert answer.result["structuredContent"]["method"]["by"] == "ada"
    event = CallEvent.objects.get(tool=name, outcome="ok")
    assert event.arguments["customer"] == "Ada"
    assert "hunter2" not in str(event.arguments)


def test_what_it_does_not_take_is_told_in_the_result(modern: MCPClient, serve: Serve) -> None:
    name = serve(refuse_order, input=Strict)

    answer = modern.call(name, {"parts": [{"name": "a"}], "secret": "hunter2"})

    assert answer.is_error
    assert answer.text == "parts.0.name: a is taken.\nsecret: is not valid"
    event = CallEvent.objects.get(tool=name)
    assert event.outcome == "invalid"
    assert "hunter2" not in event.error_text


def test_an_unknown_argument_is_refused_at_any_depth(modern: MCPClient, serve: Serve) -> None:
    name = serve(create_order, input=Order)
    line = {"sku": "AB-1", "quantity": 1, "total": "9.00"}

    answer = modern.call(name, ORDER | {"number": "1", "lines": [line]})

    assert answer.is_error
    assert "number: is not a known argument" in answer.text
    assert "lines.0.total: is not a known argument" in answer.text
