"""Whatever arrives: an answer that can be read, never a failure of ours, never an unmeant call.

`FUZZ_EXAMPLES=100000 pytest tests/interaction/test_fuzz.py` looks for longer.
"""

import asyncio
import copy
import json
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import hypothesis
import pytest
from asgiref.sync import async_to_sync
from django.test import Client
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from mcp_app.protocol.envelope import CAPABILITIES_KEY, LOG_LEVEL_KEY, LOG_LEVELS, VERSION_KEY
from mcp_app.protocol.headers import BadHeaderValue, decode_value
from mcp_app.testing import Answer, MCPClient
from mcp_app.transports.door import EndpointApplication
from tests.interaction.conftest import LEGACY, MODERN, Counted, MakeToken
from tests.interaction.tools import server

EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "300"))

fuzzed = hypothesis.settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

Headers = list[tuple[str, str]]
"""In order, and a name may come twice. Values hold latin-1, as they do on the wire."""


@dataclass(frozen=True)
class Sent:
    """One HTTP request."""

    method: str
    headers: Headers
    body: bytes

    def header(self, name: str) -> str | None:
        """The value under a name, joined as a server joins it."""
        values = [value for key, value in self.headers if key.lower() == name]
        return ",".join(values) if values else None


# --- requests that are almost right --------------------------------------------------------------

latin_1 = st.text(st.characters(max_codepoint=255, exclude_characters="\r\n\x00"), max_size=30)
"""What a server lets through in a header: those three it refuses itself."""

odd_value = st.one_of(
    latin_1,
    st.sampled_from(
        [
            "",
            " ",
            "null",
            "*/*",
            "text/html",
            "application/json",
            "application/json;q=nan, */*;q=-1",
            "text/event-stream",
            ",;=,",
            "2025-03-26",
            "2024-11-05",
            MODERN,
            "1999-01-01",
            "tools/call",
            "count",
            "=?base64?Y291bnQ=?=",
            "=?base64?Y291bnQ?=",
            "=?base64?/w==?=",
            "Bearer",
            "Bearer x y",
            "Bearer mcp_aaaaaaaaaaaa_b",
            "Basic eDp5",
            "http://localhost",
            "https://evil.example",
            "http://[",
            "localhost:99999",
            "x" * 20_000,
            "é" * 5_000,
            "1;" * 3_000,
        ]
    ),
)

header_name = st.sampled_from(
    [
        "accept",
        "authorization",
        "content-type",
        "host",
        "mcp-method",
        "mcp-name",
        "mcp-param-region",
        "mcp-protocol-version",
        "mcp-session-id",
        "last-event-id",
        "origin",
        "cookie",
        "forwarded",
        "x-forwarded-for",
        "x-forwarded-host",
        "user-agent",
    ]
)

json_value = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([2**63, -(2**70), 10**400])
    | st.floats()
    | st.text(st.characters(codec=None), max_size=8)
    | st.sampled_from([MODERN, "2025-03-26", "count", "tools/call", "\ud800", "x" * 9_000]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=6) | st.just(VERSION_KEY), inner, max_size=3)
    ),
    max_leaves=5,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path of every member of a JSON value."""
    found = [path] if path else []
    members: Any = ()
    if isinstance(value, dict):
        members = value.items()
    elif isinstance(value, list):
        members = enumerate(value)
    for key, item in members:
        found += places(item, (*path, key))
    return found


def put(value: Any, path: tuple[Any, ...], item: Any) -> Any:
    """A copy of `value` with another item at `path`; with none there where it is `...`."""
    changed = copy.deepcopy(value)
    inner = changed
    for key in path[:-1]:
        inner = inner[key]
    if item is ...:
        del inner[path[-1]]
    else:
        inner[path[-1]] = item
    return changed


@st.composite
def almost(draw: st.DrawFn, message: Any) -> Any:
    """`message` with up to three members left out, replaced or added."""
    for _ in range(draw(st.integers(0, 3))):
        found = places(message)
        if not found:
            return message
        path = draw(st.sampled_from(found))
        match draw(st.sampled_from(["drop", "replace", "replace", "nest", "repeat"])):
            case "drop":
                message = put(message, path, ...)
            case "replace":
                message = put(message, path, draw(json_value))
            case "nest":
                message = put(message, path, [message])
            case "repeat":
                message = [message] * draw(st.integers(1, 3))
    return message


@st.composite
def damaged(draw: st.DrawFn, body: bytes) -> bytes:
    """`body` with a stretch of bytes cut out, overwritten or put in."""
    for _ in range(draw(st.integers(0, 2))):
        start = draw(st.integers(0, len(body)))
        end = min(len(body), start + draw(st.integers(0, 8)))
        body = body[:start] + draw(st.binary(max_size=8)) + body[end:]
    return body


def written(message: Any) -> bytes:
    """JSON as a careless client writes it: NaN, lone surrogates and long numbers included."""
    return json.dumps(message).encode()


@st.composite
def requests(draw: st.DrawFn, sound: list[tuple[Headers, Any]]) -> Sent:
    """A sound request, changed here and there."""
    headers, message = draw(st.sampled_from(sound))
    for _ in range(draw(st.integers(0, 2))):
        name, value = draw(header_name), draw(odd_value)
        if draw(st.booleans()):
            headers = [(key, kept) for key, kept in headers if key != name]
        if draw(st.integers(0, 3)):
            headers = [*headers, (name, value)]
    method = draw(st.sampled_from(["POST"] * 12 + ["DELETE", "GET", "PUT"]))
    body = written(draw(almost(message)))
    if not draw(st.integers(0, 2)):
        body = draw(damaged(body))
    if not draw(st.integers(0, 30)):
        body = draw(st.binary(max_size=60) | st.sampled_from([b"[" * 50_000, b'{"a":' * 50_000]))
    return Sent(method, headers, body)


# --- what a request is worth ---------------------------------------------------------------------


def parsed(body: bytes) -> Any:
    """The JSON of a body, `...` where it has none."""

    def refuse(name: str) -> Any:
        raise ValueError(name)

    try:
        return json.loads(body.decode("utf-8-sig"), parse_constant=refuse)
    except (ValueError, RecursionError):
        return ...


@dataclass(frozen=True)
class Judge:
    """Says, in its own words, whether a request may run the counting tool."""

    token: str
    session_id: str
    tool: str

    def calls(self, sent: Sent) -> int:
        """How often the request may run it."""
        if not self._lets_in(sent):
            return 0
        message = parsed(sent.body)
        if not isinstance(message, list):
            return int(self._is_call(message, sent))
        # The session is of the one revision that has batches.
        return sum(self._is_legacy_call(item, sent) for item in message)

    def _lets_in(self, sent: Sent) -> bool:
        kind = (sent.header("content-type") or "").partition(";")[0].strip().lower()
        scheme, _, token = (sent.header("authorization") or "").strip().partition(" ")
        return (
            sent.method == "POST"
            and kind == "application/json"
            and (scheme.lower(), token.strip()) == ("bearer", self.token)
            and (sent.header("origin") or "http://localhost").lower() == "http://localhost"
        )

    def _is_call(self, message: Any, sent: Sent) -> bool:
        meta = message.get("params", {}) if isinstance(message, dict) else {}
        meta = meta.get("_meta") if isinstance(meta, dict) else None
        modern = isinstance(meta, dict) and VERSION_KEY in meta
        if modern or (sent.header("mcp-protocol-version") or "").strip() == MODERN:
            return self._names_tool(message) and self._is_modern(meta, sent)
        return self._is_legacy_call(message, sent)

    def _is_legacy_call(self, message: Any, sent: Sent) -> bool:
        version = sent.header("mcp-protocol-version")
        return (
            self._names_tool(message)
            and sent.header("mcp-session-id") == self.session_id
            and (version is None or version.strip() in LEGACY)
        )

    def _names_tool(self, message: Any) -> bool:
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            return False
        params = message.get("params")
        return (
            type(message.get("id")) in (str, int)
            and message.get("method") == "tools/call"
            and isinstance(params, dict)
            and params.get("name") == self.tool
            and params.get("arguments") in (None, {})
        )

    def _is_modern(self, meta: Any, sent: Sent) -> bool:
        try:
            name = decode_value(sent.header("mcp-name") or "")
        except BadHeaderValue:
            return False
        return (
            isinstance(meta, dict)
            and meta.get(VERSION_KEY) == MODERN
            and isinstance(meta.get(CAPABILITIES_KEY), dict)
            and meta.get(LOG_LEVEL_KEY) in (None, *LOG_LEVELS)
            and type(meta.get("progressToken")) in (type(None), str, int)
            and (sent.header("mcp-protocol-version") or "").strip() == MODERN
            and (sent.header("mcp-method") or "").strip() == "tools/call"
            and name == self.tool
        )


def check_shape(sent: Sent, answer: Answer) -> None:
    """Fail unless the answer is one that a client of either era can read."""
    assert answer.status < 500, answer
    assert not 300 <= answer.status < 400
    if answer.status in (202, 204):
        assert answer.body == b""
        return
    assert answer.headers["content-type"] in ("application/json", "text/event-stream")
    assert answer.status == 200 or not answer.is_stream
    messages = [
        message
        for data in answer.messages
        for message in (data if isinstance(data, list) else [data])
    ]
    assert messages
    for message in messages:
        assert message["jsonrpc"] == "2.0"
        if "method" not in message:
            check_response(sent, answer, message)


def check_response(sent: Sent, answer: Answer, message: dict[str, Any]) -> None:
    """Fail unless a response is of its era."""
    assert set(message) - {"id"} in ({"jsonrpc", "result"}, {"jsonrpc", "error"})
    named_modern = (sent.header("mcp-protocol-version") or "").strip() == MODERN
    asks_modern = VERSION_KEY.encode() in sent.body or b"server/discover" in sent.body
    if "result" in message:
        assert type(message["id"]) in (str, int)
        assert answer.status == 200
        # What says that it is modern was asked for by something that said so.
        assert "resultType" not in message["result"] or named_modern or asks_modern
        return
    error = message["error"]
    assert type(error["code"]) is int
    assert isinstance(error["message"], str)
    if "id" not in message:
        assert named_modern or asks_modern
    elif message["id"] is None:
        assert not named_modern
    if answer.status == 200:
        assert "id" in message, "a modern error has a status of its own"


# --- doors ---------------------------------------------------------------------------------------


def through_view(sent: Sent) -> Answer:
    """Through the view as WSGI calls it."""
    names = dict.fromkeys(name for name, _ in sent.headers)
    headers = {name: sent.header(name) or "" for name in names}
    # A parameter of RFC 2231 in an encoding that does not exist: there Django itself fails.
    headers["content-type"] = headers.get("content-type", "").replace("*", "_")
    response = Client(raise_request_exception=False).generic(
        sent.method, "/mcp", sent.body, content_type=headers["content-type"], headers=headers
    )
    lower = {name.lower(): value for name, value in response.headers.items()}
    return Answer(response.status_code, lower, response.content)


@async_to_sync
async def through_asgi(sent: Sent) -> Answer:
    """Through the ASGI application, where a header may really come twice."""
    received: list[Any] = []
    unsent = [{"type": "http.request", "body": sent.body}]

    async def receive() -> Any:
        return unsent.pop() if unsent else await asyncio.Event().wait()

    async def send(message: Any) -> None:
        received.append(message)

    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": sent.method,
        "scheme": "http",
        "path": "/mcp",
        "query_string": b"",
        "headers": [(name.encode(), value.encode("latin-1")) for name, value in sent.headers],
        "client": ("127.0.0.1", 50000),
        "server": ("localhost", 80),
    }
    await EndpointApplication(server)(scope, receive, send)
    start, *chunks = received
    headers = {name.decode(): value.decode("latin-1") for name, value in start["headers"]}
    return Answer(start["status"], headers, b"".join(chunk["body"] for chunk in chunks))


# --- the test ------------------------------------------------------------------------------------


@dataclass
class Target:
    """An endpoint with a credential, a session, and requests that it answers well."""

    judge: Judge
    counted: Counted
    sound: list[tuple[Headers, Any]]


@pytest.fixture
def target(make_token: MakeToken, counted: Counted) -> Target:
    """A target whose counting tool every sound call runs."""
    token = make_token()
    modern = MCPClient(token, door="asgi", server=server)
    legacy = MCPClient(token, version="2025-03-26", door="asgi", server=server)
    legacy.initialize()
    assert legacy.session_id is not None
    base = [
        ("host", "localhost"),
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
        ("authorization", f"Bearer {token}"),
    ]
    asked: list[tuple[str, dict[str, Any]]] = [
        ("tools/call", {"name": counted.name}),
        ("tools/call", {"name": counted.name, "arguments": {}}),
        ("tools/call", {"name": "add", "arguments": {"a": 1, "b": 2}}),
        ("tools/call", {"name": "steps", "arguments": {"count": 2}}),
        ("tools/list", {}),
    ]
    sound: list[tuple[Headers, Any]] = []
    for method, params in (*asked, ("server/discover", {})):
        mirrored = {"mcp-protocol-version": MODERN, **modern.headers_for(method, params)}
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": modern.params(params)}
        sound.append(([*base, *((k, v) for k, v in mirrored.items() if v is not None)], body))
    own = [*base, ("mcp-session-id", legacy.session_id)]
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "n"}}
    for method, params in (*asked, ("ping", {}), ("initialize", hello)):
        told = params | {"_meta": {"progressToken": 1}}
        sound.append((own, {"jsonrpc": "2.0", "id": "a", "method": method, "params": told}))
    sound.append((own, [message for _, message in sound[-7:-1]]))
    sound.append((own, {"jsonrpc": "2.0", "method": "notifications/initialized"}))
    return Target(Judge(token, legacy.session_id, counted.name), counted, sound)


@pytest.mark.parametrize("through", [through_view, through_asgi], ids=["view", "asgi"])
def test_sound_requests_are_answered(target: Target, through: Callable[[Sent], Answer]) -> None:
    """Else the test below would prove nothing."""
    for headers, message in target.sound:
        sent = Sent("POST", headers, written(message))
        before = target.counted.runs
        answer = through(sent)
        check_shape(sent, answer)
        assert answer.status in (200, 202)
        assert target.counted.runs - before == target.judge.calls(sent)
    assert target.counted.runs == 6


@pytest.mark.parametrize("through", [through_view, through_asgi], ids=["view", "asgi"])
def test_whatever_is_sent_gets_an_answer_and_runs_nothing_unmeant(
    target: Target, through: Callable[[Sent], Answer], settings: Any
) -> None:
    settings.MIDDLEWARE = [name for name in settings.MIDDLEWARE if "CommonMiddleware" not in name]

    @fuzzed
    @given(requests(target.sound))
    def check(sent: Sent) -> None:
        if sent.method in ("DELETE", "GET"):  # the session has to last; a stream would, too
            sent = replace(sent, headers=[h for h in sent.headers if h[0] != "mcp-session-id"])
        before = target.counted.runs
        answer = through(sent)
        check_shape(sent, answer)
        ran = target.counted.runs - before
        assert ran <= target.judge.calls(sent), answer
        assert not ran or answer.status == 200

    check()
