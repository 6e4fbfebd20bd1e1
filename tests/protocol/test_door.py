"""Where the era of a message is decided."""

from typing import Any

import pytest

from mcp_app.protocol.door import era_of, era_of_header
from mcp_app.protocol.envelope import VERSION_KEY
from mcp_app.protocol.errors import ParseError
from mcp_app.protocol.messages import Malformed, Message, Notification, Request, Response
from mcp_app.protocol.versions import Era

BROKEN = Malformed(ParseError("no"))
MODERN_HEADER = {"mcp-protocol-version": "2026-07-28"}
META = {"_meta": {VERSION_KEY: "2026-07-28"}}


@pytest.mark.parametrize(
    ("message", "headers"),
    [
        (Request(1, "tools/list", META), {}),
        (Request(1, "tools/list", META), {"mcp-protocol-version": "2025-11-25"}),
        (Request(1, "tools/list", {"_meta": {VERSION_KEY: None}}), {}),
        (Request(1, "initialize", META), {}),
        (Request(1, "ping", META), {}),
        (Request(1, "server/discover"), {}),
        (Request(1, "server/discover"), {"mcp-protocol-version": "2025-11-25"}),
        (Request(1, "tools/list"), MODERN_HEADER),
        (Request(1, "tools/list", {"_meta": []}), MODERN_HEADER),
        (Notification("notifications/x", META), {}),
        (Notification("notifications/x"), MODERN_HEADER),
        (Notification("initialize"), MODERN_HEADER),
        (Response(1), MODERN_HEADER),
        (BROKEN, MODERN_HEADER),
    ],
)
def test_modern_is_what_says_so(message: Message, headers: dict[str, str]) -> None:
    assert era_of(message, headers) is Era.MODERN


@pytest.mark.parametrize(
    ("message", "headers"),
    [
        (Request(1, "initialize"), {}),
        (Request(1, "initialize"), MODERN_HEADER),
        (Request(1, "tools/list"), {}),
        (Request(1, "tools/list", {"_meta": {"progressToken": 1}}), {}),
        (Request(1, "tools/list", {"_meta": []}), {}),
        (Request(1, "tools/list"), {"mcp-protocol-version": "2025-11-25"}),
        (Request(1, "tools/list"), {"mcp-protocol-version": "2099-01-01"}),
        (Request(1, "tools/list"), {"mcp-method": "tools/list", "mcp-name": "x"}),
        (Notification("notifications/initialized"), {}),
        (Response(1), {}),
        (BROKEN, {}),
    ],
)
def test_legacy_is_everything_else(message: Message, headers: dict[str, str]) -> None:
    assert era_of(message, headers) is Era.LEGACY


@pytest.mark.parametrize("value", ["2026-07-28", " 2026-07-28 "])
def test_a_header_alone_tells_the_era_of_a_known_revision(value: str) -> None:
    assert era_of_header({"mcp-protocol-version": value}) is Era.MODERN


@pytest.mark.parametrize("headers", [{}, {"mcp-protocol-version": "2026-07-28,2026-07-28"}])
def test_a_header_that_says_nothing_known_is_legacy(headers: Any) -> None:
    assert era_of_header(headers) is Era.LEGACY
