"""Every message that is sent fits the schema of the revision it is sent in.

The schemas leave objects open, so that later revisions may add to them. Here they are closed: an
older client that is strict never meets a field that its revision has no name for.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any

import jsonschema
import pytest
from pydantic import BaseModel, Field

from mcp_app import (
    AudioContent,
    Context,
    EmbeddedResource,
    ImageContent,
    Progress,
    ResourceLink,
    TextContent,
    ToolError,
    ToolResult,
)
from mcp_app.protocol import errors
from mcp_app.protocol.envelope import LOG_LEVEL_KEY, LOG_LEVELS
from mcp_app.testing import Answer, MCPClient
from tests.interaction.conftest import LEGACY, MODERN, MakeClient, ready
from tests.interaction.refusals import refusals

Serve = Callable[..., str]

SCHEMAS = Path(__file__).parent.parent / "schema"
FOREIGN = ("inputSchema", "outputSchema")
"""Members that hold a JSON Schema of the tool's own, of which a revision names only a part."""
OPEN = (*FOREIGN, "allOf", "ResultMetaObject")
"""What stays open: also parts of a whole that is closed elsewhere, and keys of the author's own."""
RESULT_RESPONSE = {version: "JSONRPCResponse" for version in LEGACY[1:]}
ERROR_RESPONSE = {version: "JSONRPCError" for version in LEGACY[1:]}
MODERN_ERRORS = {
    -32700: "ParseError",
    -32600: "InvalidRequestError",
    -32601: "MethodNotFoundError",
    -32602: "InvalidParamsError",
    -32603: "InternalError",
    -32020: "HeaderMismatchError",
    -32021: "MissingRequiredClientCapabilityError",
    -32022: "UnsupportedProtocolVersionError",
}


@lru_cache
def schema(version: str) -> dict[str, Any]:
    """The revision's schema, closed."""
    text = (SCHEMAS / version / "schema.json").read_text(encoding="utf-8")
    closed: dict[str, Any] = close(json.loads(text))
    return closed


def close(value: Any) -> Any:
    """`value` with every object that lists its members closed to others."""
    if isinstance(value, list):
        return [close(item) for item in value]
    if not isinstance(value, dict):
        return value
    told = {key: item if key in OPEN else close(item) for key, item in value.items()}
    if isinstance(told.get("properties"), dict) and told.get("type") == "object":
        told.setdefault("additionalProperties", False)
    return told


@lru_cache
def validator(version: str, name: str) -> Any:
    """Validates against one definition of a revision."""
    whole = schema(version)
    place = "$defs" if "$defs" in whole else "definitions"
    assert name in whole[place], f"{version} has no {name}"
    kind = jsonschema.validators.validator_for(whole)
    return kind({"$ref": f"#/{place}/{name}", place: whole[place]})


def fits(value: Any, version: str, name: str) -> None:
    """Fail with the first place where `value` is not a `name` of that revision."""
    error = jsonschema.exceptions.best_match(validator(version, name).iter_errors(value))
    assert error is None, f"{version} {name} at {error.json_path}: {error.message[:300]}"


def answered(answer: Answer, version: str, result: str) -> dict[str, Any]:
    """The result of an answer, which fits; so does the message around it."""
    fits(answer.response, version, RESULT_RESPONSE.get(version, "JSONRPCResultResponse"))
    if version == MODERN and result != "EmptyResult":
        fits(answer.response, version, f"{result}Response")
    fits(answer.result, version, result)
    return answer.result


@pytest.fixture
def client(make_client: MakeClient, version: str) -> MCPClient:
    """A client of each revision, through each door, after its handshake."""
    return ready(make_client(version))


# --- the test itself ---------------------------------------------------------------------------


@pytest.mark.parametrize("version", [MODERN, *LEGACY])
def test_the_closed_schemas_still_notice(version: str) -> None:
    whole = {"tools": [], "resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
    fits({"tools": []} if version != MODERN else whole, version, "ListToolsResult")
    block = {"type": "text", "text": "x", "unheardOf": 1}
    with pytest.raises(AssertionError, match="CallToolResult"):
        fits({"content": [block], "resultType": "complete"}, version, "CallToolResult")
    with pytest.raises(AssertionError, match="id"):
        fits({"jsonrpc": "2.0", "id": 1.5, "method": "m"}, version, "JSONRPCRequest")


# --- handshake, discovery, lists -----------------------------------------------------------------


@pytest.mark.parametrize("version", LEGACY)
def test_initialize_and_ping_fit(make_client: MakeClient, version: str, settings: Any) -> None:
    settings.MCP_APP = {**settings.MCP_APP, "SERVER_TITLE": "Shop", "INSTRUCTIONS": "Be kind."}
    client = make_client(version)
    answered(client.initialize(), version, "InitializeResult")
    answered(client.request("ping"), version, "EmptyResult")


def test_discover_fits(modern: MCPClient, settings: Any) -> None:
    settings.MCP_APP = {**settings.MCP_APP, "SERVER_TITLE": "Shop", "INSTRUCTIONS": "Be kind."}
    answered(modern.request("server/discover"), MODERN, "DiscoverResult")


class Node(BaseModel):
    """A model that holds itself."""

    name: str = Field(description="What it is called.")
    price: Decimal | None = None
    children: list["Node"] = []


def everything(
    *,
    text: str,
    number: Annotated[int, Field(ge=0, json_schema_extra={"x-mcp-header": "Number"})] = 1,
    anything: Any = None,
    either: int | str | None = None,
    table: dict[str, list[float]] | None = None,
    tree: Node | None = None,
) -> Node:
    """Take every kind of parameter."""
    return tree or Node(name=text)


DECLARED: dict[str, Any] = {
    "title": "Everything",
    "destructive": False,
    "idempotent": True,
    "open_world": False,
    "icons": [
        {"src": "https://cdn.example/i.png", "mimeType": "image/png", "sizes": ["48x48"]},
        {"src": "data:image/png;base64,AA==", "theme": "dark"},
    ],
    "meta": {"example.org/owner": {"team": 1}},
}


def test_lists_fit_page_after_page(
    client: MCPClient, version: str, serve: Serve, settings: Any
) -> None:
    settings.MCP_APP = {**settings.MCP_APP, "PAGE_SIZE": 4}
    serve(everything, **DECLARED)
    cursor: dict[str, Any] | None = {}
    seen: list[dict[str, Any]] = []
    while cursor is not None:
        page = answered(client.request("tools/list", cursor), version, "ListToolsResult")
        cursor = {"cursor": page["nextCursor"]} if "nextCursor" in page else None
        seen += page["tools"]
    for tool in seen:
        for member in FOREIGN:
            jsonschema.Draft202012Validator.check_schema(tool.get(member, {}))
    (tool,) = (tool for tool in seen if tool["name"] == "everything")
    assert ("outputSchema" in tool) == (version >= "2025-06-18")
    assert ("icons" in tool) == (version >= "2025-11-25")


# --- results of calls ----------------------------------------------------------------------------

NOTES = {"audience": ["user"], "priority": 0.5, "lastModified": "2026-07-28T00:00:00Z"}
META = {"example.org/key": [1, {"a": None}]}
BLOCKS = [
    TextContent("plain"),
    TextContent("noted", annotations=NOTES, meta=META),
    TextContent("lone \ud800 surrogate"),
    ImageContent(b"\x89PNG", "image/png"),
    ImageContent("iVBORw==", "image/png", annotations=NOTES, meta=META),
    AudioContent(b"RIFF", "audio/wav"),
    AudioContent(memoryview(b"RIFF"), "audio/wav", annotations=NOTES, meta=META),
    ResourceLink("https://shop.example/orders/1", "order"),
    ResourceLink(
        "https://shop.example/orders/2",
        "order",
        title="Order 2",
        description="Open",
        mime_type="application/json",
        size=10,
        icons=({"src": "https://cdn.example/i.png", "sizes": ["any"]},),
        annotations=NOTES,
        meta=META,
    ),
    EmbeddedResource("file:///a.txt", text="a"),
    EmbeddedResource("file:///a.bin", blob=b"a", mime_type="application/octet-stream"),
    EmbeddedResource("file:///b.bin", blob="YQ==", annotations=NOTES, meta=META),
]


@dataclass
class Total:
    """A sum."""

    total: int
    note: str | None = None


def fail(error: Exception) -> Any:
    raise error


RETURNED: dict[str, tuple[Any, Callable[[], Any]]] = {
    "text": (str, lambda: "hello"),
    "nothing": (None, lambda: None),
    "a number": (int, lambda: 5),
    "a long number": (int, lambda: 10**30),
    "a Decimal": (Decimal, lambda: Decimal("1.10")),
    "an object": (Total, lambda: Total(3)),
    "a model": (Node, lambda: Node(name="a", children=[Node(name="b")])),
    "a list": (list[Total], lambda: [Total(1), Total(2, "x")]),
    "an empty list": (list[int], lambda: []),
    "an untold dict": (Any, lambda: {"a": [1, None, True, 1.5, "é\ud800"]}),
    "every block": (list[TextContent], lambda: BLOCKS),
    "one block": (TextContent, lambda: BLOCKS[1]),
    "a result": (Any, lambda: ToolResult(content=["a", BLOCKS[3]], structured=[1], meta=META)),
    "a failed result": (Any, lambda: ToolResult(structured=5, is_error=True)),
    "an empty result": (Any, lambda: ToolResult(content=None)),
    "a ToolError": (Total, lambda: fail(ToolError("no \ud800"))),
    "an exception": (Total, lambda: fail(RuntimeError("no"))),
    "a misfit": (Total, lambda: "no total"),
    "what has no JSON": (Any, lambda: {"a": object()}),
    "too much": (str, lambda: "x" * 100_000),
}


@pytest.mark.parametrize("what", RETURNED)
def test_results_of_calls_fit(
    make_client: MakeClient, version: str, serve: Serve, settings: Any, what: str
) -> None:
    settings.MCP_APP = {**settings.MCP_APP, "MAX_RESULT_BYTES": 50_000}
    annotation, value = RETURNED[what]
    name = serve(value, name="returned", output=annotation)
    result = answered(ready(make_client(version)).call(name), version, "CallToolResult")
    assert ("structuredContent" not in result) or version >= "2025-06-18"


def test_results_that_are_refused_arguments_fit(client: MCPClient, version: str) -> None:
    for arguments in ({}, {"a": "x"}, {"a": 1, "b": 101, "c": 2}):
        result = answered(client.call("add", arguments), version, "CallToolResult")
        assert result["isError"] is True


# --- notifications -------------------------------------------------------------------------------


def told(answer: Answer, version: str) -> Iterator[dict[str, Any]]:
    """The notifications of an answer, which fit."""
    kinds = {
        "notifications/progress": "ProgressNotification",
        "notifications/message": "LoggingMessageNotification",
    }
    for message in answer.notifications:
        fits(message, version, "JSONRPCNotification")
        # Older revisions describe a notification without the `jsonrpc` around it.
        inner = {key: value for key, value in message.items() if key != "jsonrpc"}
        fits(message if version >= "2025-11-25" else inner, version, kinds[message["method"]])
        yield message


def odd_steps() -> Iterator[Progress | str]:
    """Report numbers that JSON has and some that it has not."""
    yield Progress(float("nan"))
    yield Progress(0.5, float("inf"), "half \ud800")
    yield Progress(float("inf"))
    yield Progress(1, None, None)
    yield Progress(2, 2.5, "two")
    yield Progress(2)
    yield Progress(1.5)
    yield "done"


@pytest.mark.parametrize("token", ["", "t", 0, -1, 9007199254740993])
def test_progress_fits_and_only_grows(
    client: MCPClient, version: str, serve: Serve, token: str | int
) -> None:
    answer = client.call(serve(odd_steps), meta={"progressToken": token})
    assert answer.text == "done"
    seen = [message["params"] for message in told(answer, version)]
    assert [params["progress"] for params in seen] in ([], [0.5, 1, 2])
    assert {params["progressToken"] for params in seen} <= {token}
    assert all("message" not in params for params in seen) or version >= "2025-03-26"
    assert bool(seen) == (client._door != "view")


def chatty(ctx: Context) -> str:
    """Log at every level, and data of every kind."""
    for level in LOG_LEVELS:
        ctx.log(level, {"at": level, "price": Decimal("1.10"), "odd": float("nan")}, logger="shop")
    ctx.log("emergency", Total(3))
    ctx.log("emergency", "text \ud800")
    return "done"


@pytest.mark.parametrize("level", [None, *LOG_LEVELS])
def test_log_messages_fit_and_start_at_the_level_asked_for(
    make_client: MakeClient, serve: Serve, level: str | None
) -> None:
    answer = make_client().call(serve(chatty), meta={LOG_LEVEL_KEY: level})
    assert answer.text == "done"
    seen = [message["params"]["level"] for message in told(answer, MODERN)]
    if level is None or not answer.is_stream:
        assert seen == []
        return
    loud = list(LOG_LEVELS[LOG_LEVELS.index(level) :])
    assert seen == [*loud, "emergency", "emergency"]


@pytest.mark.parametrize("version", LEGACY)
def test_nobody_is_sent_a_log_message_that_was_not_asked_for(
    client: MCPClient, serve: Serve
) -> None:
    assert client.call(serve(chatty)).notifications == []


def test_a_value_without_json_fails_the_call_whether_anybody_listens_or_not(
    modern: MCPClient, serve: Serve
) -> None:
    def careless(ctx: Context) -> None:
        ctx.log("info", object())

    name = serve(careless)
    for meta in ({}, {LOG_LEVEL_KEY: "debug"}, {LOG_LEVEL_KEY: "emergency"}):
        assert modern.call(name, meta=meta).is_error


# --- errors --------------------------------------------------------------------------------------


def test_errors_fit(client: MCPClient, version: str, serve: Serve, settings: Any) -> None:
    settings.MCP_APP = {**settings.MCP_APP, "MAX_BODY_BYTES": 1500}
    settings.MIDDLEWARE = [name for name in settings.MIDDLEWARE if "CommonMiddleware" not in name]
    for kind, answer in refusals(client, serve).items():
        response = answer.response
        assert "result" not in response
        if version != MODERN and response["id"] is None:
            # The one exemption: JSON-RPC 2.0 section 5 answers a message whose id could not be
            # read under a null id, and the older schemas have no form for such an answer.
            response = response | {"id": 1}
        fits(response, version, ERROR_RESPONSE.get(version, "JSONRPCErrorResponse"))
        code = response["error"]["code"]
        if version == MODERN and code in MODERN_ERRORS:
            name = MODERN_ERRORS[code]
            # Of the standard codes the schema describes the `error` member alone.
            whole = kind in (
                errors.HeaderMismatch,
                errors.MissingCapability,
                errors.UnsupportedVersion,
            )
            fits(response if whole else response["error"], version, name)


def test_a_batch_of_answers_fits(make_client: MakeClient) -> None:
    client = ready(make_client("2025-03-26"))
    call = {"jsonrpc": "2.0", "method": "tools/call"}
    answer = client.post(
        [
            call | {"id": 1, "params": {"name": "echo", "arguments": {"text": "hi"}}},
            call | {"id": "two", "params": {"name": "nope"}},
            call | {"id": 3, "params": {"name": "refuse"}},
        ]
    )
    (responses,) = answer.messages
    fits(responses, "2025-03-26", "JSONRPCBatchResponse")
